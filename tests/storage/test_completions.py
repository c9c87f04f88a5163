"""The door to a chat model, against a real socket."""

import json

import pytest
from pydantic import ValidationError

from storage.completion_settings import CompletionSettings
from storage.completions import Completer
from storage.errors import (
    AccessRefusedError,
    QuotaExhaustedError,
    SettingError,
    StoreUnavailableError,
)
from storage.local_objects import LocalObjectStore
from storage.protocols import Location
from tests.servers.chat import Fault, completion, serving_chat

pytestmark = pytest.mark.server
SYSTEM = "Answer with JSON."


@pytest.fixture
def chat():
    with serving_chat() as server:
        server.answer = lambda _: '{"segments": []}'
        yield server


@pytest.fixture
def kept(tmp_path):
    return Location(objects=LocalObjectStore(tmp_path), prefix="completions/")


def completer_of(chat, kept=None, **changes):
    return Completer(chat.settings(**changes), kept, sleep=lambda _: None)


def test_it_sends_both_messages_and_asks_for_json_without_a_key_it_does_not_have(chat, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    completer = completer_of(chat)

    assert completer(SYSTEM, "user") == '{"segments": []}'
    (request,) = chat.requests
    assert [message["content"] for message in request["messages"]] == [SYSTEM, "user"]
    assert request["response_format"] == {"type": "json_object"}
    assert request["temperature"] == 0
    assert chat.authorizations == [None]
    assert (completer.tally.requests, completer.tally.tokens) == (1, 10)


def test_the_key_comes_from_the_environment_and_its_own_name_comes_first(chat, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "general")
    monkeypatch.setenv("KITELIFT_COMPLETION_API_KEY", "own")
    completer_of(chat)(SYSTEM, "user")

    assert chat.authorizations == ["Bearer own"]


def test_what_a_server_may_not_know_can_be_left_out(chat):
    completer_of(chat, temperature=-1, json_mode=False)(SYSTEM, "user")

    assert set(chat.requests[0]) == {"model", "messages"}


def test_an_answer_is_paid_once_for_every_worker_and_run(chat, kept):
    first, second = completer_of(chat, kept), completer_of(chat, kept)

    assert first(SYSTEM, "user") == second(SYSTEM, "user")
    assert first(SYSTEM, "other") == second(SYSTEM, "other")
    assert len(chat.requests) == 2
    assert second.tally.reused == 2
    assert second.tally.tokens == 0


def test_another_model_or_temperature_is_asked_anew(chat, kept):
    completer_of(chat, kept)(SYSTEM, "user")
    completer_of(chat, kept, temperature=1)(SYSTEM, "user")

    assert len(chat.requests) == 2


def test_of_two_workers_at_once_the_first_answer_counts_for_both(chat, kept):
    slow, fast = completer_of(chat, kept), completer_of(chat, kept)

    def asked_meanwhile(_):
        chat.answer = lambda _: "fast"
        assert fast(SYSTEM, "user") == "fast"
        return "slow"

    chat.script = [asked_meanwhile]
    assert slow(SYSTEM, "user") == "fast"
    assert completer_of(chat, kept)(SYSTEM, "user") == "fast"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"answer": 3}', b"\xff"])
def test_a_kept_answer_that_cannot_be_read_is_replaced(chat, kept, body):
    completer_of(chat, kept)(SYSTEM, "user")
    (info,) = kept.objects.list(kept.prefix)
    kept.objects.put(info.key, body)

    assert completer_of(chat, kept)(SYSTEM, "user") == '{"segments": []}'
    assert completer_of(chat, kept)(SYSTEM, "user") == '{"segments": []}'
    assert len(chat.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=503),
        Fault(status=408),
        Fault(status=429, headers={"Retry-After": "1"}),
        Fault(drop=True),
        Fault(body="{"),
        Fault(body="[]"),
        Fault(body='{"choices": []}'),
        Fault(body=completion({"text": "no string"})),
    ],
    ids=lambda fault: fault.body or fault.status,
)
def test_what_may_pass_is_asked_again(chat, kept, fault):
    chat.script = [fault, fault]

    assert completer_of(chat, kept)(SYSTEM, "user") == '{"segments": []}'
    assert len(chat.requests) == 3


def test_what_does_not_pass_ends_after_the_attempts_and_nothing_is_kept(chat, kept):
    chat.script = [Fault(status=500)] * 3

    with pytest.raises(StoreUnavailableError, match="chat model at http://127"):
        completer_of(chat, kept, max_attempts=3)(SYSTEM, "user")
    assert len(chat.requests) == 3
    assert list(kept.objects.list("")) == []


def test_a_hang_ends_at_the_time_out(chat):
    chat.script = [Fault(hang_seconds=0.6)]

    assert completer_of(chat, timeout_seconds=0.2)(SYSTEM, "user") == '{"segments": []}'


def test_retry_after_is_waited_for(chat):
    chat.script = [Fault(status=429, headers={"Retry-After": "7"})]
    waits = []
    Completer(chat.settings(max_wait_seconds=60), None, sleep=waits.append)(SYSTEM, "user")

    assert 7 <= waits[0] < 7.1


class Rates:
    def __init__(self):
        self.acquired, self.slowed = [], []

    def acquire(self, tokens):
        self.acquired.append(tokens)

    def slow_down(self, retry_after):
        self.slowed.append(retry_after)


def test_each_attempt_waits_for_the_shared_rates_and_a_429_slows_all(chat):
    chat.script = [Fault(status=429, headers={"Retry-After": "3"})]
    rates = Rates()
    Completer(chat.settings(), None, throttle=rates, sleep=lambda _: None)(SYSTEM, "用户")

    assert len(rates.acquired) == 2
    assert rates.acquired[0] == rates.acquired[1] >= 5
    assert rates.slowed == [3]


def test_a_dry_one_gives_what_is_kept_and_counts_what_it_would_ask(chat, kept):
    completer_of(chat, kept)(SYSTEM, "known")
    dry = Completer(chat.settings(), kept, is_dry=True)

    assert dry(SYSTEM, "known") == '{"segments": []}'
    assert dry(SYSTEM, "unknown") == ""
    assert len(chat.requests) == 1
    assert (dry.tally.reused, dry.tally.unasked, dry.tally.requests) == (1, 1, 0)
    assert dry.tally.unasked_tokens >= 5
    assert completer_of(chat, kept)(SYSTEM, "unknown") == '{"segments": []}'


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_prompt_that_is_refused_has_no_answer_and_is_not_asked_again(chat, kept, status):
    chat.script = [Fault(status=status, message="content policy")]
    completer = completer_of(chat, kept)

    assert completer(SYSTEM, "bad") == ""
    assert completer_of(chat, kept)(SYSTEM, "bad") == ""
    assert completer.tally.refused == 1
    assert len(chat.requests) == 2  # the prompt, and one that nobody refuses


def test_an_answer_without_an_end_is_of_no_use_and_is_not_read_to_the_end(chat, kept):
    chat.script = [lambda _: "x" * 3_000_000]

    assert completer_of(chat, kept)(SYSTEM, "user") == ""
    assert completer_of(chat, kept)(SYSTEM, "user") == ""
    assert len(chat.requests) == 2  # that, and the plain prompt that proves the model


def test_a_model_that_refuses_everything_is_a_fault_of_the_settings(chat, kept):
    chat.script = [Fault(status=400)] * 2

    with pytest.raises(SettingError, match=r"completion\.model.*plain prompt"):
        completer_of(chat, kept)(SYSTEM, "user")
    assert list(kept.objects.list("")) == []


def test_a_model_that_declines_has_no_answer(chat):
    chat.script = [Fault(body=completion(None, refusal="I cannot"))]

    assert completer_of(chat)(SYSTEM, "user") == ""


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (Fault(status=401), AccessRefusedError, "chat model"),
        (Fault(status=402), QuotaExhaustedError, "chat model"),
        (Fault(status=404), SettingError, r"completion\.model or completion\.base_url"),
        (Fault(status=400, param="temperature"), SettingError, r"completion\.temperature"),
        (Fault(status=400, param="response_format"), SettingError, r"completion\.json_mode"),
        (Fault(status=400, param="model"), SettingError, r"completion\.model"),
    ],
    ids=lambda value: value.status if isinstance(value, Fault) else "",
)
def test_what_every_prompt_would_meet_stops_at_once_and_names_the_setting(
    chat, fault, error, words
):
    chat.script = [fault]

    with pytest.raises(error, match=words):
        completer_of(chat)(SYSTEM, "user")
    assert len(chat.requests) == 1


def test_a_key_that_the_service_repeats_is_in_no_error(chat, monkeypatch):
    monkeypatch.setenv("KITELIFT_COMPLETION_API_KEY", "sk-secret")
    chat.script = [Fault(status=401, message="Incorrect API key provided: sk-secret")]

    with pytest.raises(AccessRefusedError) as caught:
        completer_of(chat)(SYSTEM, "user")
    assert "sk-secret" not in str(caught.value)


def test_an_answer_with_half_a_surrogate_pair_is_kept_as_it_is(chat, kept):
    body = completion("x").replace('"x"', '"\\\\ud83d"')
    chat.script = [Fault(body=body)]

    assert completer_of(chat, kept)(SYSTEM, "user") == completer_of(chat, kept)(SYSTEM, "user")


def test_without_a_model_or_a_key_it_does_not_open(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingError, match=r"completion\.model"):
        Completer(CompletionSettings(), None)
    with pytest.raises(AccessRefusedError, match="KITELIFT_COMPLETION_API_KEY"):
        Completer(CompletionSettings(model="m"), None)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:1", "no http"),
        ("http://me:pw@host/v1", "credentials"),
        ("http://h/v1?k=1", "cred"),
    ],
)
def test_an_endpoint_is_a_plain_address(url, reason):
    with pytest.raises(ValidationError, match=reason):
        CompletionSettings(base_url=url)


def test_settings_that_shape_answers_are_json():
    assert json.loads(json.dumps(CompletionSettings(model="m").shaping)) == {
        "model": "m",
        "temperature": 0.0,
        "json_mode": True,
    }
