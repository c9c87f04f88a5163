"""The metrics of a run as Ray exports them (`ray.util.metrics`)."""

from collections.abc import Mapping

from ray.util.metrics import Counter, Gauge

from jobs.metrics import METRICS, Metric, readings
from storage.records import Tally


class Meters:
    """Counters and gauges of one run, in the driver's process."""

    def __init__(self, run: Mapping[str, str]) -> None:
        """Declare them all.

        Args:
            run: A value for each of `metrics.RUN`.
        """
        self._run = dict(run)
        self._counters = {
            m: Counter(m.name, m.told, m.tags) for m in METRICS if m.kind == "counter"
        }
        self._gauges = {m: Gauge(m.name, m.told, m.tags) for m in METRICS if m.kind == "gauge"}

    def add(self, work: Tally) -> None:
        for reading in readings(work):
            self.count(reading.metric, reading.amount, **reading.tags)

    def count(self, metric: Metric, amount: float = 1, **tags: str) -> None:
        if amount > 0:  # Ray refuses to count nothing
            self._counters[metric].inc(amount, {**self._run, **tags})

    def set(self, metric: Metric, value: float) -> None:
        self._gauges[metric].set(value, self._run)
