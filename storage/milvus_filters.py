"""Filter expressions with values in them: the one place where a value meets the syntax."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator

from storage.milvus_schema import NUMBERS
from storage.rows import VARCHAR_BYTES

# Milvus Lite knows no \x or \u escapes; both parsers take every other character as it is.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")

METADATA = "metadata."
"""Before a key of `metadata`, where a field is named."""


def literal(value: str) -> str:
    """A string as it must stand in a filter expression, quotes included."""
    return f'"{value.translate(_ESCAPES)}"'


def any_of(field: str, values: Iterable[str]) -> str:
    """An expression for rows whose `field` is one of the values, letter for letter."""
    return f"{field} in [{', '.join(map(literal, values))}]"


def equals(field: str, value: str) -> str:
    """An expression for rows whose `field` has a value that a person typed.

    Args:
        field: A field of a row, or `metadata.KEY`. A row has a `heading_path` that holds it.
        value: Letter for letter; read as a number where the field is one. In metadata "2024" is
            the number too, and "true" the truth value.

    Raises:
        ValueError: There is no such field, or the value is no number. Says what could be meant.
    """
    if field.startswith(METADATA) and field != METADATA:
        place = f"metadata[{literal(field.removeprefix(METADATA))}]"
        return " or ".join(f"{place} == {meant}" for meant in _json_readings(value))
    if field in VARCHAR_BYTES:
        return f"{field} == {literal(value)}"
    if field == "heading_path":
        return f"array_contains(heading_path, {literal(value)})"
    if field in NUMBERS:
        return f"{field} == {_number(field, value)}"
    known = [*VARCHAR_BYTES, *NUMBERS, "heading_path", f"{METADATA}KEY"]
    close = difflib.get_close_matches(field, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}."
    raise ValueError(f"there is no field {field!r} to filter by; {hint}")


def all_of(expressions: Iterable[str]) -> str:
    """An expression that holds where all of them do; empty ones hold everywhere."""
    wanted = [expression for expression in expressions if expression.strip()]
    return wanted[0] if len(wanted) == 1 else " and ".join(f"({each})" for each in wanted)


def _json_readings(value: str) -> Iterator[str]:
    """What a JSON value that a person would write like this may be."""
    yield literal(value)
    if value in {"true", "false"} or _is_int(value):
        yield value
    elif (number := _float(value)) is not None:
        yield repr(number)


def _number(field: str, value: str) -> str:
    if NUMBERS[field].name == "INT64":
        if _is_int(value):
            return value
        raise ValueError(f"{field} is a whole number, and {value!r} is none.")
    number = _float(value)
    if number is None:
        raise ValueError(f"{field} is a number, and {value!r} is none.")
    return repr(number)


def _is_int(value: str) -> bool:
    """Whether it is an integer of 64 bits as the servers read one: no blanks, no leading zeros."""
    return bool(_INTEGER.fullmatch(value)) and -(2**63) <= int(value) < 2**63


def _float(value: str) -> float | None:
    return number if _DECIMAL.fullmatch(value) and math.isfinite(number := float(value)) else None
