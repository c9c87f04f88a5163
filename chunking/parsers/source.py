"""What a caller hands in, as clean as a parser needs it: an id, a text, a JSON value."""

import codecs
import json
import re
from collections import Counter
from typing import Any

from chunking.parsers.errors import ParseError

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")


def require_document_id(document_id: str) -> str:
    """Refuse an id that could not be stored; ids are never altered.

    Raises:
        ValueError: It is not a string, is empty, or has no UTF-8 (half of a surrogate pair).
    """
    if not isinstance(document_id, str) or not document_id:
        raise ValueError(f"document_id={document_id!r} must be a string that is not empty.")
    try:
        document_id.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"document_id={document_id!r} holds half of a surrogate pair and cannot be stored; "
            f"ids are never altered, so give the document another one."
        ) from error
    return document_id


def decode_text(value: str | bytes, tally: Counter[str]) -> str:
    """Decode bytes; a text passes as it is.

    A byte order mark decides; else UTF-8, and where that fails the bytes are read as GB18030 or
    Windows-1252, whichever they look like. Bytes that have no meaning are removed, since U+FFFD
    would be a character nobody wrote. All but plain UTF-8 is noted in `tally`.

    Raises:
        ValueError: `value` is neither text nor bytes.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise ValueError(f"value must be text or bytes, not {type(value).__name__}.")  # noqa: TRY004  # SPEC 5: a caller's fault
    for mark, encoding in _MARKS:
        if value.startswith(mark):
            return _decode_leniently(value[len(mark) :], encoding, tally)
    try:
        return value.decode()
    except UnicodeDecodeError:
        encoding = _guess_encoding(value)
        if encoding != "utf-8":
            tally[f"decoded as {encoding}"] += 1
        return _decode_leniently(value, encoding, tally)


def decode_json(value: Any, document_id: str, tally: Counter[str]) -> Any:
    """Decode JSON text or bytes; a value that is decoded already passes as it is.

    Raises:
        ParseError: Not JSON, or nested deeper than Python's own decoder can follow.
    """
    if not isinstance(value, str | bytes):
        return value
    text = decode_text(value, tally).removeprefix("\ufeff")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(
            document_id, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}"
        ) from error
    except RecursionError as error:
        raise ParseError(document_id, "", "JSON is nested too deeply to be read") from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise ParseError(document_id, "", f"not JSON: {error}") from error


def told(tally: Counter[str]) -> tuple[str, ...]:
    """Tell a tally as `Document.warnings`: "furniture skipped: 3"."""
    return tuple(f"{what}: {count}" for what, count in tally.items() if count)


def _guess_encoding(data: bytes) -> str:
    """Choose between damaged UTF-8, GB18030 and Windows-1252 for bytes that are not UTF-8."""
    high = sum(map(len, _HIGH_RUN.findall(data)))
    good = len(data.decode(errors="ignore").encode())
    if high and (len(data) - good) / high < 0.05:  # a few bad bytes in what is UTF-8 otherwise
        return "utf-8"
    runs = _HIGH_RUN.findall(data)
    if high / len(runs) >= 2:  # Chinese comes in pairs of bytes, accents stand alone
        try:
            data.decode("gb18030")
        except UnicodeDecodeError:
            return "windows-1252"
        return "gb18030"
    return "windows-1252"


def _decode_leniently(data: bytes, encoding: str, tally: Counter[str]) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="ignore")
        tally["undecodable bytes removed"] += len(data) - len(text.encode(encoding))
        return text
