"""docs/commands.md from top to bottom, as a newcomer would type it: each line really runs."""

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.command_lines import in_blocks, words_of
from tests.jobs.world import PROJECT
from tests.servers.chat import serving_chat
from tests.servers.openai_server import Fault

pytestmark = pytest.mark.server

PAGE = PROJECT / "docs" / "commands.md"
EXAMPLE_RUN = "20261130T020000Z-1a2b3c"
APART = {"submit", "eval"}
MOVE_THE_ALIAS = {"promote", "rollback"}
"""There is only one collection here: they say so, with 3."""


@pytest.fixture
def here(world, monkeypatch):
    """A folder with the files that the page names, and a configuration for the test's servers."""
    shutil.copytree(PROJECT / "demo" / "docs" / "zh", world.folder / "manuals")
    shutil.copytree(PROJECT / "demo" / "docs" / "en", world.folder / "docs")
    shutil.copy(PROJECT / "demo" / "docs" / "en" / "alarms.md", world.folder / "manual.md")
    monkeypatch.chdir(world.folder)
    with serving_chat() as chat:
        world.settings["completion"] = chat.settings().model_dump(exclude_defaults=True)
        world.config_file()
        yield world


def lines() -> list[list[str]]:
    """All but what has tests of its own, for its need of a cluster, questions or a bucket."""
    found = [words for line in in_blocks(PAGE) if (words := words_of(line))]
    return [w for w in found if w[0] not in APART and not any("s3://" in word for word in w)]


def test_every_line_of_the_page_runs(here):
    runner = CliRunner()
    prepared = runner.invoke(main, ["convert", "manuals", "--to", "parsed"])
    assert prepared.exit_code == 0, prepared.stderr
    here.put("broken.parquet", {"broken.md": "This is poison. 毒。"})
    here.server.script(Fault(contains="This is poison", status=400))
    run_id, seen = "", 0

    for words in lines():
        if words == ["config"]:
            continue  # the page writes over the configuration of the test
        given = [run_id if word == EXAMPLE_RUN else word for word in words]
        told = runner.invoke(main, given)
        well = {0, 1, 3} if words[0] in MOVE_THE_ALIAS else {0, 1}
        assert told.exit_code in well, f"{' '.join(given)}: {told.stderr or told.output}"
        assert not told.exception or isinstance(told.exception, SystemExit), given
        seen += 1
        if words[0] == "run":
            run_id = run_id or newest_run(runner)

    assert seen > 20
    assert re.search(r"<svg", (here.folder / "night.html").read_text(encoding="utf-8"))


def newest_run(runner: CliRunner) -> str:
    return json.loads(runner.invoke(main, ["runs", "--json"]).stdout)[-1]["run_id"]
