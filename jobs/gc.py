"""Drop what nobody needs any more: ledger folders of old runs, collections that no alias needs."""

from dataclasses import dataclass, field
from itertools import groupby

from storage.ledger import Ledger
from storage.protocols import Check, VectorDatabase
from storage.records import ENDED

KEEP_RUNS = 20


@dataclass(slots=True)
class Garbage:
    runs: list[str] = field(default_factory=list)
    """Whose folders may go, but for the records that a catalogue still stands on."""
    keys: list[str] = field(default_factory=list)
    collections: list[str] = field(default_factory=list)


def find_garbage(
    ledger: Ledger, database: VectorDatabase, alias: str, keep_runs: int = KEEP_RUNS
) -> Garbage:
    """What can go.

    Kept are: the newest `keep_runs` runs, open runs, every part and result that a catalogue of a
    kept collection stands on, the collection behind the alias, and the one before it, so that
    `rollback` has somewhere to go. Vectors of sentences go with the run that kept them.
    """
    garbage = Garbage()
    sentences = list(ledger.sentence_keys())  # before the runs: a new one begins with its record
    target = database.alias_target(alias)
    before = [move.before for move in ledger.promotions() if move.collection == target]
    building = {record.collection for record in ledger.runs() if record.state not in ENDED}
    newest = {record.collection for record in ledger.runs()[-1:]}
    needed = {target, *before[-1:], *building, *newest}
    garbage.collections = [
        name
        for name in database.collections()
        if name.startswith(f"{alias}_") and ledger.owns(name) and name not in needed
    ]
    kept_keys = _stood_on(ledger, {name for name in needed if name})
    open_runs = set(ledger.open_runs())
    records = ledger.runs()
    kept_runs = {record.run_id for record in records}
    for record in records[: -keep_runs or None]:
        if record.run_id in open_runs or record.state not in ENDED:
            continue
        kept_runs.remove(record.run_id)
        keys = list(ledger.keys_of_run(record.run_id))
        drop = [key for key in keys if key not in kept_keys]
        garbage.keys += drop
        if len(drop) == len(keys):
            garbage.runs.append(record.run_id)
    garbage.keys += [key for run_id, key in sentences if run_id not in kept_runs]
    return garbage


def collect(garbage: Garbage, ledger: Ledger, database: VectorDatabase, check: Check) -> None:
    """Drop it. `check` comes before each collection and each folder: nobody else may be at work."""
    for collection in garbage.collections:
        check()
        database.drop(collection)
        ledger.forget_collection(collection)
    for run_id in ledger.open_runs():  # killed, and nobody goes on with what they built
        record = ledger.run(run_id)
        if record is not None and record.collection in garbage.collections:
            ledger.close_run(run_id)
    for _, keys in groupby(garbage.keys, key=lambda key: key.rpartition("/")[0]):
        check()
        for key in keys:
            ledger.objects.delete(key)


def _stood_on(ledger: Ledger, collections: set[str]) -> set[str]:
    """Keys that the catalogues of these collections name, and the results beside them."""
    keys = set()
    for collection in collections:
        catalogue, _ = ledger.catalogue(ledger.fingerprint_of(collection))
        for entry in catalogue.entries:
            for part in entry.parts:
                keys |= {part.key, f"{part.key.rpartition('/')[0]}/result.json"}
            for folder in entry.residue:
                keys |= {info.key for info in ledger.objects.list(f"{folder}/")}
    return keys
