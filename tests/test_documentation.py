"""Documentation that cannot rot: what it tells exists, and what exists is told."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from jobs.cli import main
from jobs.settings_page import settings_page
from tests.command_lines import check, in_blocks, words_of

PROJECT = Path(__file__).parents[1]
PAGES = sorted([
    *PROJECT.glob("*.md"),
    *(PROJECT / "docs").rglob("*.md"),
    PROJECT / "infra" / "README.md",
])  # fmt: skip
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))


def all_lines() -> list[tuple[str, str]]:
    return [(page.name, line) for page in PAGES for line in in_blocks(page)]


def inline_commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        found += [(page.name, code) for code in re.findall(r"`(kitelift [^`]+)`", text)]
    return found


def test_every_command_line_in_a_block_can_be_given_like_that():
    checked = 0
    for name, line in all_lines():
        words = words_of(line)
        if words is not None:
            try:
                check(words)
            except click.UsageError as error:
                pytest.fail(f"{name}: {line}: {error.format_message()}")
            checked += 1

    assert checked > 30


def test_every_command_in_running_text_can_be_given_like_that():
    for name, code in inline_commands():
        words = [word for word in code.split()[1:] if word != "…"]
        words = words[: words.index("2>&1")] if "2>&1" in words else words
        try:
            check(words_of(code) or words)
        except (click.UsageError, ValueError) as error:
            pytest.fail(f"{name}: {code}: {error}")


def test_the_check_sees_a_command_an_option_and_a_submitted_option_that_do_not_exist():
    for wrong in ("nonsense", "run --nonsense", "submit -- run --nonsense", "dead-letters eat"):
        with pytest.raises(click.UsageError):
            check(wrong.split())


def test_every_make_target_that_is_named_exists():
    named = {target for _, line in all_lines() for target in re.findall(r"^make ([a-z-]+)", line)}

    assert named
    assert named <= MAKE_TARGETS


def commands(group: click.Group, above: str = "") -> list[str]:
    names = []
    for name, command in group.commands.items():
        whole = f"{above}{name}"
        names += commands(command, f"{whole} ") if isinstance(command, click.Group) else [whole]
    return names


def test_every_command_is_told_somewhere():
    told = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    missing = [name for name in commands(main) if f"kitelift {name}" not in told]

    assert missing == []


def test_the_golden_page_of_every_setting_is_what_the_code_says():
    page = PROJECT / "docs" / "configuration.md"
    text = page.read_text(encoding="utf-8")
    intro = text.partition("```toml\n")[0]
    expected = f"{intro}```toml\n{settings_page()}```\n"
    if os.environ.get("KITELIFT_UPDATE_GOLDEN"):
        page.write_text(expected, encoding="utf-8")
        pytest.fail("rewritten; read the diff and run again")

    assert text == expected, "`make golden` rewrites it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = unquote(target).partition("#")
            there = (page.parent / path).resolve() if path else page
            assert there.exists(), f"{page.name} leads to {target}"
            if anchor and there.suffix == ".md":
                assert anchor in anchors(there), f"{page.name} leads to {target}"


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
