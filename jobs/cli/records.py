"""Commands that read the ledger: how runs stand, what they amounted to, what could not go in."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jobs import render
from jobs.cli.frame import (
    FATAL,
    as_json,
    errors_told,
    ledger_of,
    plain,
    print_json,
    print_told,
    record_of,
    with_config,
)
from jobs.cli.running import run_and_tell
from jobs.config import Config, ConfigError, load_config
from jobs.report import EXIT_CODES
from storage.lease import current_holder

if TYPE_CHECKING:
    from jobs.run import RunOptions


@click.command()
@click.argument("run_id", required=False)
@click.option("--watch", "follow", is_flag=True, help="Go on until the run ends; exits as it does.")
@click.option(
    "--interval",
    default=5.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="Seconds between two looks.",
)
@as_json
@with_config
def status(
    run_id: str | None,
    follow: bool,
    interval: float,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Show how a run stands, the newest by default, from the ledger.

    \b
    kitelift status
    kitelift status --watch        speed, what holds it up, time left; from any machine
    """
    with errors_told(debug):
        ledger = ledger_of(load_config(config_path))
        record = record_of(ledger, run_id)
        if follow:
            from jobs.live import show_live
            from jobs.watch import watch

            outlooks = watch(ledger, record.run_id, every_seconds=interval)
            last = show_live(outlooks, as_json=as_json)
            sys.exit(EXIT_CODES.get(last.record.state, FATAL))
        holder = current_holder(ledger.objects, ledger.lease_key)
        told = f"held by {holder}" if holder else "free"
    if as_json:
        print_json({**plain(record), "lease": told})
    else:
        render.show(render.status_page(record, told))


@click.command()
@as_json
@with_config
def runs(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """List all runs, oldest first.

    \b
    kitelift runs --json
    """
    with errors_told(debug):
        records = ledger_of(load_config(config_path)).runs()
    if as_json:
        print_json([plain(record) for record in records])
    else:
        render.show(render.runs_page(records))


@click.command()
@click.argument("run_id", required=False)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with charts to this file: one file, no network.",
)
@as_json
@with_config
def report(
    run_id: str | None, html: Path | None, as_json: bool, config_path: Path | None, debug: bool
) -> None:
    """Show what a run amounted to, the newest by default.

    \b
    kitelift report 20261130T020000Z-1a2b3c --json
    kitelift report --html report.html
    """
    with errors_told(debug):
        ledger = ledger_of(load_config(config_path))
        record = record_of(ledger, run_id)
        told = ledger.report(record.run_id)
        if told is None:
            raise ConfigError(
                f"run {record.run_id} has no report yet ({record.state}); see `kitelift status`."
            )
        if html:
            from jobs.report_page import report_page

            html.write_text(report_page(told, ledger.report_before(record)), encoding="utf-8")
            click.echo(f"kitelift: written to {html}", err=True)
    if as_json or not html:
        print_told(told, as_json, render.report_page)


@click.group("dead-letters")
def dead_letters() -> None:
    """What of the source could not go in, and why.

    \b
    kitelift dead-letters list
    kitelift dead-letters show broken.md
    kitelift dead-letters replay
    """


@dead_letters.command("list")
@as_json
@with_config
def list_letters(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """List all dead letters that stand.

    \b
    kitelift dead-letters list --json
    """
    _letters((), config_path, as_json=as_json, debug=debug)


@dead_letters.command("show")
@click.argument("document_ids", nargs=-1, required=True)
@as_json
@with_config
def show_letters(
    document_ids: tuple[str, ...], as_json: bool, config_path: Path | None, debug: bool
) -> None:
    """Show the dead letters of some documents, or of an object by its key.

    \b
    kitelift dead-letters show broken.md
    """
    _letters(document_ids, config_path, as_json=as_json, debug=debug)


@dead_letters.command("replay")
@click.argument("document_ids", nargs=-1)
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for another run.")
@as_json
@with_config
def replay_letters(
    document_ids: tuple[str, ...],
    wait_seconds: float,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Try dead letters again, all of them or those of some documents.

    \b
    kitelift dead-letters replay
    kitelift dead-letters replay broken.md
    """
    from jobs.dead_letters import find_letters, replay_options

    def options(config: Config) -> "RunOptions":
        return replay_options(find_letters(ledger_of(config), document_ids), wait_seconds)

    run_and_tell(config_path, options, as_json=as_json, debug=debug)


def _letters(
    document_ids: tuple[str, ...], config_path: Path | None, *, as_json: bool, debug: bool
) -> None:
    from jobs.dead_letters import find_letters

    with errors_told(debug):
        found = find_letters(ledger_of(load_config(config_path)), document_ids)
    print_told([asdict(letter) for letter in found], as_json, render.letters_page)
