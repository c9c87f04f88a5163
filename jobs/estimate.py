"""What a run would do, found out by doing all of it but the embedding and the writing."""

from dataclasses import dataclass
from typing import Any

from jobs.changes import Change, chunk_documents, compare
from jobs.chunkers import open_chat_model
from jobs.config import Config
from jobs.docket import Docket
from jobs.footing import Footing, stand
from jobs.journal import new_run_id
from jobs.plan import Scope, make_plan
from jobs.progress import View
from jobs.rooms import Rooms, ShardTask
from jobs.run import shard_size
from jobs.vectors import distinct_texts, reusable
from jobs.windows import read_windows
from jobs.worker import open_rooms
from storage.errors import Fate, StorageError
from storage.lease import Fence
from storage.ledger import Ledger
from storage.memory_vectors import MemoryVectorDatabase
from storage.protocols import ChatModel, CompletionTally
from storage.records import RunPlan, ShardPlan, Tally

Estimate = dict[str, Any]


@dataclass(slots=True)
class _Sum:
    """What the shards add up to."""

    work: Tally = Tally()  # noqa: RUF009 - frozen
    new: int = 0
    changed: int = 0
    upserts: int = 0
    deletes: int = 0
    reused: int = 0
    texts: int = 0
    tokens: int = 0


def estimate(config: Config, scope: Scope, view: View) -> Estimate:
    """Documents new, changed, unchanged and vanished; chunks; tokens to embed; cost and time.

    Reads everything that a run would read, in this process; writes nothing, and pays no model.
    Sentences whose vector is not kept, and sections whose answer of a chat model is not, are
    counted; their documents are cut by size here. Time is told by the token rate of the last run
    that embedded anything, where there is one.
    """
    with stand(config, view.tell) as footing:
        plan = make_plan(
            footing.source,
            footing.ledger.objects,
            footing.folded,
            run_id=new_run_id(),
            collection=footing.collection,
            scope=footing.widened(scope),
            size=shard_size(config),
            keep_vanished=lambda _: "",
            tell=view.tell,
        )
        view.begin(plan)
        rooms = _rooms(footing, open_chat_model(config, is_dry=True))
        total, seen = _Sum(), set[str]()
        for shard in plan.shards:
            _look_at(_task(shard, config), rooms, total, seen, view)
        return _told(config, footing, plan, total, rooms.chat_model)


def _look_at(task: ShardTask, rooms: Rooms, total: _Sum, seen: set[str], view: View) -> None:
    docket = Docket(task.shard.object_key, view.work)
    try:
        for window in read_windows(task, rooms, docket):
            changes = compare(chunk_documents(window, task, rooms, docket), rooms.store, docket)
            for change in changes:
                _count(change, total)
                docket.stored(change.arrival, change.chunks)
            texts = distinct_texts(changes)
            missing = texts.keys() - reusable(texts, rooms).keys() - seen
            seen |= missing
            tokens = {c.content_hash: c.token_count for x in changes for c in x.write}
            total.texts += len(missing)
            total.tokens += sum(tokens[content_hash] for content_hash in missing)
            docket.flush()
    except StorageError as error:
        if error.fate is not Fate.SET_ASIDE:
            raise
        docket.give_up(str(error), task.shard.rows)
    total.work += docket.total


def _task(shard: ShardPlan, config: Config) -> ShardTask:
    """An attempt that writes nothing, and so needs neither a folder nor a lease."""
    return ShardTask(
        run_id="",
        shard=shard,
        folder="",
        attempt=0,
        attic="",
        fence=Fence(key="", collection="", run_id="", epoch=0),
        window_bytes=config.run.window_bytes,
        embed_texts=config.run.embed_texts,
    )


def _count(change: Change, total: _Sum) -> None:
    if change.stood or change.arrival.known:
        total.changed += 1
    else:
        total.new += 1
    total.upserts += len(change.write)
    total.deletes += len(change.stale)


def _rooms(footing: Footing, chat_model: ChatModel | None) -> Rooms:
    if footing.database.describe(footing.collection) is not None:
        return open_rooms(footing.order, footing.embedder, chat_model, is_dry=True)
    empty = MemoryVectorDatabase()  # the collection is not there yet: nothing to compare with
    empty.create(footing.collection, footing.spec)
    store = empty.open(footing.collection)
    return open_rooms(footing.order, footing.embedder, chat_model, store, is_dry=True)


def _told(
    config: Config, footing: Footing, plan: RunPlan, total: _Sum, chat_model: ChatModel | None
) -> Estimate:
    asked = chat_model.tally if chat_model else CompletionTally()
    fates = (total.work + plan.skipped).fates
    rate = _tokens_per_second(footing.ledger)
    tokens = total.tokens + total.work.sentence_tokens
    return {
        "collection": footing.collection,
        "builds_collection": footing.database.describe(footing.collection) is None,
        "documents": {
            "read": fates.read,
            "new": total.new,
            "changed": total.changed,
            "unchanged": fates.unchanged,
            "empty": fates.empty,
            "dead": fates.dead,
            "vanished": plan.vanished,
        },
        "objects": {
            "total": len(plan.objects),
            "skipped": sum(not o.shards and not o.fault for o in plan.objects),
            "unreadable": [
                {"object_key": o.key, "reason": o.fault} for o in plan.objects if o.fault
            ],
        },
        "shards": len(plan.shards),
        "chunks": {
            "total": total.work.chunks + plan.skipped.chunks,
            "to_upsert": total.upserts,
            "to_delete": total.deletes,
        },
        "embedding": {
            "texts": total.texts,
            "tokens": total.tokens,
            "sentences": total.work.sentences,
            "sentence_tokens": total.work.sentence_tokens,
            "cost": tokens / 1e6 * config.embedding.cost_per_million_tokens,
        },
        "completion": {
            "requests": asked.unasked,
            "prompt_tokens": asked.unasked_tokens,
            "reused": asked.reused,
        },
        "seconds": round(tokens / rate, 1) if rate else None,
    }


def _tokens_per_second(ledger: Ledger) -> float:
    """Of the last run that embedded anything; 0 where there is none."""
    for record in reversed(ledger.runs()):
        report = ledger.report(record.run_id)
        if report and report["embedding"]["tokens"] and report["seconds"]:
            tokens = report["embedding"]["tokens"] + report["embedding"]["sentence_tokens"]
            return float(tokens / report["seconds"])
    return 0.0
