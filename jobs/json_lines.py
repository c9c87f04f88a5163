"""How a run goes on, a JSON object a line, for a log collector.

Fields name things (run, shard, object, document, stage); the text of a document, and reasons that
may quote it, stay in the report.
"""

import json
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from jobs.journal import now
from jobs.progress import LINE_EVERY_SECONDS, documents_due
from storage.records import RunPlan, ShardResult, Tally


class JsonLines:
    """A `View`: events `told`, `planned`, `progress`, `shard` and `dead letter`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._done = Tally()
        self._run: dict[str, str] = {}

    def tell(self, sentence: str) -> None:
        self._write("told", message=sentence)

    def begin(self, plan: RunPlan) -> None:
        self._run = {"run_id": plan.run_id, "collection": plan.collection}
        self._last, self._done = self._clock(), Tally()
        self._write("planned", shards=len(plan.shards), documents=documents_due(plan))

    def work(self, work: Tally) -> None:
        self._done += work
        if self._clock() - self._last >= LINE_EVERY_SECONDS:
            self._last = self._clock()
            self._write("progress", **_figures(self._done))

    def shard(self, result: ShardResult) -> None:
        place = {"shard": result.number, "object_key": result.object_key}
        failed = result.part is None
        self._write(
            "shard",
            level="error" if failed else "info",
            **place,
            state="failed" if failed else "committed",
            attempt=result.attempt,
            seconds=round(result.seconds, 3),
            **_figures(result.tally),
        )
        for letter in result.dead:
            self._write(
                "dead letter",
                level="warning",
                **place,
                document_id=letter.document_id,
                row=letter.row,
                stage=letter.stage,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def _write(self, event: str, *, level: str = "info", **fields: Any) -> None:
        line = {"time": now(), "level": level, "event": event, **self._run, **fields}
        print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)  # noqa: T201 - the view


def _figures(work: Tally) -> dict[str, Any]:
    return {
        "documents": work.fates.read,
        "dead": work.fates.dead,
        "chunks": work.chunks,
        "upserted": work.upserted,
        "deleted": work.deleted,
        "texts": work.texts,
        "tokens": work.tokens,
        "reused": work.reused,
        "sentences": work.sentences,
        "sentence_tokens": work.sentence_tokens,
        "completion_requests": work.completion_requests,
        "completion_tokens": work.completion_tokens,
        "requests": work.requests,
        "retries": work.retries,
        "slow_downs": work.slow_downs,
        "stage_seconds": {stage: round(s, 3) for stage, s in sorted(work.seconds.items())},
    }
