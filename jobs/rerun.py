"""What of an earlier run did not end well, as the scope of a new one."""

from jobs.config import ConfigError
from jobs.plan import Scope
from jobs.report import Report
from jobs.run import RunOptions
from storage.ledger import Ledger
from storage.records import RunPlan


def rerun_options(ledger: Ledger, run_id: str, wait_seconds: float) -> RunOptions:
    """The objects of failed shards and dead letters.

    Within them, documents that went in are seen to be unchanged.

    Raises:
        ConfigError: There is no such run, or it never had a plan.
    """
    plan = ledger.plan(run_id)
    if plan is None:
        raise ConfigError(
            f"there is no run {run_id!r} with a plan; `kitelift runs` lists them, and a run that "
            "stopped before its plan is simply run again."
        )
    keys = _unfinished(ledger, plan) | _dead(ledger.report(run_id))
    return RunOptions(
        scope=Scope(only=frozenset(keys), parent_run=run_id),
        wait_seconds=wait_seconds,
        command=f"rerun {run_id}",
    )


def _unfinished(ledger: Ledger, plan: RunPlan) -> set[str]:
    results = list(ledger.results(plan.run_id))
    committed = {r.number for r in results if r.part is not None}
    missing = {shard.object_key for shard in plan.shards if shard.number not in committed}
    faulty = {planned.key for planned in plan.objects if planned.fault}
    return missing | faulty | {r.object_key for r in results if r.dead}


def _dead(report: Report | None) -> set[str]:
    """Conflicting duplicates are known only once all shards are there."""
    return {letter["object_key"] for letter in report["dead_letters"]} if report else set()
