"""The result of an evaluation: a table for a terminal, and one page with a chart."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.evaluation.scores import BUDGETS, CUTOFFS

_MEASURES = (
    *((f"R@{cutoff}", ("recall", str(cutoff))) for cutoff in CUTOFFS),
    ("MRR", ("mrr",)),
    *((f"≤{budget} tok", ("recall_within_tokens", str(budget))) for budget in BUDGETS),
    ("precision", ("token_precision",)),
    ("recall", ("token_recall",)),
    ("IoU", ("token_iou",)),
)
"""Heading and place of each figure."""


def evaluation_table(told: Mapping[str, Any]) -> RenderableType:
    """Best first by Recall@5; the best figure of each column stands out."""
    points = told["points"]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for heading in ("chunks", "tokens", "fill", "MB", *(name for name, _ in _MEASURES)):
        table.add_column(heading, justify="right")
    best = {name: max(figure(point, place) for point in points) for name, place in _MEASURES}
    for point in points:
        cells = [
            Text(f"{figure(point, place):.3f}", _style(figure(point, place) == best[name]))
            for name, place in _MEASURES
        ]
        table.add_row(point["name"], *size_cells(point), *cells)
    return Group(Text(_headline(told)), table, *map(Text, _notes(told)))


def evaluation_page(told: Mapping[str, Any]) -> str:
    """One self-contained page: a bar for each point, all figures, and them by kind and language."""
    environment = Environment(
        loader=PackageLoader("jobs"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    points = told["points"]
    return environment.get_template("evaluation.html.j2").render(
        told=told,
        headline=_headline(told),
        notes=_notes(told),
        measures=_MEASURES,
        figure=figure,
        size_cells=size_cells,
        best={name: max(figure(point, place) for point in points) for name, place in _MEASURES},
        groups=[
            (title, name, sorted({value for point in points for value in point[name]}))
            for title, name in (("kind of passage", "by_kind"), ("language", "by_language"))
        ],
    )


def figure(point: Mapping[str, Any], place: tuple[str, ...]) -> float:
    value: Any = point
    for step in place:
        value = value[step]
    return float(value)


def size_cells(point: Mapping[str, Any]) -> list[str]:
    """Chunks (and parents), mean tokens, mean fill, megabytes of the index."""
    parents = f" + {point['parents']}" if point["parents"] else ""
    return [
        f"{point['chunks']}{parents}",
        f"{point['mean_tokens']:.0f}",
        f"{point['fill']:.2f}",
        f"{point['index_bytes'] / 1e6:.2f}",
    ]


def _style(is_best: bool) -> str:
    return "bold green" if is_best else ""


def _headline(told: Mapping[str, Any]) -> str:
    return (
        f"{told['questions']} questions over {told['documents']} documents, {told['mode']} search, "
        f"{told['model']}"
    )


def _notes(told: Mapping[str, Any]) -> list[str]:
    left_out = [f"Left out: line {each['line']}, {each['reason']}" for each in told["left_out"]]
    impossible = [f"Not possible: {name}: {why}" for name, why in told["impossible"].items()]
    return [*left_out, *impossible]
