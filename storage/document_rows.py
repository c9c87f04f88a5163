"""A row of a Parquet file, as Python values, made into a Document: lenient in form, not in ids."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, cast
from urllib.parse import unquote

from chunking.model import BLOCK_KINDS, Block, BlockKind, Box, Document
from chunking.text import clean_counted, clean_text, is_blank
from storage.errors import BadDocumentError

_MOST = 2**31 - 1
"""Pages, slides or levels: what the columns of our own files hold."""

Row = Mapping[str, Any]


def document_of(row: Row, *, key: str, number: int) -> Document:
    """Make a Document of one row.

    Args:
        row: Columns of SPEC section 2 as Python values; what is missing counts as null.
        key: The object that the row comes from: stands for `source` where there is none.
        number: Place of the row in the object, for messages.

    Names, metadata and blocks are cleaned of what no store can carry (chunking/text.py);
    `markdown` and `text` stay as given for their parser, which counts offsets in them. What was
    mended is told in `warnings`. Metadata that is no JSON object is kept whole under the key
    "metadata". Blocks and Markdown that say nothing count as none beside a column with words: a
    document is empty only where all its columns are.

    Raises:
        BadDocumentError: The id is missing or cannot be stored, or `blocks` is no list.
        UnicodeDecodeError: Text that was stored as bytes is not UTF-8.
    """
    document_id = checked_id(row.get("document_id"), number)
    tally: Counter[str] = Counter()
    source = _cleaned(row.get("source"), tally) or key
    title = _cleaned(row.get("file_title"), tally)
    markdown, text = _string(row.get("markdown")), _string(row.get("text"))
    if is_blank(markdown or "") and not is_blank(text or ""):
        markdown = None
    blocks = _blocks(row.get("blocks"), document_id, tally)
    if not _says(blocks or ()) and not is_blank(markdown or text or ""):
        blocks = None
    return Document(
        document_id=document_id,
        file_title=_stem(source) or _stem(key) if is_blank(title) else title,
        source=source,
        item_name=_cleaned(row.get("item_name"), tally),
        blocks=blocks,
        markdown=markdown,
        text=text,
        metadata=_metadata(row.get("metadata"), tally),
        warnings=tuple(f"{what}: {count}" for what, count in tally.items()),
    )


def checked_id(value: Any, number: int) -> str:
    """The id, letter for letter.

    Raises:
        BadDocumentError: There is none, or it cannot be stored as it is.
    """
    document_id = _string(value)
    if not document_id:
        raise BadDocumentError("", "read", f"row {number} has no document_id")
    if "\0" in document_id:
        raise BadDocumentError(
            document_id, "read", f"the document_id of row {number} holds a NUL character"
        )
    return document_id


def _blocks(value: Any, document_id: str, tally: Counter[str]) -> tuple[Block, ...] | None:
    if isinstance(value, str | bytes):
        value = _json(_string(value) or "null")
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadDocumentError(document_id, "read", "its blocks are not a list")
    return tuple(_block(item, tally) for item in map(_struct, value) if item is not None)


def _says(blocks: Iterable[Block]) -> bool:
    return any(not is_blank(block.text + (block.caption or "")) for block in blocks)


def _struct(item: Any) -> Row | None:
    """One item of the list; one that is no struct is treated as null."""
    if isinstance(item, str | bytes):
        item = _json(_string(item) or "null")
    return item if isinstance(item, dict) else None


def _block(item: Row, tally: Counter[str]) -> Block:
    kind = _string(item.get("kind"))
    if kind not in BLOCK_KINDS:
        tally[f"block kind {clean_text(kind or 'null')[:40]} read as paragraph"] += 1
        kind = "paragraph"
    given: dict[str, Any] = {}
    for name, convert in _OPTIONAL_FIELDS.items():
        value = item.get(name)
        if value is None:
            continue
        try:
            given[name] = convert(value)
        except (TypeError, ValueError, KeyError, OverflowError):
            tally[f"unusable {name} left out"] += 1
    return Block(kind=cast("BlockKind", kind), text=_cleaned(item.get("text"), tally), **given)


def _within(lowest: int, highest: int) -> Callable[[Any], int | None]:
    """A whole number of this range, both ends included."""

    def convert(value: Any) -> int | None:
        number = _integer(value)
        if number is not None and not lowest <= number <= highest:
            raise ValueError(value)
        return number

    return convert


def _integer(value: Any) -> int | None:
    """Whole numbers however they were written: pandas turns those beside nulls into floats."""
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    """None for NaN, by which pandas means null."""
    number = float(value)
    if math.isinf(number):
        raise ValueError(value)
    return None if math.isnan(number) else number


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(_clean_string(item) for item in value if item is not None)


def _clean_string(value: Any) -> str:
    return clean_text(_string(value) or "")


def _box(value: Any) -> Box:
    """Four numbers, or a struct that names them."""
    if isinstance(value, dict):
        value = [value[name] for name in ("x0", "y0", "x1", "y1")]
    x0, y0, x1, y1 = map(float, value)
    return x0, y0, x1, y1


_OPTIONAL_FIELDS: dict[str, Callable[[Any], Any]] = {
    "level": _within(1, _MOST),
    "heading_path": _strings,
    "page": _within(1, _MOST),
    "sheet": _clean_string,
    "slide": _within(1, _MOST),
    "cell_range": _clean_string,
    "bbox": _box,
    "caption": _clean_string,
    "language": _clean_string,
    "image_uri": _clean_string,
    "speaker": _clean_string,
    "ts_start": _number,
    "ts_end": _number,
    "char_start": _within(0, 2**63 - 1),
}


def _metadata(value: Any, tally: Counter[str]) -> dict[str, Any]:
    """JSON values under string keys, of a JSON string, a map or a struct."""
    if isinstance(value, str | bytes):
        raw = _string(value) or ""
        value = _json(raw) if raw.strip() else {}
        if not isinstance(value, dict):
            tally["metadata that is no JSON object kept as text"] += 1
            value = {"metadata": raw}
    elif isinstance(value, dict):  # a struct has every field of the file, most of them null
        value = {name: item for name, item in value.items() if item is not None}
    try:
        return cast("dict[str, Any]", _json_value(dict(value or {}), tally))
    except RecursionError:
        tally["metadata nested too deeply left out"] += 1
        return {}


def _json_value(value: Any, tally: Counter[str]) -> Any:
    """`value` with nothing in it that JSON or a store could not carry."""
    if isinstance(value, str | bytes):
        return _cleaned(value, tally)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return {_clean_string(name): _json_value(item, tally) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item, tally) for item in value]
    return str(value)  # dates, times, decimals of a struct


def _json(text: str) -> Any:
    """Decoded JSON; the text itself where it is none, or nested deeper than can be followed."""
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return text


def _cleaned(value: Any, tally: Counter[str]) -> str:
    cleaned, removed = clean_counted(_string(value) or "")
    for name, count in removed.items():
        tally[f"{name} removed"] += count
    return cleaned


def _string(value: Any) -> str | None:
    """Text as it stands; some writers store it as bytes."""
    if isinstance(value, bytes):
        return value.decode()
    return value if value is None or isinstance(value, str) else str(value)


def _stem(source: str) -> str:
    """The name in a path or URL, without its ending."""
    _, is_url, rest = source.partition("://")
    if is_url:
        path = re.split(r"[?#]", rest.partition("/")[2])[0]
        return clean_text(PurePosixPath(unquote(path, errors="ignore")).stem)
    return PureWindowsPath(source).stem  # takes both kinds of slashes
