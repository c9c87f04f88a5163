"""What runs in a worker process: open the rooms once, walk a shard, answer in plain values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jobs.attic import Attic
from jobs.chunkers import open_chat_model, open_chunker
from jobs.config import Config
from jobs.docket import Note
from jobs.ingest import ingest_shard
from jobs.rooms import Rooms, ShardTask
from storage.completion_settings import CompletionSettings
from storage.embeddings import EmbeddingSettings, open_embedder
from storage.errors import Fate, StorageError
from storage.ledger import Ledger
from storage.objects import open_location
from storage.protocols import ChatModel, Embedder, VectorStore
from storage.records import ShardResult
from storage.sentence_vectors import SentenceStore
from storage.throttles import Pace, Throttle
from storage.vectors import connect


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What every task of a run shares: enough to open the rooms anywhere."""

    config: str
    """As JSON."""
    milvus_uri: str
    """Of a server: a folder of Milvus Lite is being served there."""
    collection: str
    lenders: tuple[str, ...]
    model: str
    """As the embedder named itself when it was probed."""
    dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error as plain values: foreign exceptions do not all survive the way to the driver."""

    kind: str
    message: str
    fate: Fate

    def __str__(self) -> str:
        return self.message


Outcome = ShardResult | Fault
Model = Literal["embedding", "completion"]
"""The table of the configuration that names it."""
Throttles = Mapping[Model, Throttle]
"""The rates of each, shared by all workers of a run."""


def paces_of(config: Config) -> dict[Model, Pace]:
    """What the configuration says of the rates."""
    models: dict[Model, EmbeddingSettings | CompletionSettings] = {
        "embedding": config.embedding,
        "completion": config.completion,
    }
    return {
        model: Pace(
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            max_pause=settings.max_wait_seconds,
        )
        for model, settings in models.items()
    }


def walk(order: Order, task: ShardTask, note: Note, throttles: Throttles) -> Outcome:
    """One attempt at one shard. Never raises for what the run has to decide about."""
    try:
        return ingest_shard(task, _rooms(order, throttles), note)
    except StorageError as error:
        return Fault(kind=type(error).__name__, message=str(error), fate=error.fate)


def open_rooms(
    order: Order,
    embedder: Embedder,
    chat_model: ChatModel | None,
    store: VectorStore | None = None,
    *,
    is_dry: bool = False,
) -> Rooms:
    """Everything a shard's walk needs, by the configuration; `store` in place of its own.

    A dry one pays no model to find out where to cut.
    """
    config = Config.model_validate_json(order.config)
    database = connect(config.milvus.model_copy(update={"uri": order.milvus_uri}))
    ledger = Ledger(open_location(config.state.uri, config.s3), config.milvus.collection)
    model = model_key(order.model)
    return Rooms(
        source=open_location(config.source.uri, config.s3),
        ledger=ledger,
        chunker=open_chunker(config.chunking, lambda: embedder, chat_model, is_dry=is_dry),
        embedder=embedder,
        model_key=model,
        attic=Attic(ledger.objects),
        chat_model=chat_model,
        sentences=SentenceStore(ledger.objects, ledger.sentences_root(model)),
        store=store or database.open(order.collection),
        lenders=tuple(database.open(name) for name in order.lenders),
    )


def model_key(model: str) -> str:
    """The model's name as a piece of a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model)


_opened: dict[Order, Rooms] = {}
"""Of this process: clients and models do not travel, and cost seconds to open."""


def _rooms(order: Order, throttles: Throttles) -> Rooms:
    if order not in _opened:
        config = Config.model_validate_json(order.config)
        embedder = open_embedder(config.embedding, dim=order.dim, throttle=throttles["embedding"])
        chat_model = open_chat_model(config, throttle=throttles["completion"])
        _opened.clear()  # a worker that outlives a run needs only the present one's
        _opened[order] = open_rooms(order, embedder, chat_model)
    return _opened[order]
