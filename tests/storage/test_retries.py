from email.utils import formatdate

import pytest

from storage.errors import AccessRefusedError, SlowDownError, StoreUnavailableError
from storage.retries import RetryPolicy, retry_after_seconds

DOWN = StoreUnavailableError("store", "here", "down")
NOW = 1_700_000_000.0


class Service:
    """Raises what it is given, in order, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


@pytest.fixture
def waits():
    return []


def policy(waits, **changes):
    return RetryPolicy(**{"max_attempts": 5, "max_wait": 60.0, "sleep": waits.append} | changes)


def test_the_first_answer_ends_it(waits):
    service = Service(DOWN, DOWN)

    assert policy(waits).call(service) == "answer"
    assert service.calls == 3


def test_waits_grow_from_the_first_and_stay_below_the_longest(waits):
    with pytest.raises(StoreUnavailableError):
        policy(waits, max_attempts=9, first_wait=2.0, max_wait=30.0).call(Service(*[DOWN] * 9))

    assert len(waits) == 8
    for wait, lowest in zip(waits, [2, 4, 8, 16, 30, 30, 30, 30], strict=True):
        assert lowest <= wait <= min(lowest + 2, 30)


@pytest.mark.parametrize("error", [DOWN, SlowDownError("store", "busy", 7.0)])
def test_waits_differ_so_that_workers_do_not_come_back_together(waits, error):
    for _ in range(5):
        policy(waits).call(Service(error))

    assert len(set(waits)) > 1


def test_the_last_error_is_raised_after_all_attempts(waits):
    service = Service(*[DOWN] * 9)

    with pytest.raises(StoreUnavailableError):
        policy(waits, max_attempts=3).call(service)
    assert service.calls == 3


def test_what_waiting_cannot_mend_is_not_tried_again(waits):
    service = Service(AccessRefusedError("store", "here", "no"))

    with pytest.raises(AccessRefusedError):
        policy(waits).call(service)
    assert (service.calls, waits) == (1, [])


@pytest.mark.parametrize(("asked", "least", "most"), [(7.0, 7, 8), (0.0, 0, 1), (3600.0, 60, 60)])
def test_what_the_server_asks_for_is_waited_up_to_the_longest(waits, asked, least, most):
    policy(waits).call(Service(SlowDownError("store", "busy", asked)))

    assert least <= waits[0] <= most


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("0.5", 0.5),
        (" 3 ", 3.0),
        ("-4", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        (formatdate(NOW + 3, usegmt=True), 3.0),
        (formatdate(NOW + 3), 3.0),
        (formatdate(NOW - 99, usegmt=True), 0.0),
        ("Fri, 99 Nov 2023 22:13:23 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nonsense_is_none(header, seconds):
    assert retry_after_seconds(header, NOW) == seconds
