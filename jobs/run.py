"""One run from its lease to its report. What says "done" is written last.

probe the state store → lease → probe the model, reach Milvus, read the ledger (footing.py)
→ plan → guard → walk every shard → sweep what vanished → catalogue → alias → report
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from jobs.catalogue import after_run, in_order
from jobs.config import Config, ConfigError
from jobs.edges import reach
from jobs.executor import Executor, InlineExecutor
from jobs.footing import Footing, stand
from jobs.heartbeat import Heartbeat
from jobs.plan import Scope, ShardSize, make_plan
from jobs.progress import View
from jobs.report import Report, make_report, outcome_of
from jobs.rooms import ShardTask
from jobs.schedule import work_off
from jobs.sweep import sweep
from storage.errors import LeaseError, SettingError, StorageError
from storage.lease import Fence, acquire, this_process
from storage.ledger import Ledger
from storage.objects import open_location, probe_conditional_writes
from storage.parts import write_ids
from storage.records import ENDED, Catalogue, Fates, RunPlan, RunRecord, ShardResult, Tally
from storage.throttles import Pace, SharedPace

PROGRESS_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says beside the configuration."""

    scope: Scope = Scope()  # noqa: RUF009 - frozen
    run_id: str = ""
    """Empty: a new one. That of a run that was killed goes on with its plan."""
    wait_seconds: float = 0.0
    allow_delete: bool = False
    command: str = "run"


class GuardError(StorageError):
    """The run would delete more than it may."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason} Nothing was changed; --allow-delete goes on all the same."


def run_job(config: Config, options: RunOptions, view: View) -> Report:
    """Bring the collection up to date with the source.

    Returns:
        The report, written to the ledger too; its outcome tells how the run ended.

    Raises:
        LeaseError: Another run holds the collection.
        ConfigError: The run id is taken.
        StorageError: The ledger itself cannot be reached.
    """
    begun = time.monotonic()
    state = open_location(config.state.uri, config.s3)
    ledger = Ledger(state, config.milvus.collection)
    probe_conditional_writes(state)
    record = _new_record(config, options, ledger)
    lease = acquire(
        state.objects,
        ledger.lease_key,
        config.milvus.collection,
        this_process(record.run_id, private_workers=_private_workers(config)),
        wait_seconds=options.wait_seconds,
        tell=view.tell,
    )
    with Heartbeat(lease, config.milvus.collection) as heartbeat:
        journal = _Journal(ledger, record, heartbeat, view)
        try:
            with stand(config, view.tell) as footing:
                return _Run(config, options, footing, lease.fence, journal, begun).walk()
        except (KeyboardInterrupt, StorageError) as error:
            return _broken_off(journal, error, config, begun)


class _Journal:
    """The run's record, kept up to date in the ledger while the work goes on."""

    def __init__(self, ledger: Ledger, record: RunRecord, heart: Heartbeat, view: View) -> None:
        self.ledger, self.record, self.view = ledger, record, view
        self._heart = heart
        self._written = time.monotonic()

    def note(self, work: Tally) -> None:
        self.record = replace(self.record, progress=self.record.progress + work)
        self.view.work(work)

    def shard(self, result: ShardResult) -> None:
        self.record = replace(self.record, shards_done=self.record.shards_done + 1)
        self.view.shard(result)

    def pulse(self) -> None:
        """Called all the time; raises LeaseError once the lease is lost."""
        self._heart.check()
        if time.monotonic() - self._written >= PROGRESS_EVERY_SECONDS:
            self.change()

    def change(self, **fields: object) -> None:
        """Write the record, with these fields changed."""
        self._written = time.monotonic()
        self.record = replace(self.record, updated_at=_now(), **fields)  # type: ignore[arg-type]
        self.ledger.write_run(self.record)


class _Run:
    """The steps of a run that has its lease and its footing."""

    def __init__(
        self,
        config: Config,
        options: RunOptions,
        footing: Footing,
        fence: Fence,
        journal: _Journal,
        begun: float,
    ) -> None:
        self._config, self._options, self._footing = config, options, footing
        self._fence, self._journal, self._begun = fence, journal, begun

    def walk(self) -> Report:
        footing, journal = self._footing, self._journal
        reach("leased")
        plan = self._plan()
        reach("planned")
        self._guard(plan)
        journal.change(state="running", shards_total=len(plan.shards))
        footing.database.create(footing.collection, footing.spec)
        reach("created")
        results = list(self._shards(plan))
        journal.change(state="sweeping")
        swept = self._sweep(plan)
        reach("swept")
        journal.change(state="promoting")
        outcome = outcome_of(plan, results)
        self._write_catalogue(plan, results)
        reach("catalogued")
        self._promote(results)
        reach("promoted")
        return self._report(plan, results, swept, outcome)

    def _plan(self) -> RunPlan:
        """The plan of the run that was killed, if this is the same one; else a new one."""
        footing, journal = self._footing, self._journal
        run_id = journal.record.run_id
        journal.record = replace(
            journal.record,
            fingerprint=footing.spec.fingerprint,
            collection=footing.collection,
        )
        plan = footing.ledger.plan(run_id)
        if plan is not None and plan.fingerprint != footing.spec.fingerprint:
            raise SettingError(
                f"--run-id {run_id}",
                "that run was planned with other settings",
                "Leave it out, or set the old configuration again.",
            )
        journal.ledger.begin(journal.record)
        if plan is None:
            plan = make_plan(
                footing.source,
                footing.ledger.objects,
                footing.folded,
                run_id=run_id,
                collection=footing.collection,
                scope=self._options.scope,
                size=shard_size(self._config),
                keep_vanished=self._keep_vanished,
                tell=journal.view.tell,
            )
            footing.ledger.write_plan(plan)
        journal.view.begin(plan)
        return plan

    def _keep_vanished(self, document_ids: tuple[str, ...]) -> str:
        if not document_ids:
            return ""
        ledger = self._footing.ledger
        key = f"{ledger.run_folder(self._journal.record.run_id)}/vanished.parquet"
        write_ids(ledger.objects, key, document_ids)
        return key

    def _guard(self, plan: RunPlan) -> None:
        if self._options.allow_delete:
            return
        if not plan.objects and not self._options.scope.is_narrow:
            raise GuardError(
                f"The source {self._config.source.uri} lists no Parquet object; "
                f"{plan.known_documents} documents are in the collection."
            )
        allowed = self._config.limits.max_delete_ratio
        if plan.vanished > allowed * plan.known_documents:
            raise GuardError(
                f"{plan.vanished} of {plan.known_documents} documents have vanished from the "
                f"source, more than limits.max_delete_ratio = {allowed:g} allows."
            )

    def _shards(self, plan: RunPlan) -> Iterator[ShardResult]:
        footing, run = self._footing, self._config.run
        done = {result.number: result for result in footing.ledger.results(plan.run_id)}
        for result in done.values():
            self._journal.shard(result)
            yield result
        attempts = footing.ledger.attempts(plan) if done or self._options.run_id else {}
        tasks = (
            ShardTask(
                run_id=plan.run_id,
                shard=shard,
                folder=footing.ledger.shard_folder(plan, shard.number),
                attempt=attempts.get(shard.number, 0) + 1,
                fence=self._fence,
                window_bytes=run.window_bytes,
                embed_texts=run.embed_texts,
            )
            for shard in plan.shards
            if shard.number not in done
        )
        if len(done) == len(plan.shards):
            return
        with _executor(self._config, footing, self._journal.note) as executor:
            for result in work_off(
                tasks,
                executor,
                footing.ledger.objects,
                max_attempts=run.max_attempts,
                pulse=self._journal.pulse,
            ):
                self._journal.shard(result)
                yield result

    def _sweep(self, plan: RunPlan) -> Tally:
        if not plan.vanished_key:
            return Tally()
        footing = self._footing
        begun = time.monotonic()
        rows = sweep(
            footing.ledger.objects,
            plan.vanished_key,
            footing.database.open(footing.collection),
            self._fence,
            self._journal.pulse,
        )
        return Tally(
            fates=Fates(deleted=plan.vanished),
            deleted=rows,
            seconds={"sweep": time.monotonic() - begun},
        )

    def _write_catalogue(self, plan: RunPlan, results: list[ShardResult]) -> None:
        footing = self._footing
        known = footing.folded.catalogue
        entries = {entry.key: entry for entry in known.entries}
        entries = after_run(footing.ledger, entries, plan, results)
        for key in plan.gone_objects:
            entries.pop(key, None)
        catalogue = Catalogue(
            fingerprint=plan.fingerprint,
            run_id=plan.run_id,
            entries=in_order(entries),
            canary=known.canary or tuple(map(float, footing.probe.canary)),
        )
        self._fence.check(footing.ledger.objects)
        footing.ledger.write_catalogue(catalogue, footing.catalogue_etag)

    def _promote(self, results: list[ShardResult]) -> None:
        """Readers see a collection only when all of the source was walked into it."""
        footing, alias = self._footing, self._config.milvus.collection
        target = footing.database.alias_target(alias)
        whole = not self._options.scope.is_narrow and all(r.part is not None for r in results)
        if target is None or (target != footing.collection and whole):
            self._fence.check(footing.ledger.objects)
            footing.database.point_alias(alias, footing.collection)
            self._journal.view.tell(f"alias {alias} points to {footing.collection}")

    def _report(
        self, plan: RunPlan, results: list[ShardResult], swept: Tally, outcome: str
    ) -> Report:
        journal, ledger = self._journal, self._footing.ledger
        report = make_report(
            journal.record,
            outcome=outcome,
            plan=plan,
            results=results,
            swept=swept,
            seconds=time.monotonic() - self._begun,
            cost_per_million_tokens=self._config.embedding.cost_per_million_tokens,
        )
        ledger.write_report(plan.run_id, report)
        reach("reported")
        journal.change(state=outcome)
        for run_id in {*self._footing.folded.open_runs, plan.run_id}:
            self._close(run_id)
        return report

    def _close(self, run_id: str) -> None:
        """The catalogue tells what this run did: it is no longer open."""
        ledger = self._footing.ledger
        record = ledger.run(run_id)
        if record is not None and record.state not in ENDED:
            ledger.write_run(replace(record, state="superseded", updated_at=_now()))
        ledger.close_run(run_id)


def shard_size(config: Config) -> ShardSize:
    return ShardSize(bytes=config.run.shard_bytes, documents=config.run.shard_documents)


def new_run_id() -> str:
    """Sorts by time, and two runs of the same second differ."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def _new_record(config: Config, options: RunOptions, ledger: Ledger) -> RunRecord:
    run_id = options.run_id or new_run_id()
    earlier = ledger.run(run_id)
    if earlier is not None and earlier.state in ENDED:
        raise ConfigError(
            f"run {run_id} has ended ({earlier.state}); `kitelift rerun {run_id}` takes up what "
            "did not end well, or give another --run-id."
        )
    return RunRecord(
        run_id=run_id,
        state="planned",
        fingerprint="",
        collection="",
        alias=config.milvus.collection,
        holder=str(this_process(run_id, private_workers=False)),
        started_at=earlier.started_at if earlier else _now(),
        updated_at=_now(),
        command=options.command,
    )


def _broken_off(journal: _Journal, error: BaseException, config: Config, begun: float) -> Report:
    """The report of a run that ended before its end; what it committed stays, and is resumed."""
    interrupted = isinstance(error, KeyboardInterrupt)
    if isinstance(error, LeaseError):
        outcome = "aborted"
    elif interrupted:
        outcome = "partial"
    else:
        outcome = "aborted" if isinstance(error, GuardError) else "failed"
    reason = (
        "interrupted; what was committed stays, run again to go on" if interrupted else str(error)
    )
    ledger, record = journal.ledger, replace(journal.record, reason=reason)
    journal.record = record
    plan = ledger.plan(record.run_id)
    report = make_report(
        record,
        outcome=outcome,
        plan=plan,
        results=ledger.results(record.run_id),
        seconds=time.monotonic() - begun,
        cost_per_million_tokens=config.embedding.cost_per_million_tokens,
    )
    ledger.write_report(record.run_id, report)
    journal.change(state=outcome)
    return report


def _executor(config: Config, footing: Footing, note: Callable[[Tally], None]) -> Executor:
    embedding = config.embedding
    pace = Pace(
        requests_per_minute=embedding.requests_per_minute,
        tokens_per_minute=embedding.tokens_per_minute,
        max_pause=embedding.max_wait_seconds,
    )
    if config.run.executor == "inline":
        return InlineExecutor(footing.order, note, SharedPace(pace))
    from jobs.driver import RayExecutor  # noqa: PLC0415 - Ray takes a second to import

    return RayExecutor(footing.order, note, pace, workers=config.run.workers)


def _private_workers(config: Config) -> bool:
    return config.run.executor == "inline" or not os.environ.get("RAY_ADDRESS")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
