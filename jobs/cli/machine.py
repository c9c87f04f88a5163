"""Commands about the set-up."""

import sys
from pathlib import Path

import click

from jobs.cli.frame import (
    FATAL,
    as_json,
    errors_told,
    print_json,
    with_config,
)
from jobs.config import load_config


@click.command()
@as_json
@with_config
def doctor(as_json: bool, config_path: Path | None, debug: bool) -> None:
    """Check each part that a run needs, and say what to do about what fails.

    \b
    kitelift doctor -c production.toml
    """
    from jobs.doctor import examine

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
        print_json([{"part": f.part, "ok": f.ok, "told": f.told} for f in findings])
    sys.exit(0 if all(finding.ok for finding in findings) else FATAL)


@click.command()
def config() -> None:
    """Print a configuration with every key, its default, and what it means.

    \b
    kitelift config > kitelift.toml
    """
    from jobs.settings_page import settings_page

    click.echo(settings_page(), nl=False)
