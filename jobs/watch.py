"""`kitelift status --watch`: a run as it goes on, from any machine that reaches its ledger."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.ledger import Ledger
from storage.records import ENDED, RunRecord

WINDOW_SECONDS = 60.0
"""Rates are those of the last minute."""
SILENT_SECONDS = 60.0
"""Without a sign of life for so long, the run is said to be silent; records come every 5 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How a run stands, and how fast it is going."""

    record: RunRecord
    documents_due: int
    documents_per_second: float = 0.0
    chunks_per_second: float = 0.0
    tokens_per_second: float = 0.0
    stage_shares: tuple[tuple[str, float], ...] = ()
    """Of the workers' time in the window, the longest stage first: where it is held up."""
    silent_seconds: float = 0.0
    """Since the last sign of life, by this machine's clock."""

    @property
    def is_over(self) -> bool:
        return self.record.state in ENDED

    @property
    def documents_done(self) -> int:
        fates = self.record.progress.fates
        return fates.read + fates.duplicate

    @property
    def seconds_left(self) -> float | None:
        """At this speed; None while there is none."""
        if self.is_over or not self.documents_per_second:
            return None
        return max(self.documents_due - self.documents_done, 0) / self.documents_per_second


def watch(
    ledger: Ledger,
    run_id: str,
    *,
    every_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Outlook]:
    """Read the run's record again and again until it has ended, that end included.

    Args:
        ledger: Where the run writes its record.
        run_id: Of a run that the ledger knows.
        every_seconds: Between two looks.
        sleep: Waits.
        clock: Says how long ago the last sign of life was.
    """
    due = 0
    seen: deque[RunRecord] = deque()
    while True:
        record = ledger.run(run_id)
        if record is not None:  # else it is being written on a store without atomic writes
            due = due or _documents_due(ledger, record)
            if not seen or record.updated_at != seen[-1].updated_at:
                seen.append(record)
            while len(seen) > 2 and _seconds(seen[1], record) >= WINDOW_SECONDS:
                seen.popleft()
            yield _outlook(seen[0], record, due, clock())
            if record.state in ENDED:
                return
        sleep(every_seconds)


def _outlook(first: RunRecord, record: RunRecord, due: int, now: datetime) -> Outlook:
    silent = (now - datetime.fromisoformat(record.updated_at)).total_seconds()
    seconds = _seconds(first, record)
    if seconds <= 0:
        return Outlook(record=record, documents_due=due, silent_seconds=max(silent, 0.0))
    before, after = first.progress, record.progress
    spent = {
        stage: total - before.seconds.get(stage, 0.0) for stage, total in after.seconds.items()
    }
    whole = sum(spent.values()) or 1.0
    shares = sorted(((s, t / whole) for s, t in spent.items() if t > 0), key=lambda x: -x[1])
    return Outlook(
        record=record,
        documents_due=due,
        documents_per_second=(after.fates.read - before.fates.read) / seconds,
        chunks_per_second=(after.chunks - before.chunks) / seconds,
        tokens_per_second=(after.embedded_tokens - before.embedded_tokens) / seconds,
        stage_shares=tuple(shares),
        silent_seconds=max(silent, 0.0),
    )


def _documents_due(ledger: Ledger, record: RunRecord) -> int:
    plan = ledger.plan(record.run_id) if record.shards_total else None
    return sum(shard.rows for shard in plan.shards) if plan else 0


def _seconds(first: RunRecord, record: RunRecord) -> float:
    begun, now = map(datetime.fromisoformat, (first.updated_at, record.updated_at))
    return (now - begun).total_seconds()
