"""Commands about files: into Parquet, and how they would be cut."""

import sys
from pathlib import Path

import click

from jobs import render
from jobs.cli.frame import (
    as_json,
    errors_told,
    print_told,
    with_config,
)
from jobs.config import load_config


@click.command()
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
    from jobs.conversion.convert import ConversionSettings, convert_files
    from jobs.conversion.progress import FileProgress

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
        print_told(report, as_json, render.convert_page)
    sys.exit(1 if report["files"]["failed"] else 0)


@click.command()
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
    kitelift chunk manual.md --strategy llm -c kitelift.toml
    kitelift chunk manual.md --format html > manual.html
    """
    from jobs.preview import lines
    from jobs.preview.page import preview_page

    with errors_told(debug):
        given = {"strategy": strategy, "max_tokens": max_tokens, "overlap_tokens": overlap_tokens}
        config = load_config(config_path)
        changes = {name: value for name, value in given.items() if value is not None}
        made = lines.preview(file, config, changes)
        if output == "text":
            render.show(lines.as_text(made))
        elif output == "html":
            click.echo(preview_page(made))
        else:
            click.echo(lines.as_json(made))
            for note in made.notes:
                click.echo(f"kitelift: note: {note}", err=True)
