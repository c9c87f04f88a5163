"""What every command stands in: options, errors as sentences, exit codes, output."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jobs import render
from jobs.config import Config, ConfigError
from storage.errors import LeaseError, StorageError
from storage.ledger import Ledger
from storage.objects import open_location
from storage.records import RunRecord

if TYPE_CHECKING:
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


@contextmanager
def open_database(config: Config) -> "Iterator[VectorDatabase]":
    from storage.milvus_lite import reachable
    from storage.vectors import connect

    with reachable(config.milvus) as milvus:
        database = connect(milvus)
        try:
            yield database
        finally:
            database.close()


def ledger_of(config: Config) -> Ledger:
    return Ledger(open_location(config.state.uri, config.s3), config.milvus.collection)


def record_of(ledger: Ledger, run_id: str | None) -> RunRecord:
    records = ledger.runs()
    if run_id is None:
        if not records:
            raise ConfigError("no run yet; `kitelift run` starts one.")
        return records[-1]
    record = ledger.run(run_id)
    if record is None:
        raise ConfigError(f"there is no run {run_id!r}; `kitelift runs` lists them.")
    return record


def plain(record: RunRecord) -> dict[str, Any]:
    return asdict(record)


def print_told(told: Any, as_json: bool, page: Callable[[Any], Any]) -> None:
    if as_json:
        print_json(told)
    else:
        render.show(page(told))


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
prefix_option = click.option(
    "--prefix", default="", help="Only objects whose key below the source starts with this."
)
full_option = click.option("--full", is_flag=True, help="Look at every document again.")
