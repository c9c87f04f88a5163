"""A server that is slow, overrun or broken: CASES C89 and C90."""

import socket
from email.utils import formatdate

import pytest

from storage.errors import (
    QuotaExhaustedError,
    SlowDownError,
    StoreUnavailableError,
)
from tests.servers.openai_server import Fault
from tests.storage.openai_texts import texts

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("no_keys")]


# Asked to slow down (C89)


def test_c89_retry_after_in_seconds_is_waited(open_, openai_server, clock):
    openai_server.script(Fault(status=429, headers=(("Retry-After", "2"),), times=2))

    embedded = open_().embed(["a"])

    assert (embedded.requests, len(clock.waits)) == (3, 2)
    assert all(2 <= wait <= 3 for wait in clock.waits)


def test_c89_retry_after_as_a_date_is_waited(open_, openai_server, clock):
    date = formatdate(clock.now + 3, usegmt=True)
    openai_server.script(Fault(status=429, headers=(("Retry-After", date),), times=1))

    open_().embed(["a"])

    assert 3 <= clock.waits[0] <= 4


def test_c89_an_hour_is_capped_by_the_configuration(open_, openai_server, clock):
    openai_server.script(Fault(status=429, headers=(("Retry-After", "3600"),), times=1))

    open_(max_wait_seconds=9).embed(["a"])

    assert clock.waits == [9]


@pytest.mark.parametrize("headers", [(), (("Retry-After", "soon"),)], ids=["none", "nonsense"])
def test_c89_without_a_readable_header_we_back_off(open_, openai_server, clock, headers):
    openai_server.script(Fault(status=429, headers=headers, times=3))

    open_().embed(["a"])

    assert clock.waits[0] >= 1
    assert clock.waits == sorted(clock.waits)


def test_c89_calls_are_bounded_by_max_attempts(open_, openai_server):
    openai_server.script(Fault(status=429))

    with pytest.raises(SlowDownError):
        open_(max_attempts=4).embed(["a"])
    assert len(openai_server.calls()) == 4


def test_a_429_slows_everyone_down(open_, openai_server):
    class Throttle:
        def __init__(self):
            self.heard = []

        def acquire(self, tokens):
            self.heard.append(tokens)

        def slow_down(self, retry_after):
            self.heard.append(f"slow down {retry_after}")

    openai_server.script(Fault(status=429, headers=(("Retry-After", "5"),), times=1))
    throttle = Throttle()

    open_(throttle=throttle).embed(["one two three"])

    assert throttle.heard == [3, "slow down 5.0", 3]


@pytest.mark.parametrize(
    ("status", "code"), [(429, "insufficient_quota"), (403, "insufficient_quota"), (402, None)]
)
def test_a_used_up_quota_stops_at_once(open_, openai_server, clock, status, code):
    openai_server.script(Fault(status=status, code=code, message="pay"))

    with pytest.raises(QuotaExhaustedError, match="pay"):
        open_(max_request_inputs=1).embed(texts(5))
    assert (len(openai_server.calls()), clock.waits) == (1, [])


# Faults of the service (C90)


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 529])
def test_a_passing_fault_is_tried_again(open_, openai_server, status):
    openai_server.script(Fault(status=status, times=2))

    embedded = open_().embed(["a"])

    assert embedded.requests == 3
    assert not embedded.failed


@pytest.mark.parametrize("fault", ["drop", "cut_connection", "cut_json"])
def test_a_broken_connection_is_tried_again(open_, openai_server, fault):
    openai_server.script(Fault(**{fault: True}, times=2))

    assert open_().embed(["a"]).requests == 3


def test_an_answer_that_only_drips_ends_in_time(open_, openai_server):
    openai_server.script(Fault(drip_seconds=0.05))

    with pytest.raises(StoreUnavailableError, match=r"no answer in 0\.4 s"):
        open_(timeout_seconds=0.4, max_attempts=2).embed(["a"])
    assert len(openai_server.calls()) == 2


@pytest.mark.parametrize("body", ['{"data": []}', '{"error": "busy"}', "<html>", ""])
def test_an_answer_that_is_none_is_tried_again(open_, openai_server, body):
    openai_server.script(Fault(body=body, times=1))

    assert open_().embed(["a"]).requests == 2


def test_c90_a_poisoned_batch_fails_alone_and_the_hang_ends_in_time(open_, openai_server):
    openai_server.script(
        Fault(contains="number 0 ", status=500),
        Fault(contains="number 1 ", hang_seconds=30),
        Fault(contains="number 2 ", cut_json=True, times=1),
    )

    embedded = open_(max_request_inputs=1, max_attempts=2, timeout_seconds=0.5).embed(texts(10))

    assert set(embedded.failed) == {0, 1}
    assert "HTTP 500" in embedded.failed[0]
    assert "no answer in 0.5 s" in embedded.failed[1]
    assert not embedded.refused
    # Text 2 was counted by the server twice: its first answer was cut.
    assert sorted(openai_server.paid_texts()) == sorted([*texts(8, start=2), texts(3)[2]])


def test_a_service_that_answers_nothing_is_unavailable(open_, openai_server):
    openai_server.script(Fault(status=503))

    with pytest.raises(StoreUnavailableError, match=openai_server.base_url):
        open_(max_request_inputs=2, max_attempts=2).embed(texts(4))


def test_a_port_where_nobody_listens_is_named(open_, free_port_url):
    with pytest.raises(StoreUnavailableError, match=free_port_url):
        open_(base_url=free_port_url, max_attempts=2).embed(["a"])


@pytest.fixture
def free_port_url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_a_fatal_fault_in_mid_call_keeps_what_was_paid_and_sends_no_more(open_, openai_server):
    openai_server.script(Fault(skip=2, status=429, code="insufficient_quota", message="pay"))
    embedder = open_(max_request_inputs=1)

    embedded = embedder.embed(texts(6))

    assert set(embedded.failed) == {2, 3, 4, 5}
    assert "quota" in embedded.failed[5]
    assert len(openai_server.calls()) == 3
    with pytest.raises(QuotaExhaustedError):
        embedder.embed(texts(4, start=2))
