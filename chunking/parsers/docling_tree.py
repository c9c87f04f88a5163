"""The tree of a DoclingDocument: references resolved, each item met once, places told."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chunking.model import Box
from chunking.parsers.boxes import enclosing_box, top_left_box
from chunking.parsers.fields import (
    list_of,
    mapping_of,
    mappings_of,
    name_of,
    number_of,
    ordinal_of,
    text_of,
)
from chunking.parsers.runs import join_runs

Item = dict[str, Any]
"""One node: a text, table, picture, group or form of the document."""

_NUMBER = 12
"""Digits of an index; a longer one is no place in any list."""
PICTURES = frozenset({"picture", "chart"})


def has_words(item: Item) -> bool:
    """Whether an item is said itself; other groups are their children's."""
    label = name_of(item.get("label"))
    parts = ("text", "data", "graph")
    return label == "inline" or label in PICTURES or any(part in item for part in parts)


class Tree:
    """Access to the nodes of one document. Broken and circular references are counted, not met."""

    def __init__(self, document: Item, tally: Counter[str]) -> None:
        self._document = document
        self._tally = tally
        self._met: set[str] = set()
        self._page_sizes = _page_sizes(document)
        self._in_the_tree = {
            child
            for nodes in document.values()
            for node in mappings_of(nodes if isinstance(nodes, list) else [nodes])
            for child in self.children(node)
        }

    def children(self, item: Item) -> list[str]:
        """References to an item's children, in order."""
        return _references(item.get("children"))

    def captions(self, item: Item) -> list[str]:
        return _references(item.get("captions"))

    def all_captions(self) -> set[str]:
        """References to all texts that some table, picture or code block has as its caption."""
        kinds = ("texts", "tables", "pictures", "key_value_items", "form_items")
        return {
            caption
            for kind in kinds
            for item in mappings_of(self._document.get(kind))
            for caption in self.captions(item)
        }

    def strays(self, item: Item) -> list[str]:
        """Footnotes and references of an item that are no child of any other."""
        notes = [*_references(item.get("footnotes")), *_references(item.get("references"))]
        return [note for note in dict.fromkeys(notes) if note not in self._in_the_tree]

    def meet(self, reference: str) -> Item | None:
        """Resolve a reference for the first time; None when it is broken or was met before."""
        if reference in self._met:
            self._tally["repeated references skipped"] += 1
            return None
        self._met.add(reference)
        item = self.look_up(reference)
        if item is None:
            self._tally["broken references skipped"] += 1
        return item

    def look_up(self, reference: str) -> Item | None:
        """Resolve a JSON pointer of two steps, "#/texts/5"."""
        kind, _, index = reference.removeprefix("#/").partition("/")
        if not index:
            item = self._document.get(kind)
        elif index.isascii() and index.isdigit() and len(index) <= _NUMBER:
            items = list_of(self._document.get(kind))
            item = items[int(index)] if int(index) < len(items) else None
        else:
            item = None
        return item if isinstance(item, dict) else None

    def words(self, item: Item) -> str:
        """An item's own text, else what it was before it was interpreted."""
        return text_of(item.get("text"), self._tally) or text_of(item.get("orig"), self._tally)

    def is_met(self, reference: str) -> bool:
        return reference in self._met

    def all_words(self, item: Item) -> str:
        """An item's words, or those of the runs that it is cut into."""
        return self.words(item) or self.runs_and_rest(item)[0]

    def runs_and_rest(self, item: Item) -> tuple[str, list[str]]:
        """The words of the runs that an item is cut into, and its other children."""
        children = self.children(item)
        inline = [child for child in children if _is_inline(self.look_up(child))]
        groups = [group for child in inline if (group := self.meet(child)) is not None]
        return self.inline_words(groups)[0], [child for child in children if child not in inline]

    def form_words(self, item: Item) -> list[str]:
        """The cells of a form that are not the words of a text elsewhere in the tree."""
        cells = mappings_of(mapping_of(item.get("graph")).get("cells"))
        own = [cell for cell in cells if not self._in_the_tree.intersection(_item_ref(cell))]
        return list(filter(None, map(self.words, own)))

    def descriptions(self, picture: Item) -> list[str]:
        """What was said about a picture: in `meta` since 1.8, in annotations before, or in both."""
        described = mapping_of(mapping_of(picture.get("meta")).get("description"))
        notes = [described, *mappings_of(picture.get("annotations"))]
        return list(
            dict.fromkeys(filter(None, (text_of(n.get("text"), self._tally) for n in notes)))
        )

    def inline_words(self, groups: list[Item]) -> tuple[str, list[Item]]:
        """The words of a paragraph that is cut into runs, and the runs, with their places.

        Code and formulas keep their marks.
        """
        runs: list[str] = []
        items = list(self.below([child for group in groups for child in self.children(group)]))
        for item in items:
            words = self.words(item)
            label = name_of(item.get("label"))
            if words and label == "code":
                words = f"`{' '.join(words.split())}`"
            elif words and label == "formula":
                words = f"${words.strip()}$"
            runs.append(words)
        return join_runs(runs), [*groups, *items]

    def below(self, references: list[str]) -> Iterator[Item]:
        """All items from these on, depth first with their captions, each met."""
        stack = references[::-1]
        while stack:
            item = self.meet(stack.pop())
            if item is not None:
                yield item
                stack += list(dict.fromkeys([*self.captions(item), *self.children(item)]))[::-1]

    def place(self, items: list[Item]) -> tuple[int | None, Box | None]:
        """Page of the first item that has one, and the box around all that lies on it."""
        provenance = [entry for item in items for entry in mappings_of(item.get("prov"))]
        pages = [page for entry in provenance if (page := _page(entry)) is not None]
        if not pages:
            return None, None
        boxes = [self._box(entry) for entry in provenance if _page(entry) == pages[0]]
        return pages[0], enclosing_box(boxes)

    def _box(self, provenance: Item) -> Box | None:
        box = mapping_of(provenance.get("bbox"))
        edges = [number_of(box.get(edge)) for edge in "ltrb"]
        left, top, right, bottom = edges
        if left is None or top is None or right is None or bottom is None:
            return None
        return top_left_box(
            left,
            top,
            right,
            bottom,
            page_size=self._page_sizes.get(_page(provenance) or 0),
            from_bottom=box.get("coord_origin") == "BOTTOMLEFT"
            or ("coord_origin" not in box and top > bottom),
        )


def _references(value: object) -> list[str]:
    references = [entry.get("$ref", entry.get("cref")) for entry in mappings_of(value)]
    return [reference for reference in references if isinstance(reference, str)]


def _item_ref(cell: Item) -> list[str]:
    return _references([cell.get("item_ref")])


def _is_inline(item: Item | None) -> bool:
    return item is not None and name_of(item.get("label")) == "inline"


def _page(provenance: Item) -> int | None:
    """1-based; a 0, which some writers put for "unknown", is none."""
    return ordinal_of(provenance.get("page_no"))


def _page_sizes(document: Item) -> dict[int, tuple[float, float]]:
    sizes: dict[int, tuple[float, float]] = {}
    for number, page in mapping_of(document.get("pages")).items():
        size = mapping_of(mapping_of(page).get("size"))
        width, height = number_of(size.get("width")), number_of(size.get("height"))
        if number.isascii() and number.isdigit() and len(number) <= _NUMBER and width and height:
            sizes[int(number)] = width, height
    return sizes
