"""Commands that bring the collection up to date, here or on a cluster."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jobs import render
from jobs.cli.frame import (
    as_json,
    errors_told,
    full_option,
    ledger_of,
    prefix_option,
    print_json,
    print_told,
    with_config,
)
from jobs.config import DEFAULT_PATH, Config, load_config
from jobs.plan import Scope
from jobs.progress import open_view
from jobs.report import EXIT_CODES, Report, make_report
from storage.errors import LeaseError, StorageError
from storage.records import RunRecord

if TYPE_CHECKING:
    from jobs.run import RunOptions

INTERRUPTED = 130
"""As a shell has it: nobody follows the job any more, and how it will end is not known."""


@click.command()
@prefix_option
@full_option
@as_json
@with_config
def plan(prefix: str, full: bool, as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Say what a run would do; nothing is written and nothing embedded but one canary text.

    \b
    kitelift plan
    kitelift plan --full --json
    """
    from jobs.estimate import estimate

    with errors_told(debug), open_view() as view:
        told = estimate(load_config(config_path), Scope(prefix=prefix, full=full), view)
    print_told(told, as_json, render.estimate_page)


@click.command()
@prefix_option
@full_option
@click.option("--run-id", default="", help="Name of the run; of a killed one: go on with it.")
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for another run.")
@click.option("--give-way", is_flag=True, help="Let a run that waits go first; then go on.")
@click.option("--allow-delete", is_flag=True, help="Delete more than limits.max_delete_ratio.")
@as_json
@with_config
def run(
    prefix: str,
    full: bool,
    run_id: str,
    wait_seconds: float,
    give_way: bool,
    allow_delete: bool,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Bring the collection up to date with the source: embed and write what changed.

    \b
    kitelift run
    kitelift run --prefix 2025/ --run-id backfill-2025
    kitelift run --wait 60
    kitelift run --prefix 2025/ --give-way
    """
    from jobs.run import RunOptions

    options = RunOptions(
        scope=Scope(prefix=prefix, full=full),
        run_id=run_id,
        wait_seconds=wait_seconds,
        gives_way=give_way,
        allow_delete=allow_delete,
    )
    run_and_tell(config_path, lambda _: options, as_json=as_json, debug=debug)


@click.command()
@click.argument("run_id")
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for another run.")
@as_json
@with_config
def rerun(
    run_id: str, wait_seconds: float, as_json: bool, config_path: Path | None, debug: bool
) -> None:
    """Do again only what did not end well in a run: failed shards and dead letters.

    \b
    kitelift rerun 20261130T020000Z-1a2b3c
    """
    from jobs.rerun import rerun_options

    def options(config: Config) -> "RunOptions":
        return rerun_options(ledger_of(config), run_id, wait_seconds)

    run_and_tell(config_path, options, as_json=as_json, debug=debug)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--address",
    envvar=["RAY_API_SERVER_ADDRESS", "RAY_DASHBOARD_ADDRESS"],
    default="http://127.0.0.1:8265",
    show_default=True,
    help="Of the cluster's dashboard.",
)
@click.option("--tick", default="", help="Which firing of a schedule this is: 2026-11-30T02:00.")
@click.option("--every", default="", help="The tick is the last of every 15m, 6h, 1d, 1w in UTC.")
@click.option("--retry", is_flag=True, help="Start a tick again that did not succeed.")
@click.option("--with-code", is_flag=True, help="Upload these packages; the image needs the rest.")
@click.option("--no-wait", is_flag=True, help="Print the submission id and leave.")
@click.option("--status", "asked_status", metavar="ID", help="Say how a job stands.")
@click.option("--logs", "asked_logs", metavar="ID", help="Print the log of a job.")
@click.option("--stop", "asked_stop", metavar="ID", help="End a job; what it committed stays.")
@with_config
def submit(
    words: tuple[str, ...],
    address: str,
    tick: str,
    every: str,
    retry: bool,
    with_code: bool,
    no_wait: bool,
    asked_status: str | None,
    asked_logs: str | None,
    asked_stop: str | None,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Hand a command to a Ray cluster, follow its log, and exit as it does.

    The configuration is sent along; secrets are not: the cluster has them in its environment. A
    second firing of the same tick joins the job of the first.

    \b
    kitelift submit -- run
    kitelift submit --address http://ray-head:8265 --every 1d -- run --wait 600
    kitelift submit --stop kitelift-run-3f2a9c81d0-20261130T0200
    """
    from datetime import UTC, datetime

    from jobs.submission import make_submission, tick_of

    with errors_told(debug):
        if asked := asked_status or asked_logs or asked_stop:
            _ask_cluster(address, asked, status=asked_status, logs=asked_logs)
            return
        now = datetime.now(UTC)
        submission = make_submission(
            words,
            load_config(config_path),
            tick=tick or (tick_of(every, now) if every else ""),
            now=now,
        )
        from jobs.submit import Cluster

        cluster = Cluster(address)
        path = config_path or (DEFAULT_PATH if DEFAULT_PATH.exists() else None)
        started = cluster.submit(submission, path, with_code=with_code, retry=retry)
        verb = "submitted" if started else "joined, it was submitted before"
        click.echo(f"kitelift: {submission.submission_id}: {verb}", err=True)
        if no_wait:
            click.echo(submission.submission_id)
            return
        try:
            code = cluster.follow(
                submission.submission_id,
                lambda text: click.echo(text, nl=False),
                lambda sentence: click.echo(f"kitelift: {sentence}", err=True),
            )
        except KeyboardInterrupt:
            told = f"the job goes on; `kitelift submit --stop {submission.submission_id}` ends it"
            click.echo(f"kitelift: {told}", err=True)
            code = INTERRUPTED
        if code and not started and code != INTERRUPTED:
            told = "that is how the job of this tick ended; --retry starts it anew"
            click.echo(f"kitelift: {told}", err=True)
    sys.exit(code)


def run_and_tell(
    config_path: Path | None,
    options: "Callable[[Config], RunOptions]",
    *,
    as_json: bool,
    debug: bool,
) -> None:
    from jobs.json_lines import JsonLines
    from jobs.notify import notify
    from jobs.stopping import StopSign, stop_sign
    from jobs.turns import run_in_turns

    told: Report | None = None
    sign = StopSign()
    with errors_told(debug):
        config = load_config(config_path)
        chosen = options(config)
        run_view = JsonLines() if config.run.log == "json" else open_view()
        try:
            with run_view as view, stop_sign(sign, view.tell):
                told = run_in_turns(config, chosen, view, sign)
        except StorageError as error:
            told = _never_began(config, error)
            notify(config.run.notify_url, told, run_view.tell)
            if as_json:
                print_json(told)
            raise
        notify(config.run.notify_url, told, run_view.tell)
        print_told(told, as_json, render.report_page)
    if told["reason"]:
        click.echo(f"kitelift: {told['outcome']}: {told['reason']}", err=True)
    code = EXIT_CODES[told["outcome"]]
    if sign.is_urgent:  # Python itself would wait for threads whose request is under way
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _ask_cluster(address: str, asked: str, *, status: str | None, logs: str | None) -> None:
    from jobs.submit import Cluster, exit_code

    cluster = Cluster(address)
    if status:
        job = cluster.status(asked)
        over = f", exit code {exit_code(job)}" if job.status.is_terminal() else ""
        click.echo(f"{asked}: {job.status}{over}\n{job.message or ''}".rstrip())
    elif logs:
        click.echo(cluster.logs(asked), nl=False)
    else:
        click.echo(f"{asked}: {'stopping' if cluster.stop(asked) else 'had ended before'}")


def _never_began(config: Config, error: StorageError) -> Report:
    """The report of a run that was refused, or that could not even reach its ledger."""
    record = RunRecord(
        run_id="",
        state="aborted",
        fingerprint="",
        collection="",
        alias=config.milvus.collection,
        holder="",
        started_at="",
        updated_at="",
        reason=str(error),
    )
    return make_report(
        record, config, outcome="refused" if isinstance(error, LeaseError) else "failed"
    )
