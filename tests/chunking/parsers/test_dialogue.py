"""Transcripts: C51 and the traps of FORMATS 6."""

import pytest

from chunking.parsers import ParseError, parse_dialogue


def parsed(value):
    return parse_dialogue(value, document_id="d")


def turns(value):
    return [(block.speaker, block.text) for block in parsed(value).blocks]


def test_colons_in_words_open_no_turn(data):
    """C51."""
    document = parsed((data / "markdown" / "transcript_zh_selfmade.txt").read_bytes())

    assert [block.speaker for block in document.blocks] == [
        "主持人",
        "工程师甲",
        "主持人",
        "工程师甲",
        "Engineer B",
        "工程师甲",
        "主持人",
        "Unknown",
        "主持人",
    ]
    assert document.blocks[1].text.count("\n") == 2
    assert [block.ts_start for block in document.blocks][:3] == [3.0, 9.0, 31.0]
    for block in document.blocks:
        assert document.text[block.char_start :].startswith(block.text)


def test_a_cue_without_a_voice_has_no_speaker(data):
    """C51."""
    blocks = parsed((data / "markdown" / "transcript_docling_example_03.vtt").read_bytes()).blocks

    assert (blocks[2].text, blocks[2].speaker) == ("Good.", None)
    assert (blocks[2].ts_start, blocks[2].ts_end) == (10.683, 11.563)
    assert not any("62357a1d" in block.text for block in blocks)
    assert len(blocks) == 13


def test_turns_of_json_lines_stay_in_their_order(data):
    document = parsed((data / "markdown" / "transcript_zh_selfmade.jsonl").read_bytes())

    assert [block.ts_start for block in document.blocks] == [3, 9, 31, 33, 181, 185, 184.5]
    assert (document.blocks[5].speaker, document.blocks[5].ts_end) == (None, None)
    assert document.warnings == ("empty blocks skipped: 1",)


@pytest.mark.parametrize("stamp", ["[00:01:05]", "[1:05]", "(01:05)", "【00:01:05】", "01:05"])
def test_time_stamps_come_in_many_brackets(stamp):
    (block,) = parsed(f"{stamp} A: words").blocks

    assert (block.ts_start, block.speaker, block.text) == (65.0, "A", "words")


@pytest.mark.parametrize(
    "words", ["23:40 起", "https://example.com/a", "他说了很多，比如：一", "no name"]
)
def test_a_stamp_without_a_speaker_is_nobodys_turn(words):
    assert turns(f"[00:00:01] {words}\n[00:00:02] A: x") == [(None, words), ("A", "x")]


def test_words_before_the_first_stamp_are_a_paragraph():
    first, second = parsed("会议纪要\n\n[00:01] 甲：好").blocks

    assert (first.kind, first.text) == ("paragraph", "会议纪要")
    assert (second.kind, second.speaker) == ("turn", "甲")


def test_without_stamps_a_name_that_comes_back_is_a_speaker():
    assert turns("甲：好。\n注意：这不是人。\n乙: ok\n甲：再见\nhttps://x.y/z\n乙：bye") == [
        ("甲", "好。\n注意：这不是人。"),
        ("乙", "ok"),
        ("甲", "再见\nhttps://x.y/z"),
        ("乙", "bye"),
    ]


def test_subtitles_lose_tags_ids_notes_and_styles():
    vtt = (
        "\ufeffWEBVTT - title\nKind: captions\n\nNOTE a note\n\nSTYLE\n::cue {}\n\n1\n"
        "01:02.500 --> 01:03.000 align:start\n"
        "<v.loud Anna &amp; Bo>eins &lt;2&gt; <i>x</i>\n汉\n字\n\n"
        "00:00:05.000 --> 00:00:06.000\n- <v A>a</v> <v B>b</v>\n\nbroken\n\n"
        "00:00:07.000 --> 00:00:08.000\n\n"
    )
    document = parsed(vtt)

    assert [(b.speaker, b.text, b.ts_start) for b in document.blocks] == [
        ("Anna & Bo", "eins <2> x汉字", 62.5),
        (None, "-", 5.0),
        ("A", "a", 5.0),
        ("B", "b", 5.0),
    ]
    assert document.warnings == ("cues without times skipped: 1", "empty blocks skipped: 1")


def test_subrip_is_read_too():
    (block,) = parsed("1\r\n00:00:01,250 --> 00:00:02,000\r\nHallo\r\n").blocks

    assert (block.text, block.ts_start, block.ts_end) == ("Hallo", 1.25, 2.0)


def test_damaged_lines_are_skipped_and_told():
    document = parsed('{"text": "a"}\n{"text": \n\n{"text": "b", "speaker": "B"}\nnull')

    assert [(b.speaker, b.text) for b in document.blocks] == [(None, "a"), ("B", "b")]
    assert document.warnings == ("unreadable lines skipped (first: 2): 2",)


def test_lists_of_turns_come_in_many_wrappings():
    segments = [{"start": 1, "end": 2.5, "text": " x "}, {"text": None}, 5]

    for value in (segments, {"segments": segments}, {"turns": segments}):
        (block,) = parsed(value).blocks
        assert (block.text, block.ts_start, block.ts_end) == ("x", 1.0, 2.5)


@pytest.mark.parametrize("value", [{"a": 1}, '{"a": 1}', "{\n{"])
def test_json_without_turns_is_refused(value):
    with pytest.raises(ParseError, match="d: "):
        parsed(value)
