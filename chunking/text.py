"""The one place where text is cleaned: what no store, wire or tokenizer can carry goes out here."""

import re
from collections import Counter

_CLEAN = re.compile("[\t\n -~\u00a0-\ud7ff\ue000-\ufefe\uff00-\U0010ffff]*+")
"""Twice as fast as to search for what is not."""
_LINE_ENDS = re.compile("\r\n?")
_SPACING = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
"""Control characters that stand between words: a form feed parts two pages."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean_text(text: str) -> str:
    """Give `text` as every later step can carry it; nearly free where it is clean already.

    CRLF and CR become LF. Byte order marks (U+FEFF) and control characters other than tab and
    line feed are removed; those that part words (form feed, vertical tab, NEL, separators) become
    a blank. Halves of a surrogate pair that stand side by side become their character, a lone one
    is removed: it has no UTF-8, and U+FFFD in its place would be a character nobody wrote.
    """
    return text if _CLEAN.fullmatch(text) else clean_counted(text)[0]


def clean_counted(text: str) -> tuple[str, Counter[str]]:
    """As `clean_text`, with what was taken out: a count for each name, for `Document.warnings`.

    Line ends are not counted; they are another spelling, not damage.
    """
    removed: Counter[str] = Counter()
    if _CLEAN.fullmatch(text):
        return text, removed
    text = _LINE_ENDS.sub("\n", text)
    text, spacing = _SPACING.subn(" ", text)
    text, controls = _CONTROLS.subn("", text)
    removed["control characters"] = spacing + controls
    removed["byte order marks"] = text.count("\ufeff")
    text = text.replace("\ufeff", "")
    text = _PAIR.sub(_join_pair, text)
    text, removed["lone surrogates"] = _SURROGATE.subn("", text)
    return text, +removed


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing: white space, zero-width and control characters only."""
    return _VISIBLE.search(text) is None


def one_line(text: str) -> str:
    """A heading, caption or speaker, cleaned, on one line; "" where there is nothing to see."""
    name = " ".join(clean_text(text).split("\n")).strip()
    return "" if is_blank(name) else name


def _join_pair(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
