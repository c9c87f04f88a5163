"""One writer a collection, whatever the clocks say."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from storage.errors import LeaseError
from storage.lease import LEASE_SECONDS, Holder, LeaseState, acquire, current_holder, this_process
from storage.local_objects import LocalObjectStore

KEY = "docs/lease.json"


class Clock:
    """Seconds that pass only when somebody sleeps; `every` runs at each sleep."""

    def __init__(self, every=lambda: None):
        self.now, self.every = 100.0, every

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.every()


@pytest.fixture
def objects(tmp_path):
    return LocalObjectStore(tmp_path)


def stranger(**changes) -> Holder:
    """A run on another machine, whose process cannot be looked at from here."""
    here = this_process("theirs", private_workers=False)
    return replace(here, host="elsewhere", **changes)


def take(objects, holder=None, clock=None, **options):
    clock = clock or Clock()
    holder = holder or this_process("ours", private_workers=True)
    return acquire(objects, KEY, "docs", holder, clock=clock, sleep=clock.sleep, **options)


def plant(objects, holder, *, age=timedelta(0), epoch=1, beat=0):
    beat_at = (datetime.now(UTC) - age).isoformat()
    state = LeaseState(holder=holder, epoch=epoch, beat=beat, beat_at=beat_at)
    objects.put(KEY, json.dumps(asdict(state)).encode())


def test_a_held_lease_is_refused_with_the_holders_name_and_what_to_do(objects):
    take(objects, stranger())

    with pytest.raises(LeaseError, match=r"run theirs .* on elsewhere.*--wait"):
        take(objects)


def test_a_released_lease_is_free_at_once_and_its_epoch_goes_up(objects):
    first = take(objects, stranger())
    first.release()

    assert current_holder(objects, KEY) is None
    assert take(objects).fence.epoch == first.fence.epoch + 1


def test_waiting_ends_as_soon_as_the_holder_lets_go(objects):
    first = take(objects, stranger())
    clock = Clock()
    clock.every = lambda: first.release() if clock.now > 105 else first.beat()

    lease = take(objects, clock=clock, wait_seconds=60)

    assert 105 < clock.now < 110
    lease.fence.check(objects)


def test_a_holder_that_beats_is_never_taken_over_however_long_one_waits(objects):
    first = take(objects, stranger())
    clock = Clock(every=first.beat)

    with pytest.raises(LeaseError):
        take(objects, clock=clock, wait_seconds=10 * LEASE_SECONDS)

    first.fence.check(objects)


def test_a_holder_that_looks_dead_is_watched_for_a_full_lease_time_first(objects):
    plant(objects, stranger(), age=timedelta(hours=5))
    clock = Clock()

    lease = take(objects, clock=clock)

    assert clock.now - 100 >= LEASE_SECONDS
    assert lease.fence.epoch == 2


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_living_holder_whose_clock_is_an_hour_wrong_keeps_its_lease(objects, hours):
    beats = iter(range(1, 1000))
    holder, age = stranger(), timedelta(hours=hours)
    plant(objects, holder, age=age)
    clock = Clock(every=lambda: plant(objects, holder, age=age, beat=next(beats)))

    with pytest.raises(LeaseError):
        take(objects, clock=clock, wait_seconds=LEASE_SECONDS * 2)


def test_a_process_of_this_machine_that_is_gone_holds_nothing(objects):
    here = this_process("killed", private_workers=True)
    plant(objects, replace(here, pid=2**22 + 1, started="1"))
    clock = Clock()

    take(objects, clock=clock)

    assert clock.now == 100


def test_a_gone_process_on_a_shared_cluster_may_have_workers_that_live(objects):
    here = this_process("killed", private_workers=False)
    plant(objects, replace(here, pid=2**22 + 1, started="1"))

    with pytest.raises(LeaseError):
        take(objects)


def test_whoever_was_taken_over_can_neither_beat_nor_pass_the_fence(objects):
    first = take(objects, stranger())
    clock = Clock()
    second = take(objects, clock=clock, wait_seconds=2 * LEASE_SECONDS)

    with pytest.raises(LeaseError, match="run ours"):
        first.beat()
    with pytest.raises(LeaseError, match="run ours"):
        first.fence.check(objects)
    first.release()  # must not free what is no longer ours
    second.fence.check(objects)


def test_a_lease_that_was_deleted_and_taken_anew_is_not_that_of_the_sleeper(objects):
    """Both have epoch 1."""
    sleeper = take(objects, stranger())
    objects.delete(KEY)
    take(objects)

    with pytest.raises(LeaseError, match="run ours"):
        sleeper.fence.check(objects)
