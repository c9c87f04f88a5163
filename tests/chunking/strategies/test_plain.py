"""`fixed`, `sentence`, `recursive`, `markdown`: what is their own."""

from itertools import pairwise

import pytest
import regex

from chunking import Block, Document
from chunking.parsers import parse_markdown
from tests.chunking.strategies.strategies import make
from tests.rules import body_of, count_tokens


def chunks_of(name, text, **options):
    return make(name, **options).chunk(Document(document_id="d", text=text))


def bodies_of(name, text, **options):
    return [body_of(chunk) for chunk in chunks_of(name, text, **options)]


def test_fixed_windows_have_the_size_and_repeat_exactly_the_overlap():
    text = "".join(f"{number:05d}" for number in range(1_000))
    chunks = chunks_of("fixed", text)

    assert {len(chunk.content) for chunk in chunks[:-1]} == {600}
    for first, second in pairwise(chunks):
        assert second.char_start == first.char_end - 90
        assert text[second.char_start : second.char_end] == second.content


def test_fixed_never_cuts_a_grapheme():
    family = "👩‍👩‍👧"
    bodies = bodies_of("fixed", family * 60, size=12, overlap=5)

    assert all(set(regex.findall(r"\X", body)) == {family} for body in bodies)
    assert all(len(body) <= 12 for body in bodies)


def test_fixed_cuts_a_grapheme_only_where_it_does_not_fit_alone():
    zalgo = "a" + "\u0301" * 100
    bodies = bodies_of("fixed", zalgo + "b", size=16, overlap=0)

    assert "".join(bodies) == zalgo + "b"
    assert all(len(body) <= 16 for body in bodies)


@pytest.mark.parametrize("name", ["fixed", "sentence", "recursive"])
def test_sizes_count_the_heading_prefix_too_and_tokens_where_they_are_asked_for(name):
    markdown = "# 很长的标题，它占去地方\n" + "这里有一句话。It has two halves. " * 200
    document = parse_markdown(markdown, document_id="d")

    chars = make(name, size=100, overlap=20).chunk(document)
    assert max(len(chunk.content) for chunk in chars) in range(80, 101)
    tokens = make(name, size=100, overlap=20, unit="tokens").chunk(document)
    assert max(count_tokens(chunk.content) for chunk in tokens) in range(80, 101)
    assert max(len(chunk.content) for chunk in tokens) > 100


@pytest.mark.parametrize("name", ["fixed", "sentence", "recursive"])
def test_the_hard_maximum_of_tokens_holds_beside_sizes_in_characters(name):
    chunks = chunks_of(name, "汉字龘𠮷" * 300, max_tokens=100)

    assert max(chunk.token_count for chunk in chunks) in range(80, 101)


def test_sentence_overlaps_in_whole_sentences():
    sentences = [f"这是第{number:02d}句话，内容不多。" for number in range(60)]
    bodies = bodies_of("sentence", "".join(sentences), size=100, overlap=40)

    for first, second in pairwise(bodies):
        shared = [each for each in sentences if each in first and each in second]
        assert len(shared) == 3
        assert second.startswith("".join(shared))


def test_recursive_takes_the_coarsest_separator_that_is_enough():
    section = "# 一\n" + "字" * 60
    text = f"{section}\n{section}\n\n{'词 ' * 50}\n\n末段。"
    bodies = bodies_of("recursive", text, size=100, overlap=0)

    assert bodies[:2] == [section, section]
    assert bodies[-1] == "末段。"
    assert all(body.endswith("词") for body in bodies[2:-1])


def test_recursive_knows_numbered_headings():
    text = "\n".join(
        f"{n}. 标题\n{n}.1. 小节\n2.{n} 小节\n20{n} 年说明{'文' * 40}" for n in range(9)
    )
    bodies = bodies_of("recursive", text, size=72, overlap=0)

    assert [body[:5] for body in bodies] == [f"{n}. 标题" for n in range(9)]


def test_recursive_separators_are_regular_expressions_of_ones_own():
    bodies = bodies_of("recursive", "a1b22c333d", size=4, overlap=0, separators=[r"\d+", ""])

    assert bodies == ["a1", "b22", "c333", "d"]


def test_recursive_overlaps_in_whole_pieces():
    words = [f"w{number:03d}" for number in range(300)]
    bodies = bodies_of("recursive", " ".join(words), size=100, overlap=20)

    for first, second in pairwise(bodies):
        assert first.split()[-4:] == second.split()[:4]


def test_recursive_never_repeats_a_whole_chunk():
    bodies = bodies_of("recursive", "短的一段。\n\n" + "词语 " * 100, size=100, overlap=20)

    assert bodies[0] == "短的一段。"
    assert not any("短的一段。" in body for body in bodies[1:])


def markdown_chunks(text, **options):
    return make("markdown", **options).chunk(parse_markdown(text, document_id="d"))


def test_markdown_prefixes_the_last_three_breadcrumbs_and_tells_all():
    (chunk,) = markdown_chunks("# A\n## B\n### C\n#### D\n```\n# no heading\n```\n正文")

    assert chunk.content == "[B > C > D]\n```\n# no heading\n```\n\n正文"
    assert chunk.metadata == {
        "section_title": "D",
        "breadcrumbs": ["A", "B", "C", "D"],
        "level": 4,
    }


def test_markdown_keeps_a_section_whole_and_packs_a_longer_one_by_paragraphs():
    texts = [f"{sign * 290}。" for sign in "甲乙丙丁"]
    short, long = (
        markdown_chunks("# A\n" + "\n\n".join(texts[:3])),
        markdown_chunks("# A\n" + "\n\n".join(texts)),
    )

    assert len(short) == 1
    assert [chunk.content.partition("\n")[2] for chunk in long] == [
        "\n\n".join(texts[:2]),
        "\n\n".join(texts[2:]),
    ]


def test_markdown_joins_a_fragment_where_it_still_fits_and_not_across_headings():
    rows = "\n".join(f"| {n} | {'x' * 40} |" for n in range(21))
    chunks = markdown_chunks(f"# A\n见表。\n\n| a | b |\n|---|---|\n{rows}\n\n以上。\n\n# B\n短。")

    assert [chunk.title for chunk in chunks][-1] == "B"
    assert "见表。" not in [body_of(chunk) for chunk in chunks]
    assert all("| a | b |" in chunk.content for chunk in chunks if "xx" in chunk.content)


def test_markdown_overlaps_in_whole_sentences_and_never_repeats_code():
    sentences = "".join(f"第{number:03d}句，说了一件事情。" for number in range(100))
    code = "```\nx = 1\n```"
    bodies = [
        body_of(chunk) for chunk in markdown_chunks(f"# A\n{sentences}\n\n{code}\n\n{sentences}")
    ]

    for first, second in pairwise(bodies):
        start = second[: len("第000句，说了一件事情。")]
        assert start in first or first.endswith(code) or second.startswith(code)
    assert "".join(bodies).count(code) == 1


def test_a_table_is_never_overlap_and_stays_whole_in_the_middle_of_prose():
    table = "| a |\n|---|\n| 1 |"
    blocks = [Block(kind="paragraph", text="前文。" * 200), Block(kind="table", text=table)]
    blocks += [Block(kind="paragraph", text="后文。" * 200)]
    chunks = make("markdown").chunk(Document(document_id="d", blocks=tuple(blocks)))

    assert sum(chunk.content.count(table) for chunk in chunks) == 1
