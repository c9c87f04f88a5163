"""The dead letters that stand: what of the source is not in the collection, and why."""

from collections.abc import Iterator

from jobs.catalogue import fold_open_runs
from jobs.config import ConfigError
from jobs.plan import Scope
from jobs.run import RunOptions
from storage.ledger import Ledger
from storage.records import DeadLetter, RunRecord


def dead_letters(ledger: Ledger) -> Iterator[DeadLetter]:
    """Those of the newest run's collection: of each object, as it was last walked.

    Unreadable objects and conflicting rows are known to that run's report alone.
    """
    newest = _newest(ledger)
    if newest is None:
        return
    catalogue = fold_open_runs(ledger, ledger.catalogue(newest.fingerprint)[0]).catalogue
    told = set()
    for entry in catalogue.entries:
        for part in () if entry.clean else entry.parts:
            result = ledger.result_of(part)
            for letter in result.dead if result else ():
                told.add((letter.object_key, letter.row))
                yield letter
    report = ledger.report(newest.run_id)
    for fields in report["dead_letters"] if report else ():
        if (fields["object_key"], fields["row"]) not in told:
            yield DeadLetter(**fields)


def find_letters(ledger: Ledger, document_ids: tuple[str, ...]) -> list[DeadLetter]:
    """The letters of these documents (or objects, by key); of all, where none is named.

    Raises:
        ConfigError: One of them has none.
    """
    letters = list(dead_letters(ledger))
    if not document_ids:
        return letters
    found = [x for x in letters if {x.document_id, x.object_key}.intersection(document_ids)]
    named = {name for letter in found for name in (letter.document_id, letter.object_key)}
    for document_id in document_ids:
        if document_id not in named:
            raise ConfigError(
                f"{document_id!r} has no dead letter; `kitelift dead-letters list` shows them."
            )
    return found


def replay_options(letters: list[DeadLetter], wait_seconds: float) -> RunOptions:
    """A run over the objects of these letters; what went in before is seen to be unchanged."""
    scope = Scope(only=frozenset(letter.object_key for letter in letters))
    return RunOptions(scope=scope, wait_seconds=wait_seconds, command="dead-letters replay")


def _newest(ledger: Ledger) -> RunRecord | None:
    records = [record for record in ledger.runs() if record.fingerprint]
    return records[-1] if records else None
