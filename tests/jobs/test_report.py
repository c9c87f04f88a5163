"""The report as an object: what adds up, and that each of its keys is documented."""

import re
from pathlib import Path

import pytest

from jobs.timeline import throughput
from tests.jobs.reports import partial_report, report_of, shard

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
BY_NAME_OF_DATA = {"stage_seconds", "chunk_tokens", "warnings"}
"""Below these, keys are stages, kinds and sentences."""


def paths(value, above: str = ""):
    for key, below in value.items():
        path = f"{above}.{key}".lstrip(".")
        yield path
        if isinstance(below, dict) and path not in BY_NAME_OF_DATA:
            yield from paths(below, path)
        elif isinstance(below, list) and below and isinstance(below[0], dict):
            yield from (f"{path}[].{name}" for name in below[0])


def test_every_key_of_a_report_is_documented():
    documented = set()
    for row in re.findall(r"^\| (`.*?) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row[0])
        head = names[0].rpartition(".")[0]
        documented |= {f"{head}{name}" if name.startswith(".") else name for name in names}
        if names[0].endswith("[]"):
            documented |= {f"{names[0]}.{name}" for name in re.findall(r"`(\w+)`", row[1])}

    report = partial_report()
    undocumented = [
        path
        for path in paths(report)
        if path not in documented
        and f"{path}[]" not in documented
        and not any(name.startswith(f"{path}.") for name in documented)
    ]

    assert report["dead_letters"]
    assert undocumented == []


def test_reuse_is_counted_in_tokens_and_money():
    told = report_of([shard(0), shard(1)])["embedding"]

    assert (told["tokens"], told["reused_tokens"]) == (40_000, 10_000)
    assert (told["cost"], told["saved"]) == (pytest.approx(0.0008), pytest.approx(0.0002))


def test_sizes_are_told_by_kind_and_in_order():
    assert report_of([shard(0), shard(1)])["chunk_tokens"] == {
        "paragraph": {"128": 20, "480": 120},
        "table": {"256": 60},
    }


class TestThroughput:
    def test_the_rates_of_all_bins_add_up_to_the_work(self):
        results = [shard(n, seconds=3.7 * (n + 1)) for n in range(5)]

        told = throughput(results)

        assert told["from"] == "2026-11-30T02:00:00.000+00:00"
        for measure, total in (("documents", 1200), ("chunks", 1500), ("tokens", 100_000)):
            assert sum(told[measure]) * told["bin_seconds"] == pytest.approx(total, rel=1e-3)

    def test_a_long_run_has_no_more_bins_than_a_page_can_show(self):
        late = shard(1, at="2026-11-30T13:00:00.000+00:00", seconds=900)

        told = throughput([shard(0), late])

        assert 2 < len(told["chunks"]) <= 61
        assert told["chunks"][1] == 0.0

    def test_shards_that_never_came_back_are_no_part_of_it(self):
        assert throughput([])["documents"] == []
