"""The grid of an evaluation: strategies with every combination of the values to try."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from chunking.strategies import STRATEGIES, needs_of
from jobs.config import ChunkingSettings, ConfigError

DEFAULT_GRID = (
    "structure:max_tokens=256/1024",
    "structure:overlap_tokens=0",
    "structure:min_tokens=128",
    "structure:lead_in_tokens=128,min_tokens=0/128",
    "fixed:unit=tokens,size=256/512,overlap=64",
)
"""Beside every strategy as it is by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One strategy with its options."""

    strategy: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return " ".join([self.strategy, *(f"{key}={value}" for key, value in self.options.items())])

    @property
    def settings(self) -> ChunkingSettings:
        return ChunkingSettings(strategy=self.strategy, **self.options)


def read_grid(lines: Sequence[str]) -> tuple[list[Point], dict[str, str]]:
    """Points of `STRATEGY[:OPTION=VALUE[/VALUE…][,OPTION=…]]`, each once.

    Args:
        lines: None is the default grid: every strategy as it is, and what it is compared with.

    Returns:
        The points, and by name those that cannot be, with the reason: not every size of a
        combination goes with every overlap.

    Raises:
        ConfigError: No such strategy or option; or not one point can be.
    """
    points: dict[str, Point] = {}
    impossible: dict[str, str] = {}
    for line in lines or [*_every_strategy(), *DEFAULT_GRID]:
        possible = 0
        for point in _points_of(line):
            try:
                point.settings.open()
            except ValueError as error:
                impossible[point.name] = str(error)
            else:
                points[point.name] = point
                possible += 1
        if not possible:
            raise ConfigError(f"--grid {line}: {list(impossible.values())[-1]}")
    return list(points.values()), impossible


def _every_strategy() -> Iterable[str]:
    """But those that need a chat model, which costs more than a look is worth."""
    return (name for name in STRATEGIES if "complete" not in needs_of(name))


def _points_of(line: str) -> Iterable[Point]:
    strategy, _, rest = line.partition(":")
    axes: dict[str, list[Any]] = {}
    for option in filter(None, rest.split(",")):
        name, equal, values = option.partition("=")
        if not equal or not values:
            raise ConfigError(f"--grid {line}: {option!r} is no OPTION=VALUE[/VALUE…].")
        axes[name.strip()] = [_value(value) for value in values.split("/")]
    for chosen in product(*axes.values()):
        yield Point(strategy=strategy.strip(), options=dict(zip(axes, chosen, strict=True)))


def _value(text: str) -> Any:
    """A number or truth value where it reads as one, else text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | bool) else text
