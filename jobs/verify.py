"""`kitelift verify`: is what readers see what the ledger says, and what the source has?"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from jobs.audit import Audit, Findings, audit
from jobs.catalogue import fold_open_runs
from jobs.config import Config, ConfigError
from jobs.heartbeat import holding
from jobs.journal import new_run_id
from jobs.plan import Scope, is_parquet
from jobs.progress import View
from jobs.run import RunOptions, run_job
from jobs.sweep import delete_rows
from storage.errors import SettingError
from storage.ledger import Ledger
from storage.milvus_lite import reachable
from storage.objects import open_location
from storage.protocols import VectorDatabase, VectorStore
from storage.vectors import connect

KINDS = ("missing", "altered", "stale", "orphaned", "foreign")
SHOWN = 100

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The collection behind the alias, and the ledger that tells of it."""

    collection: str
    ledger: Ledger
    store: VectorStore
    fingerprint: str


def verify(config: Config, view: View, *, repair: bool, wait_seconds: float = 0.0) -> Told:
    """Audit the collection behind the alias; with `repair`, do the least that makes it right.

    Repair deletes, by id and under the lease, rows that nothing accounts for, and looks at the
    objects whose documents lack rows again. What is only waiting in the source is a run's work.

    Returns:
        What was found, and with `repair` what a second look finds.
    """
    with _look(config) as seen:
        found = _audit(config, seen)
    if not repair or found.clean:
        return _told(seen, found)
    told = _told(seen, found)
    _delete_surplus(config, view, wait_seconds)
    if found.to_rewrite:
        scope = Scope(only=frozenset(found.to_rewrite), full=True)
        options = RunOptions(scope=scope, wait_seconds=wait_seconds, command="verify --repair")
        told["repair_run"] = run_job(config, options, view)["run_id"]
    with _look(config) as seen:
        after = _audit(config, seen)
    return {**told, "repaired": _told(seen, after), "clean": after.clean}


def _delete_surplus(config: Config, view: View, wait_seconds: float) -> None:
    """Look again under the lease, so that no living run's rows are taken for left-overs."""
    ledger = Ledger(open_location(config.state.uri, config.s3), config.milvus.collection)
    name = f"verify-{new_run_id()}"
    with (
        holding(config, ledger, name, wait_seconds=wait_seconds, tell=view.tell) as check,
        _look(config) as seen,
    ):
        surplus = _audit(config, seen).to_delete
        delete_rows(seen.store, surplus, check)
        view.tell(f"{len(surplus)} rows deleted that nothing accounts for")


@contextmanager
def _look(config: Config) -> Iterator[_Seen]:
    alias = config.milvus.collection
    with reachable(config.milvus) as milvus:
        database: VectorDatabase = connect(milvus)
        try:
            target = database.alias_target(alias)
            spec = database.describe(target) if target else None
            if target is None or spec is None:
                raise SettingError(
                    f"alias {alias}", "it does not exist yet", "A run makes it: `kitelift run`."
                )
            ledger = Ledger(open_location(config.state.uri, config.s3), alias)
            yield _Seen(target, ledger, database.open(target), spec.fingerprint)
        finally:
            database.close()


def _audit(config: Config, seen: _Seen) -> Audit:
    catalogue, etag = seen.ledger.catalogue(seen.fingerprint)
    if not etag:
        raise ConfigError(
            f"the ledger at {config.state.uri} knows nothing of {seen.collection}; "
            "check [state].uri, or run once."
        )
    source = open_location(config.source.uri, config.s3)
    return audit(
        seen.ledger.objects,
        fold_open_runs(seen.ledger, catalogue).catalogue,
        seen.store,
        [record.run_id for record in seen.ledger.runs()],
        (info for info in source.objects.list(source.prefix) if is_parquet(info.key)),
    )


def _told(seen: _Seen, found: Audit) -> Told:
    return {
        "collection": seen.collection,
        "clean": found.clean,
        "rows": found.rows,
        "expected": found.expected,
        **{kind: _listed(getattr(found, kind)) for kind in KINDS},
        "unsettled": found.unsettled[:SHOWN],
        "waiting": found.waiting[:SHOWN],
    }


def _listed(findings: Findings) -> Told:
    return {
        "count": findings.count,
        "first": [asdict(finding) for finding in findings.named[:SHOWN]],
    }
