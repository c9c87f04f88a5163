"""Questions of an evaluation, and whether a text holds what answers them."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from chunking.model import Document
from jobs.config import ConfigError

_DELIMITERS = re.compile(r"(?<=\|)\s*:?-{2,}:?\s*(?=\|)")
_PADDING = re.compile(r"\\?\||\s")
_LEAST_MATCH = 6
"""Letters in a row that count as a part of an excerpt: fewer match anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    number: int
    """Line of the file, from 1."""
    question: str
    document_id: str = ""
    """The document that answers it; empty: any that holds the excerpt."""
    excerpt: str = ""
    """The passage that answers it, as it stands in the document; empty: the whole document."""
    kind: str = ""
    """Of the passage: prose, list, table, code …; results are told by it, like by language."""
    language: str = ""

    @property
    def letters(self) -> str:
        return letters_of(self.excerpt)


def read_questions(path: Path) -> list[Question]:
    """Read JSON Lines, one question each.

    Raises:
        ConfigError: The file cannot be read; a line is no question, named by its number.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    questions = [
        _question(line, number, path) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not questions:
        raise ConfigError(f"{path}: it holds no question.")
    return questions


def letters_of(text: str) -> str:
    """What is left of a text when layout is not looked at.

    Blanks, line ends, pipes and delimiter rows of tables go: a table that was rendered again, or
    a paragraph that was wrapped otherwise, has the same letters.
    """
    return _PADDING.sub("", _DELIMITERS.sub("", text))


def left_out(questions: Iterable[Question], documents: Iterable[Document]) -> dict[int, str]:
    """Questions that these documents cannot answer, by number, with the reason."""
    texts = {each.document_id: letters_of(_text_of(each)) for each in documents}
    reasons: dict[int, str] = {}
    for question in questions:
        if question.document_id and question.document_id not in texts:
            reasons[question.number] = f"there is no document {question.document_id!r}"
        elif question.document_id and question.letters not in texts[question.document_id]:
            reasons[question.number] = f"its excerpt is not in {question.document_id!r}"
        elif not any(question.letters in text for text in texts.values()):
            reasons[question.number] = "its excerpt is in no document"
    return reasons


def covered(letters: str, texts: Iterable[str]) -> int:
    """How many letters of an excerpt stand in any of these texts, all given as `letters_of`."""
    held = bytearray(len(letters))
    for text in texts:
        if letters in text:
            return len(letters)
        matcher = SequenceMatcher(None, letters, text, autojunk=False)
        for start, _, size in matcher.get_matching_blocks():
            if size >= _LEAST_MATCH:
                held[start : start + size] = b"\1" * size
    return sum(held)


def _text_of(document: Document) -> str:
    whole = document.markdown if document.markdown is not None else document.text
    blocks = document.blocks or ()
    return "\n".join([whole or "", *(f"{block.caption or ''}\n{block.text}" for block in blocks)])


def _question(line: str, number: int, path: Path) -> Question:
    try:
        told: Any = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{path}, line {number}: no JSON ({error}).") from None
    if not isinstance(told, Mapping):
        raise ConfigError(f"{path}, line {number}: not an object but {type(told).__name__}.")
    fields = {name: told.get(name) or "" for name in _FIELDS}
    wrong = [name for name, value in fields.items() if not isinstance(value, str)]
    if wrong:
        raise ConfigError(f"{path}, line {number}: {', '.join(wrong)} must be text.")
    if not fields["question"].strip():
        raise ConfigError(f"{path}, line {number}: `question` is missing or blank.")
    if not fields["document_id"] and not letters_of(fields["excerpt"]):
        raise ConfigError(f"{path}, line {number}: it needs an `excerpt` or a `document_id`.")
    return Question(number=number, **fields)


_FIELDS = ("question", "document_id", "excerpt", "kind", "language")
