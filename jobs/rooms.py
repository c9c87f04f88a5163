"""What a worker carries through the hallway: its order, and the doors it has open."""

from dataclasses import dataclass

from chunking.protocols import Chunker
from jobs.attic import Attic
from storage.lease import Fence
from storage.ledger import Ledger
from storage.protocols import ChatModel, Embedder, Location, VectorStore
from storage.records import ShardPlan
from storage.sentence_vectors import SentenceStore, Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """Opened once per worker process; nothing of it travels."""

    source: Location
    ledger: Ledger
    chunker: Chunker
    embedder: Embedder
    model_key: str
    """Names the model in the paths of staged vectors."""
    chat_model: ChatModel | None
    """Where the chunker asks one."""
    sentences: SentenceStore
    """What a chunker that cuts by vectors was paid for."""
    store: VectorStore
    attic: Attic
    lenders: tuple[VectorStore, ...] = ()
    """Other collections of the same model, whose vectors may be reused."""

    def shelf(self, task: "ShardTask") -> Shelf:
        """Where this attempt keeps the sentences that it pays for."""
        return self.sentences.shelf(
            task.shard.object_key,
            run_id=task.run_id,
            shard=task.shard.number,
            attempt=task.attempt,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTask:
    """One attempt at one shard. Plain values, so that it travels."""

    run_id: str
    shard: ShardPlan
    folder: str
    """Of this shard in the state store."""
    attempt: int
    fence: Fence
    staged: tuple[str, ...] = ()
    """Folders where attempts that never ended, at any shard, may have left what they paid for."""
    attic: str
    """Folder of the vectors of deleted rows."""
    window_bytes: int
    """Of document text in memory at a time."""
    embed_texts: int
    """Texts between two stagings: what a kill can cost at most."""
    careful: bool = False
    """A worker died on this shard: one document at a time, each named before it is touched."""
    poison: tuple[int, ...] = ()
    """Rows that killed a worker; they are set aside."""
