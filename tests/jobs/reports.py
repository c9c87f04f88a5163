"""Reports as runs would have made them, of shards as they would have gone."""

from dataclasses import replace

from jobs.config import parse_config
from jobs.golden import Comparison, Overlap
from jobs.report import Report, make_report
from storage.records import (
    DeadLetter,
    Fates,
    ObjectPlan,
    Part,
    RunPlan,
    RunRecord,
    ShardPlan,
    ShardResult,
    Tally,
)

CONFIG = parse_config({"embedding": {"cost_per_million_tokens": 0.02}}, "here")
HOSTILE = "手册/重启<script>document.title='hacked'</script>.md"
RECORD = RunRecord(
    run_id="20261130T020000Z-1a2b3c",
    state="partial",
    fingerprint="6a42a518b574",
    collection="docs_6a42a518b574",
    alias="docs",
    holder="",
    started_at="2026-11-30T02:00:00.000+00:00",
    updated_at="2026-11-30T02:03:00.000+00:00",
)


def shard(number: int, *, at: str = "", seconds: float = 10.0, **work) -> ShardResult:
    tally = Tally(
        fates=Fates(stored=40, unchanged=200),
        chunks=300,
        upserted=100,
        texts=80,
        tokens=20_000,
        reused=20,
        reused_tokens=5_000,
        requests=3,
        seconds={"read": 1.0, "chunk": 2.0, "embed": 6.0, "upsert": 1.0},
        sizes={"paragraph 480": 60, "paragraph 128": 10, "table 256": 30},
    )
    return ShardResult(
        number=number,
        object_key=f"2026/网络设备/part-{number:05d}.parquet",
        etag="e",
        attempt=1,
        part=Part(key="k", first_row=0, rows=240),
        tally=replace(tally, **work),
        seconds=seconds,
        started_at=at or f"2026-11-30T02:00:{number % 60:02d}.000+00:00",
    )


def report_of(
    results: list[ShardResult],
    *,
    outcome: str = "succeeded",
    golden: Comparison | None = None,
    **fields,
) -> Report:
    plan = RunPlan(
        run_id=RECORD.run_id,
        fingerprint=RECORD.fingerprint,
        collection=RECORD.collection,
        prefix="",
        objects=tuple(ObjectPlan(key=r.object_key, etag="e", shards=1) for r in results),
        shards=tuple(
            ShardPlan(
                number=r.number,
                object_key=r.object_key,
                etag="e",
                size=1,
                first_group=0,
                group_count=1,
                first_row=0,
                rows=240,
            )
            for r in results
        ),
        skipped=Tally(),
        vanished_key="",
        vanished=0,
        known_documents=240,
    )
    return make_report(
        replace(RECORD, **fields),
        CONFIG,
        outcome=outcome,
        plan=plan,
        results=results,
        golden=golden,
        seconds=60.0,
    )


def dead_letter(**fields) -> DeadLetter:
    letter = DeadLetter(
        document_id=HOSTILE,
        object_key="2026/网络设备/part-00000.parquet",
        stage="embed",
        reason="HTTP 400: <img src=x onerror=\"document.title='hacked'\"> 输入过长",
        row=7,
    )
    return replace(letter, **fields)


def partial_report() -> Report:
    """Six shards, a dead letter with a document id that would run if it could."""
    results = [shard(number) for number in range(6)]
    results[0] = replace(results[0], dead=(dead_letter(),))
    golden = Comparison(
        served="docs_1f0c",
        built="docs_6a42",
        queries=40,
        top_k=10,
        mode="dense",
        overlap=0.615,
        min_overlap=0.7,
        lowest=(Overlap(line=3, overlap=0.1), Overlap(line=8, overlap=0.4)),
        tokens=800,
        requests=1,
    )
    return report_of(
        results, outcome="partial", golden=golden, reason="limits.max_cost = 1 is reached"
    )
