"""Lists of a DoclingDocument: groups in groups or in items, told as Markdown."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from chunking.parsers.docling_tree import PICTURES, Item, Tree
from chunking.parsers.fields import name_of, text_of

LISTS = frozenset({"list", "ordered_list"})
_MAX_INDENTATION = 40
"""Of nested items, in columns; deeper ones show no difference any more."""


@dataclass(slots=True)
class _Entry:
    """A reference still to be read, with the list that it belongs to."""

    reference: str
    indentation: int
    numbers: Counter[str]
    """Items so far of the list around it, under one key."""
    is_in_group: bool = True


@dataclass(frozen=True, slots=True)
class DoclingList:
    text: str
    members: list[Item]
    """The items with words, for their pages and boxes."""
    strangers: list[str]
    """References to tables and pictures inside: no words of a list, to be read behind it."""


def docling_list(
    references: list[str], tree: Tree, is_skipped: Callable[[Item], bool], tally: Counter[str]
) -> DoclingList:
    """Read list items and all below them. Depth shows as indentation, numbers stay as written."""
    lines: list[str] = []
    members: list[Item] = []
    strangers: list[str] = []
    lead = ""  # the marker of an item whose words are still to come
    numbers: Counter[str] = Counter()
    stack = [_Entry(reference, 0, numbers) for reference in reversed(references)]
    while stack:
        entry = stack.pop()
        if _is_stranger(tree.look_up(entry.reference)):
            strangers.append(entry.reference)
            continue
        item = tree.meet(entry.reference)
        if item is None or is_skipped(item):
            continue
        label, children, inner = name_of(item.get("label")), tree.children(item), entry.indentation
        margin = " " * min(inner, _MAX_INDENTATION)
        numbers = entry.numbers
        if label in LISTS:
            inner += 2 if entry.is_in_group and entry.indentation + numbers.total() else 0
            numbers = Counter()
        else:
            if label == "list_item":
                numbers["items"] += 1
                marker = _marker(item, numbers["items"], tally)
                lead, inner = f"{margin}{marker} ", inner + len(marker) + 1
            words = tree.words(item)
            if label == "inline":
                (words, runs), children = tree.inline_words([item]), []
                members += runs
            elif label == "code":
                words = f"```\n{words}\n```"
            if words:
                members.append(item)
                lines += _hanging(lead or margin, words)
                lead = ""
        stack += [
            _Entry(child, inner, numbers, is_in_group=label in LISTS)
            for child in reversed(children)
        ]
    return DoclingList("\n".join(lines), members, strangers)


def _is_stranger(item: Item | None) -> bool:
    if item is None:
        return False
    return isinstance(item.get("data"), dict) or name_of(item.get("label")) in PICTURES


def _marker(item: Item, number: int, tally: Counter[str]) -> str:
    marker = text_of(item.get("marker"), tally).strip()
    return marker or (f"{number}." if item.get("enumerated") is True else "-")


def _hanging(lead: str, text: str) -> list[str]:
    first, *rest = text.strip().split("\n")
    return [lead + first, *(" " * len(lead) + line for line in rest)]
