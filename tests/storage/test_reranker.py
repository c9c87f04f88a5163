"""The reranker's door against a real HTTP server with good, broken and absent answers."""

import pytest

from storage.errors import AccessRefusedError, StoreUnavailableError, UnexpectedAnswerError
from storage.reranker import RerankSettings, rerank
from tests.servers.reranker import serving

pytestmark = pytest.mark.server

NOT_A_NUMBER = (
    '{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1}]}'
)


def test_scores_come_in_the_order_of_the_documents_however_they_were_sent(monkeypatch):
    monkeypatch.setenv("KITELIFT_RERANK_API_KEY", "secret")
    with serving() as (settings, asked):
        scores = rerank(settings, "谁？", ["bb", "a", "cccc"])

    assert scores == [0.02, 0.01, 0.04]
    ((body, key),) = asked
    assert body == {"model": "m", "query": "谁？", "documents": ["bb", "a", "cccc"], "top_n": 3}
    assert key == "Bearer secret"


def test_nothing_is_asked_about_nothing():
    assert rerank(RerankSettings(url="http://127.0.0.1:1/"), "q", []) == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(status):
    with serving((status, "busy")) as (settings, asked):
        assert rerank(settings, "q", ["a"]) == [0.01]

    assert len(asked) == 2


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        ((401, "no key"), AccessRefusedError, "401 no key"),
        ((404, "no such model"), UnexpectedAnswerError, "404 no such model"),
        ((200, "<html>"), UnexpectedAnswerError, "<html>"),
        ((200, {"data": []}), UnexpectedAnswerError, "results"),
        ((200, {"results": [{"index": 0, "relevance_score": 1}]}), UnexpectedAnswerError, "1 pl"),
        (
            (200, {"results": [{"index": 0, "relevance_score": 1}] * 2}),
            UnexpectedAnswerError,
            "of 2 documents",
        ),
        (
            (200, NOT_A_NUMBER),
            UnexpectedAnswerError,
            "finite",
        ),
    ],
)
def test_an_answer_that_is_of_no_use_is_told_once(answer, error, told):
    with serving(answer) as (settings, asked), pytest.raises(error, match=told):
        rerank(settings, "q", ["a", "b"])

    assert len(asked) == 1


def test_a_server_that_is_away_is_named(free_port):
    settings = RerankSettings(url=f"http://127.0.0.1:{free_port}/rerank", max_attempts=1)

    with pytest.raises(StoreUnavailableError, match=str(free_port)):
        rerank(settings, "q", ["a"])


@pytest.mark.parametrize("url", ["host/rerank", "http://u:p@host/rerank", "http://h/?key=1"])
def test_a_url_that_cannot_be_or_carries_a_secret_is_refused(url):
    with pytest.raises(ValueError, match="url"):
        RerankSettings(url=url)
