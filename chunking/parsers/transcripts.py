"""Timestamped text: "[00:00:09] speaker: words", further lines belong to the running turn."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from chunking.model import Block
from chunking.parsers.images import without_data_uris
from chunking.text import clean_text, is_blank

STAMP = r"(?:(\d{1,3})[:：])?(\d{1,2})[:：](\d{2})(?:[.,](\d{1,3}))?"
_SPAN = rf"[ \t]*{STAMP}(?:[ \t]*(?:-->|[-–—~至到])[ \t]*{STAMP})?[ \t]*"
_LINE = re.compile(r"[^\r\n]+")
_STAMPED = re.compile(
    rf"\s*(?:\[{_SPAN}\]|\({_SPAN}\)|【{_SPAN}】|（{_SPAN}）|［{_SPAN}］|{STAMP}(?=\s))[ \t]*",
    re.ASCII,
)
# A short name without the marks of a sentence; "https:" and "at 23:40" are none.
_SPEAKER = re.compile(
    r"([^\s:：，。,；;？！?!/\[\]][^:：，。,；;？！?!/\[\]\n]{0,39}?)\s*"
    r"(?:：|:(?!//)(?!(?<=\d:)\d\d(?!\d)))[ \t]*"
)
_DIGITS = re.compile(r"\d+")


def is_transcript(text: str) -> bool:
    """Whether the first line with words has a time stamp, and a second one somewhere."""
    lines = (match[0] for match in _LINE.finditer(text) if not is_blank(match[0]))
    first = next(lines, "")
    return bool(_STAMPED.match(first.lstrip("\ufeff"))) and any(map(_STAMPED.match, lines))


def seconds(groups: tuple[str | None, ...]) -> list[float]:
    """The stamps among the groups of a match: of each hours, minutes, seconds, milliseconds."""
    found: list[float] = []
    for hours, minutes, whole, fraction in zip(*[iter(groups)] * 4, strict=True):
        if minutes is not None and whole is not None:
            milliseconds = int((fraction or "0").ljust(3, "0"))
            total = int(hours or 0) * 3600 + int(minutes) * 60 + int(whole)
            found.append(total + milliseconds / 1000)
    return found


@dataclass(slots=True)
class _Turn:
    lines: list[tuple[str, int]]
    """Each with its offset in the source."""
    speaker: str | None = None
    start: float | None = None
    end: float | None = None


def transcript_blocks(text: str, tally: Counter[str]) -> list[Block]:
    """Give one block for each turn; words before the first are a paragraph.

    Without any time stamp a line begins a turn where its speaker speaks more than once.
    """
    blocks: list[Block] = []
    for turn in _turns(text):
        lines = "\n".join(line.strip() for line, _ in turn.lines)
        words = without_data_uris(clean_text(lines)).strip()
        if is_blank(words):
            tally["empty blocks skipped"] += 1
            continue
        offset = next(offset for line, offset in turn.lines if not is_blank(line))
        first = next(line for line, _ in turn.lines if not is_blank(line))
        offset += len(first) - len(first.lstrip())
        is_turn = turn.speaker is not None or turn.start is not None
        blocks.append(
            Block(
                kind="turn" if is_turn else "paragraph",
                text=words,
                speaker=turn.speaker,
                ts_start=turn.start,
                ts_end=turn.end,
                char_start=offset if text.startswith(words, offset) else None,
            )
        )
    return blocks


def _turns(text: str) -> Iterator[_Turn]:
    is_stamped = any(map(_STAMPED.match, (match[0] for match in _LINE.finditer(text))))
    speakers = None if is_stamped else _recurring_speakers(text)
    running = _Turn([])
    for match in _LINE.finditer(text):
        line, offset = match[0], match.start()
        stamp = _STAMPED.match(line.lstrip("\ufeff")) if is_stamped else None
        begin = stamp.end() + len(line) - len(line.lstrip("\ufeff")) if stamp else 0
        speaker = _SPEAKER.match(line, begin) if stamp or not is_stamped else None
        name = _name(speaker[1]) if speaker else None
        if speakers is not None and name not in speakers:
            name = None
        if stamp is None and name is None:
            running.lines.append((line, offset))
            continue
        if running.lines:
            yield running
        if speaker and name is not None:
            begin = speaker.end()
        times = seconds(stamp.groups()) if stamp else []
        running = _Turn([(line[begin:], offset + begin)], name, *times)
    if running.lines:
        yield running


def _recurring_speakers(text: str) -> set[str]:
    names = Counter(
        name
        for line in _LINE.finditer(text)
        if (match := _SPEAKER.match(line[0])) and (name := _name(match[1])) is not None
    )
    return {name for name, count in names.items() if count > 1}


def _name(words: str) -> str | None:
    """A speaker's name; a number before a colon is the hour of a time."""
    name = clean_text(words).strip()
    return None if _DIGITS.fullmatch(name) or is_blank(name) else name
