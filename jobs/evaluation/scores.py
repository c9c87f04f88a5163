"""How well one way of cutting lets its questions be answered: pure figures.

Recall@k and MRR look at whole passages: a chunk answers a question if it holds all letters of the
excerpt. Precision, recall and IoU look at tokens, after Smith and Troynikov, "Evaluating chunking
strategies for retrieval" (Chroma, 2024): which part of what was retrieved is the excerpt, and which
part of the excerpt was retrieved.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from jobs.evaluation.kept import Passage
from jobs.evaluation.questions import Question, covered

CUTOFFS = (1, 3, 5, 10)
BUDGETS = (500, 1_000, 2_000)
"""Tokens that a reader is given: the cutoff that does not favour large chunks."""
TOKEN_CUTOFF = 5
"""Passages whose tokens are looked at: what is handed to a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one question."""

    question: Question
    rank: int
    """Of the first passage that answers it, from 1; 0 where none does."""
    tokens: int
    """Of the passages up to that one; 0 where there is none."""
    precision: float
    recall: float
    iou: float

    def is_found(self, cutoff: int) -> bool:
        return 0 < self.rank <= cutoff


def answer(
    question: Question,
    ranking: Sequence[int],
    passages: Sequence[Passage],
    letters: Sequence[str],
    count_tokens: Callable[[str], int],
) -> Answer:
    """Look at what a search gave for one question.

    Args:
        question: With its excerpt, or its document alone.
        ranking: Places of passages, best first; those behind may be missing.
        passages: All that can be found.
        letters: `letters_of` each passage's content.
        count_tokens: As the chunks were counted.
    """
    wanted, document = question.letters, question.document_id

    def is_place(at: int) -> bool:
        return document in {"", passages[at].document_id}

    ranks = (
        rank
        for rank, at in enumerate(ranking, 1)
        if is_place(at) and (not wanted or wanted in letters[at])
    )
    rank = next(ranks, 0)
    top = ranking[:TOKEN_CUTOFF]
    retrieved = sum(passages[at].tokens for at in top)
    if wanted:
        excerpt = count_tokens(question.excerpt)
        share = covered(wanted, (letters[at] for at in top if is_place(at))) / len(wanted)
        common = share * excerpt
    else:  # the whole document answers it
        excerpt = sum(passage.tokens for passage in passages if passage.document_id == document)
        common = sum(passages[at].tokens for at in top if is_place(at))
    return Answer(
        question=question,
        rank=rank,
        tokens=sum(passages[at].tokens for at in ranking[:rank]),
        precision=common / retrieved if retrieved else 0.0,
        recall=common / excerpt if excerpt else 0.0,
        iou=common / (excerpt + retrieved - common) if excerpt + retrieved - common else 0.0,
    )


def scores(answers: Sequence[Answer]) -> dict[str, Any]:
    """Means over some questions; `recall` by cutoff is the share of them that were found."""
    return {
        "questions": len(answers),
        "recall": {
            str(cutoff): _mean(float(each.is_found(cutoff)) for each in answers)
            for cutoff in CUTOFFS
        },
        "recall_within_tokens": {
            str(budget): _mean(float(0 < each.tokens <= budget) for each in answers)
            for budget in BUDGETS
        },
        "mrr": _mean(1 / each.rank if each.rank else 0.0 for each in answers),
        "token_precision": _mean(each.precision for each in answers),
        "token_recall": _mean(each.recall for each in answers),
        "token_iou": _mean(each.iou for each in answers),
    }


def scores_by(answers: Sequence[Answer], field: str) -> dict[str, dict[str, Any]]:
    """`scores` for each kind or language that questions name."""
    values = sorted({getattr(each.question, field) for each in answers} - {""})
    return {
        value: scores([each for each in answers if getattr(each.question, field) == value])
        for value in values
    }


def _mean(values: Iterable[float]) -> float:
    return round(fmean(values), 4)
