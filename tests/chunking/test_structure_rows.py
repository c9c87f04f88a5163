"""What of a row changes with what of its document, and how the chunker is set."""

from dataclasses import asdict, replace

import pytest

import chunking
from chunking import (
    Document,
    StructureAwareChunker,
    StructureAwareMarkdownChunker,
    make_chunker,
)
from tests.chunking.structure_chunks import chunks_of, heading, long_text, outline, paragraph
from tests.rules import count_tokens

# Identity


def test_a_change_of_title_or_metadata_alone_changes_the_payload_hash_alone():
    base = Document(document_id="d", file_title="File", blocks=(paragraph("正文"),))
    (chunk,) = chunks_of(document=base)
    for change in (
        {"file_title": "Other"},
        {"metadata": {"a": 1}},
        {"source": "s"},
        {"item_name": "i"},
        {"blocks": (paragraph("正文", page=2),)},
    ):
        (other,) = chunks_of(document=replace(base, **change))
        assert (other.chunk_id, other.content_hash) == (chunk.chunk_id, chunk.content_hash)
        assert other.payload_hash != chunk.payload_hash


def test_nothing_in_a_row_changes_when_only_a_later_neighbour_does():
    before = chunks_of(*outline("一", "二"))
    after = chunks_of(*outline("一", "三"))

    assert asdict(before[0]) == asdict(after[0])


def test_metadata_stays_with_each_chunk():
    document = Document(document_id="d", metadata={"team": "x"}, blocks=(paragraph("正文"),))

    assert [chunk.metadata for chunk in chunks_of(document=document)] == [{"team": "x"}]


# Settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 15}, "max_tokens=15 must be at least 16"),
        ({"max_tokens": 64, "overlap_tokens": 64}, "overlap_tokens=64 .* max_tokens=64"),
        ({"overlap_tokens": -1}, "overlap_tokens=-1"),
        ({"min_tokens": -1}, "min_tokens=-1"),
        ({"lead_in_tokens": -1}, "lead_in_tokens=-1"),
        ({"lead_in_tokens": "64"}, "lead_in_tokens='64' must be a whole number"),
        ({"max_tokens": 64.5}, "max_tokens=64.5 must be a whole number"),
        ({"min_tokens": True}, "min_tokens=True must be a whole number"),
        (
            {"max_tokens": 64, "overlap_tokens": 0, "min_tokens": 65},
            "min_tokens=65 .* max_tokens=64",
        ),
        ({"label": "a\nb"}, "one line"),
    ],
)
def test_a_setting_out_of_range_is_refused_when_built_with_its_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        StructureAwareChunker(**options)


def test_the_defaults_are_the_contract():
    chunker = StructureAwareChunker()

    assert (chunker.max_tokens, chunker.overlap_tokens) == (512, 64)
    assert chunker.tokenizer_name == "cl100k_base"
    assert chunker.min_tokens == 0
    assert StructureAwareMarkdownChunker is StructureAwareChunker


def test_a_strategy_is_made_by_its_name_and_its_options_are_checked():
    assert make_chunker("structure", max_tokens=128) == StructureAwareChunker(max_tokens=128)
    with pytest.raises(ValueError, match="'size' is no option of the strategy 'structure'"):
        make_chunker("structure", size=3)
    with pytest.raises(ValueError, match="strategy='nonsense' must be one of structure"):
        make_chunker("nonsense")


def test_what_is_public_is_exported():
    for name in chunking.__all__:
        assert getattr(chunking, name)


def test_a_document_with_markdown_and_no_blocks_is_parsed_first():
    document = Document(document_id="d", markdown="# 甲\n\n一")

    assert [chunk.content for chunk in StructureAwareChunker().chunk(document)] == ["章节：甲\n一"]


def test_a_document_without_anything_gives_no_chunk():
    assert StructureAwareChunker().chunk(Document(document_id="d")) == []
    assert StructureAwareChunker().chunk(Document(document_id="d", text="\u200b \n")) == []


def test_the_budget_holds_the_prefix_too():
    for chunk in chunks_of(heading("标题"), paragraph(long_text()), max_tokens=48):
        assert chunk.content.startswith("章节：标题\n")
        assert count_tokens(chunk.content) <= 48
