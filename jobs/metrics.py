"""What a run counts while it goes on, by name: for Prometheus, and for the dashboards in infra/.

Ray exports each with `ray_` before its name. The driver counts what its workers noted, window by
window, so a worker that dies takes no count with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Literal

from storage.records import Tally

RUN = ("run_id", "alias")
"""Tags of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    """A counter's ends in `_total`, as Prometheus has it."""
    kind: Literal["counter", "gauge"]
    told: str
    tags: tuple[str, ...] = RUN


@dataclass(frozen=True, slots=True)
class Reading:
    """What to add to a counter."""

    metric: Metric
    amount: float
    tags: dict[str, str] = field(default_factory=dict)
    """Beside those of the run."""


def _counter(name: str, told: str, *tags: str) -> Metric:
    return Metric(name=f"kitelift_{name}_total", kind="counter", told=told, tags=(*RUN, *tags))


DOCUMENTS = _counter("documents", "Documents by how they ended", "fate")
CHUNKS = _counter("chunks", "Chunks of the documents that were looked at")
UPSERTS = _counter("upserts", "Rows written")
DELETES = _counter("deletes", "Rows deleted: their document changed or vanished")
TEXTS = _counter("texts", "Texts embedded")
TOKENS = _counter("tokens", "Tokens embedded")
REUSED = _counter("reused", "Chunks written whose vector was there already")
REQUESTS = _counter("requests", "Requests to the model, further attempts included")
RETRIES = _counter("retries", "Requests to the model that were a further attempt")
SLOW_DOWNS = _counter("slow_downs", "Times the model asked to slow down (429)")
SENTENCE_TOKENS = _counter("sentence_tokens", "Tokens of sentences embedded to cut by")
COMPLETION_REQUESTS = _counter(
    "completion_requests",
    "Requests to the chat model that proposes cuts, further attempts included",
)
COMPLETION_TOKENS = _counter("completion_tokens", "Tokens of its prompts and answers")
STAGE_SECONDS = _counter("stage_seconds", "Workers' time by stage", "stage")
SHARDS = _counter("shards", "Attempts at a shard by how they ended", "outcome")
IN_FLIGHT = Metric(name="kitelift_shards_in_flight", kind="gauge", told="Shards at work or queued")
SLOTS = Metric(name="kitelift_slots", kind="gauge", told="Shards that can be at work at once")

METRICS = (
    *(DOCUMENTS, CHUNKS, UPSERTS, DELETES, TEXTS, TOKENS, REUSED, REQUESTS, RETRIES),
    *(
        SLOW_DOWNS,
        SENTENCE_TOKENS,
        COMPLETION_REQUESTS,
        COMPLETION_TOKENS,
        STAGE_SECONDS,
        SHARDS,
        IN_FLIGHT,
        SLOTS,
    ),
)


def readings(work: Tally) -> Iterator[Reading]:
    """What a piece of work adds to which counter."""
    plain = {
        CHUNKS: work.chunks,
        UPSERTS: work.upserted,
        DELETES: work.deleted,
        TEXTS: work.texts,
        TOKENS: work.tokens,
        REUSED: work.reused,
        REQUESTS: work.requests,
        RETRIES: work.retries,
        SLOW_DOWNS: work.slow_downs,
        SENTENCE_TOKENS: work.sentence_tokens,
        COMPLETION_REQUESTS: work.completion_requests,
        COMPLETION_TOKENS: work.completion_tokens,
    }
    for metric, amount in plain.items():
        yield Reading(metric, amount)
    for fate in fields(work.fates):
        yield Reading(DOCUMENTS, getattr(work.fates, fate.name), {"fate": fate.name})
    for stage, seconds in work.seconds.items():
        yield Reading(STAGE_SECONDS, seconds, {"stage": stage})
