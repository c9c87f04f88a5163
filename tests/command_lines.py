"""Command lines of manifests and documentation, checked against the commands that there are."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from jobs.cli import main

PROGRAMS = {"kitelift", ".venv/bin/kitelift"}


def check(words: Sequence[str]) -> None:
    """Raise click.UsageError for a command, option or value that does not exist."""
    command: click.Command = main
    context = click.Context(main, info_name="kitelift")
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest or rest[0].startswith("-"):
            return
        name, *rest = rest
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {name!r} in {shlex.join(words)!r}")
        context = click.Context(found, info_name=name, parent=context)
        command = found
    if "--" in rest:  # what is submitted is a command as well
        check(rest[rest.index("--") + 1 :])
    given, _, _ = command.make_parser(context).parse_args(args=list(rest))
    for parameter in command.params:
        is_file = isinstance(parameter.type, click.Path)  # of the reader, not of ours
        if parameter.name in given and not is_file and not isinstance(parameter, click.Argument):
            parameter.type_cast_value(context, given[parameter.name])


def in_blocks(page: Path) -> Iterator[str]:
    """Each line of our program in the shell blocks of a Markdown page, continued lines joined."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:bash|sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            yield line.strip()


def words_of(line: str) -> list[str] | None:
    """The words behind our program's name; None when the line is of another program.

    `kl` is what infra/README.md calls compose: there the service is called like the program.
    """
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if words[:1] == ["kl"] and "kitelift" in words:
        return _until_shell(words[words.index("kitelift") + 1 :])
    return _until_shell(words[1:]) if words and words[0] in PROGRAMS else None


def _until_shell(words: list[str]) -> list[str]:
    ends = [n for n, word in enumerate(words) if word in {">", "|", "&&", ";", "||", "2>"}]
    return words[: ends[0]] if ends else words
