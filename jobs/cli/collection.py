"""Commands about what readers see: audit it, point the alias, drop what nobody needs."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jobs import render
from jobs.cli.frame import (
    PARTIAL,
    as_json,
    errors_told,
    ledger_of,
    open_database,
    print_told,
    with_config,
)
from jobs.config import load_config
from jobs.progress import open_view
from storage.ledger import Ledger

if TYPE_CHECKING:
    from storage.protocols import VectorDatabase


@click.command()
@click.option("--repair", is_flag=True, help="Do the least that makes it right.")
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for another run.")
@as_json
@with_config
def verify(
    repair: bool, wait_seconds: float, as_json: bool, config_path: Path | None, debug: bool
) -> None:
    """Audit the collection against the ledger and the source: missing, stale, foreign rows.

    \b
    kitelift verify
    kitelift verify --repair
    """
    from jobs.verify import verify as look

    with errors_told(debug):
        config = load_config(config_path)
        with open_view() as view:
            told = look(config, view, repair=repair, wait_seconds=wait_seconds)
        print_told(told, as_json, render.audit_page)
    sys.exit(0 if told["clean"] else PARTIAL)


@click.command()
@click.argument("collection", required=False)
@as_json
@with_config
def promote(collection: str | None, as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Point the alias at the newest complete collection, or at the one that is named.

    \b
    kitelift promote
    kitelift promote docs_6a42a518b574
    """
    from jobs.promotion import promotable

    _move_alias(config_path, debug, as_json, lambda *at: collection or promotable(*at))


@click.command()
@as_json
@with_config
def rollback(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Point the alias where it pointed before its last move; it stays there until `promote`.

    \b
    kitelift rollback
    """
    from jobs.promotion import earlier_collection

    _move_alias(config_path, debug, as_json, earlier_collection, rollback=True)


@click.command()
@click.option("--keep-runs", default=20, show_default=True, type=click.IntRange(min=0))
@click.option("--dry-run", is_flag=True, help="Say what would go.")
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for a run.")
@as_json
@with_config
def gc(
    keep_runs: int,
    dry_run: bool,
    wait_seconds: float,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Drop ledger data of old runs, and collections that neither the alias nor rollback needs.

    While a run is at work it is refused: what the run stands on is not settled yet.

    \b
    kitelift gc --dry-run
    kitelift gc --keep-runs 50
    """
    from jobs.gc import collect, find_garbage
    from jobs.heartbeat import holding
    from jobs.journal import new_run_id

    with errors_told(debug):
        config = load_config(config_path)
        ledger, alias = ledger_of(config), config.milvus.collection
        alone = holding(config, ledger, f"gc-{new_run_id()}", wait_seconds=wait_seconds)
        with open_database(config) as database, nullcontext() if dry_run else alone as check:
            garbage = find_garbage(ledger, database, alias, keep_runs)
            if check:
                collect(garbage, ledger, database, check)
    print_told({**asdict(garbage), "dropped": not dry_run}, as_json, render.garbage_page)


def _move_alias(
    config_path: Path | None,
    debug: bool,
    as_json: bool,
    choose: Callable[["VectorDatabase", Ledger, str], str],
    *,
    rollback: bool = False,
) -> None:
    from jobs.promotion import point_alias

    with errors_told(debug):
        config = load_config(config_path)
        alias = config.milvus.collection
        with open_database(config) as database:
            ledger = ledger_of(config)
            chosen = choose(database, ledger, alias)
            moved = point_alias(database, ledger, alias, chosen, rollback=rollback)
            target = database.alias_target(alias)
    told = {"alias": alias, "collection": target, "before": moved.before if moved else target}
    print_told(told, as_json, render.promotion_page)
