"""WebVTT and SubRip: cues with times, perhaps an id line, perhaps voices."""

import html
import re
from collections import Counter
from collections.abc import Iterator

from chunking.model import Block
from chunking.parsers.images import without_data_uris
from chunking.parsers.runs import join_runs
from chunking.parsers.transcripts import STAMP, seconds
from chunking.text import clean_text, is_blank

_TIMING = re.compile(rf"\s*{STAMP}\s*-->\s*{STAMP}(?:\s.*)?", re.ASCII)
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_NO_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^<>]*)>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>]*>")


def is_cues(text: str) -> bool:
    """Whether a text is WebVTT by its first word, or SubRip by the timing of its first cue."""
    lines = clean_text(text[:1_000]).lstrip("\n").split("\n", 2)
    return lines[0].startswith("WEBVTT") or any(_TIMING.fullmatch(line) for line in lines[:2])


def cue_blocks(text: str, tally: Counter[str]) -> list[Block]:
    """One turn for each voice of each cue, in the order of the file; ids and notes are no words."""
    blocks: list[Block] = []
    for cue in _GAP.split(clean_text(text).strip("\n")):
        lines = cue.split("\n")
        timing = next((i for i, line in enumerate(lines[:2]) if _TIMING.fullmatch(line)), None)
        if timing is None:
            if not cue.startswith(_NO_CUES) and not is_blank(cue):
                tally["cues without times skipped"] += 1
            continue
        match = _TIMING.fullmatch(lines[timing])
        assert match is not None
        groups = match.groups()
        voices = list(_voices("\n".join(lines[timing + 1 :])))
        for speaker, words in voices:
            blocks.append(
                Block(
                    kind="turn",
                    text=words,
                    speaker=speaker,
                    ts_start=seconds(groups[:4]),
                    ts_end=seconds(groups[4:]),
                )
            )
        if not voices:
            tally["empty blocks skipped"] += 1
    return blocks


def _voices(payload: str) -> Iterator[tuple[str | None, str]]:
    """Who says what in one cue; words before the first voice tag are nobody's."""
    pieces = [None, *_VOICE.split(payload)]
    for speaker, words in zip(pieces[::2], pieces[1::2], strict=True):
        lines = (html.unescape(_TAG.sub("", line)).strip() for line in (words or "").split("\n"))
        text = without_data_uris(clean_text(join_runs(lines))).strip()
        if not is_blank(text):
            name = without_data_uris(clean_text(html.unescape(speaker or ""))).strip()
            yield name or None, text
