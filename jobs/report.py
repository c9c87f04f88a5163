"""What a run amounted to, for people and for programs: one object, stable in its keys."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from chunking.strategies.llm import FALL_BACK
from jobs.chunk_size import chunk_size
from jobs.config import Config
from jobs.costs import completion_cost, embedding_cost, price
from jobs.golden import Comparison
from jobs.timeline import throughput
from storage.records import (
    ContestedRow,
    DeadLetter,
    Fates,
    RunPlan,
    RunRecord,
    ShardResult,
    Tally,
)

SLOWEST_SHARDS = 10
DEAD_LETTERS_SHOWN = 1000
EXIT_CODES = {"succeeded": 0, "partial": 1, "failed": 3, "aborted": 3, "refused": 4}

Report = dict[str, Any]


def make_report(
    record: RunRecord,
    config: Config,
    *,
    outcome: str,
    plan: RunPlan | None = None,
    results: Iterable[ShardResult] = (),
    swept: Tally = Tally(),  # noqa: B008 - frozen
    golden: Comparison | None = None,
    seconds: float = 0.0,
) -> Report:
    """Add up a run. With the record alone, the report of one that did nothing.

    Args:
        record: The run.
        config: What it was told.
        outcome: How it ended, a key of EXIT_CODES.
        plan: What it looked at.
        results: Of its shards, those of an earlier attempt included.
        swept: What it deleted of vanished documents.
        golden: What golden queries said of moving the alias, if they were asked.
        seconds: How long this attempt took.
    """
    results = sorted(results, key=lambda result: result.number)
    skipped = plan.skipped if plan else Tally()
    work = sum((result.tally for result in results), Tally()) + swept
    total = work + skipped
    letters = [*_faulty_objects(plan), *(x for result in results for x in result.dead)]
    equal, conflicts = _duplicates(results)
    letters += conflicts
    committed = [result for result in results if result.part is not None]
    return {
        "run_id": record.run_id,
        "outcome": outcome,
        "reason": record.reason,
        "alias": record.alias,
        "collection": record.collection,
        "fingerprint": record.fingerprint,
        "started_at": record.started_at,
        "command": record.command,
        "parent_run": plan.parent_run if plan else "",
        "documents": _documents(total.fates),
        "chunks": {
            "total": total.chunks,
            "upserted": work.upserted,
            "deleted": work.deleted,
        },
        "embedding": {
            "texts": work.texts,
            "tokens": work.tokens,
            "sentences": work.sentences,
            "sentence_tokens": work.sentence_tokens,
            "sentences_reused": work.sentences_reused,
            "reused": work.reused,
            "reused_tokens": work.reused_tokens,
            "requests": work.requests,
            "retries": work.retries,
            "slow_downs": work.slow_downs,
            "cost": embedding_cost(work, config),
            "saved": price(work.reused_tokens, config.embedding.cost_per_million_tokens),
        },
        "completion": {
            "requests": work.completion_requests,
            "tokens": work.completion_tokens,
            "reused": work.completions_reused,
            "fall_backs": work.warnings.get(FALL_BACK, 0),
            "cost": completion_cost(work, config),
        },
        "shards": {
            "total": len(plan.shards) if plan else 0,
            "committed": len(committed),
            "failed": len(results) - len(committed),
            "skipped": _skipped_objects(plan),
        },
        "objects": {
            "total": len(plan.objects) if plan else 0,
            "skipped": _skipped_objects(plan),
            "unreadable": sum(bool(o.fault) for o in plan.objects) if plan else 0,
            "gone": len(plan.gone_objects) if plan else 0,
        },
        "seconds": round(seconds, 3),
        "stage_seconds": {k: round(v, 3) for k, v in sorted(work.seconds.items())},
        "throughput": throughput(results),
        "chunking": _chunking(config),
        "chunk_tokens": _sizes(work),
        "warnings": dict(sorted(work.warnings.items())),
        "duplicates": {"dropped": work.fates.duplicate, "equal": equal},
        "golden": _golden(golden, config),
        "slowest_shards": _slowest(results),
        "dead_letters_total": len(letters),
        "dead_letters": [asdict(letter) for letter in letters[:DEAD_LETTERS_SHOWN]],
    }


def outcome_of(plan: RunPlan, results: Iterable[ShardResult]) -> str:
    """`succeeded` only if every document of the source is in, or was left out for good reason."""
    results = list(results)
    if len(results) < len(plan.shards):
        return "partial"
    if any(o.fault for o in plan.objects) or any(r.part is None or r.dead for r in results):
        return "partial"
    return "partial" if _duplicates(results)[1] else "succeeded"


def _golden(golden: Comparison | None, config: Config) -> dict[str, Any] | None:
    if golden is None:
        return None
    told = {
        **asdict(golden),
        "cost": price(golden.tokens, config.embedding.cost_per_million_tokens),
    }
    return {**told, "switched": golden.allows_switch}


def _chunking(config: Config) -> dict[str, Any]:
    size = chunk_size(config.chunking.open().settings)
    return {
        "strategy": config.chunking.strategy,
        "size": size.most,
        "unit": size.unit,
        "max_tokens": size.max_tokens,
    }


def _sizes(work: Tally) -> dict[str, dict[str, int]]:
    """Chunks by kind, and by the lower edge of a bin of SIZE_BIN_TOKENS."""
    by_kind: dict[str, dict[int, int]] = {}
    for label, count in work.sizes.items():
        kind, _, edge = label.rpartition(" ")
        by_kind.setdefault(kind, {})[int(edge)] = count
    return {
        kind: {str(edge): bins[edge] for edge in sorted(bins)}
        for kind, bins in sorted(by_kind.items())
    }


def _documents(fates: Fates) -> dict[str, int]:
    return {
        "read": fates.read,
        "stored": fates.stored,
        "unchanged": fates.unchanged,
        "empty": fates.empty,
        "dead": fates.dead,
        "deleted": fates.deleted,
    }


def _skipped_objects(plan: RunPlan | None) -> int:
    return sum(not o.shards and not o.fault for o in plan.objects) if plan else 0


def _faulty_objects(plan: RunPlan | None) -> list[DeadLetter]:
    return [
        DeadLetter(document_id="", object_key=o.key, stage="read", reason=o.fault)
        for o in (plan.objects if plan else ())
        if o.fault
    ]


def _duplicates(results: Iterable[ShardResult]) -> tuple[int, list[DeadLetter]]:
    """How many rows merely repeat the one that was taken, and those that say something else."""
    rows = [row for result in results for row in result.contested]
    winners = {row.document_id: row for row in rows if row.won}
    equal, conflicts = 0, []
    for row in rows:
        if row.won:
            continue
        winner = winners.get(row.document_id)
        if winner is not None and winner.document_hash == row.document_hash:
            equal += 1
        else:
            conflicts.append(_conflict(row, winner))
    return equal, conflicts


def _conflict(row: ContestedRow, winner: ContestedRow | None) -> DeadLetter:
    place = f"row {winner.row} of {winner.object_key}" if winner else "an earlier row"
    return DeadLetter(
        document_id=row.document_id,
        object_key=row.object_key,
        stage="duplicate",
        reason=f"the same document_id with other content; {place} was taken",
        row=row.row,
    )


def _slowest(results: Iterable[ShardResult]) -> list[dict[str, Any]]:
    slowest = sorted(results, key=lambda r: (-r.seconds, r.number))[:SLOWEST_SHARDS]
    return [
        {
            "number": r.number,
            "object_key": r.object_key,
            "started_at": r.started_at,
            "seconds": round(r.seconds, 3),
            "documents": r.tally.fates.read,
            "texts": r.tally.texts,
            "attempt": r.attempt,
        }
        for r in slowest
    ]
