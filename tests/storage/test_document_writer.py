"""What is written comes back, and equal documents are equal bytes and hashes."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking.model import BLOCK_KINDS, Block, Document
from storage.document_writer import ROW_GROUP_BYTES, ROW_GROUP_ROWS, DocumentWriter, write_documents
from storage.documents import document_hash, read_ids, read_shape
from storage.errors import BadDocumentError
from storage.local_objects import LocalObjectStore
from tests.storage.parquet_files import read

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def objects(tmp_path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "store")


def test_documents_come_back_as_they_were_written(objects):
    documents = [
        Document(
            document_id="指南 1",
            file_title="Guide",
            source="https://example.org/guide.md",
            item_name="Gateway",
            markdown="# A\n\nText.",
            blocks=(
                Block(kind="heading", text="A", level=1, char_start=2),
                Block(kind="paragraph", text="Text.", heading_path=("A",), page=1, char_start=5),
                Block(
                    kind="turn",
                    text="",
                    speaker="张",
                    ts_start=0.0,
                    ts_end=2.5,
                    bbox=(0, 1, 2, 3.5),
                ),
            ),
            metadata={"n": 1, "list": [1.5, None, {"键": "值"}], "flag": True},
        ),
        Document(document_id="2", file_title="t", source="s", text="plain\r\n\r\ntext"),
        Document(document_id="3", file_title="t", source="s", blocks=()),
    ]

    info = write_documents(objects, "k.parquet", documents)

    assert info == objects.head("k.parquet")
    assert read(objects, info) == documents
    assert list(read_ids(objects, info)) == ["指南 1", "2", "3"]


texts = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"))
blocks = st.builds(
    Block,
    kind=st.sampled_from(sorted(BLOCK_KINDS)),
    text=texts,
    level=st.none() | st.integers(1, 9),
    heading_path=st.none() | st.lists(texts, max_size=3).map(tuple),
    page=st.none() | st.integers(1, 2**31 - 1),
    bbox=st.none() | st.tuples(*[st.floats(0, 1e6)] * 4),
    language=st.none() | texts,
    ts_start=st.none() | st.floats(0, 1e9),
    char_start=st.none() | st.integers(0, 2**40),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
documents = st.builds(
    Document,
    document_id=texts.filter(bool),
    file_title=st.just("title"),
    source=texts.filter(bool),
    item_name=texts,
    blocks=st.none()
    | st.lists(blocks, max_size=3).map(lambda many: (Block(kind="code", text="x"), *many)),
    markdown=st.none() | texts.filter(bool),
    metadata=st.dictionaries(texts, json_values, max_size=3),
)


@given(st.lists(documents, min_size=1, max_size=4))
def test_any_documents_come_back_with_equal_hashes(tmp_path_factory, many):
    objects = LocalObjectStore(tmp_path_factory.mktemp("store"))

    back = read(objects, write_documents(objects, "k", many))

    assert back == many
    assert [document_hash(d) for d in back] == [document_hash(d) for d in many]


def test_equal_documents_are_written_as_equal_bytes_in_any_process(objects):
    code = (
        "import sys; from chunking.model import Block, Document\n"
        "from storage.document_writer import DocumentWriter\n"
        "w = DocumentWriter()\n"
        "for n in range(50): w.add(Document(document_id=f'd{n}', metadata={'b': 1, 'a': {'y': 2}},"
        " blocks=(Block(kind='paragraph', text='文' * n, heading_path=('a', 'b')),)))\n"
        "sys.stdout.buffer.write(w.finish())"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            cwd=PROJECT,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )

    assert first == second
    assert first.startswith(b"PAR1")


def test_row_groups_end_at_a_number_of_rows_or_bytes(objects):
    small = [Document(document_id=str(n), text="x") for n in range(ROW_GROUP_ROWS + 5)]
    half = "y" * (ROW_GROUP_BYTES // 2 + 1)
    large = [Document(document_id=f"h{n}", text=half) for n in range(3)]

    shape = read_shape(objects, write_documents(objects, "k", [*small, *large]))

    assert [group.rows for group in shape.row_groups] == [ROW_GROUP_ROWS, 7, 1]
    assert shape.rows == ROW_GROUP_ROWS + 8
    assert all(group.decoded_bytes > group.compressed_bytes > 0 for group in shape.row_groups)


@pytest.mark.parametrize(
    "document",
    [
        Document(document_id="bad \ud83d", text="x"),
        Document(document_id="bad", text="half \ud83d"),
        Document(document_id="bad", blocks=(Block(kind="code", text="\ude00"),)),
        Document(document_id="bad", metadata={"k": "\ud83d"}),
        Document(document_id="bad", metadata={"k": object()}),
        Document(document_id="bad", blocks=(Block(kind="code", text="", page=2**40),)),
        Document(document_id="", text="x"),
    ],
)
def test_a_document_that_cannot_be_written_leaves_the_others_alone(objects, document):
    writer = DocumentWriter()
    writer.add(Document(document_id="a", text="x"))
    with pytest.raises(BadDocumentError) as refusal:
        writer.add(document)
    writer.add(Document(document_id="b", text="y"))

    assert refusal.value.document_id == document.document_id
    assert writer.documents == 2
    objects.put("k", writer.finish())
    assert list(read_ids(objects, objects.head("k"))) == ["a", "b"]


def test_the_hash_knows_every_field_but_not_the_warnings():
    block = Block(kind="paragraph", text="x")
    document = Document(document_id="d", blocks=(block,))
    others = [
        Document(document_id="e", blocks=(block,)),
        Document(document_id="d", blocks=(block,), file_title="t"),
        Document(document_id="d", blocks=(block,), source="s"),
        Document(document_id="d", blocks=(block,), item_name="i"),
        Document(document_id="d", blocks=(block,), markdown="x"),
        Document(document_id="d", blocks=(block,), text="x"),
        Document(document_id="d", blocks=(block,), metadata={"k": None}),
        Document(document_id="d"),
        Document(document_id="d", blocks=()),
        Document(document_id="d", blocks=(block, block)),
        Document(document_id="d", blocks=(Block(kind="code", text="x"),)),
        Document(document_id="d", blocks=(Block(kind="paragraph", text="x", page=1),)),
        Document(document_id="d", blocks=(Block(kind="paragraph", text="x", slide=1),)),
        Document(document_id="d", blocks=(Block(kind="paragraph", text="x", heading_path=()),)),
    ]

    assert len({document_hash(d) for d in [document, *others]}) == len(others) + 1
    warned = Document(document_id="d", blocks=(block,), warnings=("furniture skipped: 3",))
    assert document_hash(warned) == document_hash(document)


def test_the_hash_is_the_same_for_ever():
    """Another value would have every document of every user chunked again."""
    document = Document(
        document_id="d",
        file_title="标题",
        blocks=(Block(kind="table", text="| a |", bbox=(0.0, 1.0, 2.0, 3.5)),),
        metadata={"b": 1, "a": [None, "x"]},
    )

    told = (
        '{"blocks":[{"bbox":[0.0,1.0,2.0,3.5],"kind":"table","text":"| a |"}],"document_id":"d",'
        '"file_title":"标题","metadata":{"a":[null,"x"],"b":1}}'
    )
    assert document_hash(document) == hashlib.sha256(told.encode()).hexdigest()
