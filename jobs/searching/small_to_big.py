"""`kitelift search --mode parent`: children are found, their parents are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chunking.budget import token_counter
from jobs.config import ConfigError
from jobs.searching.hits import body_of
from jobs.searching.parents import Child, RankedParent, Span, context_of, pack, rank_parents
from jobs.searching.search import Reader, search
from storage.reranker import RerankSettings, rerank

TOP_K_CHILD = 40
TOP_M_PARENT = 3
TOKEN_BUDGET = 3_000
"""Of all contexts together, counted with cl100k_base."""
RERANKED = 20
"""Parents that a reranker sees, at most."""

_OF_A_CHILD = ("chunk_id", "score", "title", "char_start", "char_end")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    ranked: RankedParent
    row: Row
    hits: tuple[Row, ...]
    """Rows of the children that were hit, best first."""
    rerank: float | None = None


def search_parents(
    reader: Reader,
    query: str,
    *,
    top_m: int = TOP_M_PARENT,
    top_children: int = TOP_K_CHILD,
    token_budget: int = TOKEN_BUDGET,
    condition: str = "",
    reranker: RerankSettings | None = None,
) -> list[dict[str, Any]]:
    """The parents whose children are nearest to the query, best first.

    Args:
        reader: Of the collection.
        query: As a person typed it, not blank.
        top_m: Parents at most.
        top_children: Children that are looked at.
        token_budget: Of all contexts together.
        condition: A filter expression, for the children.
        reranker: Reorders the parents before the best are taken, if it has a url.

    Returns:
        For each parent the fields of its row, `score`, `scores` (`best_child`, `share`, `parent`,
        `rerank`), `context` (what to hand to a reader; "" where the budget was used up before),
        `context_tokens`, and its `children` that were hit.

    Raises:
        ConfigError: The collection has no parents, or the condition cannot be read.
        StorageError: A store, the model or the reranker does not answer.
    """
    children = search(reader, query, mode="dense", top_k=top_children, condition=condition)
    hit = {child["chunk_id"]: child for child in children if child["parent_id"]}
    if children and not hit:
        raise ConfigError(
            "the collection has no parents; build it with [chunking].strategy = "
            '"parent_child", or search in another mode.'
        )
    rows = {
        row["chunk_id"]: row
        for row in reader.store.rows_at(sorted({each["parent_id"] for each in hit.values()}))
    }
    ranked = rank_parents(
        [
            Child(chunk_id=chunk_id, parent_id=child["parent_id"], score=child["score"])
            for chunk_id, child in hit.items()
            if child["parent_id"] in rows  # a run may be replacing it just now
        ],
        {parent_id: row["metadata"].get("children", 0) for parent_id, row in rows.items()},
    )
    found = [
        _Found(
            ranked=parent,
            row=rows[parent.parent_id],
            hits=tuple(hit[child.chunk_id] for child in parent.children),
        )
        for parent in ranked
    ]
    if reranker is not None and reranker.url:
        found = _reranked(found[: max(RERANKED, top_m)], query, reranker)
    best = found[:top_m]
    counter = token_counter("cl100k_base")
    contexts = pack([_context(each) for each in best], token_budget, counter)
    return [
        {
            "score": each.ranked.score if each.rerank is None else each.rerank,
            "scores": {
                "best_child": each.ranked.best_child,
                "share": each.ranked.share,
                "parent": each.ranked.score,
                "rerank": each.rerank,
            },
            "context": context,
            "context_tokens": counter.count(context),
            "children": [
                {
                    name: child[name]
                    for name in ("chunk_id", "score", "title", "char_start", "char_end")
                }
                for child in each.hits
            ],
            **each.row,
        }
        for each, context in zip(best, contexts, strict=True)
    ]


def _reranked(found: Sequence[_Found], query: str, reranker: RerankSettings) -> list[_Found]:
    scores = rerank(reranker, query, [_context(each) for each in found])
    scored = [
        _Found(ranked=each.ranked, row=each.row, hits=each.hits, rerank=score)
        for each, score in zip(found, scores, strict=True)
    ]
    return sorted(scored, key=lambda each: -(each.rerank or 0.0))


def _context(found: _Found) -> str:
    text = body_of(found.row)
    prefix = len(found.row["content"]) - len(text)
    spans = [span for child in found.hits if (span := _span(child, prefix))]
    # Without the place of every hit there is no telling what lies between: then all of it is read.
    return context_of(
        text, spans if len(spans) == len(found.hits) else [], found.row["heading_path"]
    )


def _span(child: Row, prefix: int) -> Span | None:
    about = child["metadata"]
    if "parent_start" not in about:
        return None
    return max(0, about["parent_start"] - prefix), max(0, about["parent_end"] - prefix)
