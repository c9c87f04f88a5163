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


SRT = "1\n00:00:01,000 --> 00:00:02,000\n你好\n"
VTT = "WEBVTT\n\n00:01.000 --> 00:02.000\n你好\n"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("2\n00:00:03,000 --> 00:00:04,000\n世界", "世界"),
        ("2\n00:00:03,000 --> 00:00:04,000\n42\n3\n00:00:05,000 --> 00:00:06,000\n!", "42"),
        ("00:00:03,000 --> 00:00:04,000\n世界", "世界"),
    ],
)
def test_cues_without_a_blank_line_between_them_are_two(second, words):
    document = parsed(SRT + second)

    assert [(b.text, b.ts_start) for b in document.blocks[:2]] == [("你好", 1.0), (words, 3.0)]
    assert all("-->" not in block.text for block in document.blocks)


def test_a_number_is_words_where_cues_have_no_numbers():
    first, second = parsed(f"{VTT}42\n00:03.000 --> 00:04.000\n43").blocks

    assert (first.text, second.text) == ("你好42", "43")


def test_words_behind_a_blank_line_belong_to_their_cue_in_subrip_only():
    srt, vtt = parsed(f"{SRT}\nagain\n"), parsed(f"{VTT}\nagain\n\nNOTE x\n\nNOTEBOOK\n")

    assert [(block.text, srt.warnings) for block in srt.blocks] == [("你好again", ())]
    assert [block.text for block in vtt.blocks] == ["你好"]
    assert vtt.warnings == ("cues without times skipped: 2",)


@pytest.mark.parametrize("head", ["WEBVTT", "WEBVTT - 标题\nKind: captions", "WEBVTT\n\nintro"])
def test_the_first_cue_may_follow_the_head_at_once(head):
    (block,) = parsed(f"{head}\n00:01.000 --> 00:02.000\n你好").blocks

    assert (block.text, block.ts_start, block.ts_end) == ("你好", 1.0, 2.0)


@pytest.mark.parametrize(
    "words",
    [r"{\an8}你好", r"{\i1}你{\i0}好", '<font color="red">你</font>好', "<c.x>你<00:01.500>好</c>"],
)
def test_marks_of_style_are_no_words(words):
    assert turns(SRT.replace("你好", words)) == [(None, "你好")]


@pytest.mark.parametrize(
    "stamp", ["（00:01）", "［00:01］", "［00：01］", "[ 00:01 ]", "【00:00:01】"]
)
def test_time_stamps_may_be_full_width(stamp):
    (block,) = parsed(f"{stamp}张三：你好").blocks

    assert (block.speaker, block.text, block.ts_start) == ("张三", "你好", 1.0)


@pytest.mark.parametrize(
    "span", ["[00:01.000 --> 00:04.500]", "（00:01 - 00:04.5）", "[0:01–0:04.5]"]
)
def test_a_stamp_may_tell_the_end_too(span):
    (block,) = parsed(f"{span}  你好").blocks

    assert (block.text, block.ts_start, block.ts_end) == ("你好", 1.0, 4.5)


@pytest.mark.parametrize(
    ("line", "turn"),
    [
        ("时间 23:40：开始", (None, "时间 23:40：开始")),
        ("at 23:40 we stop", (None, "at 23:40 we stop")),
        ("嘉宾1：30个", ("嘉宾1", "30个")),
        ("Speaker 1: 30 of them", ("Speaker 1", "30 of them")),
        ("Speaker 1:100 of them", ("Speaker 1", "100 of them")),
    ],
)
def test_the_hour_of_a_time_ends_no_name(line, turn):
    assert turns(f"[00:01] {line}") == [turn]


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
