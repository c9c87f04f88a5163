"""One run from its lease to its report. What says "done" is written last.

probe the state store → lease → probe the model, reach Milvus, read the ledger (footing.py)
→ plan → guard → walk every shard → sweep what vanished → catalogue → alias → report
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from jobs.attic import clear
from jobs.catalogue import after_run, in_order
from jobs.config import Config
from jobs.counting import count_rows
from jobs.edges import reach
from jobs.executor import Executor
from jobs.footing import Footing, stand
from jobs.golden import Comparison, Query, compare, read_queries
from jobs.guard import GuardError, cap_reached, refuse_mass_deletion, refuse_other_settings
from jobs.heartbeat import Heartbeat
from jobs.journal import Journal, new_record, now
from jobs.placement import open_executor, private_workers
from jobs.plan import Scope, ShardSize, make_plan
from jobs.progress import View
from jobs.promotion import point_alias, rolled_back
from jobs.report import Report, make_report, outcome_of
from jobs.rooms import ShardTask
from jobs.schedule import work_off
from jobs.stopping import StopSign
from jobs.sweep import sweep
from storage.errors import LeaseError, StorageError
from storage.lease import Fence, acquire, this_process
from storage.ledger import Ledger
from storage.objects import open_location, probe_conditional_writes
from storage.parts import write_ids
from storage.records import ENDED, Catalogue, RunPlan, ShardResult, Tally
from storage.waiting import Announcer, Lookout


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says beside the configuration."""

    scope: Scope = Scope()  # noqa: RUF009 - frozen
    run_id: str = ""
    """Empty: a new one. That of a run that was killed goes on with its plan."""
    wait_seconds: float = 0.0
    allow_delete: bool = False
    gives_way: bool = False
    """Ends before its next shard when another run waits for the collection."""
    command: str = "run"


def run_job(
    config: Config, options: RunOptions, view: View, sign: StopSign | None = None
) -> Report:
    """Bring the collection up to date with the source.

    Args:
        config: What to do, and where.
        options: What the command line says beside it.
        view: Hears how it goes on.
        sign: Looked at before each new shard; a reason in it ends the run, partial.

    Returns:
        The report, written to the ledger too; its outcome tells how the run ended.

    Raises:
        LeaseError: Another run holds the collection.
        ConfigError: The run id is taken, or the golden queries cannot be read.
        StorageError: The ledger itself cannot be reached.
    """
    begun = time.monotonic()
    queries = read_queries(config)
    state = open_location(config.state.uri, config.s3)
    ledger = Ledger(state, config.milvus.collection)
    probe_conditional_writes(state)
    record = new_record(config, options.run_id, options.command, ledger)
    holder = this_process(record.run_id, private_workers=private_workers(config))
    announcer = Announcer(state.objects, ledger.lease_key, holder)
    lease = acquire(
        state.objects,
        ledger.lease_key,
        config.milvus.collection,
        holder,
        lease_seconds=config.run.lease_seconds,
        wait_seconds=options.wait_seconds,
        tell=view.tell,
        announce=(lambda: None) if options.gives_way else announcer,
    )
    with Heartbeat(lease, config.milvus.collection, config.run.lease_seconds) as heartbeat:
        journal = Journal(ledger, record, heartbeat, view)
        try:
            with stand(config, view.tell) as footing:
                run = _Run(config, options, footing, lease.fence, journal, begun)
                return run.walk(sign or StopSign(), queries)
        except (KeyboardInterrupt, StorageError) as error:
            return _broken_off(journal, error, config, begun)


class _Run:
    """The steps of a run that has its lease and its footing."""

    def __init__(
        self,
        config: Config,
        options: RunOptions,
        footing: Footing,
        fence: Fence,
        journal: Journal,
        begun: float,
    ) -> None:
        self._config, self._options, self._footing = config, options, footing
        self._fence, self._journal, self._begun = fence, journal, begun

    def walk(self, sign: StopSign, queries: Sequence[Query]) -> Report:
        footing, journal = self._footing, self._journal
        reach("leased")
        plan = self._plan()
        reach("planned")
        if not self._options.allow_delete:
            refuse_mass_deletion(plan, self._config, whole=not self._options.scope.is_narrow)
        journal.change(state="running", shards_total=len(plan.shards))
        footing.database.create(footing.collection, footing.spec)
        reach("created")
        done = list(footing.ledger.results(plan.run_id))
        is_due = len(done) < len(plan.shards) or bool(plan.vanished_key)
        with open_executor(
            self._config, footing, plan.run_id, journal.note, is_due=is_due
        ) as executor:
            results = list(self._shards(plan, done, executor, sign))
            journal.change(state="sweeping")
            swept = self._sweep(plan, results, executor)
        reach("swept")
        catalogue = self._catalogue(plan, results)
        journal.change(state="verifying")
        stopped = len(results) < len(plan.shards)
        reason = sign.reason if stopped else self._verify(plan, catalogue, results)
        journal.change(state="promoting", reason=reason)
        self._write_catalogue(catalogue)
        reach("catalogued")
        golden = self._promote(plan, results, queries)
        reach("promoted")
        if self._is_whole(plan, results):
            keep = plan.run_id if self._has_left_out(plan, results) else ""
            clear(footing.ledger.objects, footing.ledger.attic(plan.fingerprint), but=keep)
        return self._report(plan, results, swept, golden)

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
        parent_run = self._options.scope.parent_run
        for earlier in (plan, footing.ledger.plan(parent_run) if parent_run else None):
            refuse_other_settings(earlier, footing.spec.fingerprint)
        journal.ledger.begin(journal.record)
        if plan is None:
            plan = make_plan(
                footing.source,
                footing.ledger.objects,
                footing.folded,
                run_id=run_id,
                collection=footing.collection,
                scope=footing.widened(self._options.scope),
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

    def _shards(
        self, plan: RunPlan, done: list[ShardResult], executor: Executor, sign: StopSign
    ) -> Iterator[ShardResult]:
        """Results of all shards: those of an earlier attempt at this run, then the others."""
        for result in done:
            self._journal.shard(result)
            yield result
        for result in work_off(
            self._tasks(plan, {result.number for result in done}, sign),
            executor,
            self._footing.ledger.objects,
            max_attempts=self._config.run.max_attempts,
            pulse=self._journal.pulse,
        ):
            self._journal.shard(result)
            yield result

    def _tasks(self, plan: RunPlan, done: Collection[int], sign: StopSign) -> Iterator[ShardTask]:
        """What is left to walk, for as long as nothing speaks against beginning another shard."""
        ledger, run = self._footing.ledger, self._config.run
        lookout = Lookout(ledger.objects, ledger.lease_key)
        attempts = ledger.attempts(plan)
        for shard in plan.shards:
            if shard.number in done:
                continue
            sign.reason = sign.reason or cap_reached(
                self._config,
                work=self._journal.record.progress,
                seconds=time.monotonic() - self._begun,
            )
            if not sign.reason and self._options.gives_way and (waiter := lookout.look()):
                sign.reason, sign.gives_way = f"gave way to {waiter}", True
            if sign.reason:
                return
            yield ShardTask(
                run_id=plan.run_id,
                shard=shard,
                folder=ledger.shard_folder(plan, shard.number),
                attempt=attempts.get(shard.number, 0) + 1,
                fence=self._fence,
                staged=self._footing.folded.staged,
                attic=ledger.attic(plan.fingerprint),
                window_bytes=run.window_bytes,
                embed_texts=run.embed_texts,
            )

    def _sweep(self, plan: RunPlan, results: list[ShardResult], executor: Executor) -> Tally:
        swept = Tally()
        if not plan.vanished_key:
            return swept
        footing = self._footing
        attic = f"{footing.ledger.attic(plan.fingerprint)}/{plan.run_id}"
        works = sweep(
            footing.ledger.objects,
            plan.vanished_key,
            attic if self._has_left_out(plan, results) else "",
            footing.database.open(footing.collection),
            self._fence,
        )
        for work in works:
            self._journal.pulse()
            executor.count(work)
            swept += work
        return swept

    def _catalogue(self, plan: RunPlan, results: list[ShardResult]) -> Catalogue:
        """What the collection holds when all that this run did is told."""
        footing = self._footing
        known = footing.folded.catalogue
        entries = {entry.key: entry for entry in known.entries}
        entries = after_run(footing.ledger, entries, plan, results)
        for key in plan.gone_objects:
            entries.pop(key, None)
        return Catalogue(
            fingerprint=plan.fingerprint,
            run_id=plan.run_id,
            entries=in_order(entries),
            canary=known.canary or tuple(map(float, footing.probe.canary)),
            embedding=self._config.embedding.model_dump_json(by_alias=True),
        )

    def _verify(self, plan: RunPlan, catalogue: Catalogue, results: list[ShardResult]) -> str:
        footing, state = self._footing, self._footing.ledger.objects
        return count_rows(
            catalogue,
            footing.ledger,
            footing.database.open(footing.collection),
            walked={planned.key for planned in plan.objects},
            whole=self._is_whole(plan, results),
            most_orphaned=1.0
            if self._options.allow_delete
            else self._config.limits.max_delete_ratio,
            check=lambda: self._fence.check(state),
        )

    def _write_catalogue(self, catalogue: Catalogue) -> None:
        footing = self._footing
        self._fence.check(footing.ledger.objects)
        footing.ledger.write_catalogue(catalogue, footing.catalogue_etag)

    def _promote(
        self, plan: RunPlan, results: list[ShardResult], queries: Sequence[Query]
    ) -> Comparison | None:
        """Readers see a collection only when all of the source was walked into it, and verified.

        The first collection is shown as soon as there is one: before it, readers have nothing.
        Where there are golden queries, they are asked first; what they say comes back.
        """
        footing, journal = self._footing, self._journal
        alias = self._config.milvus.collection
        target = footing.database.alias_target(alias)
        whole = self._is_whole(plan, results) and not journal.record.reason
        ready = whole and self._config.run.promote
        if target == footing.collection or not (ready or target is None):
            return None
        if target and rolled_back(footing.ledger, target, footing.collection):
            journal.view.tell(
                f"alias {alias} was rolled back from {footing.collection} and stays at {target}; "
                "`kitelift promote` moves it"
            )
            return None
        golden = None
        if target is not None and queries:
            golden = compare(queries, footing, target, self._config)
            journal.view.tell(str(golden))
            if not golden.allows_switch:
                journal.change(reason=golden.advice)
                return golden
        self._fence.check(footing.ledger.objects)
        point_alias(footing.database, footing.ledger, alias, footing.collection)
        journal.view.tell(f"alias {alias} points to {footing.collection}")
        return golden

    def _is_whole(self, plan: RunPlan, results: list[ShardResult]) -> bool:
        """Whether all of the source was walked to its end."""
        walked = len(results) == len(plan.shards) and all(r.part is not None for r in results)
        return walked and not self._options.scope.is_narrow

    def _has_left_out(self, plan: RunPlan, results: list[ShardResult]) -> bool:
        """Whether some document of the source is still to come, and may bring a text back."""
        whole = self._is_whole(plan, results)
        return not whole or outcome_of(plan, results) != "succeeded"

    def _report(
        self, plan: RunPlan, results: list[ShardResult], swept: Tally, golden: Comparison | None
    ) -> Report:
        journal, ledger = self._journal, self._footing.ledger
        outcome = "partial" if journal.record.reason else outcome_of(plan, results)
        report = make_report(
            journal.record,
            self._config,
            outcome=outcome,
            plan=plan,
            results=results,
            swept=swept,
            golden=golden,
            seconds=time.monotonic() - self._begun,
        )
        ledger.write_report(plan.run_id, report)
        reach("reported")
        journal.change(state=outcome)
        folded = self._footing.folded
        for run_id in (*folded.open_runs, *folded.elsewhere):
            self._supersede(run_id)
        for run_id in {*folded.open_runs, plan.run_id}:
            ledger.close_run(run_id)  # the catalogue tells what it did
        return report

    def _supersede(self, run_id: str) -> None:
        ledger = self._footing.ledger
        record = ledger.run(run_id)
        if record is not None and record.state not in ENDED:
            ledger.write_run(replace(record, state="superseded", updated_at=now()))


def shard_size(config: Config) -> ShardSize:
    return ShardSize(bytes=config.run.shard_bytes, documents=config.run.shard_documents)


def _broken_off(journal: Journal, error: BaseException, config: Config, begun: float) -> Report:
    """The report of a run that ended before its end; what it committed stays, and is resumed."""
    outcome, reason = "failed", str(error)
    if isinstance(error, LeaseError | GuardError):
        outcome = "aborted"
    elif isinstance(error, KeyboardInterrupt):
        outcome, reason = "partial", "interrupted; what was committed stays, run again to go on"
    ledger, record = journal.ledger, replace(journal.record, reason=reason)
    journal.record = record
    plan = ledger.plan(record.run_id)
    report = make_report(
        record,
        config,
        outcome=outcome,
        plan=plan,
        results=ledger.results(record.run_id),
        seconds=time.monotonic() - begun,
    )
    ledger.write_report(record.run_id, report)
    journal.change(state=outcome)
    return report
