"""`kitelift report --html`: one file that a manager and an engineer can read, anywhere, offline.

The page has no script at all, and its Content-Security-Policy forbids any: what a document says
of itself stays text.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from jobs import charts
from jobs.progress import clock_time
from jobs.report import Report

LETTERS_SHOWN = 200
WIDE, NARROW = 500, 320
"""Pixels of a chart beside another one, and on a phone; the page shows the one that fits."""
OUTCOMES = {
    "succeeded": "Every document of the source is in, or was left out for good reason.",
    "partial": "Some documents are not in yet. What went in stays; the next run takes up the rest.",
    "failed": "Stopped by a fault that every document would have met. What was committed stays.",
    "aborted": "Stopped before it could do harm. What was committed stays.",
    "refused": "Another run held the collection; nothing was done.",
}
FATES = ("stored", "unchanged", "empty", "dead")
CHARTS = (
    ("Throughput", charts.throughput_chart),
    ("Time by stage, over all workers", charts.stages_chart),
    ("Sizes of the chunks", charts.sizes_chart),
    ("How full the chunks are", charts.fill_chart),
)
COMPARED = (
    ("documents read", ("documents", "read")),
    ("documents stored", ("documents", "stored")),
    ("documents dead", ("documents", "dead")),
    ("documents deleted", ("documents", "deleted")),
    ("chunks in all", ("chunks", "total")),
    ("chunks upserted", ("chunks", "upserted")),
    ("texts embedded", ("embedding", "texts")),
    ("tokens embedded", ("embedding", "tokens")),
    ("chunks reused", ("embedding", "reused")),
    ("seconds", ("seconds",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    title: str
    wide: str
    """SVG; like `narrow`."""
    narrow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    name: str
    now: float
    before: float

    @property
    def told(self) -> str:
        change = self.now - self.before
        if not change:
            return "±0"
        part = f" ({change / self.before:+.0%})" if self.before else ""
        return f"{number(change, sign=True)}{part}"


def report_page(report: Report, before: Report | None) -> str:
    """The report as HTML.

    Args:
        report: As `make_report` made it.
        before: That of the run before, to compare with.
    """
    environment = Environment(
        loader=PackageLoader("jobs"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "clock": clock_time, "part": _part}
    letters = report["dead_letters"]
    return environment.get_template("report.html.j2").render(
        report=report,
        sentence=OUTCOMES[report["outcome"]],
        fates=[(fate, report["documents"][fate]) for fate in FATES],
        charts=_charts(report),
        letters=letters[:LETTERS_SHOWN],
        letters_by_stage=Counter(letter["stage"] for letter in letters).most_common(),
        golden=report.get("golden"),  # reports of earlier versions have none
        before=before,
        differences=_differences(report, before) if before else [],
        longest=max((shard["seconds"] for shard in report["slowest_shards"]), default=0.0),
    )


def _charts(report: Report) -> list[Chart]:
    drawn = [
        Chart(title=title, wide=draw(report, WIDE), narrow=draw(report, NARROW))
        for title, draw in CHARTS
    ]
    return [chart for chart in drawn if chart.wide]


def _differences(report: Report, before: Report) -> list[Difference]:
    return [
        Difference(name=name, now=_value(report, path), before=_value(before, path))
        for name, path in COMPARED
    ]


def _value(report: Report, path: tuple[str, ...]) -> float:
    value: Any = report
    for step in path:
        value = value[step]
    return float(value)


def number(value: float, *, sign: bool = False) -> str:
    """With thousands apart, and no more decimals than it needs."""
    decimals = 0 if float(value).is_integer() else 1 if abs(value) >= 10 else 4
    return format(value, f"{'+' if sign else ''},.{decimals}f")


def _part(value: float, whole: float) -> str:
    return f"{100 * value / whole:.4g}%" if whole else "0%"
