"""A run's record in the ledger: begun once, kept up to date, never begun twice under one id."""

import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime

from jobs.config import Config, ConfigError
from jobs.heartbeat import Heartbeat
from jobs.progress import View
from storage.lease import this_process
from storage.ledger import Ledger
from storage.records import ENDED, RunRecord, ShardResult, Tally

PROGRESS_EVERY_SECONDS = 5.0


class Journal:
    """The run's record, kept up to date in the ledger while the work goes on."""

    def __init__(self, ledger: Ledger, record: RunRecord, heart: Heartbeat, view: View) -> None:
        self.ledger, self.record, self.view = ledger, record, view
        self._heart = heart
        self._written = time.monotonic()

    def note(self, work: Tally) -> None:
        self.record = replace(self.record, progress=self.record.progress + work)
        self.view.work(work)

    def shard(self, result: ShardResult) -> None:
        self.record = replace(self.record, shards_done=self.record.shards_done + 1)
        self.view.shard(result)

    def pulse(self) -> None:
        """Called all the time; raises LeaseError once the lease is lost."""
        self._heart.check()
        if time.monotonic() - self._written >= PROGRESS_EVERY_SECONDS:
            self.change()

    def change(self, **fields: object) -> None:
        """Write the record, with these fields changed."""
        self._written = time.monotonic()
        self.record = replace(self.record, updated_at=now(), **fields)  # type: ignore[arg-type]
        self.ledger.write_run(self.record)


def new_run_id() -> str:
    """Sorts by time, and two runs of the same second differ."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def new_record(config: Config, run_id: str, command: str, ledger: Ledger) -> RunRecord:
    run_id = run_id or new_run_id()
    earlier = ledger.run(run_id)
    if earlier is not None and earlier.state in ENDED:
        raise ConfigError(
            f"run {run_id} has ended ({earlier.state}); `kitelift rerun {run_id}` takes up what "
            "did not end well, or give another --run-id."
        )
    return RunRecord(
        run_id=run_id,
        state="planned",
        fingerprint="",
        collection="",
        alias=config.milvus.collection,
        holder=str(this_process(run_id, private_workers=False)),
        started_at=earlier.started_at if earlier else now(),
        updated_at=now(),
        command=command,
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
