import itertools
import threading

import pytest

from storage.throttles import Pace, SharedPace


def pace(requests=0, tokens=0, max_pause=60.0):
    return Pace(requests_per_minute=requests, tokens_per_minute=tokens, max_pause=max_pause)


def starts(pace, *, count, tokens=1, now=0.0):
    """When each of `count` requests that ask at the same moment may start."""
    return [now + pace.reserve(tokens, now) for _ in range(count)]


def test_without_rates_nobody_waits():
    assert starts(pace(), count=3) == [0, 0, 0]


def test_requests_are_spread_over_the_minute():
    assert starts(pace(requests=30), count=4) == [0, 2, 4, 6]


def test_tokens_are_spread_over_the_minute():
    assert starts(pace(tokens=600), tokens=100, count=3) == [0, 10, 20]


def test_the_tighter_of_both_rates_holds():
    assert starts(pace(requests=60, tokens=600), tokens=100, count=2) == [0, 10]
    assert starts(pace(requests=6, tokens=600), tokens=1, count=2) == [0, 10]


def test_idle_time_is_not_saved_up_for_a_burst():
    line = pace(requests=60)
    starts(line, count=1)

    assert starts(line, count=3, now=100.0) == [100, 101, 102]


def test_a_429_pauses_everyone_for_as_long_as_it_asks():
    line = pace()
    line.slow_down(5.0, now=10.0)

    assert starts(line, count=1, now=10.0) == [15]


def test_a_pause_is_capped():
    line = pace(max_pause=30.0)
    line.slow_down(3600.0, now=0.0)

    assert starts(line, count=1) == [30]


def test_after_a_429_the_run_is_slower_and_grows_back():
    line = pace(requests=60)
    line.slow_down(None, now=0.0)

    slow = starts(line, count=60)
    gaps = [later - earlier for earlier, later in itertools.pairwise(slow)]

    assert gaps[0] > 1.2
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(gaps))
    assert gaps[-1] == pytest.approx(1.0)


def test_each_further_429_doubles_the_gap_but_those_of_one_pause_are_one():
    once, together, again = pace(), pace(), pace()
    once.slow_down(1.0, now=0.0)
    for _ in range(5):
        together.slow_down(1.0, now=0.0)
    again.slow_down(1.0, now=0.0)
    again.slow_down(1.0, now=1.0)

    def gap(line):
        first, second = starts(line, count=2, now=10.0)
        return second - first

    single = gap(once)
    assert gap(together) == single
    assert gap(again) == 2 * single


def test_threads_share_one_line():
    waits = []
    shared = SharedPace(pace(requests=60), clock=lambda: 0.0, sleep=waits.append)
    threads = [threading.Thread(target=shared.acquire, args=(1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(waits) == [1, 2, 3, 4, 5, 6, 7]
