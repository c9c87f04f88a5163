"""Dialogue: subtitles, JSON turns (a list, or one a line) and timestamped text."""

import json
from collections import Counter
from typing import Any

from chunking.model import Block, Document
from chunking.parsers.errors import ParseError
from chunking.parsers.fields import mapping_of, number_of, text_of
from chunking.parsers.source import decode_text, require_document_id, told
from chunking.parsers.transcripts import transcript_blocks
from chunking.parsers.webvtt import cue_blocks, is_cues
from chunking.text import clean_text

_STARTS = ("ts_start", "start", "start_time")
_ENDS = ("ts_end", "end", "end_time")
_TURNS = ("turns", "segments", "utterances")


def parse_dialogue(
    value: str | bytes | list[Any] | dict[str, Any],
    *,
    document_id: str,
    file_title: str = "",
    source: str = "",
) -> Document:
    """Read a transcript of any shape, in the order of the file: one turn for each block.

    WebVTT and SubRip are known by their head, JSON by its first bracket; anything else is text of
    "[00:00:09] speaker: words", where lines without a time stamp belong to the running turn.

    Args:
        value: Text or bytes; or a list of turns, {"speaker", "text", "ts_start", "ts_end"} with
            times in seconds, all but the text optional.
        document_id: Stable and never altered.
        file_title: Stays empty when nothing is given.
        source: Path or URL of the original.

    Raises:
        ParseError: JSON without a single turn that can be read.
        ValueError: `document_id` is empty or cannot be stored.
    """
    require_document_id(document_id)
    tally: Counter[str] = Counter()
    text = None
    if isinstance(value, list | dict):
        blocks = _turn_blocks(_turns_in(value, document_id), tally)
    else:
        text = decode_text(value, tally)
        head = text.lstrip("\ufeff \t\r\n")[:1]
        if head in {"{", "["} and (turns := _json_turns(text, document_id, tally)) is not None:
            blocks, text = _turn_blocks(turns, tally), None
        elif is_cues(text):
            blocks = cue_blocks(text, tally)
        else:
            blocks = transcript_blocks(text, tally)
    return Document(
        document_id=document_id,
        file_title=clean_text(file_title),
        source=clean_text(source),
        blocks=tuple(blocks),
        text=text,
        warnings=told(tally),
    )


def _json_turns(text: str, document_id: str, tally: Counter[str]) -> list[Any] | None:
    """Decode one JSON value, or one a line; None for text that merely begins with a bracket."""
    text = text.replace("\ufeff", "")
    whole = _decoded(text)
    if whole is not None:
        return _turns_in(whole, document_id)
    if text.lstrip()[:1] != "{":
        return None
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    turns = [_decoded(line) for line in lines]
    unreadable = [number for number, turn in enumerate(turns, 1) if not isinstance(turn, dict)]
    if len(unreadable) == len(lines):
        raise ParseError(document_id, "line 1", "not JSON, nor is any other line")
    if unreadable:
        tally[f"unreadable lines skipped (first: {unreadable[0]})"] += len(unreadable)
    return [turn for turn in turns if isinstance(turn, dict)]


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _turns_in(value: Any, document_id: str) -> list[Any]:
    if isinstance(value, list):
        return value
    mapping = mapping_of(value)
    for name in _TURNS:
        if isinstance(mapping.get(name), list):
            turns: list[Any] = mapping[name]
            return turns
    if "text" in mapping:
        return [mapping]
    raise ParseError(document_id, "", f"no list of turns under any of {', '.join(_TURNS)}")


def _turn_blocks(turns: list[Any], tally: Counter[str]) -> list[Block]:
    blocks: list[Block] = []
    for turn in map(mapping_of, turns):
        text = text_of(turn.get("text"), tally).strip()
        if not text:
            tally["empty blocks skipped"] += 1
            continue
        blocks.append(
            Block(
                kind="turn",
                text=text,
                speaker=text_of(turn.get("speaker"), tally).strip() or None,
                ts_start=_first_number(turn, _STARTS),
                ts_end=_first_number(turn, _ENDS),
            )
        )
    return blocks


def _first_number(turn: dict[str, Any], names: tuple[str, ...]) -> float | None:
    numbers = (number_of(turn.get(name)) for name in names)
    return next((number for number in numbers if number is not None and number >= 0), None)
