"""CASES C and D for every strategy that they concern."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chunking import Block, Document, make_chunker
from chunking.parsers import parse_markdown
from chunking.strategies import STRATEGIES, needs_of
from tests.chunking.strategies.strategies import ALL, PLAIN, make
from tests.rules import body_of, chunk_by_the_rules

PROJECT = Path(__file__).parents[3]
FURTHER = [name for name in ALL if name != "structure"]
BY_SENTENCE = [name for name in FURTHER if name not in {"fixed", "recursive", "dialogue"}]
QUOTES = "值班同事说：“先看日志。”随后重启！“真的？！”他问。（见附录。）《摔跤吧！爸爸》上映。"


def paragraphs(*texts, **fields):
    blocks = tuple(Block(kind="paragraph", text=text, **fields) for text in texts)
    return Document(document_id="d", blocks=blocks)


def chunks_of(name, document, max_tokens=8_191, **options):
    return chunk_by_the_rules(
        make(name, max_tokens=max_tokens, **options),
        document,
        max_tokens=max_tokens,
        overlap=1,
        mixed=True,
        fences=name not in PLAIN,
    )


@pytest.mark.parametrize("name", BY_SENTENCE)
def test_c34_closing_quotes_stay_and_titles_are_whole(name):
    chunks = chunks_of(name, paragraphs(QUOTES * 6), max_tokens=24)

    bodies = [body_of(chunk) for chunk in chunks]
    assert not [body for body in bodies if body[0] in "”’」』）】》"]
    assert all(any(map(str.isalnum, body)) for body in bodies)
    assert not [body for body in bodies if body.endswith("？") or body.startswith("！")]
    for body in bodies:
        assert body.count("《摔跤吧！爸爸》") == body.count("摔跤") == body.count("爸爸")


@pytest.mark.parametrize("name", BY_SENTENCE)
def test_c35_abbreviations_numbers_and_urls_are_whole(name):
    text = "See e.g. v3.14 at https://a.example/x?y=1.z now. Dr. Smith agreed. 价格3.14元。"
    chunks = chunks_of(name, paragraphs(text * 30), max_tokens=64)

    for chunk in chunks:
        body = body_of(chunk)
        for whole, part in [("e.g. v3.14 at https://a.example/x?y=1.z", "a.example"),
                            ("Dr. Smith", "Smith"), ("3.14元", "14元")]:  # fmt: skip
            assert body.count(whole) == body.count(part)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("fixed", {"size": 64, "overlap": 64}, "overlap=64.*size=64"),
        ("fixed", {"size": 64, "overlap": 80}, "overlap=80.*size=64"),
        ("sentence", {"size": 64, "overlap": -1}, "overlap=-1.*size=64"),
        ("recursive", {"size": 0, "overlap": 0}, "size=0 must be at least 1"),
        ("recursive", {"size": 700.5}, "size=700.5 must be a whole number"),
        ("recursive", {"separators": ["("]}, r"separators: '\('"),
        ("markdown", {"size": 300, "min_chunk": 301}, "min_chunk=301.*size=300"),
        ("markdown", {"overlap_ratio": 1}, "overlap_ratio=1"),
        ("title", {"size": 1_200}, "size=1200.*max_size=1000"),
        ("title", {"min_size": 1_001}, "min_size=1001.*max_size=1000"),
        ("title", {"overlap": 600}, "overlap=600.*size=600"),
        ("dialogue", {"max_turns": 2, "overlap_turns": 2}, "overlap_turns=2.*max_turns=2"),
        ("semantic", {"min_chars": 1_101}, "min_chars=1101.*max_chars=1100"),
        ("semantic", {"overlap": 1_100}, "overlap=1100.*max_chars=1100"),
        ("semantic", {"lambda_std": float("nan")}, "lambda_std=nan"),
        ("topic", {"k_topics": 0}, "k_topics=0"),
        ("parent_child", {"child_size": 2_049}, "child_size=2049.*parent_size=2048"),
        ("llm", {"min_size": 1_001}, "min_size=1001.*max_size=1000"),
        ("hybrid", {"target_len": 1_101}, "target_len=1101.*max_coarse_len=1100"),
        ("hybrid", {"min_chunk_len": 751}, "min_chunk_len=751.*target_len=750"),
        ("fixed", {"max_tokens": 15}, "max_tokens=15 must be at least 16"),
        ("fixed", {"unit": "words"}, "unit='words' must be one of chars, tokens"),
        ("fixed", {"label": "a\nb"}, "label"),
        ("fixed", {"sentence_splitter": "magic"}, "sentence_splitter='magic'"),
        ("fixed", {"overlap_tokens": 1}, "'overlap_tokens' is no option.*it has size, overlap"),
        ("best", {}, "strategy='best' must be one of structure, fixed"),
    ],
)  # fmt: skip
def test_c42_what_cannot_work_is_refused_when_built_and_named(name, options, words):
    handed = dict.fromkeys(needs_of(name) if name in ALL else (), print)

    with pytest.raises(ValueError, match=words):
        make_chunker(name, **handed, **options)


def test_a_chat_model_must_be_handed_in_and_is_asked_for_by_name():
    with pytest.raises(ValueError, match="'llm' needs complete"):
        make_chunker("llm")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fixed", {"size": 64, "overlap": 0}),
        ("sentence", {"size": 64, "overlap": 0}),
        ("recursive", {"size": 64, "overlap": 0}),
        ("markdown", {"size": 64, "min_chunk": 20, "overlap_ratio": 0}),
        ("title", {"max_size": 100, "size": 64, "min_size": 40, "overlap": 0}),
        ("semantic", {"min_chars": 20, "max_chars": 64, "overlap": 0}),
        ("topic", {"min_chars": 20, "max_chars": 64}),
        ("parent_child", {"parent_size": 64, "child_size": 32}),
        ("llm", {"min_size": 20, "max_size": 64}),
        ("hybrid", {"max_coarse_len": 90, "target_len": 64, "min_chunk_len": 9,
                    "overlap_ratio": 0}),
    ],
)  # fmt: skip
def test_c42_without_overlap_the_bodies_are_the_input(name, options):
    text = "".join(f"第{number}句话说了一点事情。" for number in range(30))
    chunks = make(name, **options).chunk(paragraphs(text))

    assert "".join(body_of(chunk) for chunk in chunks) == text
    assert len(chunks) > 3


@pytest.mark.parametrize("name", ["sentence", "recursive"])
def test_c44_an_overlap_that_does_not_fit_gives_way_to_the_unit(name):
    long, short = "长" * 118 + "。", "短" * 28 + "。"
    text = f"{short}\n{long}\n{short}"
    chunks = chunks_of(name, paragraphs(text), size=128, overlap=32)

    assert [body_of(chunk) for chunk in chunks] == [short, long, short]


@pytest.mark.parametrize("name", ["sentence", "recursive"])
def test_c44_an_exactly_full_chunk_still_lends_its_last_unit(name):
    first, second, third = "甲" * 98 + "。\n", "乙" * 26 + "。\n", "丙" * 58 + "。"
    chunks = chunks_of(name, paragraphs(first + second + third), size=127, overlap=32)

    assert [body_of(chunk) for chunk in chunks] == [(first + second).rstrip(), second + third]


def test_c44_a_single_sentence_longer_than_the_overlap_is_left_out():
    sentences = [sign * 99 + "。" for sign in "甲乙丙丁"]
    chunks = chunks_of("sentence", paragraphs("".join(sentences)), size=200, overlap=90)

    assert [body_of(chunk) for chunk in chunks] == ["".join(sentences[:2]), "".join(sentences[2:])]


PROGRAM = """
import hashlib
from chunking import Block, Document
from chunking.ids import canonical_json
from dataclasses import asdict
from tests.chunking.strategies.strategies import ALL, make

turns = [Block(kind="turn", text=f"第{n}轮，说到这里。", speaker="乙甲丙"[n % 3]) for n in range(9)]
prose = [Block(kind="paragraph", text="一个话题的句子。另一件事情。" * 90)]
others = [Document(document_id=f"o{n}", blocks=tuple(prose)) for n in range({others})]
document = Document(document_id="d", blocks=(*turns, *prose, *turns[:3]))
digest = hashlib.sha256()
for name in ALL:
    chunker = make(name)
    for other in others:
        chunker.chunk(other)
    digest.update(canonical_json([asdict(chunk) for chunk in chunker.chunk(document)]))
print(digest.hexdigest())
"""


def test_c46_every_strategy_gives_the_same_in_every_process_alone_and_among_others():
    digests = set()
    for seed, others in [("0", 0), ("1", 1), ("random", 2)]:
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM.replace("{others}", str(others))],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)},
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout)

    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2


@pytest.mark.parametrize("name", ALL)
def test_c48_equal_texts_on_other_pages_are_chunks_of_their_own(name):
    blocks = [Block(kind="paragraph", text="同上。", page=page) for page in (1, 2, 3)]
    documents = [Document(document_id=each, blocks=tuple(blocks)) for each in "ab"]
    chunks = [chunk for document in documents for chunk in chunks_of(name, document)]

    assert [chunk.page for chunk in chunks] == [1, 2, 3] * 2
    assert len({chunk.chunk_id for chunk in chunks}) == 6


@pytest.mark.parametrize("name", [name for name in FURTHER if name not in PLAIN])
def test_c49_items_of_nested_lists_are_whole_while_they_fit(name):
    text = "1. 甲\n   - 乙\n     1. 丙\n\n     续段\n2. 丁\n"
    document = parse_markdown(text * 20, document_id="d")
    chunks = chunks_of(name, document, max_tokens=64)

    for chunk in chunks:
        lines = body_of(chunk).split("\n")
        for line in filter(str.strip, lines):
            assert re.fullmatch(r"1\. 甲| *- 乙| *1\. 丙| *续段|\d+\. 丁", line), line


@pytest.mark.parametrize("name", FURTHER)
def test_c53_every_sentence_survives_a_full_buffer(name):
    english = [f"Sentence {n:03d} ends here." for n in range(20)]
    chinese = [f"第{n:03d}句到此为止。" for n in range(40)]
    texts = [
        " ".join(english[:8]),
        "".join(chinese[:30]),
        " ".join(english[8:17]),
        "".join(chinese[30:]) + " ".join(english[17:]),
    ]
    chunks = chunks_of(name, paragraphs(*texts))

    content = "\n".join(body_of(chunk) for chunk in chunks)
    if name not in {"fixed", "recursive"}:
        assert all(sentence in content for sentence in english + chinese)
    assert not re.search(r"[a-z]\.[A-Z]", content)


@pytest.mark.parametrize("name", ALL)
def test_no_chunk_mixes_pages_or_headings(name):
    blocks = [
        Block(kind="paragraph", text=f"标题{h}第{p}页。", heading_path=(f"H{h}",), page=p)
        for h, p in [(1, 1), (1, 2), (2, 2), (2, 2), (3, 3)]
    ]
    chunks = chunks_of(name, Document(document_id="d", blocks=tuple(blocks)))

    assert [(chunk.heading_path, chunk.page) for chunk in chunks] == [
        (("H1",), 1), (("H1",), 2), (("H2",), 2), (("H3",), 3),
    ]  # fmt: skip
    assert not any(re.search(rf"H{h}", body_of(chunk)) for chunk in chunks for h in (1, 2, 3))


@pytest.mark.parametrize("name", [name for name in FURTHER if name not in {"topic", "semantic"}])
@pytest.mark.parametrize("text", ["A" * 1_000_000, "汉" * 300_000, "a b, " * 200_000])
@pytest.mark.timeout(90)  # of the machine at its busiest; alone it is a few seconds
def test_c36_a_line_without_end_is_cut_in_good_time(name, text):
    chunks = make(name).chunk(Document(document_id="d", text=text))

    assert sum(len(body_of(chunk)) for chunk in chunks) >= 0.8 * len(text)


@pytest.mark.parametrize("name", FURTHER)
def test_settings_tell_all_that_shapes_the_chunks_and_nothing_handed_in(name):
    settings = make(name, max_tokens=500, unit="tokens").settings

    assert settings["strategy"] == name
    assert settings["version"] == STRATEGIES[name].VERSION >= 1
    assert (settings["max_tokens"], settings["unit"]) == (500, "tokens")
    assert not {"embed", "complete"} & set(settings)
    assert all(isinstance(value, str | int | float | list) for value in settings.values())
