"""How fast a run was, from minute to minute, by what its shards wrote down."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from storage.records import ShardResult

BINS = 60
SECONDS_A_BIN = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
MEASURES = ("documents", "chunks", "tokens")


def throughput(results: Iterable[ShardResult]) -> dict[str, Any]:
    """Documents, chunks and embedded tokens a second, over time.

    A shard's work is spread evenly over the time it took. Of a run that was killed and resumed,
    the pause between is seen as such.

    Returns:
        `from` (UTC, ISO 8601; the start of the first shard), `bin_seconds`, and under each
        measure one rate a bin.
    """
    timed = [result for result in results if result.started_at]
    origin = min((result.started_at for result in timed), default="")
    spans = [
        (_seconds(r.started_at) - _seconds(origin), max(r.seconds, 1e-3), _work(r)) for r in timed
    ]
    end = max((start + seconds for start, seconds, _ in spans), default=0.0)
    width = next((s for s in SECONDS_A_BIN if end <= s * BINS), SECONDS_A_BIN[-1])
    count = int(end // width) + 1 if spans else 0
    rates = {measure: [0.0] * count for measure in MEASURES}
    for start, seconds, work in spans:
        for place in range(int(start // width), int((start + seconds) // width) + 1):
            overlap = min(start + seconds, (place + 1) * width) - max(start, place * width)
            for measure, amount in zip(MEASURES, work, strict=True):
                rates[measure][place] += amount * overlap / seconds / width
    return {
        "from": origin,
        "bin_seconds": width,
        **{measure: [round(rate, 3) for rate in rates[measure]] for measure in MEASURES},
    }


def _work(result: ShardResult) -> tuple[int, int, int]:
    tally = result.tally
    return tally.fates.read, tally.chunks, tally.embedded_tokens


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
