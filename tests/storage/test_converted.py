"""Rows that know what they were made of, encoded in one process and written in another."""

import pickle

import pytest

from chunking.model import Block, Document
from storage.converted import Origin, RowReader, converted_writer, encode, read_stored
from storage.document_writer import ROW_GROUP_BYTES, write_documents
from storage.documents import read_documents, read_shape
from storage.errors import BadParquetError
from storage.local_objects import LocalObjectStore
from storage.protocols import ObjectInfo


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


def document(n: int, *, size: int = 10) -> Document:
    return Document(
        document_id=f"指南/{n}.md",
        file_title=f"Title {n}",
        source=f"docs/{n}.md",
        markdown="x" * size,
        blocks=(Block(kind="paragraph", text="x" * size, heading_path=("a", "b"), page=n + 1),),
        metadata={"n": n},
    )


def origin(n: int) -> Origin:
    return Origin(root="docs", path=f"{n}.md", digest=f"d{n}", warnings=("odd: 1",) * (n % 2))


def written(objects, key, rows) -> ObjectInfo:
    writer = converted_writer()
    for row in rows:
        writer.add_row(row.row, row.size)
    objects.put(key, writer.finish())
    return objects.head(key)


def test_the_job_reads_them_as_any_other_documents(objects):
    documents = [document(n) for n in range(3)]
    info = written(objects, "k", [encode(d, origin(n)) for n, d in enumerate(documents)])

    assert [d for _, d in read_documents(objects, info)] == documents


def test_origins_and_sizes_come_back(objects):
    rows = [encode(document(n), origin(n)) for n in range(3)]

    stored = read_stored(objects, written(objects, "k", rows))

    assert [(s.document_id, s.origin, s.size) for s in stored] == [
        (row.document_id, row.origin, row.size) for row in rows
    ]
    assert [(s.key, s.number) for s in stored] == [("k", 0), ("k", 1), ("k", 2)]


def test_parquet_of_others_is_told_apart(objects):
    assert read_stored(objects, write_documents(objects, "k", [document(1)])) is None
    objects.put("bad", b"no parquet")
    with pytest.raises(BadParquetError):
        read_stored(objects, objects.head("bad"))


def test_a_row_travels_between_processes(objects):
    row = encode(document(1), origin(1))

    there = pickle.loads(pickle.dumps(row))

    assert there == row
    assert written(objects, "a", [row]).size == written(objects, "b", [there]).size
    assert objects.get("a")[0] == objects.get("b")[0]


def test_copied_rows_give_the_same_bytes_as_encoded_ones(objects):
    rows = [encode(document(n, size=ROW_GROUP_BYTES // 5), origin(n)) for n in range(9)]
    info = written(objects, "all", rows)
    assert len(read_shape(objects, info).row_groups) > 2
    stored = read_stored(objects, info)

    reader = RowReader(objects, info)
    copies = [reader.copy(stored[n]) for n in (1, 2, 5, 8)]
    reader.close()

    written(objects, "copied", copies)
    written(objects, "encoded", [rows[n] for n in (1, 2, 5, 8)])
    assert objects.get("copied")[0] == objects.get("encoded")[0]


def test_a_reader_goes_back_when_it_is_asked_to(objects):
    rows = [encode(document(n, size=ROW_GROUP_BYTES), origin(n)) for n in range(3)]
    info = written(objects, "k", rows)
    stored = read_stored(objects, info)

    reader = RowReader(objects, info)
    there = [reader.copy(stored[n]) for n in (2, 0, 1)]
    reader.close()

    assert there == [rows[n] for n in (2, 0, 1)]
