"""The HTML report: complete, quiet, inert, and readable on a phone and in the dark."""

import re
from html import unescape

import pytest

from jobs.report_page import report_page
from tests.jobs.reports import HOSTILE, partial_report, report_of, shard
from tests.jobs.world import manual
from tests.servers.openai_server import Fault

DRAWN = """[...document.querySelectorAll('.chart')].map(chart => {
  const shown = [...chart.querySelectorAll('svg')].filter(svg => svg.clientWidth);
  const marks = shown.flatMap(svg => [...svg.querySelectorAll('[role=graphics-symbol]')]);
  const painted = marks.filter(mark => mark.getBoundingClientRect().height > 2 &&
    !['none', ''].includes(getComputedStyle(mark).fill));
  return [chart.querySelector('h2').textContent, shown.length, painted.length,
    shown[0].getBoundingClientRect().width <= chart.clientWidth];
})"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
COLOURS = """[getComputedStyle(document.body).backgroundColor,
  getComputedStyle(document.querySelector('.chart .wide svg [aria-roledescription=bar]')).fill]"""


def words(page: str) -> str:
    body = re.sub(r"<(style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_outcome_comes_first_and_every_figure_follows():
    told = words(report_page(partial_report(), None)).removeprefix(
        "partial · run 20261130T020000Z-1a2b3c · Kitelift "
    )

    assert told.startswith("partial in 1:00 Run 20261130T020000Z-1a2b3c Some documents")
    for figure in (
        "limits.max_cost = 1 is reached",
        "1,440 documents read",
        "1,800 chunks in the collection 600 upserted",
        "480 texts embedded 120,000 tokens · 18 requests, 0 repeated · cost 0.0024",
        "120 vectors reused 30,000 tokens saved · worth 0.0006",
        "6 / 6 shards committed",
        "stored 240 unchanged 1,200 empty 0 dead 0",
        "kitelift rerun 20261130T020000Z-1a2b3c kitelift dead-letters replay",
        "embed 1",
        "2026/网络设备/part-00000.parquet row 7",
        "Golden queries: the alias stays overlap@10 by document 0.615 , at least 0.7 asked for",
    ):
        assert figure in told


def test_text_of_documents_is_escaped_and_the_page_has_no_script():
    page = report_page(partial_report(), None)

    assert HOSTILE in unescape(page)
    assert not re.search(r"<script|<img|<[^>]*\son\w+=", page)
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+", page))
    assert addresses <= {"http://www.w3.org", "https://www.w3.org"}, addresses  # namespaces


def test_a_run_is_compared_with_the_one_before():
    before = report_of([shard(n) for n in range(4)], run_id="20261129T020000Z-000000")

    told = words(report_page(partial_report(), before))

    assert "20261129T020000Z-000000 , succeeded" in told
    assert "documents read 1,440 960 +480 (+50%)" in told
    assert "documents dead 0 0 ±0" in told
    assert "seconds 60 60 ±0" in told
    assert "Beside the run before" not in words(report_page(partial_report(), None))


def test_a_run_that_did_nothing_has_a_page_without_charts():
    page = report_page(report_of([], outcome="failed", reason="Milvus does not answer"), None)

    assert "Milvus does not answer" in words(page)
    assert "<svg" not in page


@pytest.mark.server
class TestInABrowser:
    @pytest.fixture
    def page(self, tmp_path):
        before = report_of([shard(n) for n in range(4)])
        page = tmp_path / "report.html"
        page.write_text(report_page(partial_report(), before), encoding="utf-8")
        return page

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 390])
    def test_it_is_quiet_inert_and_drawn(self, browser, page, width, scheme):
        visit = browser.visit(
            page, "document.title", DRAWN, OVERFLOW, "innerWidth", width=width, scheme=scheme
        )

        title, drawn, overflow, inner_width = visit.answers
        assert visit.complaints == []
        assert [u for u in visit.requests if not u.startswith("data:")] == [page.as_uri()]
        assert title == "partial · run 20261130T020000Z-1a2b3c · Kitelift"
        assert [name for name, *_ in drawn] == [
            "Throughput",
            "Time by stage, over all workers",
            "Sizes of the chunks",
            "How full the chunks are",
        ]
        for name, shown, painted, fits in drawn:
            assert (shown, painted > 0, fits) == (1, True, True), name
        assert (overflow, inner_width) == (0, width)

    def test_page_and_charts_follow_the_colour_scheme(self, browser, page):
        light, dark = (
            browser.visit(page, COLOURS, scheme=scheme).answers[0] for scheme in ("light", "dark")
        )

        assert light[0] != dark[0]
        assert light[1] != dark[1]

    def test_the_page_of_a_real_run_is_drawn_too(self, browser, world):
        world.put("一.parquet", {f"{n}.md": manual(f"手册 {n}") for n in range(4)})
        world.run()
        world.put("二.parquet", {HOSTILE: "poison"})
        world.server.script(Fault(contains="poison", status=400))
        world.run()
        page = world.folder / "r.html"

        told = world.typed("report", "--html", str(page))

        assert told.returncode == 0, told.stderr
        assert told.stdout == ""
        visit = browser.visit(page, "document.title", DRAWN)
        assert visit.complaints == []
        assert visit.answers[0].startswith("partial · run ")
        assert len(visit.answers[1]) >= 2
        assert "Beside the run before" in page.read_text(encoding="utf-8")
