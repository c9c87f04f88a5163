"""StructureAwareChunker: first the boundaries that the parser restored, then the token budget."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from itertools import chain, islice
from typing import Any

from chunking.assemble import Piece, assemble
from chunking.budget import Room, TokenCounter, token_counter
from chunking.code import fence_of, fit_language, split_code
from chunking.lead_in import with_lead_in
from chunking.model import Chunk, Document
from chunking.parsers import with_blocks
from chunking.prefix import heading_line, room_under
from chunking.prose import Passage, split_prose
from chunking.running import split_running
from chunking.sections import Part, Section, caption_before, gather_sections
from chunking.sentences import SentenceSplitter, sentence_splitter
from chunking.siblings import RoomOf, join_small
from chunking.tables import read_table, split_table
from chunking.text import is_blank

VERSION = 1
"""Of the algorithm, in the fingerprint. Raise it with every change that gives other chunks."""

MIN_MAX_TOKENS = 16

_GAP = 256
"""Characters that may lie between two parts of a table: blank lines."""


@dataclass(frozen=True, slots=True)
class StructureAwareChunker:
    """Sections along the document's own structure, each cut by its kind when over budget.

    Tables are cut by rows and repeat their header, code by lines and keeps its fences, prose by
    paragraphs, sentences and only then by windows. Every chunk names its heading path first.
    Headings without text below are in no chunk: `headings_without_text` lists them.

    cl100k_base is an offline stand-in for the embedding model's own tokenizer; 512 and 64 are a
    baseline, to be tuned by recall on one's own questions.

    Raises:
        ValueError: A setting is out of its range, or names something that does not exist.
    """

    max_tokens: int = 512
    """Hard maximum of a chunk, heading prefix included; at least 16."""
    overlap_tokens: int = 64
    """Whole units of prose repeated from the chunk before, at most; less than max_tokens."""
    tokenizer_name: str = "cl100k_base"
    """A vocabulary of tiktoken. cl100k_base is installed; others may need the network once."""
    _: KW_ONLY
    min_tokens: int = 0
    """Neighbouring sections of prose smaller than this are joined under their parent; 0: never."""
    lead_in_tokens: int = 0
    """A paragraph of at most so many tokens right before a table, code block or picture without a
    caption becomes its caption; 0: never."""
    label: str = "章节："
    """Before the heading path."""
    sentence_splitter: str | SentenceSplitter = "rules"
    """`rules`, `hanlp`, `pysbd`, or a function that gives a text's sentences."""
    counted_by: str = "tiktoken"
    """`tiktoken`, or `quicktok` (extra `fast`): equal counts, so it shapes nothing."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "overlap_tokens", "min_tokens", "lead_in_tokens"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name}={value!r} must be a whole number.")  # noqa: TRY004 - of a setting
        if self.max_tokens < MIN_MAX_TOKENS:
            raise ValueError(
                f"max_tokens={self.max_tokens} must be at least {MIN_MAX_TOKENS}, or a heading "
                f"would leave no room for text."
            )
        if not 0 <= self.overlap_tokens < self.max_tokens:
            raise ValueError(
                f"overlap_tokens={self.overlap_tokens} must lie between 0 and "
                f"max_tokens={self.max_tokens}, which it may not reach."
            )
        if not 0 <= self.min_tokens <= self.max_tokens:
            raise ValueError(
                f"min_tokens={self.min_tokens} must lie between 0 and max_tokens={self.max_tokens}."
            )
        if not 0 <= self.lead_in_tokens <= self.max_tokens:
            raise ValueError(
                f"lead_in_tokens={self.lead_in_tokens} must lie between 0 and "
                f"max_tokens={self.max_tokens}."
            )
        if "\n" in self.label:
            raise ValueError(f"label={self.label!r} must stand on one line.")
        self._counter()
        self._sentences()

    @property
    def settings(self) -> Mapping[str, Any]:
        splitter = self.sentence_splitter
        return {
            "strategy": "structure",
            "version": VERSION,
            "max_tokens": self.max_tokens,
            "overlap_tokens": self.overlap_tokens,
            "tokenizer_name": self.tokenizer_name,
            "min_tokens": self.min_tokens,
            "lead_in_tokens": self.lead_in_tokens,
            "label": self.label,
            "sentence_splitter": splitter if isinstance(splitter, str) else _name(splitter),
        }

    def chunk(self, document: Document) -> list[Chunk]:
        """See `Chunker.chunk`. Markdown or text without blocks is parsed first."""
        document = with_blocks(document)
        counter = self._counter()
        return assemble(
            document,
            self._pieces(document, counter),
            strategy="structure",
            counter=counter,
            max_tokens=self.max_tokens,
        )

    def _pieces(self, document: Document, counter: TokenCounter) -> Iterator[Piece]:
        split = self._sentences()
        room_of = cache(lambda path: self._room(path, counter))
        for section in self._sections(document, room_of, counter):
            room = room_of(section.heading_path)
            passages = split_section(section, room, self.overlap_tokens, split)
            begin = list(islice(passages, 2))  # one at a time: what was just counted is known still
            for part, passage in enumerate(chain(begin, passages), start=1):
                yield Piece(
                    body=passage.text,
                    prefix=room.prefix,
                    heading_path=section.heading_path,
                    part=part,
                    is_cut=len(begin) > 1,
                    blocks=[part.block for part in passage.parts],
                    char_start=char_start_of(passage),
                )

    def _sections(
        self, document: Document, room_of: RoomOf, counter: TokenCounter
    ) -> Iterator[Section]:
        blocks = document.blocks or ()
        if self.lead_in_tokens:
            blocks = tuple(with_lead_in(blocks, self.lead_in_tokens, counter))
        sections = gather_sections(blocks)
        return join_small(sections, self.min_tokens, room_of) if self.min_tokens else sections

    def _room(self, path: tuple[str, ...], counter: TokenCounter) -> Room:
        return room_under(heading_line(self.label, path), counter, self.max_tokens)

    def _counter(self) -> TokenCounter:
        return token_counter(self.tokenizer_name, self.counted_by)

    def _sentences(self) -> SentenceSplitter:
        splitter = self.sentence_splitter
        return sentence_splitter(splitter) if isinstance(splitter, str) else splitter


StructureAwareMarkdownChunker = StructureAwareChunker
"""The older name."""


def split_section(
    section: Section, room: Room, overlap: int, split: SentenceSplitter
) -> Iterator[Passage]:
    """Cut one section by the rule of its kind; as it is where it fits."""
    part = section.parts[0]
    if part.rule == "code":
        return _code(part, room, split)
    if part.rule == "table":
        return _table(part, room, split)
    return split_prose(section.parts, room, overlap if part.rule == "prose" else 0, split)


def _table(part: Part, room: Room, split: SentenceSplitter) -> Iterator[Passage]:
    table = read_table(part.text, caption_before(part.block, part.text))
    whole = "\n".join(table.lines)
    bodies = [whole] if room.fits(whole) else split_table(table, room, split)
    for body, start in located(bodies, part.text):
        yield Passage(body, (part,), start)


def _code(part: Part, room: Room, split: SentenceSplitter) -> Iterator[Passage]:
    """A caption stands before the first fence, or in a part of its own."""
    caption, code = caption_before(part.block, part.text), part.text
    opening, closing = fence_of(code, fit_language(part.block.language or "", room))
    whole = f"{opening}\n{code}\n{closing}"
    before = caption + "\n" if caption else ""
    if is_blank(code):
        pieces = iter(split_running(caption, room, split))
    elif room.fits(before + whole):
        yield Passage(before + whole, (part,), -len(before + opening) - 1)
        return
    elif caption:
        pieces = _captioned(caption, code, opening, closing, room, split)
    else:
        pieces = split_code(code, opening, closing, room)
    for piece in pieces:
        yield Passage(piece, (part,), None)


def _captioned(
    caption: str, code: str, opening: str, closing: str, room: Room, split: SentenceSplitter
) -> Iterator[str]:
    lead = f"{caption}\n{opening}"
    first = next(split_code(code, lead, closing, room))
    lines = first.removeprefix(lead + "\n").removesuffix("\n" + closing)
    if first == f"{lead}\n{lines}\n{closing}" and code.startswith(lines + "\n"):
        yield first
        code = code[len(lines) + 1 :]
    else:  # there is no room for a whole line below
        yield from split_running(caption, room, split)
    yield from split_code(code, opening, closing, room)


def located(bodies: Iterable[str], text: str) -> Iterator[tuple[str, int | None]]:
    """Each body with its place in `text`; None where it is no piece of it.

    Each is looked for near the end of the one before, so all of them together cost one pass.
    """
    cursor = 0
    for body in bodies:
        start = text.find(body, cursor, cursor + len(body) + _GAP)
        yield body, start if start >= 0 else None
        last = body.rpartition("\n")[2]
        found = text.find(last, cursor, cursor + len(body) + _GAP)
        cursor = start + len(body) if start >= 0 else max(cursor, found + len(last))


def char_start_of(passage: Passage) -> int | None:
    first = passage.parts[0]
    if passage.start is None or first.block.char_start is None:
        return None
    return first.block.char_start + first.offset + passage.start


def _name(splitter: SentenceSplitter) -> str:
    return f"{splitter.__module__}:{getattr(splitter, '__qualname__', type(splitter).__name__)}"
