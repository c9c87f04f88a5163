"""Golden queries: does a new collection answer as the one that readers have?

Before a run moves the alias, each query is asked of both collections, and the first k documents
of both answers are compared. Documents, not chunks: the new collection has another fingerprint,
so the same passage is another chunk under another id, cut elsewhere; what stays is the document.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking.text import clean_text, is_blank
from jobs.config import Config, ConfigError
from jobs.footing import Footing
from jobs.searching.search import NOT_A_PARENT
from storage.embedding_settings import EmbeddingSettings
from storage.embeddings import open_embedder
from storage.errors import ObjectMissingError, SettingError, StorageError
from storage.objects import open_object
from storage.protocols import Embedder, SearchMode, VectorStore

LOWEST = 10
"""Queries that are named in the report, by their line: those whose answers differ most."""
CHUNKS_A_DOCUMENT = 4
"""Rows asked for at first for each document wanted; an answer may hold several of one."""
MAX_ROWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    line: int
    """Of the file, from 1: it stands for the query wherever something is told of it."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    line: int
    overlap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the golden queries say of a switch; in the report under `golden`."""

    served: str
    """The collection that readers had."""
    built: str
    queries: int
    """Compared, that is answered by both."""
    top_k: int
    mode: SearchMode
    overlap: float | None
    """Mean over the queries of overlap@k, from 0 to 1; None when none could be compared."""
    min_overlap: float
    lowest: tuple[Overlap, ...] = ()
    left_out: tuple[int, ...] = ()
    """Lines of queries that a model does not take."""
    reason: str = ""
    """Why nothing could be compared."""
    tokens: int = 0
    """That the queries cost, by both models where there are two."""
    requests: int = 0

    @property
    def allows_switch(self) -> bool:
        if not self.min_overlap:
            return True
        return self.overlap is not None and self.overlap >= self.min_overlap

    def __str__(self) -> str:
        if self.overlap is None:
            return f"golden queries: {self.reason or 'none could be asked'}"
        return (
            f"golden queries: {self.queries} compared, overlap@{self.top_k} is {self.overlap:.3f} "
            f"by document ({self.tokens} tokens)"
        )

    @property
    def advice(self) -> str:
        """What to do when the switch did not take place."""
        return (
            f"{self}, golden.min_overlap = {self.min_overlap:g}: readers stay with {self.served}. "
            f"{self.built} is complete; look at the report, then `kitelift promote {self.built}`."
        )


def read_queries(config: Config) -> tuple[Query, ...]:
    """Read `golden.queries`, JSON Lines with a `query` each; none when it is not set.

    Raises:
        ConfigError: There is no such file; a line is no query, named by its number.
        StorageError: The object store does not answer.
    """
    uri = config.golden.queries
    if not uri:
        return ()
    try:
        objects, key = open_object(uri, config.s3)
        lines = objects.get(key)[0].decode("utf-8-sig").split("\n")
    except (ObjectMissingError, SettingError, ValueError) as error:
        told = "there is no such file" if isinstance(error, ObjectMissingError) else error
        raise ConfigError(f"[golden].queries = {uri!r}: {told}.") from None
    queries = tuple(
        Query(line=number, text=_text(line, f"{uri}, line {number}"))
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    if not queries:
        raise ConfigError(f"[golden].queries = {uri!r}: it holds no query.")
    return queries


def _text(line: str, place: str) -> str:
    try:
        told: Any = json.loads(line)
    except ValueError:
        raise ConfigError(f"{place}: no JSON.") from None
    query = told.get("query") if isinstance(told, Mapping) else None
    if not isinstance(query, str) or is_blank(text := clean_text(query)):
        raise ConfigError(f'{place}: no query; write {{"query": "…"}}.')
    return text


def compare(queries: Sequence[Query], footing: Footing, served: str, config: Config) -> Comparison:
    """Ask the served collection and the one that was built, each by its own model.

    Raises:
        StorageError: The new collection or its model cannot be asked.
    """
    golden, built = config.golden, footing.collection
    asked: dict[str, _Vectors] = {}
    answers: list[dict[int, set[str]]] = []
    reason = ""
    try:
        for collection in (served, built):
            name, vectors = _vectors(queries, collection, footing, golden.mode, asked)
            asked[name] = vectors
            store = footing.database.open(collection)
            answers.append(_answers(store, queries, vectors.by_line, golden.mode, golden.top_k))
    except SettingError as error:  # no model to ask the old one by, or no BM25 on this server
        answers, reason = [{}, {}], str(error)
    old, new = answers
    both = [query.line for query in queries if query.line in old and query.line in new]
    overlaps = [Overlap(line=line, overlap=overlap_of(old[line], new[line])) for line in both]
    return Comparison(
        served=served,
        built=built,
        queries=len(both),
        top_k=golden.top_k,
        mode=golden.mode,
        overlap=fmean(each.overlap for each in overlaps) if overlaps else None,
        min_overlap=golden.min_overlap,
        lowest=tuple(sorted(overlaps, key=lambda each: (each.overlap, each.line))[:LOWEST]),
        left_out=() if reason else tuple(q.line for q in queries if q.line not in both),
        reason=reason,
        tokens=sum(vectors.tokens for vectors in asked.values()),
        requests=sum(vectors.requests for vectors in asked.values()),
    )


def overlap_of(old: set[str], new: set[str]) -> float:
    """|old ∩ new| over the longer answer: k, unless the collections have fewer documents.

    Two empty answers agree.
    """
    longer = max(len(old), len(new))
    return len(old & new) / longer if longer else 1.0


@dataclass(frozen=True, slots=True)
class _Vectors:
    by_line: Mapping[int, NDArray[np.float32] | None]
    tokens: int = 0
    requests: int = 0


def _vectors(
    queries: Sequence[Query],
    collection: str,
    footing: Footing,
    mode: SearchMode,
    asked: Mapping[str, _Vectors],
) -> tuple[str, _Vectors]:
    """The queries by the model of this collection, paid once for two of the same; its name."""
    if mode == "sparse":
        return "", _Vectors({query.line: None for query in queries})
    embedder = _embedder_of(collection, footing)
    if embedder.name in asked:
        return embedder.name, asked[embedder.name]
    embedded = embedder.embed([query.text for query in queries])
    without = embedded.refused.keys() | embedded.failed.keys()
    vectors = {q.line: embedded.vectors[n] for n, q in enumerate(queries) if n not in without}
    return embedder.name, _Vectors(vectors, embedded.tokens, embedded.requests)


def _embedder_of(collection: str, footing: Footing) -> Embedder:
    """The model that a collection was built with, which may be another than the configured one.

    Raises:
        SettingError: It cannot be asked any more.
    """
    spec = footing.database.describe(collection)
    model = spec.model if spec else ""
    if model == footing.embedder.name:
        return footing.embedder
    fingerprint = footing.ledger.fingerprint_of(collection)
    settings = footing.ledger.catalogue(fingerprint)[0].embedding
    reason = "the ledger does not tell how to ask that model"
    try:
        if settings:
            embedder = open_embedder(EmbeddingSettings.model_validate_json(settings))
            if embedder.name == model and embedder.dim:  # a remote one has answered by now
                return embedder
    except (StorageError, ValueError) as error:
        reason = str(error)
    raise SettingError(
        f"collection {collection}",
        f"it was built with {model}, and {reason}",
        "Compare by hand: `kitelift search` with either configuration.",
    )


def _answers(
    store: VectorStore,
    queries: Sequence[Query],
    vectors: Mapping[int, NDArray[np.float32] | None],
    mode: SearchMode,
    top_k: int,
) -> dict[int, set[str]]:
    """The first `top_k` documents of each query that has a vector, by its line."""
    return {
        query.line: _documents(store, query.text, vectors[query.line], mode, top_k)
        for query in queries
        if query.line in vectors
    }


def _documents(
    store: VectorStore,
    text: str,
    vector: NDArray[np.float32] | None,
    mode: SearchMode,
    top_k: int,
) -> set[str]:
    limit = CHUNKS_A_DOCUMENT * top_k
    while True:
        hits = store.search(
            text=text, vector=vector, mode=mode, top_k=limit, filter_expression=NOT_A_PARENT
        )
        found = dict.fromkeys(str(hit.row["document_id"]) for hit in hits)
        if len(found) >= top_k or len(hits) < limit or limit >= MAX_ROWS:
            return set(list(found)[:top_k])
        limit = min(4 * limit, MAX_ROWS)
