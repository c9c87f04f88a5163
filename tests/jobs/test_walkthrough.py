"""The pages from top to bottom, as a newcomer would type them: each line really runs."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from jobs.cli import main
from tests.command_lines import in_blocks, words_of
from tests.jobs.world import PROJECT
from tests.servers.chat import serving_chat
from tests.servers.openai_server import Fault
from tests.servers.s3 import REGION

pytestmark = pytest.mark.server

PAGES = (
    "docs/commands.md", "README.md", "docs/operations.md", "docs/report.md", "docs/backfill.md",
    "infra/README.md",
)  # fmt: skip
EXAMPLE_RUNS = {"20261130T020000Z-1a2b3c", "RUN_ID"}
APART = {"submit", "eval"}
"""One needs a cluster, below; the other its questions, in test_evaluation.py."""
MOVE_THE_ALIAS = {"promote", "rollback"}
"""There is only one collection here: they say so, with 3."""


@pytest.fixture
def here(world, monkeypatch, s3_endpoint):
    """A folder with the files that the page names, and a configuration for the test's servers."""
    shutil.copytree(PROJECT / "demo" / "docs" / "zh", world.folder / "manuals")
    shutil.copytree(PROJECT / "demo" / "docs" / "en", world.folder / "docs")
    shutil.copy(PROJECT / "demo" / "docs" / "en" / "alarms.md", world.folder / "manual.md")
    monkeypatch.chdir(world.folder)
    world.settings["s3"] = {"endpoint_url": s3_endpoint, "region": REGION}
    with serving_chat() as chat:
        world.settings["completion"] = chat.settings().model_dump(exclude_defaults=True)
        world.config_file()
        yield world


def all_lines() -> Iterator[list[str]]:
    for page in PAGES:
        yield from filter(None, map(words_of, in_blocks(PROJECT / page)))


def lines(bucket: str) -> list[list[str]]:
    """All but those apart, and those that name a folder of the image."""
    found = [
        words for page in PAGES for line in in_blocks(PROJECT / page) if (words := words_of(line))
    ]
    here = [words for words in found if words[0] not in APART and "/docs" not in words]
    return [[word.replace("s3://corpus", f"s3://{bucket}") for word in words] for words in here]


def test_every_line_of_the_pages_runs(here, s3_bucket):
    runner = CliRunner()
    prepared = runner.invoke(main, ["convert", "manuals", "--to", "parsed"])
    assert prepared.exit_code == 0, prepared.stderr
    here.put("broken.parquet", {"broken.md": "This is poison. 毒。"})
    here.server.script(Fault(contains="This is poison", status=400))
    run_id, seen = "", 0

    for words in lines(s3_bucket):
        if words == ["config"]:
            continue  # the page writes over the configuration of the test
        given = [run_id if word in EXAMPLE_RUNS else word for word in words]
        told = runner.invoke(main, given)
        well = {0, 1, 3} if words[0] in MOVE_THE_ALIAS else {0, 1}
        assert told.exit_code in well, f"{' '.join(given)}: {told.stderr or told.output}"
        assert not told.exception or isinstance(told.exception, SystemExit), given
        seen += 1
        if words[0] == "run":
            run_id = run_id or newest_run(runner)

    assert seen > 40
    assert re.search(r"<svg", (here.folder / "night.html").read_text(encoding="utf-8"))


def newest_run(runner: CliRunner) -> str:
    return json.loads(runner.invoke(main, ["runs", "--json"]).stdout)[-1]["run_id"]


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:ssl=None is deprecated")  # Ray's client gives it to aiohttp
def test_every_submitted_line_of_the_pages_runs_on_a_cluster(world, submit):
    world.put("2025/a.parquet", {"a.md": "Words. 话。"})
    seen: set[tuple[str, ...]] = set()
    job = ""

    for words in submitted():
        given = [job if word.startswith("kitelift-run-") else word for word in words]
        told = submit(*given)
        assert told.returncode in {0, 1}, f"submit {' '.join(given)}: {told.stderr}"
        job = "".join(re.findall(r"kitelift-run-[\w-]+", told.stderr)[:1]) or job
        seen.add(tuple(words))

    assert len(seen) > 8


def submitted() -> list[tuple[str, ...]]:
    """What stands behind `submit` in the pages, once each, without where and with which file."""
    lines = [words[1:] for words in all_lines() if words[0] == "submit"]
    for words in lines:
        for option in {"--address", "-c"} & set(words):
            at = words.index(option)
            del words[at : at + 2]
    return list(dict.fromkeys(map(tuple, lines)))
