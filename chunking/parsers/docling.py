"""DoclingDocument JSON, schema 1.0.0 to 1.10.0."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chunking.model import Block, BlockKind, Document
from chunking.parsers.docling_lists import LISTS, docling_list
from chunking.parsers.docling_parts import Part, a1_range, part_of
from chunking.parsers.docling_tables import docling_table
from chunking.parsers.docling_tree import PICTURES, Item, Tree, has_words
from chunking.parsers.errors import ParseError
from chunking.parsers.fields import mapping_of, mappings_of, name_of, number_of, ordinal_of, text_of
from chunking.parsers.formulas import display_formula
from chunking.parsers.images import link_of
from chunking.parsers.source import decode_json, require_document_id, told
from chunking.text import clean_text

_STRUCTURE = frozenset({"title", "section_header", "table", "list", "ordered_list", "code"})
"""What stands on pages, not in pictures."""
_RUNNING_HEADS = {"page_header": "page headers skipped", "page_footer": "page footers skipped"}
_BOXES = {"checkbox_selected": "[x] ", "checkbox_unselected": "[ ] "}
_HEADINGS = frozenset({"title", "section_header"})
_MAY_BE_CUT = _HEADINGS | _BOXES.keys()
"""Their words may stand in runs below them."""


def parse_docling(
    value: str | bytes | dict[str, Any],
    *,
    document_id: str,
    file_title: str = "",
    source: str = "",
    include_notes: bool = False,
    include_furniture: bool = False,
    include_footnotes: bool = True,
) -> Document:
    """Read a DoclingDocument.

    Reading order is that of the tree. Captions stand with their table, picture or code, words
    inside a picture with the picture. Running heads and page numbers go; what is left out is
    counted in `Document.warnings`. A title stands above all headings; on slides and sheets the
    heading path begins anew. Pages are 1-based; a slide's number is its `slide`, not its `page`.

    Args:
        value: The JSON, as text, bytes or decoded.
        document_id: Stable and never altered.
        file_title: Falls back to the title in the page's head, then to the document's `name`.
        source: Falls back to the name of the original file.
        include_notes: Keep speaker notes, each under a heading of its own, "Notes".
        include_furniture: Keep what Docling takes for furniture: in web pages all before the
            first heading, menus too.
        include_footnotes: Keep footnotes, as paragraphs where they stand.

    Raises:
        ParseError: Not JSON, another schema, or no body.
        ValueError: `document_id` is empty or cannot be stored.
    """
    require_document_id(document_id)
    tally: Counter[str] = Counter()
    root = decode_json(value, document_id, tally)
    if not isinstance(root, dict):
        raise ParseError(document_id, "", f"a DoclingDocument is an object, not {_type(root)}")
    if root.get("schema_name") != "DoclingDocument":
        raise ParseError(
            document_id, "schema_name", f"{root.get('schema_name')!r} is not 'DoclingDocument'"
        )
    if not isinstance(root.get("body"), dict):
        raise ParseError(document_id, "body", f"must be an object, not {_type(root.get('body'))}")
    skipped = set(() if include_notes else ("notes",))
    skipped.update(() if include_furniture else ("furniture", "background", "invisible"))
    reader = _Reader(root, tally, skipped, include_footnotes=include_footnotes)
    reader.read()
    title = file_title or reader.page_title or text_of(root.get("name"), tally)
    origin = text_of(mapping_of(root.get("origin")).get("filename"), tally)
    return Document(
        document_id=document_id,
        file_title=clean_text(title),
        source=clean_text(source) or origin,
        blocks=tuple(reader.blocks),
        warnings=told(tally),
    )


class _Reader:
    """One walk over the tree; `blocks` grows in reading order."""

    def __init__(
        self, root: Item, tally: Counter[str], skipped: set[str], *, include_footnotes: bool
    ) -> None:
        self.blocks: list[Block] = []
        self.page_title = ""
        """The title in the head of a web page, where it is left out of the body."""
        self._root = root
        self._tally = tally
        self._tree = Tree(root, tally)
        self._skipped_layers = skipped
        self._include_footnotes = include_footnotes
        self._owned_captions = self._tree.all_captions()
        self._has_title = any(
            name_of(item.get("label")) == "title"
            and name_of(item.get("content_layer")) not in skipped
            for item in mappings_of(root.get("texts"))
        )
        mimetype = text_of(mapping_of(root.get("origin")).get("mimetype"), tally)
        self._pages_are_slides = "presentation" in mimetype or "powerpoint" in mimetype
        self._part = Part()
        self._path: list[tuple[int, str]] = []

    def read(self) -> None:
        early = self._walk(self._tree.children(self._root["body"]))
        furniture = self._tree.children(mapping_of(self._root.get("furniture")))
        if "furniture" in self._skipped_layers:
            self._tally["furniture skipped"] += len(furniture)
        else:
            early += self._walk(furniture)
        # A caption whose object is nowhere in the tree is still somebody's words.
        self._owned_captions.clear()
        self._walk([caption for caption in early if not self._tree.is_met(caption)])

    def _walk(self, references: list[str]) -> list[str]:
        """Read all below, depth first; give back the captions that were left to their owners."""
        captions: list[str] = []
        stack = [(Part(), self._siblings(references))]
        while stack:
            part, siblings = stack[-1]
            sibling = next(siblings, None)
            if sibling is None:
                stack.pop()
            elif isinstance(sibling, list):
                stack.append((part, iter(self._list(sibling, part))))
            elif sibling in self._owned_captions:
                captions.append(sibling)
            elif (item := self._tree.meet(sibling)) is not None:
                part = part_of(item, part)
                stack.append((part, self._siblings(self._read(item, part))))
        return captions

    def _siblings(self, references: list[str]) -> Iterator[str | list[str]]:
        """Give references in order; list items without a list around them come as one list."""
        items: list[str] = []
        for reference in references:
            item = self._tree.look_up(reference)
            if item is not None and name_of(item.get("label")) == "list_item":
                items.append(reference)
                continue
            if items:
                yield items
                items = []
            yield reference
        if items:
            yield items

    def _read(self, item: Item, part: Part) -> list[str]:
        """Read one item, and give back the children that are still to be read."""
        label = name_of(item.get("label"))
        if self._is_skipped(item):
            return []
        if label == "inline":
            self._add("paragraph", *self._tree.inline_words([item]), part)
            return []
        if label in LISTS:
            return self._list(self._tree.children(item), part)
        if label in PICTURES:
            return self._picture(item, part)
        if isinstance(item.get("data"), dict) and "text" not in item:
            return self._table(item, part)
        return self._text(item, part)

    def _is_skipped(self, item: Item) -> bool:
        """Whether an item is noise, or not wanted, with all below it; what has words is counted."""
        label, layer = name_of(item.get("label")), name_of(item.get("content_layer"))
        if label in _RUNNING_HEADS:
            reason = _RUNNING_HEADS[label]
        elif layer in self._skipped_layers and has_words(item):
            if label == "title" and not self.page_title:
                self.page_title = self._tree.all_words(item)
            reason = "speaker notes skipped" if layer == "notes" else f"{layer} skipped"
        elif label == "footnote" and not self._include_footnotes:
            reason = "footnotes skipped"
        else:
            return False
        self._tally[reason] += 1
        return True

    def _text(self, item: Item, part: Part) -> list[str]:
        label = name_of(item.get("label"))
        words, children = self._tree.words(item), self._tree.children(item)
        if not words and label in _MAY_BE_CUT:
            words, children = self._tree.runs_and_rest(item)
        if label in _HEADINGS:
            self._heading(item, words, part)
        elif label == "code":
            language = text_of(item.get("code_language"), self._tally)
            self._add(
                "code",
                words,
                [item],
                part,
                caption=self._caption(item),
                language=language.lower() if language.lower() not in {"", "unknown"} else None,
            )
        elif label == "formula":
            latex = display_formula(text_of(item.get("text"), self._tally))
            self._add("formula", latex or words, [item], part)
        elif words:
            track = next(iter(mappings_of(item.get("source"))), None)
            if track is not None and number_of(track.get("start_time")) is not None:
                self._turn(words, track)
            else:
                self._add("paragraph", _BOXES.get(label, "") + words, [item], part)
        elif cells := self._tree.form_words(item):
            lines = [self._caption(item), *cells]
            self._add("paragraph", "\n".join(filter(None, lines)), [item], part)
        # else empty: normal in Word files, and groups have no words
        return [*children, *self._tree.strays(item)]

    def _heading(self, item: Item, text: str, part: Part) -> None:
        """A title stands above all levels, so headings below one go down by one."""
        text = " ".join(text.split())
        if not text:
            self._tally["empty headings skipped"] += 1
            return
        level = 1
        if name_of(item.get("label")) == "section_header":
            level = (ordinal_of(item.get("level")) or 1) + self._has_title
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._add("heading", text, [item], part, level=level)
        self._path.append((level, text))

    def _turn(self, words: str, track: Item) -> None:
        """A cue of a subtitle track."""
        self.blocks.append(
            Block(
                kind="turn",
                text=words,
                speaker=text_of(track.get("voice"), self._tally) or None,
                ts_start=number_of(track.get("start_time")),
                ts_end=number_of(track.get("end_time")),
            )
        )

    def _table(self, item: Item, part: Part) -> list[str]:
        text, groups = docling_table(item, self._tree, self._tally)
        caption = self._caption(item)
        if text:
            self._add("table", text, [item], part, caption=caption)
        else:
            self._add("paragraph", caption or "", [item], part)
        children = [child for child in self._tree.children(item) if child not in groups]
        return [*children, *self._tree.strays(item)]

    def _picture(self, item: Item, part: Part) -> list[str]:
        """A picture with its words: caption, description, and the labels inside it.

        A page that was taken for one picture is read as a page.
        """
        caption = self._caption(item)
        children = [c for c in self._tree.children(item) if c not in self._owned_captions]
        inside = [inner for c in children if (inner := self._tree.look_up(c)) is not None]
        is_page = any(name_of(inner.get("label")) in _STRUCTURE for inner in inside)
        words = self._tree.descriptions(item)
        if not is_page:
            for inner in self._tree.below(children):
                if not self._is_skipped(inner):
                    words += [self._tree.words(inner), *self._tree.descriptions(inner)]
        text = "\n".join(filter(None, words))
        uri = link_of(mapping_of(item.get("image")).get("uri"))
        if text or caption:
            self._add("image", text, [item], part, caption=caption, image_uri=uri)
        else:
            self._tally["pictures without text skipped"] += 1
        return [*(children if is_page else ()), *self._tree.strays(item)]

    def _list(self, references: list[str], part: Part) -> list[str]:
        found = docling_list(references, self._tree, self._is_skipped, self._tally)
        self._add("list", found.text, found.members, part)
        return found.strangers

    def _caption(self, item: Item) -> str | None:
        captions = [self._tree.meet(reference) for reference in self._tree.captions(item)]
        words = [self._tree.all_words(caption) for caption in captions if caption]
        return " ".join(filter(None, words)) or None

    def _add(
        self, kind: BlockKind, text: str, items: list[Item], part: Part, **fields: Any
    ) -> None:
        """Add a block in its place. A new slide or sheet begins a heading path of its own."""
        text = text or fields.pop("caption", None) or ""  # a caption alone is what there is to say
        if not text:
            self._tally["empty blocks skipped"] += 1
            return
        page, box = self._tree.place(items)
        cell_range = None
        if self._pages_are_slides:
            page, part = None, Part(slide=page or part.slide)
        elif part.sheet is not None:
            page, box, cell_range = None, None, a1_range(box)
        if part != self._part:
            self._part = part
            self._path.clear()
        is_note = any(item.get("content_layer") == "notes" for item in items)
        if is_note or part != Part():
            titles = tuple(title for _, title in self._path)
            fields["heading_path"] = (*titles, "Notes") if is_note else titles
        self.blocks.append(
            Block(
                kind=kind,
                text=text,
                page=page,
                slide=part.slide,
                sheet=part.sheet,
                cell_range=cell_range,
                bbox=box,
                **fields,
            )
        )


def _type(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
