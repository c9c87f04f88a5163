"""Milvus: the collections of a run, and the alias that readers use."""

import re
from typing import Any

from pymilvus.milvus_client import IndexParams

from storage.errors import CollectionMismatchError, SettingError
from storage.milvus_calls import MilvusCalls
from storage.milvus_schema import (
    SPEC_PROPERTY,
    abilities_of,
    encode_spec,
    has_sparse,
    indexes_of,
    read_spec,
    schema_of,
)
from storage.milvus_settings import MilvusSettings
from storage.milvus_store import MilvusStore
from storage.protocols import CollectionSpec, VectorDatabase

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")


def connect(settings: MilvusSettings) -> VectorDatabase:
    """Open a client of a server, or of a Milvus Lite that is being served.

    Raises:
        StoreUnavailableError: Nobody answers within `connect_seconds`.
        AccessRefusedError: The token is wrong or missing.
        SettingError: The address is not that of a Milvus, or the database is not there.
    """
    return MilvusDatabase(MilvusCalls(settings), settings)


class MilvusDatabase:
    """The collections and aliases of one Milvus database."""

    def __init__(self, calls: MilvusCalls, settings: MilvusSettings) -> None:
        self._calls = calls
        self._settings = settings
        self._version: str = calls.ask("its version", calls.client.get_server_version)
        self._abilities = abilities_of(self._version)

    @property
    def version(self) -> str:
        return self._version

    @property
    def has_sparse(self) -> bool:
        return self._abilities.bm25

    def describe(self, collection: str) -> CollectionSpec | None:
        """What a collection, or the one behind an alias, was made with."""
        description = self._description(collection)
        return None if description is None else read_spec(collection, description)

    def create(self, collection: str, spec: CollectionSpec) -> None:
        _check_name(collection)
        if (target := self.alias_target(collection)) is not None:
            raise SettingError(
                "milvus.collection",
                f"{collection} is an alias (of {target}), so no collection can be called that",
                "Choose another name.",
            )
        client, bm25 = self._calls.client, self._abilities.bm25
        existing = self.describe(collection)
        if existing is None:
            self._calls.ask(
                "its creation",
                client.create_collection,
                collection,
                schema=schema_of(spec, analyzer=self._settings.analyzer, bm25=bm25),
                properties={SPEC_PROPERTY: encode_spec(spec)},
                about=collection,
            )
        elif existing != spec:
            raise CollectionMismatchError(
                collection,
                f"it was made with {_as_words(existing)}, the configuration has {_as_words(spec)}",
                "Build a new collection beside it, or set the old configuration again.",
            )
        self._index(collection)
        self._calls.ask("the load", client.load_collection, collection, about=collection)

    def open(self, collection: str) -> MilvusStore:
        description = self._description(collection)
        if description is None:
            raise CollectionMismatchError(
                collection, "there is no such collection", "A run makes it: `kitelift run`."
            )
        store = MilvusStore(
            collection,
            dim=read_spec(collection, description).dim,
            sparse=has_sparse(description),
            abilities=self._abilities,
            calls=self._calls,
            request_bytes=self._settings.request_bytes,
        )
        self._index(collection)  # a creation may have been cut off before it
        store.load()
        return store

    def collections(self) -> list[str]:
        return sorted(self._calls.ask("its collections", self._calls.client.list_collections))

    def drop(self, collection: str) -> None:
        """Remove a collection with its rows; no fault if it is gone already."""
        client = self._calls.client
        if collection not in self.collections():
            return
        aliases = self._calls.ask("its aliases", client.list_aliases, collection)["aliases"]
        if aliases:
            raise SettingError(
                f"collection {collection}",
                f"alias {', '.join(sorted(aliases))} points to it",
                "Move the alias first (`kitelift promote` or `rollback`).",
            )
        self._calls.ask("the drop", client.drop_collection, collection, about=collection)

    def alias_target(self, alias: str) -> str | None:
        client = self._calls.client
        if alias not in self._calls.ask("its aliases", client.list_aliases)["aliases"]:
            return None
        answer = self._calls.ask("the alias", client.describe_alias, alias, about=alias)
        return str(answer["collection_name"])

    def point_alias(self, alias: str, collection: str) -> None:
        _check_name(alias)
        existing = self.collections()
        if alias in existing:
            raise SettingError(
                "milvus.collection",
                f"{alias} is a collection of its own, so no alias can be called that",
                "Choose another name, or rename or drop that collection yourself.",
            )
        if collection not in existing:
            raise CollectionMismatchError(
                collection,
                f"there is no such collection for alias {alias}",
                "Build it first: `kitelift run`.",
            )
        client, target = self._calls.client, self.alias_target(alias)
        if target is None:
            self._calls.ask("the alias", client.create_alias, collection, alias, about=collection)
        elif target != collection:
            self._calls.ask("the alias", client.alter_alias, collection, alias, about=collection)

    def close(self) -> None:
        self._calls.close()

    def _description(self, collection: str) -> dict[str, Any] | None:
        _check_name(collection)
        client = self._calls.client
        if not self._calls.ask("the collection", client.has_collection, collection):
            return None
        answer: dict[str, Any] = self._calls.ask(
            "its schema", client.describe_collection, collection, about=collection
        )
        return answer

    def _index(self, collection: str) -> None:
        """Make the indexes that are not there; no server loads a collection without."""
        client = self._calls.client
        description = self._description(collection) or {"fields": []}
        there = set(self._calls.ask("its indexes", client.list_indexes, collection))
        wanted = indexes_of(self._abilities, sparse=has_sparse(description))
        if missing := IndexParams(index for index in wanted if index.index_name not in there):
            # On an empty collection there is nothing to wait for; the load waits if need be.
            self._calls.ask(
                "its indexes",
                client.create_index,
                collection,
                missing,
                sync=False,
                about=collection,
            )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingError(
            "milvus.collection",
            f"{name!r} is no name for a collection",
            "Use letters, digits and underscores, not a digit first, 255 at most.",
        )


def _as_words(spec: CollectionSpec) -> str:
    return f"dim {spec.dim}, model {spec.model}, fingerprint {spec.fingerprint}"
