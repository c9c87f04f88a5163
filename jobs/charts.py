"""The charts of the report page: Vega-Lite specifications drawn to static SVG.

Colours are the page's own CSS variables, so a chart follows the reader's light or dark setting
without a script. The keeper of vl-convert.
"""

from typing import Any

import vl_convert

from jobs.docket import SIZE_BIN_TOKENS
from jobs.report import Report

Values = list[dict[str, Any]]
Spec = dict[str, Any]

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "gridColor": "var(--line)",
    },
    "legend": {
        "labelColor": "var(--text)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "orient": "top",
        "title": None,
        "symbolType": "square",
        "columnPadding": 18,  # browsers may lack the font that the text was measured with
    },
    "text": {"color": "var(--text)", "fontSize": 11},
}
KINDS = ("paragraph", "list", "table", "code", "turn", "formula", "image", "heading")
FILLS = ("0–25%", "25–50%", "50–75%", "75–100%")
MEASURES = {"documents": "documents / s", "chunks": "chunks / s", "tokens": "tokens / s"}
LONG_RUN_SECONDS = 600
"""From here on the time axis counts minutes."""


def throughput_chart(report: Report, width: int) -> str:
    """Documents, chunks and embedded tokens a second, one below the other; "" without any."""
    told = report["throughput"]
    shown = [name for name in MEASURES if any(told[name])]
    if not shown:
        return ""
    bin_seconds = told["bin_seconds"]
    minutes = bin_seconds * len(told[shown[0]]) > LONG_RUN_SECONDS
    unit = 60 if minutes else 1
    charts = []
    for place, name in enumerate(shown):
        rates = [*told[name], told[name][-1]]
        last = place == len(shown) - 1
        title = f"{'minutes' if minutes else 'seconds'} since the first shard began"
        values = [{"at": n * bin_seconds / unit, "rate": rate} for n, rate in enumerate(rates)]
        charts.append(
            {
                "width": width - 70,
                "height": 74,
                "data": {"values": values},
                "mark": {
                    "type": "area",
                    "interpolate": "step-after",
                    "color": f"var(--series-{place})",
                    "opacity": 0.85,
                },
                "encoding": {
                    "x": _number("at", title if last else None, grid=False, ticks=6),
                    "y": _number("rate", MEASURES[name], ticks=3, format="~s"),
                },
            }
        )
    return _svg({"vconcat": charts, "spacing": 14})


def stages_chart(report: Report, width: int) -> str:
    """Seconds by stage, added up over all workers, the longest first; "" without any."""
    total = sum(report["stage_seconds"].values())
    values = [
        {"stage": name, "seconds": seconds, "told": f"{seconds:,.1f} s · {seconds / total:.0%}"}
        for name, seconds in report["stage_seconds"].items()
        if seconds > 0
    ]
    if not values:
        return ""
    place = {"field": "stage", "type": "nominal", "sort": "-x", "title": None}
    length = {**_number("seconds", None), "axis": None}
    return _svg(
        {
            "width": width - 190,
            "height": {"step": 24},
            "data": {"values": values},
            "encoding": {"y": {**place, "axis": {"ticks": False, "domain": False}}, "x": length},
            "layer": [
                {"mark": {"type": "bar", "color": "var(--series-0)", "height": 15}},
                {
                    "mark": {"type": "text", "align": "left", "dx": 5},
                    "encoding": {"text": {"field": "told"}},
                },
            ],
        }
    )


def sizes_chart(report: Report, width: int) -> str:
    """How many chunks have how many tokens, stacked by kind; "" without any."""
    values = [
        {"from": int(edge), "to": int(edge) + SIZE_BIN_TOKENS, "chunks": count, "kind": kind}
        for kind, bins in report["chunk_tokens"].items()
        for edge, count in bins.items()
    ]
    if not values:
        return ""
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "binSpacing": 1},
            "encoding": {
                "x": {
                    **_number("from", "tokens of a chunk", grid=False, ticks=6),
                    "bin": {"binned": True, "step": SIZE_BIN_TOKENS},
                },
                "x2": {"field": "to"},
                "y": {**_number("chunks", "chunks", ticks=4, format="~s"), "stack": True},
                "color": _kinds(report),
            },
        }
    ]
    largest = max(value["to"] for value in values)
    most = report["chunking"]["max_tokens"]
    if 0 < most <= 2 * largest:  # a limit far away would only squeeze the bars
        layers.append(
            {
                "data": {"values": [{"most": most}]},
                "mark": {"type": "rule", "color": "var(--text)", "strokeDash": [4, 3]},
                "encoding": {"x": {"field": "most", "type": "quantitative"}},
            }
        )
    return _svg({"width": width - 60, "height": 190, "data": {"values": values}, "layer": layers})


def fill_chart(report: Report, width: int) -> str:
    """Which part of their limit the chunks of each kind fill.

    Nothing where the strategy counts characters: of chunks a report has tokens alone.
    """
    most = report["chunking"]["size"]
    if report["chunking"]["unit"] != "tokens" or not report["chunk_tokens"]:
        return ""
    counts: dict[tuple[str, int], int] = {}
    for kind, bins in report["chunk_tokens"].items():
        for edge, count in bins.items():
            filled = (int(edge) + SIZE_BIN_TOKENS / 2) / most
            band = min(int(filled * len(FILLS)), len(FILLS) - 1)
            counts[kind, band] = counts.get((kind, band), 0) + count
    values = [
        {"kind": kind, "band": band, "fill": FILLS[band], "chunks": count}
        for (kind, band), count in counts.items()
    ]
    domain = [fill for place, fill in enumerate(FILLS) if any(v["band"] == place for v in values)]
    colours = [f"var(--fill-{FILLS.index(fill)})" for fill in domain]
    return _svg(
        {
            "width": width - 100,
            "height": {"step": 24},
            "data": {"values": values},
            "mark": {"type": "bar", "height": 15},
            "encoding": {
                "y": {
                    "field": "kind",
                    "type": "nominal",
                    "title": None,
                    "sort": _shown_kinds(report),
                    "axis": {"ticks": False, "domain": False},
                },
                "x": {
                    **_number(
                        "chunks",
                        "share of a kind's chunks, by the part of the limit they fill",
                        format="%",
                        ticks=4,
                    ),
                    "stack": "normalize",
                },
                "color": {
                    "field": "fill",
                    "type": "nominal",
                    "scale": {"domain": domain, "range": colours},
                    "legend": {"columns": 4, "title": None},
                },
                "order": {"field": "band", "type": "quantitative"},
            },
        }
    )


def _shown_kinds(report: Report) -> list[str]:
    found = report["chunk_tokens"]
    return [*(k for k in KINDS if k in found), *sorted(found.keys() - set(KINDS))]


def _kinds(report: Report) -> Spec:
    shown = _shown_kinds(report)
    numbers = {kind: place for place, kind in enumerate(KINDS)}
    colours = [f"var(--series-{numbers.get(kind, len(KINDS) - 1)})" for kind in shown]
    return {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": shown, "range": colours},
        "legend": {"columns": 4, "title": None},
    }


def _number(field: str, title: str | None, **axis: Any) -> Spec:
    options = {"tickCount": axis.pop("ticks", 5), "grid": axis.pop("grid", True), **axis}
    return {"field": field, "type": "quantitative", "title": title, "axis": options}


def _svg(spec: Spec) -> str:
    """Draw it; nothing is fetched, whatever the specification says."""
    return str(
        vl_convert.vegalite_to_svg(
            {**spec, "config": CONFIG}, vl_version="5.20", allowed_base_urls=[]
        )
    )
