"""Where the shards of a run are walked: on Ray, or in this process."""

import os
from collections.abc import Callable

from jobs.config import Config, local_settings
from jobs.executor import Executor, InlineExecutor
from jobs.footing import Footing
from jobs.worker import paces_of
from storage.records import Tally
from storage.throttles import SharedPace


def open_executor(
    config: Config, footing: Footing, run_id: str, note: Callable[[Tally], None], *, is_due: bool
) -> Executor:
    """What walks the shards, as `[run].executor` says; if nothing is due, Ray is not started."""
    paces = paces_of(config)
    if config.run.executor == "inline" or not is_due:
        throttles = {model: SharedPace(pace) for model, pace in paces.items()}
        return InlineExecutor(footing.order, note, throttles)
    from jobs.driver import RayExecutor  # noqa: PLC0415 - Ray takes a second to import

    return RayExecutor(
        footing.order,
        note,
        paces,
        workers=config.run.workers,
        run={"run_id": run_id, "alias": config.milvus.collection},
        local=local_settings(config),
    )


def private_workers(config: Config) -> bool:
    """Whether the workers end with this process: no cluster is joined."""
    return config.run.executor == "inline" or not os.environ.get("RAY_ADDRESS")
