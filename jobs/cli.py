"""The command line. Results go to stdout, progress and errors to stderr.

Exit codes: 0 all well · 1 ended partial · 2 usage or configuration · 3 stopped by a fatal fault ·
4 another run holds the collection.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jobs import render
from jobs.config import DEFAULT_PATH, Config, ConfigError, load_config
from jobs.logs import set_up_logging
from jobs.plan import Scope
from jobs.progress import open_view
from jobs.report import EXIT_CODES, Report, make_report
from storage.errors import LeaseError, StorageError
from storage.lease import current_holder
from storage.ledger import Ledger
from storage.objects import open_location
from storage.records import RunRecord

if TYPE_CHECKING:
    from jobs.run import RunOptions
    from storage.protocols import VectorDatabase

F = TypeVar("F", bound=Callable[..., Any])

PARTIAL, USAGE, FATAL, REFUSED = 1, 2, 3, 4


def with_config(command: F) -> F:
    """Every command that touches the job: -c and --debug."""
    command = click.option(
        "-c",
        "--config",
        "config_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="TOML file; default: kitelift.toml here, else the embedded defaults.",
    )(command)
    return with_debug(command)


def with_debug(command: F) -> F:
    return click.option("--debug", is_flag=True, help="Show the traceback of an error.")(command)


as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
prefix_option = click.option(
    "--prefix", default="", help="Only objects whose key below the source starts with this."
)
full_option = click.option("--full", is_flag=True, help="Look at every document again.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="kitelift")
def main() -> None:
    """Lift parsed documents into Milvus: chunked, embedded, and safe to run again.

    \b
    kitelift convert ./manuals --to ./parsed     files into Parquet of parsed documents
    kitelift run                                 chunk, embed and upsert what is due
    kitelift search "如何重启网关" --mode hybrid   what a retriever would get
    """
    set_up_logging()


@main.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--to", "target", required=True, help="s3://bucket/prefix or a folder.")
@click.option(
    "--format",
    "file_format",
    default="auto",
    show_default=True,
    help="markdown, text, dialogue, docling, unstructured or mineru: of all files, of any name.",
)
@click.option("--id-field", default="", help="Metadata key to take document ids from, where set.")
@click.option(
    "--max-file-mb",
    default=256,
    show_default=True,
    type=click.IntRange(min=1),
    help="Larger files fail.",
)
@click.option(
    "--object-mb",
    default=64,
    show_default=True,
    type=click.IntRange(min=1),
    help="Size of a Parquet object, decoded.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Processes; default: one a CPU; 0: work in this one.",
)
@click.option("--full", is_flag=True, help="Parse every file again.")
@click.option("--mirror", is_flag=True, help="Drop what was converted from other PATHs before.")
@click.option("--dry-run", is_flag=True, help="Read and report, write nothing.")
@as_json
@with_config
def convert(
    paths: tuple[str, ...],
    target: str,
    file_format: str,
    id_field: str,
    max_file_mb: int,
    object_mb: int,
    workers: int | None,
    full: bool,
    mirror: bool,
    dry_run: bool,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Convert files, folders, globs or s3:// prefixes into Parquet of parsed documents.

    A second call writes only what changed, and drops the documents of files that are gone from
    PATHS. Exits 0 when every file was read, 1 when some failed, 2 when a PATH leads to none.

    \b
    kitelift convert ./manuals --to s3://corpus/parsed
    kitelift convert 'docs/**/*.md' --to ./parsed --dry-run
    """
    from jobs.conversion.convert import ConversionSettings, convert_files  # noqa: PLC0415 - --help is quick
    from jobs.conversion.progress import FileProgress  # noqa: PLC0415

    with errors_told(debug):
        settings = ConversionSettings(
            format=file_format,
            id_field=id_field,
            max_file_bytes=max_file_mb << 20,
            object_bytes=object_mb << 20,
            workers=workers,
            full=full,
            mirror=mirror,
            dry_run=dry_run,
        )
        config = load_config(config_path)
        with FileProgress() as progress:
            report = convert_files(paths, target, config.s3, settings, progress)
        _print(report, as_json, render.convert_page)
    sys.exit(1 if report["files"]["failed"] else 0)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--strategy", help="One of docs/strategies.md; default: that of the configuration.")
@click.option("--max-tokens", type=int, help="Hard maximum of a chunk.")
@click.option("--overlap-tokens", type=int, help="Repeated from the end of the chunk before.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
)
@with_config
def chunk(
    file: Path,
    strategy: str | None,
    max_tokens: int | None,
    overlap_tokens: int | None,
    output: str,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Show what the chunker makes of one file.

    \b
    kitelift chunk manual.md --max-tokens 256
    kitelift chunk manual.md --format html > manual.html
    """
    from jobs import preview  # noqa: PLC0415

    with errors_told(debug):
        given = {"strategy": strategy, "max_tokens": max_tokens, "overlap_tokens": overlap_tokens}
        config = load_config(config_path)
        changes = {name: value for name, value in given.items() if value is not None}
        document, chunks, budget = preview.preview(file, config.chunking, changes, config.embedding)
        if output == "text":
            render.show(preview.as_text(document, chunks, budget))
        else:
            page = preview.as_json if output == "json" else preview.as_html
            click.echo(page(document, chunks, budget))


@main.command()
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
    from jobs.estimate import estimate  # noqa: PLC0415

    with errors_told(debug), open_view() as view:
        told = estimate(load_config(config_path), Scope(prefix=prefix, full=full), view)
    _print(told, as_json, render.estimate_page)


@main.command()
@prefix_option
@full_option
@click.option("--run-id", default="", help="Name of the run; of a killed one: go on with it.")
@click.option("--wait", "wait_seconds", default=0.0, help="Seconds to wait for another run.")
@click.option("--allow-delete", is_flag=True, help="Delete more than limits.max_delete_ratio.")
@as_json
@with_config
def run(
    prefix: str,
    full: bool,
    run_id: str,
    wait_seconds: float,
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
    """
    from jobs.run import RunOptions  # noqa: PLC0415

    options = RunOptions(
        scope=Scope(prefix=prefix, full=full),
        run_id=run_id,
        wait_seconds=wait_seconds,
        allow_delete=allow_delete,
    )
    _run(config_path, lambda _: options, as_json=as_json, debug=debug)


@main.command()
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
    from jobs.rerun import rerun_options  # noqa: PLC0415

    def options(config: Config) -> "RunOptions":
        return rerun_options(_ledger(config), run_id, wait_seconds)

    _run(config_path, options, as_json=as_json, debug=debug)


@main.command()
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
        ledger = _ledger(load_config(config_path))
        record = _record(ledger, run_id)
        if follow:
            from jobs.live import show_live  # noqa: PLC0415
            from jobs.watch import watch  # noqa: PLC0415

            outlooks = watch(ledger, record.run_id, every_seconds=interval)
            last = show_live(outlooks, as_json=as_json)
            sys.exit(EXIT_CODES.get(last.record.state, FATAL))
        holder = current_holder(ledger.objects, ledger.lease_key)
        told = f"held by {holder}" if holder else "free"
    if as_json:
        _print_json({**_plain(record), "lease": told})
    else:
        render.show(render.status_page(record, told))


@main.command()
@as_json
@with_config
def runs(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """List all runs, oldest first.

    \b
    kitelift runs --json
    """
    with errors_told(debug):
        records = _ledger(load_config(config_path)).runs()
    if as_json:
        _print_json([_plain(record) for record in records])
    else:
        render.show(render.runs_page(records))


@main.command()
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
        ledger = _ledger(load_config(config_path))
        record = _record(ledger, run_id)
        told = ledger.report(record.run_id)
        if told is None:
            raise ConfigError(
                f"run {record.run_id} has no report yet ({record.state}); see `kitelift status`."
            )
        if html:
            from jobs.report_page import report_page  # noqa: PLC0415 - draws with a V8

            html.write_text(report_page(told, ledger.report_before(record)), encoding="utf-8")
            click.echo(f"kitelift: written to {html}", err=True)
    if as_json or not html:
        _print(told, as_json, render.report_page)


@main.command()
@click.argument("query")
@click.option("--top-k", type=click.IntRange(1, 16384), help="Hits; default: 5, in mode parent 3.")
@click.option(
    "--mode",
    type=click.Choice(["dense", "sparse", "hybrid", "parent"]),
    default="dense",
    show_default=True,
    help="By meaning, by words (BM25), by both; or small to big: parents of what was found.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only rows with that title, item_name, page, metadata.KEY …; repeat for more.",
)
@click.option("--filter", "filter_expression", default="", help="The same as a Milvus expression.")
@as_json
@with_config
def search(
    query: str,
    top_k: int | None,
    mode: str,
    where: tuple[str, ...],
    filter_expression: str,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Search as a retriever would: dense vectors, BM25, both, or small to big.

    Fields are those of a row. --where takes the value letter for letter; given several times for
    one field it means any of the values, for different fields all of them.

    \b
    kitelift search "how do I restart the gateway" --mode hybrid
    kitelift search "告警代码 A17" --where page=3 --where metadata.lang=zh
    kitelift search "怎样回滚" --mode parent
    kitelift search "rollback" --filter 'page > 3 and array_contains(heading_path, "Upgrade")'
    """
    from jobs.hits_page import hits_page, parents_page  # noqa: PLC0415
    from jobs.parent_search import TOP_M_PARENT, search_parents  # noqa: PLC0415
    from jobs.search import condition_of, reading  # noqa: PLC0415
    from jobs.search import search as find  # noqa: PLC0415

    with errors_told(debug):
        if not query.strip():
            raise ConfigError("the query is blank; say what to look for.")
        condition = condition_of(filter_expression, where)
        config = load_config(config_path)
        with reading(config) as reader:
            if mode == "parent":
                hits = search_parents(
                    reader,
                    query,
                    top_m=top_k or TOP_M_PARENT,
                    condition=condition,
                    reranker=config.rerank,
                )
            else:
                hits = find(reader, query, mode=mode, top_k=top_k or 5, condition=condition)  # type: ignore[arg-type]  # click has checked it
    page = parents_page if mode == "parent" else hits_page
    _print(hits, as_json, lambda hits: page(hits, query))


@main.command("eval")
@click.option(
    "--questions",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON Lines: question, document_id and excerpt (or one of both), kind, language.",
)
@click.option("--docs", default="", help="Folder of files; default: the parsed documents.")
@click.option(
    "--grid",
    multiple=True,
    metavar="STRATEGY[:OPTION=VALUE/VALUE,…]",
    help="What to try; repeat for more. Default: every strategy, and some sizes.",
)
@click.option(
    "--mode",
    type=click.Choice(["dense", "sparse", "hybrid"]),
    default="dense",
    show_default=True,
    help="How to search.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with a chart, too.",
)
@as_json
@with_config
def evaluate(
    questions: Path,
    docs: str,
    grid: tuple[str, ...],
    mode: str,
    html_path: Path | None,
    as_json: bool,
    config_path: Path | None,
    debug: bool,
) -> None:
    """Try ways of chunking on your own documents and questions. Needs no Milvus.

    Vectors and chunks are kept below `eval/` of the state store, so a second call pays nothing.

    \b
    kitelift eval --questions questions.jsonl --docs ./manuals --html eval.html
    kitelift eval --questions q.jsonl --grid structure:max_tokens=256/512,overlap_tokens=0/64
    """
    from jobs.evaluation import evaluate as try_all  # noqa: PLC0415
    from jobs.evaluation_grid import read_grid  # noqa: PLC0415
    from jobs.evaluation_page import evaluation_page, evaluation_table  # noqa: PLC0415
    from jobs.evaluation_questions import read_questions  # noqa: PLC0415

    with errors_told(debug):
        asked = read_questions(questions)
        points, impossible = read_grid(grid)
        with open_view() as view:
            found = try_all(
                load_config(config_path),
                asked,
                points,
                folder=docs,
                mode=mode,  # type: ignore[arg-type]  # click has checked it
                tell=view.tell,
            )
        told = {**found, "impossible": impossible}
        if html_path is not None:
            html_path.write_text(evaluation_page(told), encoding="utf-8")
            click.echo(f"kitelift: written to {html_path}", err=True)
    _print(told, as_json, evaluation_table)


@main.command()
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
    from jobs.verify import verify as look  # noqa: PLC0415

    with errors_told(debug):
        config = load_config(config_path)
        with open_view() as view:
            told = look(config, view, repair=repair, wait_seconds=wait_seconds)
        _print(told, as_json, render.audit_page)
    sys.exit(0 if told["clean"] else PARTIAL)


@main.command()
@click.argument("collection", required=False)
@as_json
@with_config
def promote(collection: str | None, as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Point the alias at the newest complete collection, or at the one that is named.

    \b
    kitelift promote
    kitelift promote docs_6a42a518b574
    """
    from jobs.promotion import promotable  # noqa: PLC0415

    _move_alias(config_path, debug, as_json, lambda *at: collection or promotable(*at))


@main.command()
@as_json
@with_config
def rollback(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Point the alias where it pointed before its last move.

    \b
    kitelift rollback
    """
    from jobs.promotion import earlier_collection  # noqa: PLC0415

    _move_alias(config_path, debug, as_json, earlier_collection)


@main.group("dead-letters")
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
    from jobs.dead_letters import find_letters, replay_options  # noqa: PLC0415

    def options(config: Config) -> "RunOptions":
        return replay_options(find_letters(_ledger(config), document_ids), wait_seconds)

    _run(config_path, options, as_json=as_json, debug=debug)


@main.command()
@click.option("--keep-runs", default=20, show_default=True, type=click.IntRange(min=0))
@click.option("--dry-run", is_flag=True, help="Say what would go.")
@as_json
@with_config
def gc(keep_runs: int, dry_run: bool, as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Drop ledger data of old runs, and collections that neither the alias nor rollback needs.

    \b
    kitelift gc --dry-run
    kitelift gc --keep-runs 50
    """
    from jobs.gc import collect, find_garbage  # noqa: PLC0415

    with errors_told(debug):
        config = load_config(config_path)
        with _database(config) as database:
            ledger = _ledger(config)
            garbage = find_garbage(ledger, database, config.milvus.collection, keep_runs)
            if not dry_run:
                collect(garbage, ledger, database)
    _print({**asdict(garbage), "dropped": not dry_run}, as_json, render.garbage_page)


@main.command()
@as_json
@with_config
def doctor(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Check each part that a run needs, and say what to do about what fails.

    \b
    kitelift doctor -c production.toml
    """
    from jobs.doctor import examine  # noqa: PLC0415

    findings = []
    with errors_told(debug):
        for finding in examine(load_config(config_path)):
            findings.append(finding)
            if not as_json:
                mark = (
                    click.style("ok  ", fg="green") if finding.ok else click.style("FAIL", fg="red")
                )
                click.echo(f"{mark} {finding.part:<10} {finding.told}")
    if as_json:
        _print_json([{"part": f.part, "ok": f.ok, "told": f.told} for f in findings])
    sys.exit(0 if all(finding.ok for finding in findings) else FATAL)


@main.command(context_settings={"ignore_unknown_options": True})
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
    from datetime import UTC, datetime  # noqa: PLC0415

    from jobs.submission import make_submission, tick_of  # noqa: PLC0415

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
        from jobs.submit import Cluster  # noqa: PLC0415 - Ray takes a second to import

        cluster = Cluster(address)
        path = config_path or (DEFAULT_PATH if DEFAULT_PATH.exists() else None)
        started = cluster.submit(submission, path, with_code=with_code, retry=retry)
        verb = "submitted" if started else "joined, it was submitted before"
        click.echo(f"kitelift: {submission.submission_id}: {verb}", err=True)
        if no_wait:
            click.echo(submission.submission_id)
            return
        code = cluster.follow(
            submission.submission_id,
            lambda text: click.echo(text, nl=False),
            lambda sentence: click.echo(f"kitelift: {sentence}", err=True),
        )
    sys.exit(code)


@main.command()
def config() -> None:
    """Print a configuration with every key, its default, and what it means.

    \b
    kitelift config > kitelift.toml
    """
    from jobs.settings_page import settings_page  # noqa: PLC0415

    click.echo(settings_page(), nl=False)


def _run(
    config_path: Path | None,
    options: "Callable[[Config], RunOptions]",
    *,
    as_json: bool,
    debug: bool,
) -> None:
    from jobs.json_lines import JsonLines  # noqa: PLC0415
    from jobs.notify import notify  # noqa: PLC0415
    from jobs.run import run_job  # noqa: PLC0415
    from jobs.stopping import stop_sign  # noqa: PLC0415

    told: Report | None = None
    with errors_told(debug):
        config = load_config(config_path)
        chosen = options(config)
        run_view = JsonLines() if config.run.log == "json" else open_view()
        try:
            with stop_sign() as sign, run_view as view:
                told = run_job(config, chosen, view, sign)
        except StorageError as error:
            told = _never_began(config, error)
            notify(config.run.notify_url, told, run_view.tell)
            if as_json:
                _print_json(told)
            raise
        notify(config.run.notify_url, told, run_view.tell)
        _print(told, as_json, render.report_page)
    if told["reason"]:
        click.echo(f"kitelift: {told['outcome']}: {told['reason']}", err=True)
    sys.exit(EXIT_CODES[told["outcome"]])


def _ask_cluster(address: str, asked: str, *, status: str | None, logs: str | None) -> None:
    from jobs.submit import Cluster, exit_code  # noqa: PLC0415

    cluster = Cluster(address)
    if status:
        job = cluster.status(asked)
        over = f", exit code {exit_code(job)}" if job.status.is_terminal() else ""
        click.echo(f"{asked}: {job.status}{over}\n{job.message or ''}".rstrip())
    elif logs:
        click.echo(cluster.logs(asked), nl=False)
    else:
        click.echo(f"{asked}: {'stopping' if cluster.stop(asked) else 'had ended before'}")


@contextmanager
def errors_told(debug: bool) -> Iterator[None]:
    """One or two lines that say what, where, and the next thing to do; and the exit code."""
    try:
        yield
    except Exception as error:
        if debug:
            raise
        if isinstance(error, ConfigError | StorageError):
            click.echo(f"kitelift: {error}", err=True)
        else:
            told = f"{type(error).__name__}: {error}"
            click.echo(f"kitelift: a fault of ours: {told} (--debug shows where)", err=True)
        if isinstance(error, LeaseError):
            sys.exit(REFUSED)
        sys.exit(USAGE if isinstance(error, ConfigError) else FATAL)


def _move_alias(
    config_path: Path | None,
    debug: bool,
    as_json: bool,
    choose: Callable[["VectorDatabase", Ledger, str], str],
) -> None:
    from jobs.promotion import point_alias  # noqa: PLC0415

    with errors_told(debug):
        config = load_config(config_path)
        alias = config.milvus.collection
        with _database(config) as database:
            ledger = _ledger(config)
            moved = point_alias(database, ledger, alias, choose(database, ledger, alias))
            target = database.alias_target(alias)
    told = {"alias": alias, "collection": target, "before": moved.before if moved else target}
    _print(told, as_json, render.promotion_page)


def _letters(
    document_ids: tuple[str, ...], config_path: Path | None, *, as_json: bool, debug: bool
) -> None:
    from jobs.dead_letters import find_letters  # noqa: PLC0415

    with errors_told(debug):
        found = find_letters(_ledger(load_config(config_path)), document_ids)
    _print([asdict(letter) for letter in found], as_json, render.letters_page)


@contextmanager
def _database(config: Config) -> "Iterator[VectorDatabase]":
    from storage.milvus_lite import reachable  # noqa: PLC0415
    from storage.vectors import connect  # noqa: PLC0415

    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            yield database
        finally:
            database.close()


def _ledger(config: Config) -> Ledger:
    return Ledger(open_location(config.state.uri, config.s3), config.milvus.collection)


def _record(ledger: Ledger, run_id: str | None) -> RunRecord:
    records = ledger.runs()
    if run_id is None:
        if not records:
            raise ConfigError("no run yet; `kitelift run` starts one.")
        return records[-1]
    record = ledger.run(run_id)
    if record is None:
        raise ConfigError(f"there is no run {run_id!r}; `kitelift runs` lists them.")
    return record


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


def _plain(record: RunRecord) -> dict[str, Any]:
    return asdict(record)


def _print(told: Any, as_json: bool, page: Callable[[Any], Any]) -> None:
    if as_json:
        _print_json(told)
    else:
        render.show(page(told))


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
