"""Small siblings are joined under their parent, by `min_tokens` alone."""

from itertools import pairwise

import pytest

from chunking import Block, Document, StructureAwareChunker
from tests.chunking.structure_chunks import chunks_of, heading, long_text, outline, paragraph


def joined(*blocks, min_tokens=64, max_tokens=256):
    document = Document(document_id="d", file_title="File", blocks=blocks)
    return StructureAwareChunker(max_tokens, 0, min_tokens=min_tokens).chunk(document)


def test_by_default_boundaries_are_sacred():
    assert len(chunks_of(*outline("一", "二"))) == 2


def test_small_siblings_are_joined_under_their_parent_with_their_headings_as_lines():
    (chunk,) = joined(*outline("一", "二"))

    assert chunk.content == "章节：手册\n节0\n一\n\n节1\n二"
    assert (chunk.heading_path, chunk.title) == (("手册",), "手册")


def test_text_right_under_the_parent_joins_its_children():
    blocks = heading("手册"), paragraph("引言"), heading("节", 2), paragraph("一")

    assert [chunk.content for chunk in joined(*blocks)] == ["章节：手册\n引言\n\n节\n一"]


@pytest.mark.parametrize(
    "blocks",
    [
        outline("一", long_text(8)),
        [heading("甲"), paragraph("一"), heading("乙"), paragraph("二")],
        [heading("甲"), paragraph("一", page=1), heading("乙", 2), paragraph("二", page=2)],
        [heading("甲"), paragraph("一"), heading("乙", 2), Block(kind="code", text="x")],
        [heading("甲"), heading("乙", 2), paragraph("一"), heading("丙"), heading("丁", 2),
         paragraph("二")],
        [paragraph("一", heading_path=("甲", "乙", "丙")), paragraph("二", heading_path=("甲",))],
    ],
    ids=["large", "no parent", "page", "code", "other parent", "cousins"],
)  # fmt: skip
def test_what_is_large_or_elsewhere_is_not_joined(blocks):
    assert len(joined(*blocks)) == 2


def test_siblings_are_joined_only_while_the_sum_fits():
    chunks = joined(*outline(*[long_text(3)] * 12), min_tokens=96, max_tokens=128)

    assert 3 < len(chunks) < 12
    sizes = [chunk.token_count for chunk in chunks]
    assert all(size <= 128 < size + other for size, other in pairwise(sizes[:-1]))
    assert {chunk.part for chunk in chunks} == {1}
