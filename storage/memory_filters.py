"""The part of Milvus' filter language that the store in this process understands.

Comparisons, `in`, `and`, `or`, `not`, `array_contains(field, value)` and `field["key"]`. Python's
own parser reads it: the two languages are the same in these.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from storage.errors import SettingError

_OPERATORS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, values: value in values,
    ast.NotIn: lambda value, values: value not in values,
}


def parse(expression: str) -> ast.expr | None:
    """Read an expression; None for an empty one, which every row matches.

    Raises:
        SettingError: It cannot be read.
    """
    if not expression.strip():
        return None
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _unreadable(expression) from error


def matches(condition: ast.expr | None, row: Mapping[str, Any]) -> bool:
    """Whether a row fulfils a parsed expression.

    Raises:
        SettingError: It names an unknown field, or compares what cannot be compared.
    """
    if condition is None:
        return True
    try:
        return bool(_value(condition, row))
    except TypeError as error:
        raise _unreadable(ast.unparse(condition)) from error


def _value(  # noqa: C901, PLR0911 (one line for each construct of the language)
    node: ast.expr, row: Mapping[str, Any]
) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in row:
            return row[name]
        case ast.List(elts=elements):
            return [_value(element, row) for element in elements]
        case ast.Subscript(value=field, slice=ast.Constant(value=key)):
            return _value(field, row).get(key)
        case ast.Call(func=ast.Name(id="array_contains"), args=[field, wanted]):
            return _value(wanted, row) in _value(field, row)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, row) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, row) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, row)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, row)
        case ast.Compare(left=left, ops=[comparison], comparators=[right]) if (
            type(comparison) in _OPERATORS
        ):
            return _OPERATORS[type(comparison)](_value(left, row), _value(right, row))
    raise _unreadable(ast.unparse(node))


def _unreadable(expression: str) -> SettingError:
    return SettingError(
        f"filter {expression!r}",
        "this process understands only comparisons, in, and, or, not and array_contains",
        "Use a Milvus server for more; fields are those of docs/data-model.md.",
    )
