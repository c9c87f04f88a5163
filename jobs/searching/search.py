"""What a retriever would get."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking.strategies.parent_child import PARENT_KIND
from chunking.text import clean_text
from jobs.config import Config, ConfigError
from storage.embeddings import open_embedder
from storage.errors import CollectionMismatchError, SettingError
from storage.milvus_filters import all_of, equals, literal
from storage.milvus_lite import reachable
from storage.protocols import Hit, SearchMode, VectorStore
from storage.vectors import connect

LEGS: tuple[SearchMode, ...] = ("dense", "sparse")
NOT_A_PARENT = f"kind != {literal(PARENT_KIND)}"
"""Parents are there to be read: what is searched are their children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The collection behind the alias, and the model that it was built with."""

    store: VectorStore
    config: Config
    model: str

    def vector_of(self, query: str) -> NDArray[np.float32]:
        """Shape (dim,).

        Raises:
            CollectionMismatchError: The configuration names another model: scores would be noise.
            ConfigError: The model does not take the query.
        """
        embedder = open_embedder(self.config.embedding)
        if embedder.name != self.model:
            raise CollectionMismatchError(
                self.store.collection,
                f"it was built with {self.model}, the configuration has {embedder.name}",
                "Set [embedding] as it was, or bring the collection up to date: `kitelift run`.",
            )
        embedded = embedder.embed([query])
        for reason in (*embedded.refused.values(), *embedded.failed.values()):
            raise ConfigError(f"the query cannot be embedded: {reason}.")
        vector: NDArray[np.float32] = embedded.vectors[0]
        return vector


@contextmanager
def reading(config: Config) -> Iterator[Reader]:
    """Open what stands behind the alias.

    Raises:
        SettingError: Nothing does.
    """
    alias = config.milvus.collection
    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            target = database.alias_target(alias)
            spec = database.describe(target) if target else None
            if target is None or spec is None:
                raise SettingError(
                    f"alias {alias}",
                    f"it does not exist at {config.milvus.uri}",
                    "A run makes it: `kitelift run`.",
                )
            yield Reader(store=database.open(target), config=config, model=spec.model)
        finally:
            database.close()


def search(
    reader: Reader, query: str, *, mode: SearchMode, top_k: int, condition: str = ""
) -> list[dict[str, Any]]:
    """The best rows, best first.

    Args:
        reader: Of the collection.
        query: As a person typed it, not blank.
        mode: By which vectors.
        top_k: Hits, of each leg too.
        condition: A filter expression; see `condition_of`.

    Returns:
        For each hit the fields of its row, `score`, and `scores`: that of each leg (`dense` is a
        cosine, `sparse` BM25) and of their fusion (`rrf`); None where the leg was not asked, or
        does not have the row among its first `top_k`.

    Raises:
        ConfigError: The expression cannot be read.
        SettingError: This collection has no sparse search.
    """
    text = clean_text(query)
    vector = None if mode == "sparse" else reader.vector_of(text)

    def ask(leg: SearchMode) -> list[Hit]:
        return reader.store.search(
            text=text,
            vector=vector,
            mode=leg,
            top_k=top_k,
            filter_expression=all_of([condition, NOT_A_PARENT]),
        )

    try:
        hits = ask(mode)
        legs = {mode: hits}
        if mode == "hybrid":
            legs = {"dense": ask("dense"), "sparse": ask("sparse")}
    except SettingError as error:
        if not error.setting.startswith("filter"):
            raise
        raise ConfigError(f"filter {condition!r}: {error.reason}. {error.advice}") from error
    found = {leg: {hit.row["chunk_id"]: hit.score for hit in legs.get(leg, [])} for leg in LEGS}
    return [
        {
            "score": hit.score,
            "scores": {
                **{leg: found[leg].get(hit.row["chunk_id"]) for leg in LEGS},
                "rrf": hit.score if mode == "hybrid" else None,
            },
            **hit.row,
        }
        for hit in hits
    ]


def condition_of(filter_expression: str, where: Sequence[str]) -> str:
    """One expression of a raw one and of `FIELD=VALUE` pairs, whose values cannot break out.

    Pairs of one field are alternatives; different fields must all hold.

    Raises:
        ConfigError: A pair is none, or names no field; or text that no server can carry.
    """
    alternatives: dict[str, list[str]] = {}
    for pair in where:
        field, equal, value = pair.partition("=")
        if not equal:
            raise ConfigError(f"--where {pair!r} is no FIELD=VALUE; write for example page=3.")
        try:
            alternatives.setdefault(field.strip(), []).append(equals(field.strip(), value))
        except ValueError as error:
            raise ConfigError(f"--where {pair}: {error}") from None
    expression = all_of([filter_expression, *map(" or ".join, alternatives.values())])
    try:
        expression.encode()
    except UnicodeEncodeError:
        raise ConfigError("the filter holds bytes that are no UTF-8.") from None
    return expression
