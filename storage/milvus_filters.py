"""Filter expressions with values in them: the one place where a value meets the syntax."""

from collections.abc import Iterable

# Milvus Lite knows no \x or \u escapes; both parsers take every other character as it is.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def literal(value: str) -> str:
    """A string as it must stand in a filter expression, quotes included."""
    return f'"{value.translate(_ESCAPES)}"'


def any_of(field: str, values: Iterable[str]) -> str:
    """An expression for rows whose `field` is one of the values, letter for letter."""
    return f"{field} in [{', '.join(map(literal, values))}]"
