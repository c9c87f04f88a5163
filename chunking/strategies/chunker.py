"""One strategy with its options, as a Chunker."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

from chunking.assemble import Piece, assemble
from chunking.ids import chunk_id
from chunking.model import Chunk, Document
from chunking.parsers import with_blocks
from chunking.protocols import Chunked
from chunking.sections import Section, gather_sections
from chunking.strategies.options import Options

OUTSIDE = {"is_outside": True}
"""Metadata of a strategy's field for a model that it asks: no setting, but handed in."""


def needs(strategy: Callable[..., Any]) -> list[str]:
    """Names of the models that the strategy asks."""
    return [each.name for each in fields(strategy) if each.metadata == OUTSIDE]  # type: ignore[arg-type]  # all are dataclasses


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What a strategy makes of one document."""

    pieces: Sequence[Piece]
    """In reading order."""
    parents: Sequence[Piece] = ()
    parent_of: Sequence[int] = ()
    """For each piece the place of its parent; empty where there are none."""
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One document to cut."""

    document: Document
    sections: Sequence[Section]
    """Blocks under one heading and at one place, of all kinds, in order."""
    options: Options


class Strategy(Protocol):
    """What is a strategy's own: a frozen dataclass whose fields are its options.

    It checks them when built, and raises ValueError.
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[int]
    """Of the algorithm, in the fingerprint. Raise it with every change that gives other chunks."""
    UNIT: ClassVar[str]
    """Of its sizes, unless told otherwise."""

    def cut(self, work: Work) -> Cuts | Iterable[Piece]:
        """Cut a document into pieces, in order. None of them crosses a section."""


@runtime_checkable
class EmbeddingStrategy(Protocol):
    """A strategy that cuts by vectors."""

    def texts_to_embed(self, work: Work) -> list[str]:
        """What `cut` will ask vectors for, each text once."""


@dataclass(frozen=True, slots=True)
class StrategyChunker:
    """See `chunking.protocols.Chunker`; made by `make_chunker`."""

    strategy: Strategy
    options: Options

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "strategy": self.strategy.NAME,
            "version": self.strategy.VERSION,
            **_values(self.strategy),
            **_values(self.options),
        }

    @property
    def max_tokens(self) -> int:
        return self.options.max_tokens

    def chunk(self, document: Document) -> list[Chunk]:
        """See `Chunker.chunk`. Markdown or text without blocks is parsed first."""
        return list(self.cut(document).chunks)

    def cut(self, document: Document) -> Chunked:
        """See `FullChunker.cut`."""
        document = with_blocks(document)
        cuts = self.strategy.cut(self._work(document))
        if not isinstance(cuts, Cuts):
            cuts = Cuts(pieces=list(cuts))
        pieces = list(cuts.pieces)
        if cuts.parents:
            ids = [
                chunk_id(document.document_id, index, parent.prefix + parent.body)
                for index, parent in enumerate(cuts.parents, start=len(pieces))
            ]
            pieces = [
                replace(piece, parent_id=ids[at])
                for piece, at in zip(pieces, cuts.parent_of, strict=True)
            ]
        return Chunked(
            chunks=self._assembled(document, pieces),
            parents=self._assembled(document, cuts.parents, first_index=len(pieces)),
            warnings=tuple(cuts.warnings),
        )

    def texts_to_embed(self, document: Document) -> list[str]:
        """See `EmbeddingChunker.texts_to_embed`; nothing where the strategy needs no vectors."""
        if not isinstance(self.strategy, EmbeddingStrategy):
            return []
        return self.strategy.texts_to_embed(self._work(with_blocks(document)))

    def _work(self, document: Document) -> Work:
        sections = list(gather_sections(document.blocks or (), mixed=True))
        return Work(document=document, sections=sections, options=self.options)

    def _assembled(
        self, document: Document, pieces: Iterable[Piece], first_index: int = 0
    ) -> list[Chunk]:
        return assemble(
            document,
            pieces,
            strategy=self.strategy.NAME,
            counter=self.options.tokens,
            max_tokens=self.options.max_tokens,
            first_index=first_index,
        )


def _values(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON values, without what was handed in from outside."""
    return {
        each.name: _json(getattr(settings, each.name))
        for each in fields(settings)
        if each.metadata != OUTSIDE
    }


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if callable(value):
        return f"{value.__module__}:{getattr(value, '__qualname__', type(value).__name__)}"
    return value
