"""Before a run says that it is done: does the collection hold what the ledger says?"""

from collections.abc import Collection

from jobs.audit import Audit, audit
from jobs.sweep import delete_rows
from storage.ledger import Ledger
from storage.protocols import Check, VectorStore
from storage.records import Catalogue


def count_rows(
    catalogue: Catalogue,
    ledger: Ledger,
    store: VectorStore,
    *,
    walked: Collection[str],
    whole: bool,
    most_orphaned: float,
    check: Check,
) -> str:
    """Count the rows; look closer only where they are not as many as they should be.

    What is left over is deleted. Rows of a document that the ledger does not know are left-overs
    only if all of the source was walked: else it may have moved to where nobody looked yet. So may
    one whose rows are missing from an object that was not walked: its record is of before.

    Args:
        catalogue: What the collection should hold.
        ledger: Where the records are.
        store: The collection.
        walked: Keys of the objects that this run looked at.
        whole: Whether all of the source was walked.
        most_orphaned: Part of all rows that may be deleted as those of unknown documents.
        check: Whether we may still write.

    Returns:
        What is wrong, or an empty text.
    """
    if any(entry.residue for entry in catalogue.entries):
        return ""  # the run is partial as it is; what it left is told by its shards
    if store.count() == sum(entry.chunks for entry in catalogue.entries):
        return ""
    runs = [record.run_id for record in ledger.runs()]
    found = audit(ledger.objects, catalogue, store, runs, ())
    surplus = found.stale.named
    if whole:
        if found.orphaned.count > most_orphaned * found.rows:
            return _too_many(found, most_orphaned)
        surplus = [*surplus, *found.orphaned.named]
    delete_rows(store, [finding.chunk_id for finding in surplus], check)
    lacking = (*found.missing.named, *found.altered.named)
    lacks = sum(finding.object_key in walked for finding in lacking)
    if lacks or found.foreign.count:
        return (
            f"{lacks} rows are missing or altered, {found.foreign.count} are not ours; "
            "`kitelift verify --repair` mends it."
        )
    return ""


def _too_many(found: Audit, allowed: float) -> str:
    """A ledger that lost its catalogue takes vanished documents for left-overs of a crash."""
    return (
        f"{found.orphaned.count} of {found.rows} rows are of documents that neither the source nor "
        f"the ledger has, more than limits.max_delete_ratio = {allowed:g} allows; "
        "`kitelift verify` names them, `verify --repair` or `run --allow-delete` deletes them."
    )
