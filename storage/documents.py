"""Parquet of parsed documents, read in bounded memory.

One row per document; SPEC section 2 names the columns. Every spelling of a type that writers use
is accepted (string, large_string, string_view, dictionary; list, large_list; all null), in any
order and with further columns, which are not even fetched.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.ids import canonical_json
from chunking.model import Block, Document
from storage.document_columns import BLOCK_FIELDS, STRING_COLUMNS, checked_paths
from storage.document_rows import Row, checked_id, document_of
from storage.errors import BadDocumentError, BadParquetError
from storage.protocols import ObjectInfo, ObjectStore

STREAM_BYTES = 4 << 20
"""Of each column, fetched at a time."""

MAX_BATCH_ROWS = 64
"""At a time, however small they are on average: the large documents may stand together."""

_block_values = attrgetter(*BLOCK_FIELDS)
_ARROW_ERRORS = (
    pa.ArrowInvalid,
    pa.ArrowKeyError,
    pa.ArrowNotImplementedError,
    pa.ArrowTypeError,
    OSError,  # pyarrow's name for a damaged file
)
_VALUE_ERRORS = (
    ValueError,  # text that is not UTF-8, names that come twice, a zone that nobody knows
    OverflowError,  # a date that Python's years do not reach
    KeyError,  # a zone again
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    rows: int
    decoded_bytes: int
    """Of all columns, like compressed_bytes."""
    compressed_bytes: int
    """The object's size, shared out among its row groups by decoded bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetShape:
    """What the footer tells: enough to plan shards by."""

    row_groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.row_groups)


def read_shape(objects: ObjectStore, info: ObjectInfo) -> ParquetShape:
    """Read the footer only.

    Raises:
        BadParquetError: It is empty, damaged, no Parquet, or not of parsed documents.
        ObjectMissingError, ObjectChangedError: The listed version is not there any more.
    """
    with opened(objects, info) as (file, _):
        return _shape(file, info)


def read_ids(objects: ObjectStore, info: ObjectInfo) -> Iterator[str | None]:
    """The id of every row, in order; None for a row without a usable one.

    Reads that column alone. Raises as `read_documents`.
    """
    with opened(objects, info) as (file, _):
        for batch in file.iter_batches(4096, columns=["document_id"], use_threads=False):
            for row in _rows(batch, 0):
                yield None if isinstance(row, BadDocumentError) else _id_or_none(row)


def read_documents(
    objects: ObjectStore,
    info: ObjectInfo,
    row_groups: range | None = None,
    *,
    batch_bytes: int = 8 << 20,
) -> Iterator[tuple[int, Document | BadDocumentError]]:
    """Every row of these row groups, in order, as a document or as what is wrong with it.

    Args:
        objects: Where it is.
        info: Which version of it.
        row_groups: Consecutive ones, counted from 0; None for all.
        batch_bytes: Decoded bytes held at a time, if documents are of a size; never more than
            `MAX_BATCH_ROWS` documents.

    Yields:
        The row's number within the object, from 0, and its document. `document_of` says what is
        mended, and what stands in for missing values.

    Raises:
        BadParquetError: As `read_shape`, or at the first damaged page.
        ObjectMissingError, ObjectChangedError: At any read.
    """
    with opened(objects, info) as (file, paths):
        groups = _shape(file, info).row_groups
        wanted = range(len(groups)) if row_groups is None else row_groups
        number = sum(group.rows for group in groups[: wanted.start])
        for place in wanted:
            end = number + groups[place].rows
            for batch in file.iter_batches(
                _batch_rows(groups[place], batch_bytes),
                row_groups=[place],
                columns=paths,
                use_threads=False,
            ):
                for row in _rows(batch, number):
                    yield number, _document(row, info.key, number)
                    number += 1
            if number != end:
                raise BadParquetError(info.key, f"row group {place} has not the rows it promises")


def _batch_rows(group: RowGroup, batch_bytes: int) -> int:
    affordable = batch_bytes * group.rows // max(group.decoded_bytes, 1)
    return max(1, min(affordable, MAX_BATCH_ROWS))


def document_hash(document: Document) -> str:
    """SHA-256, in hex, of all that shapes a document's chunks and their payload.

    Equal for equal documents, however their file spelled the types. Warnings do not count.
    """
    content: dict[str, Any] = {
        name: getattr(document, name)
        for name in (*STRING_COLUMNS, "metadata")
        if getattr(document, name)
    }
    if document.blocks is not None:
        content["blocks"] = [_told(block) for block in document.blocks]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _told(block: Block) -> dict[str, Any]:
    """What is known of a block: a new field that nobody fills leaves old hashes alone."""
    values = zip(BLOCK_FIELDS, _block_values(block), strict=True)
    return {name: value for name, value in values if value is not None}


def _document(row: Row | BadDocumentError, key: str, number: int) -> Document | BadDocumentError:
    if isinstance(row, BadDocumentError):
        return row
    try:
        return document_of(row, key=key, number=number)
    except BadDocumentError as error:
        return error
    except UnicodeDecodeError as error:
        return _undecodable(row, number, str(error))


def _rows(batch: pa.RecordBatch, number: int) -> list[Row | BadDocumentError]:
    """The rows as Python values; one with a value that is none in Python is found by halving."""
    try:
        return cast("list[Row | BadDocumentError]", batch.to_pylist())
    except _VALUE_ERRORS:
        if batch.num_rows > 1:
            half = batch.num_rows // 2
            return _rows(batch.slice(0, half), number) + _rows(batch.slice(half), number + half)
    row, faults = {}, {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[0].as_py()
        except _VALUE_ERRORS as error:
            faults[name] = error
    if all(isinstance(error, UnicodeDecodeError) for error in faults.values()):
        return [_undecodable(row, number, ", ".join(faults))]
    told = ", ".join(f"{name} ({_in_one_line(error)})" for name, error in faults.items())
    return [_bad_row(row, f"row {number} cannot be read: {told}")]


def _undecodable(row: Row, number: int, what: str) -> BadDocumentError:
    return _bad_row(row, f"row {number} is not UTF-8: {what}")


def _bad_row(row: Row, reason: str) -> BadDocumentError:
    return BadDocumentError(_id_or_none(row) or "", "read", reason)


def _id_or_none(row: Row) -> str | None:
    try:
        return checked_id(row.get("document_id"), 0)
    except (BadDocumentError, UnicodeDecodeError):
        return None


@contextmanager
def opened(objects: ObjectStore, info: ObjectInfo) -> Iterator[tuple[pq.ParquetFile, list[str]]]:
    """The file and the paths of the leaf columns to read; every fault of Parquet becomes ours."""
    with objects.open(info) as source:
        try:
            file = pq.ParquetFile(
                source,
                pre_buffer=False,  # it would hold whole row groups
                buffer_size=STREAM_BYTES,
                page_checksum_verification=True,
            )
            paths = checked_paths(file, info.key)
        except (*_ARROW_ERRORS, ValueError) as error:
            raise _bad_parquet(info.key, error) from error
        try:
            yield file, paths
        except _ARROW_ERRORS as error:
            raise _bad_parquet(info.key, error) from error


def _bad_parquet(key: str, error: Exception) -> BadParquetError:
    return BadParquetError(key, _in_one_line(error))


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _shape(file: pq.ParquetFile, info: ObjectInfo) -> ParquetShape:
    """Sizes as the row groups tell them.

    Those of single columns would be more exact, but asking for them ends the process when their
    part of the footer is damaged: pyarrow 26 lets the C++ exception escape.
    """
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    if any(group.num_rows < 0 or group.total_byte_size < 0 for group in groups):
        raise BadParquetError(info.key, "its footer is damaged: a size is below zero")
    decoded = max(1, sum(group.total_byte_size for group in groups))
    return ParquetShape(
        row_groups=tuple(
            RowGroup(
                rows=group.num_rows,
                decoded_bytes=group.total_byte_size,
                compressed_bytes=info.size * group.total_byte_size // decoded,
            )
            for group in groups
        )
    )
