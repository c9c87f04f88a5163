"""What the collection holds: carried from run to run, object by object.

A run that ended writes a new catalogue. A run that was killed left results and claims behind;
`fold` reads them as if it had ended there, so that nothing committed is done again and nothing
begun is forgotten.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from storage.ledger import Ledger
from storage.records import Catalogue, CatalogueEntry, ObjectPlan, RunPlan, ShardResult, Tally

Entries = dict[str, CatalogueEntry]
"""By object key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The catalogue with all that unfinished runs of its fingerprint did."""

    catalogue: Catalogue
    open_runs: tuple[str, ...]
    """Runs without an end that the catalogue tells of: once it is written they are closed."""
    elsewhere: tuple[str, ...]
    """Runs without an end of another fingerprint: superseded, and kept for its next run."""
    unswept: tuple[str, ...]
    """Keys of what those runs had found vanished, and may not have deleted."""
    staged: tuple[str, ...]
    """Folders of shards that began and never committed: what they paid for may stand there."""


def fold_open_runs(ledger: Ledger, catalogue: Catalogue) -> Folded:
    entries: Entries = {entry.key: entry for entry in catalogue.entries}
    told: list[str] = []
    elsewhere: list[str] = []
    unswept: list[str] = []
    staged: list[str] = []
    for run_id in ledger.open_runs():
        plan = ledger.plan(run_id)
        if plan is not None and plan.fingerprint != catalogue.fingerprint:
            elsewhere.append(run_id)
            committed = {r.number for r in ledger.results(run_id) if r.part is not None}
            staged += _begun(ledger, plan, committed).values()
            continue
        told.append(run_id)
        if plan is not None:
            entries = after_run(ledger, entries, plan, ledger.results(run_id))
            unswept += filter(None, [plan.vanished_key])
    staged += (folder for entry in entries.values() for folder in entry.residue)
    return Folded(
        catalogue=replace(catalogue, entries=in_order(entries)),
        open_runs=tuple(told),
        elsewhere=tuple(elsewhere),
        unswept=tuple(unswept),
        staged=tuple(staged),
    )


def in_order(entries: Entries) -> tuple[CatalogueEntry, ...]:
    return tuple(entries[key] for key in sorted(entries, key=str.encode))


def after_run(
    ledger: Ledger,
    entries: Mapping[str, CatalogueEntry],
    plan: RunPlan,
    results: Iterable[ShardResult],
) -> Entries:
    """The entries as this run's shards left them; objects that are gone stay until swept."""
    by_object: dict[str, list[ShardResult]] = {}
    for result in results:
        by_object.setdefault(result.object_key, []).append(result)
    committed = {r.number for rs in by_object.values() for r in rs if r.part is not None}
    begun: dict[str, list[str]] = {}
    for number, folder in _begun(ledger, plan, committed).items():
        begun.setdefault(plan.shards[number].object_key, []).append(folder)
    after = dict(entries)
    for planned in plan.objects:
        old = entries.get(planned.key) or CatalogueEntry(key=planned.key, etag="", clean=False)
        done = [r for r in by_object.get(planned.key, []) if r.part is not None]
        if planned.shards:
            after[planned.key] = _entry(planned, old, done, begun.get(planned.key, []))
        elif planned.fault:
            after[planned.key] = replace(old, clean=False)
        elif old.etag != planned.etag:  # an object without rows
            after[planned.key] = CatalogueEntry(key=planned.key, etag=planned.etag, clean=True)
    return after


def skipped_whole(entries: Iterable[CatalogueEntry]) -> Tally:
    """What objects that are not read again stand for in the report."""
    total = Tally()
    for entry in entries:
        fates = replace(
            entry.fates, stored=0, deleted=0, unchanged=entry.fates.stored + entry.fates.unchanged
        )
        total += Tally(fates=fates, chunks=entry.chunks)
    return total


def _begun(ledger: Ledger, plan: RunPlan, committed: Collection[int]) -> dict[int, str]:
    """Folders of the shards that somebody began and nobody committed, by number."""
    claimed = sorted(ledger.attempts(plan))
    return {n: ledger.shard_folder(plan, n) for n in claimed if n not in committed}


def _entry(
    planned: ObjectPlan, old: CatalogueEntry, done: list[ShardResult], begun: list[str]
) -> CatalogueEntry:
    done = sorted(done, key=lambda r: r.number)
    parts = tuple(r.part for r in done if r.part is not None)
    work = sum((r.tally for r in done), Tally())
    complete = len(done) == planned.shards
    return CatalogueEntry(
        key=planned.key,
        etag=planned.etag if complete else "",  # its parts tell of no version as a whole
        clean=complete and not (work.fates.dead or work.fates.duplicate),
        parts=parts if complete else tuple(dict.fromkeys(old.parts + parts)),
        residue=() if complete else tuple(dict.fromkeys([*old.residue, *begun])),
        fates=work.fates if complete or not old.parts else old.fates,
        chunks=work.chunks if complete or not old.parts else old.chunks,
    )
