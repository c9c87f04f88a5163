"""WebVTT and SubRip: cues with times, perhaps an id line, perhaps voices."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from chunking.model import Block
from chunking.parsers.images import without_data_uris
from chunking.parsers.runs import join_runs
from chunking.parsers.transcripts import STAMP, seconds
from chunking.text import clean_text, is_blank

_TIMING = re.compile(rf"\s*{STAMP}\s*-->\s*{STAMP}(?:\s.*)?", re.ASCII)
_NO_CUES = re.compile(r"(?:NOTE|STYLE|REGION)\b")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^<>]*)>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>]*>|\{\\[^{}]*\}")
"""Of WebVTT and SubRip, and override codes of SubStation: `{\\an8}`."""


def is_cues(text: str) -> bool:
    """Whether a text is WebVTT by its first word, or SubRip by the timing of its first cue."""
    lines = clean_text(text[:1_000]).lstrip("\n").split("\n", 2)
    return lines[0].startswith("WEBVTT") or any(_TIMING.fullmatch(line) for line in lines[:2])


def cue_blocks(text: str, tally: Counter[str]) -> list[Block]:
    """One turn for each voice of each cue, in the order of the file; ids and notes are no words.

    A cue begins at its times, after a blank line or not. In WebVTT a blank line ends it; SubRip
    has files with blank lines inside, so there the next times do.
    """
    lines = clean_text(text).strip("\n").split("\n")
    is_webvtt = lines[0].startswith("WEBVTT")
    blocks: list[Block] = []
    for times, said in _cues(lines):
        end = next((at for at, line in enumerate(said) if is_blank(line)), len(said))
        if is_webvtt:
            tally["cues without times skipped"] += _strays(said[end:])
        if times is None:
            continue
        payload = said[:end] if is_webvtt else said
        voices = list(_voices("\n".join(line for line in payload if not is_blank(line))))
        for speaker, words in voices:
            start, stop = times
            blocks.append(
                Block(kind="turn", text=words, speaker=speaker, ts_start=start, ts_end=stop)
            )
        if not voices:
            tally["empty blocks skipped"] += 1
    return blocks


def _cues(lines: list[str]) -> Iterator[tuple[list[float] | None, list[str]]]:
    """The times of each cue, and its lines; first, without times, the head of the file."""
    times: list[float] | None = None
    said: list[str] = []
    is_numbered = False
    for line in lines:
        timing = _TIMING.fullmatch(line) if "-->" in line else None
        if timing is None:
            said.append(line)
            continue
        if times is None:
            is_numbered = bool(said) and said[-1].strip().isdecimal()
        if said and _is_id(said, opens_file=times is None, is_numbered=is_numbered):
            said.pop()
        yield times, said
        times, said = seconds(timing.groups()), []
    yield times, said


def _is_id(said: list[str], *, opens_file: bool, is_numbered: bool) -> bool:
    """Whether the last line is the id of the cue whose times follow."""
    *before, last = said
    stands_apart = is_blank(before[-1]) if before else opens_file
    return not is_blank(last) and (stands_apart or (is_numbered and last.strip().isdecimal()))


def _strays(lines: list[str]) -> int:
    """Paragraphs that belong to no cue and are no comment."""
    begins = [line for before, line in pairwise(["", *lines]) if is_blank(before)]
    return sum(not is_blank(line) and not _NO_CUES.match(line) for line in begins)


def _voices(payload: str) -> Iterator[tuple[str | None, str]]:
    """Who says what in one cue; words before the first voice tag are nobody's."""
    pieces = [None, *_VOICE.split(payload)]
    for speaker, words in zip(pieces[::2], pieces[1::2], strict=True):
        lines = (html.unescape(_TAG.sub("", line)).strip() for line in (words or "").split("\n"))
        text = without_data_uris(clean_text(join_runs(lines))).strip()
        if not is_blank(text):
            name = without_data_uris(clean_text(html.unescape(speaker or ""))).strip()
            yield name or None, text
