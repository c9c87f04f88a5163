"""Parquet and JSON files that shards leave in the state store: records, intents, vectors."""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from storage.errors import LedgerDamagedError, ObjectMissingError
from storage.protocols import ObjectStore, Vectors
from storage.records import DocumentRecord, Part

RECORD_SCHEMA = pa.schema(
    [
        ("document_id", pa.string()),
        ("row", pa.int64()),
        ("fate", pa.string()),
        ("document_hash", pa.string()),
        ("chunk_ids", pa.list_(pa.string())),
        ("payload_hashes", pa.list_(pa.string())),
    ]
)
ID_SCHEMA = pa.schema([("document_id", pa.string())])
ROWS_A_BATCH = 8192


class RecordWriter:
    """Collects the records of a shard, window by window, and writes them as one object."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._writer = pq.ParquetWriter(self._buffer, RECORD_SCHEMA, compression="zstd")
        self._rows = 0

    def add(self, records: Sequence[DocumentRecord]) -> None:
        if records:
            rows = [asdict(record) for record in records]
            self._writer.write_table(pa.Table.from_pylist(rows, schema=RECORD_SCHEMA))
            self._rows += len(records)

    def put(self, objects: ObjectStore, key: str, first_row: int) -> Part:
        """Write all that was added; the writer is used up."""
        self._writer.close()
        objects.put(key, self._buffer.getvalue())
        return Part(key=key, first_row=first_row, rows=self._rows)


def read_records(objects: ObjectStore, key: str) -> Iterator[DocumentRecord]:
    """Every record of one part, in row order."""
    for batch in _recorded(objects, key, RECORD_SCHEMA.names):
        for row in batch.to_pylist():
            yield _record(row)


def find_records(
    objects: ObjectStore, parts: Iterable[Part], document_ids: Collection[str]
) -> dict[str, DocumentRecord]:
    """The records of these documents; a later part wins. Memory is bounded by the ids."""
    wanted = pa.array(sorted(document_ids), pa.string())
    found: dict[str, DocumentRecord] = {}
    for part in parts:
        for batch in _recorded(objects, part.key, RECORD_SCHEMA.names):
            hits = batch.filter(pc.is_in(batch.column("document_id"), value_set=wanted))
            for row in hits.to_pylist():
                if row["fate"] != "duplicate":
                    found[row["document_id"]] = _record(row)
    return found


def write_ids(objects: ObjectStore, key: str, document_ids: Sequence[str]) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"document_id": document_ids}, schema=ID_SCHEMA), buffer)
    objects.put(key, buffer.getvalue())


def read_ids_of(objects: ObjectStore, key: str) -> Iterator[str]:
    """The document ids of a part, or of what `write_ids` wrote."""
    for batch in _recorded(objects, key, ["document_id"]):
        yield from batch.column("document_id").to_pylist()


def write_intent(objects: ObjectStore, key: str, rows: Mapping[str, Collection[str]]) -> None:
    """Say, before the first write, which rows of which documents may exist from now on.

    Args:
        objects: The state store.
        key: Of this intent.
        rows: Old and new chunk ids by document id.
    """
    objects.put(key, json.dumps({k: sorted(v) for k, v in rows.items()}).encode())


def read_intents(objects: ObjectStore, folders: Iterable[str]) -> dict[str, set[str]]:
    """All that the intents below these folders name: chunk ids by document id.

    A half-written intent is as good as none: nothing was written to Milvus after it.
    """
    rows: dict[str, set[str]] = {}
    for folder in folders:
        for info in objects.list(f"{folder}/intents/"):
            try:
                intent = json.loads(objects.get(info.key)[0])
            except (ValueError, ObjectMissingError):
                continue
            for document_id, chunk_ids in intent.items():
                rows.setdefault(document_id, set()).update(chunk_ids)
    return rows


def stage_vectors(
    objects: ObjectStore, key: str, content_hashes: Sequence[str], vectors: Vectors
) -> None:
    """Keep what was paid for until its shard is committed, so that no retry pays again.

    Args:
        objects: The state store.
        key: Below the shard's folder, under `vectors/`.
        content_hashes: n hashes; row i of `vectors` is for hash i.
        vectors: Shape (n, dim).
    """
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    table = pa.table(
        {
            "content_hash": pa.array(content_hashes, pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="none")
    objects.put(key, buffer.getvalue())


def staged_vectors(
    objects: ObjectStore, folders: Iterable[str], content_hashes: Collection[str], model: str
) -> dict[str, NDArray[np.float32]]:
    """Of these hashes, those that earlier attempts staged for the same model."""
    found: dict[str, NDArray[np.float32]] = {}
    for folder in folders:
        for info in objects.list(f"{folder}/vectors/{model}/"):
            found |= vectors_at(objects, info.key, content_hashes)
    return found


def vectors_at(
    objects: ObjectStore, key: str, content_hashes: Collection[str]
) -> dict[str, NDArray[np.float32]]:
    """Of these hashes, those that one file of `stage_vectors` holds; none if it was cut off."""
    wanted = pa.array(sorted(content_hashes), pa.string())
    found: dict[str, NDArray[np.float32]] = {}
    try:
        batches = list(_batches(objects, key, ["content_hash", "vector"]))
    except (pa.ArrowInvalid, ObjectMissingError):
        return found  # cut off by a kill
    for batch in batches:
        hits = batch.filter(pc.is_in(batch.column("content_hash"), value_set=wanted))
        dim = hits.schema.field("vector").type.list_size
        matrix = hits.column("vector").flatten().to_numpy().reshape(-1, dim)
        found.update(zip(hits.column("content_hash").to_pylist(), matrix, strict=True))
    return found


def staged_hashes(objects: ObjectStore, key: str) -> list[str]:
    """The content hashes of one file of `stage_vectors`; none if it was cut off."""
    try:
        batches = list(_batches(objects, key, ["content_hash"]))
    except (pa.ArrowInvalid, ObjectMissingError):
        return []
    return [h for batch in batches for h in batch.column("content_hash").to_pylist()]


def drop_staged(objects: ObjectStore, folder: str) -> None:
    """A committed shard needs its staged vectors no more: they are in Milvus."""
    for info in list(objects.list(f"{folder}/vectors/")):
        objects.delete(info.key)


def _recorded(objects: ObjectStore, key: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of what a plan or a catalogue names: it was written whole, before its name was.

    Raises:
        LedgerDamagedError: It is gone, or cannot be read.
    """
    try:
        yield from _batches(objects, key, columns)
    except (pa.ArrowInvalid, OSError, ObjectMissingError) as error:
        gone = isinstance(error, ObjectMissingError)
        raise LedgerDamagedError(
            objects.place,
            key,
            "it is gone" if gone else str(error).partition("\n")[0].rstrip("."),
            "Put it back, or delete the catalogue/ beside runs/: the next run looks at everything "
            "again, and pays for nothing that is in the collection.",
        ) from None


def _batches(objects: ObjectStore, key: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with objects.open(objects.head(key)) as source:
        yield from pq.ParquetFile(source).iter_batches(ROWS_A_BATCH, columns=columns)


def _record(row: Mapping[str, Any]) -> DocumentRecord:
    chunk_ids, payload_hashes = tuple(row["chunk_ids"]), tuple(row["payload_hashes"])
    return DocumentRecord(**{**row, "chunk_ids": chunk_ids, "payload_hashes": payload_hashes})
