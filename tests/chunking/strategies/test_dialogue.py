"""`dialogue`: windows of turns."""

from itertools import pairwise
from pathlib import Path

import pytest

from chunking import Block, Document
from chunking.parsers import parse_file
from tests.chunking.strategies.strategies import make
from tests.rules import body_of

DATA = Path(__file__).parents[4] / "shared" / "data" / "markdown"


def a_dialogue(*turns):
    blocks = [
        Block(kind="turn", speaker=speaker, text=text, ts_start=float(at), ts_end=at + 0.5)
        for at, (speaker, text) in enumerate(turns)
    ]
    return Document(document_id="d", blocks=tuple(blocks))


def chunks_of(*turns, **options):
    return make("dialogue", **options).chunk(a_dialogue(*turns))


def test_windows_hold_ten_turns_of_which_two_stood_before():
    chunks = chunks_of(*[("乙" if n % 2 else "甲", f"第{n}句。") for n in range(30)])

    assert [(c.metadata["first_turn"], c.metadata["last_turn"]) for c in chunks] == [
        (0, 9), (8, 17), (16, 25), (24, 29),
    ]  # fmt: skip
    assert chunks[1].content.split("\n") == [
        f"{'乙' if n % 2 else '甲'}: 第{n}句。" for n in range(8, 18)
    ]
    assert (chunks[1].ts_start, chunks[1].ts_end) == (8.0, 17.5)


def test_speakers_stand_in_the_order_of_their_first_words():
    (chunk,) = chunks_of(("丙", "一"), ("甲", "二"), ("丙", "三"), ("乙", "四"))

    assert chunk.metadata["speakers"] == ["丙", "甲", "乙"]
    assert chunk.speaker == "丙, 甲, 乙"
    assert chunk.kind == "turn"


def test_a_turn_too_long_is_cut_at_sentences_that_each_name_the_speaker_and_stand_alone():
    long = "".join(f"这是第{number:03d}句很长的发言。" for number in range(120))
    chunks = chunks_of(("甲", "开始。"), ("乙", long), ("甲", "结束。"), ("乙", "好的，再见。"))

    first, *pieces, last = chunks
    assert body_of(first) == "甲: 开始。"
    assert body_of(last) == "甲: 结束。\n乙: 好的，再见。"
    assert all(body_of(piece).startswith("乙: 这是第") for piece in pieces)
    assert all(body_of(piece).endswith("。") and len(piece.content) <= 900 for piece in pieces)
    assert "".join(body_of(piece).removeprefix("乙: ") for piece in pieces) == long
    assert {(p.metadata["first_turn"], p.metadata["last_turn"]) for p in pieces} == {(1, 1)}


def test_a_name_that_fills_the_room_is_cut_like_text_and_nothing_is_lost():
    name = "很长的名字" * 30
    chunks = chunks_of((name, "说话。" * 100), max_chars=100)

    assert (
        "".join(body_of(chunk) for chunk in chunks).replace("\n", "") == f"{name}: {'说话。' * 100}"
    )


def test_code_in_a_long_turn_keeps_its_fence_on_lines_of_its_own():
    text = "看这里：\n```py\nx = 1\n```\n" + "然后继续说明。" * 60
    chunks = chunks_of(("甲", text), max_chars=120)

    assert any("甲: 看这里：" in chunk.content for chunk in chunks)
    assert all(chunk.content.count("```") % 2 == 0 for chunk in chunks)
    assert all(chunk.content.startswith("甲:") for chunk in chunks)


def test_c51_real_transcripts_keep_their_turns():
    path = DATA / "transcript_zh_selfmade.txt"
    if not path.exists():
        pytest.skip("the parsers' real files are not beside this checkout")
    (chunk,) = make("dialogue").chunk(parse_file(path, document_id="d"))

    assert chunk.metadata["speakers"] == ["主持人", "工程师甲", "Engineer B", "Unknown"]
    assert (chunk.metadata["first_turn"], chunk.metadata["last_turn"]) == (0, 8)


@pytest.mark.parametrize("overlap", [0, 2])
@pytest.mark.parametrize("longs", [(10, 30, 50), (0, 1, 59), (20, 21, 22), (9, 19, 29)])
def test_c52_no_chunk_is_a_single_turn_of_a_few_letters(overlap, longs):
    turns = [("甲", "嗯。") if n % 2 else ("乙", "好。") for n in range(60)]
    for place in reversed(longs):
        turns.insert(place, ("甲", "我们先看日志再决定怎么处理这件事情，" * 3))
    chunks = chunks_of(*turns, max_tokens=128, max_turns=10, overlap_turns=overlap)

    for chunk in chunks:
        lines = chunk.content.split("\n")
        assert len(lines) <= 10
        assert all(line.startswith(("甲: ", "乙: ")) for line in lines)
        assert len(lines) > 1 or sum(map(str.isalnum, lines[0])) > 4
    for first, second in pairwise(chunks):
        repeated = first.metadata["last_turn"] + 1 - second.metadata["first_turn"]
        assert 0 <= repeated <= overlap or (overlap == 0 and repeated == 0)


def test_a_last_turn_of_a_few_letters_takes_the_one_before_it_over():
    chunks = chunks_of(*[("甲", "嗯。")] * 21, overlap_turns=0)

    assert [c.content.count("嗯") for c in chunks] == [10, 9, 2]
    assert [c.metadata["first_turn"] for c in chunks] == [0, 10, 19]


def test_every_window_has_a_new_turn_even_where_the_overlap_fills_it():
    turns = [("甲", f"{n}" + "字" * 280) for n in range(8)]
    chunks = chunks_of(*turns, max_chars=900, overlap_turns=2)

    lasts = [chunk.metadata["last_turn"] for chunk in chunks]
    assert lasts == sorted(set(lasts))
    assert lasts[-1] == 7


def test_what_is_no_turn_is_cut_by_its_own_rules():
    rows = "\n".join(f"| {n} | {'x' * 20} |" for n in range(60))
    blocks = (
        *a_dialogue(("甲", "看表。")).blocks,
        Block(kind="table", text=f"| a | b |\n|---|---|\n{rows}"),
        *a_dialogue(("乙", "看到了。")).blocks,
    )
    chunks = make("dialogue").chunk(Document(document_id="d", blocks=blocks))

    assert [chunk.kind for chunk in chunks] == ["turn", *["table"] * (len(chunks) - 2), "turn"]
    assert all("| a | b |" in chunk.content for chunk in chunks[1:-1])
    assert chunks[-1].metadata["first_turn"] == 1
