"""The alias that readers use: where it points, where it pointed, and who moved it."""

from datetime import UTC, datetime

from storage.errors import SettingError
from storage.ledger import Ledger
from storage.protocols import VectorDatabase
from storage.records import Promotion


def point_alias(
    database: VectorDatabase,
    ledger: Ledger,
    alias: str,
    collection: str,
    *,
    rollback: bool = False,
) -> Promotion | None:
    """Move the alias in one step for readers; None if it points there already.

    It is noted first: a note of a move that never came is harmless (its collection is not the
    alias'), and a move without a note could not be rolled back.
    """
    before = database.alias_target(alias)
    if before == collection:
        return None
    moved = Promotion(
        collection=collection,
        before=before or "",
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        rollback=rollback,
    )
    ledger.add_promotion(moved)
    database.point_alias(alias, collection)
    return moved


def rolled_back(ledger: Ledger, target: str, collection: str) -> bool:
    """Whether the alias points to `target` because somebody moved it back from `collection`."""
    moves = [move for move in ledger.promotions() if move.collection == target]
    return bool(moves) and moves[-1].rollback and moves[-1].before == collection


def promotable(database: VectorDatabase, ledger: Ledger, alias: str) -> str:
    """The newest collection of this alias that is complete, and that readers do not see yet.

    Raises:
        SettingError: There is none.
    """
    target = database.alias_target(alias)
    there = set(database.collections())
    for record in reversed(ledger.runs()):
        whole = record.state == "succeeded" and record.collection in there
        if whole and record.collection == target:
            break
        if whole:
            return record.collection
    raise SettingError(
        f"alias {alias}",
        f"nothing to promote: it points to {target or 'nothing'}, and no complete collection is "
        "newer",
        "Run to the end first (`kitelift run`), or name the collection.",
    )


def earlier_collection(database: VectorDatabase, ledger: Ledger, alias: str) -> str:
    """Where the alias pointed before its last move.

    Raises:
        SettingError: It never moved, or that collection is gone.
    """
    target = database.alias_target(alias)
    moves = [move for move in ledger.promotions() if move.collection == target and move.before]
    if not moves:
        raise SettingError(
            f"alias {alias}",
            f"it points to {target or 'nothing'}, and never pointed elsewhere before that",
            "Name the collection: `kitelift promote COLLECTION`.",
        )
    before = moves[-1].before
    if before not in database.collections():
        raise SettingError(
            f"alias {alias}",
            f"{before}, where it pointed before, is gone",
            "Build it again: run with the configuration that made it.",
        )
    return before
