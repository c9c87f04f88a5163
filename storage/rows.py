"""Chunks as rows: what a collection's fields can hold, checked here before any call.

Servers disagree on all of it: Milvus counts bytes where Milvus Lite counts characters, one refuses
a NaN or a key that comes twice and the other takes it. So the strictest rule is held on our side.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from chunking.model import Chunk
from storage.errors import CollectionMismatchError, RowRefusedError
from storage.protocols import RowKey, Vectors

VARCHAR_BYTES: Mapping[str, int] = {
    "chunk_id": 36,
    "document_id": 2_048,
    "source": 4_096,
    "file_title": 4_096,
    "item_name": 4_096,
    "content": 65_535,  # the most that any server takes
    "title": 8_192,
    "parent_title": 8_192,
    "kind": 64,
    "strategy": 64,
    "sheet": 1_024,
    "cell_range": 1_024,
    "speaker": 1_024,
    "parent_id": 36,
    "content_hash": 64,
    "payload_hash": 64,
    "run_id": 256,
    "object_key": 4_096,
}
"""The most that each string field holds, in bytes of UTF-8."""

DISPLAY_FIELDS = frozenset(
    {"source", "file_title", "item_name", "title", "parent_title", "sheet", "cell_range", "speaker"}
)
"""Shown to people: cut at a character border when too long. Every other field is refused."""

HEADING_LEVELS = 64
"""Of `heading_path`: the innermost titles beyond these are dropped."""
HEADING_BYTES = 8_192
"""Of each title in `heading_path`; longer ones are cut."""
JSON_BYTES = 65_536
"""Of `bbox` and `metadata` each, as the servers encode them; more is refused."""

Row = dict[str, Any]

KEY_FIELDS = ("chunk_id", "document_id", "content_hash", "payload_hash", "run_id")


def key_of(row: Mapping[str, Any]) -> RowKey:
    return RowKey(**{name: row[name] for name in KEY_FIELDS})


def rows_of(
    chunks: Sequence[Chunk],
    vectors: Vectors,
    *,
    dim: int,
    collection: str,
    run_id: str,
    object_key: str,
) -> list[Row]:
    """One row per chunk, each of which every server can hold.

    Args:
        chunks: n chunks, no id twice.
        vectors: Shape (n, dim), finite, no row of zeros.
        dim: Of the collection.
        collection: Its name, for the error.
        run_id: Provenance, like object_key.
        object_key: The object that the rows come from.

    Raises:
        ValueError: An id comes twice, or a vector is not usable.
        RowRefusedError: A field that may not be cut is over its limit, or cannot be encoded.
        CollectionMismatchError: The vectors have another length than the collection's.
    """
    _refuse_duplicates(chunks)
    dense = _usable_vectors(vectors, count=len(chunks), dim=dim, collection=collection)
    provenance = {"run_id": run_id, "object_key": object_key}
    return [_row(chunk, vector, provenance) for chunk, vector in zip(chunks, dense, strict=True)]


def check_row(chunk: Chunk, *, run_id: str, object_key: str) -> None:
    """Raise RowRefusedError, as `rows_of` would, for a chunk that no row can hold."""
    _row(chunk, np.empty(0, np.float32), {"run_id": run_id, "object_key": object_key})


def batches(rows: Sequence[Row], request_bytes: int) -> Iterator[list[Row]]:
    """Group rows, in order, into requests of about `request_bytes` at most, one row at least."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        row_size = _size(row)
        if batch and size + row_size > request_bytes:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row_size
    if batch:
        yield batch


def cut(text: str, max_bytes: int) -> str:
    """The longest start of `text` that fits, never half a character."""
    return text.encode()[:max_bytes].decode(errors="ignore")


def _refuse_duplicates(chunks: Sequence[Chunk]) -> None:
    """Milvus up to 2.5 keeps both rows of a key in one request, 2.6 refuses, Lite keeps one."""
    counts = Counter(chunk.chunk_id for chunk in chunks)
    if len(counts) < len(chunks):
        twice = next(chunk_id for chunk_id, count in counts.items() if count > 1)
        raise ValueError(f"chunk id {twice} comes {counts[twice]} times in one upsert")


def _usable_vectors(vectors: Vectors, *, count: int, dim: int, collection: str) -> Vectors:
    if vectors.ndim != 2 or len(vectors) != count:
        raise ValueError(f"vectors of shape {vectors.shape} for {count} chunks")
    if vectors.shape[1] != dim:
        raise CollectionMismatchError(
            collection,
            f"its vectors have {dim} dimensions, those of the embedder {vectors.shape[1]}",
            "Configure the embedder that the collection was built with, or build a new collection.",
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, caught below
        dense = np.ascontiguousarray(vectors, dtype=np.float32)
    bad = ~np.isfinite(dense).all(axis=1) | ~dense.any(axis=1)
    if bad.any():
        raise ValueError(f"vector {int(bad.argmax())} is all zeros or not finite")
    return dense


def _row(chunk: Chunk, vector: Vectors, provenance: Mapping[str, str]) -> Row:
    row: Row = {
        "part": chunk.part,
        "heading_path": _heading_path(chunk),
        "chunk_index": chunk.chunk_index,
        "char_start": chunk.char_start,
        "char_end": chunk.char_end,
        "token_count": chunk.token_count,
        "page": chunk.page,
        "slide": chunk.slide,
        "bbox": _json(chunk, "bbox"),
        "ts_start": chunk.ts_start,
        "ts_end": chunk.ts_end,
        "metadata": _json(chunk, "metadata"),
        "dense": vector,
    }
    for name, limit in VARCHAR_BYTES.items():
        text = provenance[name] if name in provenance else getattr(chunk, name)
        row[name] = _varchar(chunk, name, text, limit)
    return row


def _varchar(chunk: Chunk, name: str, text: str, limit: int) -> str:
    size = _utf8_bytes(chunk, name, text)
    if size <= limit:
        return text
    if name in DISPLAY_FIELDS:
        return cut(text, limit)
    raise _refused(chunk, name, f"it has {size} bytes, the field holds {limit}")


def _heading_path(chunk: Chunk) -> list[str]:
    titles = chunk.heading_path[:HEADING_LEVELS]
    for title in titles:
        _utf8_bytes(chunk, "heading_path", title)
    return [cut(title, HEADING_BYTES) for title in titles]


def _utf8_bytes(chunk: Chunk, name: str, text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise _refused(chunk, name, f"it is no valid Unicode ({error.reason})") from error


def _json(chunk: Chunk, name: str) -> dict[str, Any]:
    """The value as it is, once it is known that pymilvus can encode it (it uses orjson)."""
    value: dict[str, Any] = dict(getattr(chunk, name))
    try:
        size = len(orjson.dumps(value))
    except TypeError as error:  # orjson.JSONEncodeError is one
        raise _refused(chunk, name, f"it cannot be written as JSON ({error})") from error
    if size > JSON_BYTES:
        raise _refused(chunk, name, f"it has {size} bytes as JSON, the field holds {JSON_BYTES}")
    return value


def _refused(chunk: Chunk, name: str, reason: str) -> RowRefusedError:
    return RowRefusedError(chunk.document_id, chunk.chunk_id, name, reason)


def _size(row: Row) -> int:
    """Bytes of a row in a request, near enough: characters of three bytes, numbers of ten."""
    strings = sum(
        len(value) if value.isascii() else 3 * len(value)
        for value in row.values()
        if isinstance(value, str)
    )
    titles = sum(3 * len(title) + 2 for title in row["heading_path"])
    json = len(orjson.dumps(row["metadata"])) + len(orjson.dumps(row["bbox"]))
    return int(row["dense"].nbytes) + strings + titles + json + 100
