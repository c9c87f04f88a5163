"""Texts and settings that the server refuses, and vectors that we refuse: CASES C83 to C91."""

import numpy as np
import pytest

from storage.canary import CANARY_TEXT
from storage.errors import (
    SettingError,
)
from tests.servers.openai_server import Fault
from tests.storage.openai_texts import sent, texts

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("no_keys")]


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
