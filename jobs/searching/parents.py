"""Small to big: what children that a search found say of the parents that a reader wants."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chunking.budget import TokenCounter

Span = tuple[int, int]

BEST_CHILD_WEIGHT = 0.7
SHARE_WEIGHT = 0.3
WIDEN = 180
"""Characters of context on each side of a hit,"""
JOIN = 50
"""and spans closer than this become one."""
GAP = "…"
_BREADCRUMBS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A hit of the search for children."""

    chunk_id: str
    parent_id: str
    score: float
    """Higher is better; a cosine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedParent:
    parent_id: str
    score: float
    """0.7 of the best child's score, 0.3 of the share of children that were hit."""
    best_child: float
    share: float
    children: tuple[Child, ...]
    """Those that were hit, best first."""


def rank_parents(children: Iterable[Child], counts: Mapping[str, int]) -> list[RankedParent]:
    """Parents of the children, best first; by id where two are equal.

    Args:
        children: Hits, each once.
        counts: How many children each parent has in all.
    """
    families: dict[str, list[Child]] = {}
    for child in sorted(children, key=lambda child: (-child.score, child.chunk_id)):
        families.setdefault(child.parent_id, []).append(child)
    ranked = []
    for parent_id, hit in families.items():
        share = len(hit) / max(counts.get(parent_id, 0), len(hit))
        best = hit[0].score
        ranked.append(
            RankedParent(
                parent_id=parent_id,
                score=BEST_CHILD_WEIGHT * best + SHARE_WEIGHT * share,
                best_child=best,
                share=share,
                children=tuple(hit),
            )
        )
    return sorted(ranked, key=lambda parent: (-parent.score, parent.parent_id))


def context_of(text: str, hits: Sequence[Span], heading_path: Sequence[str]) -> str:
    """The parts of a parent's text around its hits, under the last three breadcrumbs.

    Args:
        text: Of the parent, without its heading prefix.
        hits: Where children stand in it, in any order; none is the whole text.
        heading_path: Of the parent.
    """
    spans = widened(hits, len(text)) if hits else [(0, len(text))]
    parts = [text[start:end].strip() for start, end in spans]
    body = f" {GAP}\n{GAP} ".join(part for part in parts if part)
    before = f"{GAP} " if text[: spans[0][0]].strip() else ""
    after = f" {GAP}" if text[spans[-1][1] :].strip() else ""
    head = f"[{' > '.join(heading_path[-_BREADCRUMBS:])}]\n" if heading_path else ""
    return f"{head}{before}{body}{after}"


def widened(hits: Iterable[Span], size: int) -> list[Span]:
    """Spans with their surroundings, in order; those that touch or nearly do are one."""
    spans: list[Span] = []
    for first, last in sorted(hits):
        start, end = max(0, first - WIDEN), min(size, last + WIDEN)
        if spans and start - spans[-1][1] < JOIN:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def pack(contexts: Sequence[str], budget: int, counter: TokenCounter) -> list[str]:
    """Contexts in order of score until the budget is used up.

    What does not fit whole is passed over, so that a shorter one behind it gets its place; only
    the best of all is cut to the budget instead, since an empty answer helps nobody.

    Returns:
        For each context what of it goes in; "" for nothing.
    """
    packed: list[str] = []
    left = budget
    for place, context in enumerate(contexts):
        taken = context
        if counter.count(taken) > left:
            taken = fitting(context, left, counter) if place == 0 else ""
        left -= counter.count(taken)
        packed.append(taken)
    return packed


def fitting(text: str, budget: int, counter: TokenCounter) -> str:
    """The longest start of a text, with the mark of a gap, that has no more tokens than these."""
    for room in range(budget, 0, -1):
        end = counter.head(text, 0, room)
        cut = text if end >= len(text) else f"{text[:end].rstrip()} {GAP}"
        if counter.count(cut) <= budget:
            return cut
    return ""
