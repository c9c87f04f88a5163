"""Where the shards of a run are walked: on Ray, or in this process."""

import os
from collections.abc import Callable

from jobs.config import Config, local_settings
from jobs.executor import Executor, InlineExecutor
from jobs.footing import Footing
from storage.records import Tally
from storage.throttles import Pace, SharedPace


def open_executor(
    config: Config, footing: Footing, run_id: str, note: Callable[[Tally], None], *, is_due: bool
) -> Executor:
    """What walks the shards, as `[run].executor` says; if nothing is due, Ray is not started."""
    embedding = config.embedding
    pace = Pace(
        requests_per_minute=embedding.requests_per_minute,
        tokens_per_minute=embedding.tokens_per_minute,
        max_pause=embedding.max_wait_seconds,
    )
    if config.run.executor == "inline" or not is_due:
        return InlineExecutor(footing.order, note, SharedPace(pace))
    from jobs.driver import RayExecutor  # noqa: PLC0415 - Ray takes a second to import

    return RayExecutor(
        footing.order,
        note,
        pace,
        workers=config.run.workers,
        run={"run_id": run_id, "alias": config.milvus.collection},
        local=local_settings(config),
    )


def private_workers(config: Config) -> bool:
    """Whether the workers end with this process: no cluster is joined."""
    return config.run.executor == "inline" or not os.environ.get("RAY_ADDRESS")
