"""Foreign JSON, field by field: what has the wrong type counts as absent, and nothing raises."""

import math
from collections import Counter
from typing import Any

from chunking.parsers.images import without_data_uris
from chunking.text import clean_counted, is_blank

_MOST = 10**9
"""Pages or levels: more than any document has, and a column of 32 bits holds one more, too."""


def text_of(value: object, tally: Counter[str]) -> str:
    """A string without base64, cleaned, or a number; "" for all else and for what is invisible."""
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        value = "" if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        return ""
    text, removed = clean_counted(value)
    text = without_data_uris(text)
    tally.update({f"{what} removed": count for what, count in removed.items()})
    return "" if is_blank(text) else text


def name_of(value: object) -> str:
    """A label or type, as it is; "" for what is no string."""
    return value if isinstance(value, str) else ""


def mapping_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings_of(value: object) -> list[dict[str, Any]]:
    return [item for item in list_of(value) if isinstance(item, dict)]


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def whole_of(value: object) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def ordinal_of(value: object) -> int | None:
    """A page or a level, counted from 1; None for what can be none."""
    whole = whole_of(value)
    return whole if whole is not None and 1 <= whole <= _MOST else None


def number_of(value: object) -> float | None:
    """A finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
