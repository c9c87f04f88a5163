"""Parquet of parsed documents damaged, huge, or changed while it is read."""

import io
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chunking.model import Block, Document
from storage.document_writer import SCHEMA, DocumentWriter
from storage.documents import read_documents, read_ids, read_shape
from storage.errors import (
    BadParquetError,
    ObjectChangedError,
    ObjectMissingError,
    StoreUnavailableError,
)
from storage.local_objects import LocalObjectStore, _PinnedFile
from storage.protocols import ObjectInfo
from storage.s3_objects import S3ObjectStore
from tests.storage.parquet_files import BLOCK, TABLE, put, read

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


# Bad objects


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"id": ["a"], "text": ["x"]}, "no column document_id, only id, text"),
        ({"document_id": ["a"], "body": ["x"]}, "none of blocks, markdown, text"),
        ({"document_id": [1], "text": ["x"]}, "document_id is int64, not string"),
        ({"document_id": ["a"], "text": [1.5]}, "text is double, not string"),
        (
            {"document_id": ["a"], "blocks": [[1]]},
            "blocks is list.*not a list of structs with kind",
        ),
        ({"document_id": ["a"], "blocks": [[{"text": "x"}]]}, "not a list of structs with kind"),
        ({"document_id": ["a"], "text": ["x"], "metadata": [1]}, "metadata is int64, not a map"),
    ],
)
def test_a_file_of_something_else_is_refused_by_name(objects, table, reason):
    info = put(objects, pa.table(table))

    for call in (read_shape, lambda *a: list(read_ids(*a)), lambda *a: list(read_documents(*a))):
        with pytest.raises(BadParquetError, match=f"报告 1.parquet.*{reason}"):
            call(objects, info)


def test_a_column_that_comes_twice_is_refused(objects):
    table = pa.table([["a"], ["x"], ["y"]], names=["document_id", "text", "text"])

    with pytest.raises(BadParquetError, match="the column text twice"):
        read_shape(objects, put(objects, table))


@pytest.mark.parametrize(
    "data", [b"", b"P", b"PAR1", b"# Markdown\n" * 10, b"PAR1\0\0\0\0\xff\xff\xff\x7fPAR1"]
)
def test_a_file_that_is_no_parquet_is_refused(objects, data):
    objects.put("k.parquet", data)

    with pytest.raises(BadParquetError, match=r"k\.parquet cannot be read"):
        read_shape(objects, objects.head("k.parquet"))


def test_no_damage_ends_in_anything_but_a_bad_object(objects):
    """Bits that flipped, and files that were cut: no foreign error, no crash, no wrong count."""
    whole = damaged_base()
    dice = random.Random(7)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        if dice.random() < 0.2:
            del data[dice.randrange(len(data)) :]
        for _ in range(dice.choice((1, 1, 8)) if len(data) == len(whole) else 0):
            data[dice.randrange(len(data))] = dice.randrange(256)
        objects.put("k", bytes(data))
        info = objects.head("k")
        try:
            rows = read_shape(objects, info).rows
            assert len(list(read_documents(objects, info))) == rows
        except BadParquetError:
            refused += 1
    assert 200 < refused < 300


def test_damaged_pages_never_give_another_text(objects):
    whole = damaged_base()
    objects.put("k", whole)
    expected = read(objects, objects.head("k"))
    end_of_pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for place in range(4, end_of_pages, 29):
        data = bytearray(whole)
        data[place] ^= 0x11
        objects.put("k", bytes(data))
        try:
            assert read(objects, objects.head("k")) == expected
        except BadParquetError:
            refused += 1
    assert refused > 0.5 * (end_of_pages - 4) / 29


def damaged_base() -> bytes:
    writer = DocumentWriter()
    letters = random.Random(3)
    for n in range(20):
        text = "".join(letters.choices("abcdefgh 文字", k=200))
        writer.add(Document(document_id=f"d{n}", blocks=(Block(kind="code", text=text),)))
    return writer.finish()


# No rows (CASES C108)


@pytest.mark.parametrize("row_groups", [0, 1])
def test_a_file_without_rows_gives_no_documents(objects, row_groups):
    file = io.BytesIO()
    with pq.ParquetWriter(file, SCHEMA) as writer:
        for _ in range(row_groups):
            writer.write_table(SCHEMA.empty_table())
    objects.put("k", file.getvalue())
    info = objects.head("k")

    assert read_shape(objects, info).rows == 0
    assert list(read_documents(objects, info)) == []
    assert list(read_ids(objects, info)) == []


# Row groups and memory


def test_row_groups_are_read_apart_and_rows_keep_their_numbers(objects):
    ids = [f"d{n}" for n in range(10)]
    info = put(objects, pa.table({"document_id": ids, "text": ids}), row_group_size=4)

    assert [group.rows for group in read_shape(objects, info).row_groups] == [4, 4, 2]
    parts = [
        [(n, d.document_id) for n, d in read_documents(objects, info, groups)]
        for groups in (range(1), range(1, 3), range(3, 3))
    ]
    assert parts[0] + parts[1] == list(enumerate(ids))
    assert parts[2] == []


def test_small_batches_give_the_same_documents(objects):
    info = put(objects, TABLE)

    assert read(objects, info, batch_bytes=1) == read(objects, info)


def test_columns_that_nobody_needs_are_not_fetched(objects, monkeypatch):
    junk = [random.Random(n).randbytes(200_000) for n in range(10)]
    blocks = [[{"kind": "code", "text": "x", "junk": cell}] for cell in junk]
    table = pa.table({"document_id": list("abcdefghij"), "blocks": blocks, "vector": junk})
    info = put(objects, table, compression="none", use_dictionary=False)
    assert info.size > 4_000_000
    fetched = 0
    readinto = _PinnedFile.readinto

    def counted(file: _PinnedFile, buffer: memoryview) -> int:
        nonlocal fetched
        count = readinto(file, buffer)
        fetched += count
        return count

    monkeypatch.setattr(_PinnedFile, "readinto", counted)

    assert len(read(objects, info)) == 10
    assert fetched < 1_500_000


PEAK = """
import sys
from pathlib import Path
from storage.documents import read_documents
from storage.local_objects import LocalObjectStore, _PinnedFile
objects = LocalObjectStore(Path(sys.argv[1]))
def peak():  # ru_maxrss would be that of the parent process, from before exec
    (line,) = [l for l in open("/proc/self/status") if l.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
start = peak()
ids = [d.document_id for _, d in read_documents(objects, objects.head("big.parquet"))]
print(len(ids), len(set(ids)), peak() - start)
"""


def test_a_huge_row_group_is_read_in_bounded_memory(objects):
    """CASES C110: 4,000 documents of 100 KB in one row group."""
    write_huge_row_group(Path(objects.place) / "big.parquet")

    reader = subprocess.run(
        [sys.executable, "-c", PEAK, objects.place],
        check=True,
        capture_output=True,
        text=True,
        cwd=PROJECT,
    )

    rows, distinct, megabytes = map(int, reader.stdout.split())
    assert (rows, distinct) == (4000, 4000)
    assert megabytes < 300


def write_huge_row_group(path: Path) -> None:
    """Barely compressible letters, so that the file is as large as what it holds."""
    path.parent.mkdir(parents=True)
    letters = random.Random(1).randbytes(200_000).hex()
    blocks = [{"kind": "paragraph", "text": letters[n * 1000 :][:10_000]} for n in range(390)]
    cells = [[blocks[(n + m) % 390] for m in range(10)] for n in range(4000)]
    table = pa.table(
        {
            "document_id": [f"d{n}" for n in range(4000)],
            "blocks": pa.array(cells, pa.list_(BLOCK)),
        }
    )
    pq.write_table(table, path, row_group_size=4000, compression="none", use_dictionary=False)


# Objects that change (CASES C112)


def test_an_object_overwritten_while_it_is_read_gives_no_mixture(objects):
    ids = [f"d{n}" for n in range(4000)]
    old = pa.table({"document_id": ids, "text": [random.Random(1).randbytes(500).hex()] * 4000})
    info = put(objects, old, row_group_size=100, use_dictionary=False, compression="none")
    rows = read_documents(objects, info)
    next(rows)

    put(objects, pa.table({"document_id": ids, "text": ["new"] * 4000}))

    with pytest.raises(ObjectChangedError, match="overwritten"):
        list(rows)
    with pytest.raises(ObjectChangedError):
        read_shape(objects, info)


def test_an_object_deleted_after_the_listing_is_missing_and_not_damaged(objects):
    info = put(objects, TABLE)
    objects.delete(info.key)

    for call in (read_shape, lambda *a: list(read_ids(*a)), lambda *a: list(read_documents(*a))):
        with pytest.raises(ObjectMissingError):
            call(objects, info)


def test_a_store_that_fails_in_the_middle_is_no_damaged_file(objects, monkeypatch):
    info = put(objects, TABLE)
    monkeypatch.setattr(LocalObjectStore, "check", _unavailable)

    with pytest.raises(StoreUnavailableError):
        read_shape(objects, info)


def _unavailable(store: LocalObjectStore, info: ObjectInfo) -> None:
    raise StoreUnavailableError("S3", "host", "gone")


@pytest.mark.server
def test_documents_are_read_from_s3_as_from_a_folder(objects, s3_bucket, s3_settings):
    bucket = S3ObjectStore(s3_bucket, s3_settings)

    assert read(bucket, put(bucket, TABLE)) == read(objects, put(objects, TABLE))
    assert list(read_ids(bucket, put(bucket, TABLE))) == ["a", "b", "c"]
