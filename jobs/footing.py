"""On what a run stands: the model as it answers, the collection it means, what that holds."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from chunking.ids import canonical_json
from chunking.protocols import Chunker
from jobs.catalogue import Folded, fold_open_runs
from jobs.chunkers import open_chat_model
from jobs.config import Config, check_chat_model
from jobs.plan import Scope
from jobs.worker import Order
from storage.embeddings import Probe, open_embedder, probe
from storage.errors import CollectionMismatchError, SettingError
from storage.ledger import Ledger
from storage.milvus_lite import reachable
from storage.milvus_schema import SCHEMA_VERSION
from storage.objects import open_location
from storage.protocols import CollectionSpec, Embedder, Location, VectorDatabase
from storage.records import Catalogue
from storage.vectors import connect


@dataclass(frozen=True, slots=True, kw_only=True)
class Footing:
    """Everything that was found out before a run decides what to do."""

    source: Location
    ledger: Ledger
    database: VectorDatabase
    embedder: Embedder
    probe: Probe
    spec: CollectionSpec
    order: Order
    folded: Folded
    catalogue_etag: str
    lacks_rows: bool
    """The collection has fewer rows than the ledger knows of: nothing on record is believed."""

    @property
    def collection(self) -> str:
        return self.order.collection

    def widened(self, scope: Scope) -> Scope:
        """What to look at, when the records cannot be believed: each document again."""
        return replace(scope, full=True) if self.lacks_rows else scope


@contextmanager
def stand(config: Config, tell: Callable[[str], None] = lambda _: None) -> Iterator[Footing]:
    """Probe the model, reach Milvus, read the ledger. Writes nothing.

    Raises:
        StorageError: What every document would meet: credentials, a store that does not answer,
            a model that changed behind its name, an alias that is a collection.
    """
    alias = config.milvus.collection
    source = open_location(config.source.uri, config.s3)
    ledger = Ledger(open_location(config.state.uri, config.s3), alias)
    open_chat_model(config)  # asks nothing: what is wrong with its settings is told now
    embedder = open_embedder(config.embedding)
    probed = probe(embedder)
    tell(f"{probed.name} answers with {probed.dim} dimensions")
    mark = fingerprint(config, config.chunking.open(), model=probed.name, dim=probed.dim)
    collection = f"{alias}_{mark}"
    spec = CollectionSpec(dim=probed.dim, fingerprint=mark, model=probed.name)
    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            tell(f"Milvus {database.version} at {config.milvus.uri}, collection {collection}")
            held, lenders = _look(database, alias, collection, spec)
            catalogue, etag = ledger.catalogue(mark)
            _same_model(probed, catalogue, collection)
            folded = fold_open_runs(ledger, catalogue)
            lacks_rows = not _holds(database, folded.catalogue, collection, held=held)
            if lacks_rows:
                tell(f"{collection} lacks rows that the ledger knows of: all is looked at again")
            if not held:  # nothing is there that a record could be of
                folded = replace(folded, catalogue=replace(catalogue, entries=()))
            yield Footing(
                source=source,
                ledger=ledger,
                database=database,
                embedder=embedder,
                probe=probed,
                spec=spec,
                order=Order(
                    config=absolute(config).model_dump_json(by_alias=True),
                    milvus_uri=milvus.uri,
                    collection=collection,
                    lenders=lenders,
                    model=probed.name,
                    dim=probed.dim,
                ),
                folded=folded,
                catalogue_etag=etag,
                lacks_rows=lacks_rows,
            )
        finally:
            database.close()


def fingerprint(config: Config, chunker: Chunker, *, model: str, dim: int) -> str:
    """Short hash of every setting that shapes the rows: another one means another collection."""
    shaping = {
        "chunking": dict(chunker.settings),
        "embedding": {**config.embedding.shaping, "name": model, "dim": dim},
        **({"completion": config.completion.shaping} if check_chat_model(config) else {}),
        "schema": {"version": SCHEMA_VERSION, "analyzer": config.milvus.analyzer},
    }
    return hashlib.sha256(canonical_json(shaping)).hexdigest()[:12]


def absolute(config: Config) -> Config:
    """Folders by their whole path: a worker's working directory may be another one."""
    changes = {
        name: section.model_copy(update={"uri": str(Path(section.uri).expanduser().absolute())})
        for name, section in (("source", config.source), ("state", config.state))
        if "://" not in section.uri
    }
    return config.model_copy(update=changes)


def _look(
    database: VectorDatabase, alias: str, collection: str, spec: CollectionSpec
) -> tuple[bool, tuple[str, ...]]:
    """Whether the collection is there, and which others can lend vectors.

    Raises:
        CollectionMismatchError: The alias' name is a collection's, or ours differs from `spec`.
    """
    if alias in database.collections():
        raise CollectionMismatchError(
            alias,
            "it is a collection, and the alias that readers use would need its name",
            "Choose another [milvus].collection, or rename or drop that collection yourself.",
        )
    there = database.describe(collection)
    if there is not None and there != spec:
        raise CollectionMismatchError(
            collection,
            f"it was made for {there.model} with {there.dim} dimensions, the configuration gives "
            f"{spec.model} with {spec.dim}",
            "Set the configuration right, or drop the collection yourself.",
        )
    target = database.alias_target(alias)
    if target is None or target == collection:
        return there is not None, ()
    other = database.describe(target)
    lends = other is not None and (other.model, other.dim) == (spec.model, spec.dim)
    return there is not None, (target,) if lends else ()


def _same_model(probed: Probe, catalogue: Catalogue, collection: str) -> None:
    earlier = np.array(catalogue.canary, dtype=np.float32)
    if catalogue.canary and not probed.is_same_model(earlier):
        raise SettingError(
            "embedding.model",
            f"{probed.name} answers the canary text otherwise than when {collection} was begun: "
            "another model stands behind the same name",
            "Name the new model (or its revision) in the configuration: it gets a collection of "
            "its own.",
        )


def _holds(database: VectorDatabase, catalogue: Catalogue, collection: str, *, held: bool) -> bool:
    """Whether the collection has at least the rows that finished objects stand for."""
    expected = sum(entry.chunks for entry in catalogue.entries if entry.clean)
    return not expected or (held and database.open(collection).count() >= expected)
