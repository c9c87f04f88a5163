"""Who waits for a lease is heard, and who has given up is not."""

import pytest

from storage.lease import acquire, this_process
from storage.local_objects import LocalObjectStore
from storage.waiting import Announcer, Lookout
from tests.storage.test_lease import Clock, stranger

KEY = "docs/lease.json"


@pytest.fixture
def objects(tmp_path):
    return LocalObjectStore(tmp_path)


def announcer(objects, run_id="nightly"):
    return Announcer(objects, KEY, this_process(run_id, private_workers=True))


def test_nobody_waits_where_nobody_said_so(objects):
    assert Lookout(objects, KEY).look() == ""


def test_a_run_that_waits_is_named_for_as_long_as_it_says_so(objects):
    lookout, waits = Lookout(objects, KEY), announcer(objects)

    waits()
    assert lookout.look().startswith("run nightly (process ")
    waits()
    assert lookout.look().startswith("run nightly (process ")
    assert lookout.look() == ""


def test_what_an_earlier_run_left_is_nobody(objects):
    announcer(objects)()

    assert Lookout(objects, KEY).look() == ""


def test_a_run_announces_itself_while_it_waits_for_a_living_one_and_not_before(objects):
    lookout, clock = Lookout(objects, KEY), Clock()
    lease = acquire(objects, KEY, "docs", stranger())
    heard = []

    def live_on():
        heard.append(lookout.look())
        lease.beat() if clock.now < 105 else lease.release()

    clock.every = live_on
    ours = this_process("nightly", private_workers=True)
    options = {"clock": clock, "sleep": clock.sleep, "wait_seconds": 60}
    acquire(objects, KEY, "docs", ours, announce=announcer(objects), **options)

    assert heard
    assert all(name.startswith("run nightly") for name in heard)
