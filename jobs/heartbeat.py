"""Keeps a lease alive beside the work that needs it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from jobs.config import Config
from storage.errors import LeaseError, StorageError
from storage.lease import Lease, acquire, this_process
from storage.ledger import Ledger

BEATS_A_LEASE = 4


class Heartbeat:
    """Beats in a thread while its context lasts; releases the lease at the end."""

    def __init__(self, lease: Lease, collection: str, lease_seconds: float) -> None:
        self._lease, self._collection = lease, collection
        self._seconds = lease_seconds
        self._stop = threading.Event()
        self._lost: LeaseError | None = None
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def check(self) -> None:
        """Raise LeaseError once the lease is lost."""
        if self._lost is not None:
            raise self._lost

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._lease.release()

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(self._seconds / BEATS_A_LEASE):
            try:
                self._lease.beat()
            except LeaseError as error:
                self._lost = error
                return
            except StorageError as error:
                if time.monotonic() - last > self._seconds:
                    self._lost = LeaseError(
                        self._collection, "nobody we can see", f"The ledger is gone: {error}"
                    )
                    return
            else:
                last = time.monotonic()


@contextmanager
def holding(
    config: Config,
    ledger: Ledger,
    name: str,
    *,
    wait_seconds: float,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Callable[[], None]]:
    """Hold the collection's lease for work of this process alone; gives the check before a write.

    Raises:
        LeaseError: A run holds it.
    """
    alias, seconds = config.milvus.collection, config.run.lease_seconds
    lease = acquire(
        ledger.objects,
        ledger.lease_key,
        alias,
        this_process(name, private_workers=True),
        lease_seconds=seconds,
        wait_seconds=wait_seconds,
        tell=tell,
    )

    def check() -> None:
        heart.check()
        lease.fence.check(ledger.objects)

    with Heartbeat(lease, alias, seconds) as heart:
        yield check
