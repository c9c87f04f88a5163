"""One writer a collection: a lease in the object store, taken and kept by conditional writes.

No decision trusts two clocks at once. A lease that looks dead by the wall clock is watched for
one full lease time by our own monotonic clock before it is taken over, and a worker that was
paused finds the epoch raised and commits nothing. What stays open is a request that was on the
wire when the lease was lost; `kitelift verify` finds what it wrote.
"""

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from storage.errors import (
    ConditionFailedError,
    LeaseError,
    LedgerDamagedError,
    ObjectMissingError,
)
from storage.protocols import ObjectStore

LEASE_SECONDS = 30.0
"""Without a heartbeat for so long, a holder counts as dead, if the configuration says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a lease, told well enough to find the process."""

    run_id: str
    host: str
    namespace: str
    """Boot and process-id namespace: the same only where a process id means the same."""
    pid: int
    started: str
    """Start time of the process in kernel ticks: tells a reused process id."""
    private_workers: bool
    """Its workers end with it (no cluster was joined), so a dead process means a dead run."""

    def __str__(self) -> str:
        return f"run {self.run_id} (process {self.pid} on {self.host})"

    @property
    def is_gone(self) -> bool:
        """Certainly dead, workers included: a process of this very machine that is not there."""
        return (
            self.private_workers
            and bool(self.namespace)
            and (self.host, self.namespace) == (socket.gethostname(), _namespace())
            and _process_start(self.pid) != self.started
        )


def this_process(run_id: str, *, private_workers: bool) -> Holder:
    return Holder(
        run_id=run_id,
        host=socket.gethostname(),
        namespace=_namespace(),
        pid=os.getpid(),
        started=_process_start(os.getpid()),
        private_workers=private_workers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """What stands in the lease object."""

    holder: Holder
    epoch: int
    """Raised by each take-over; whoever works under a lower one has lost."""
    beat: int
    beat_at: str
    """By the holder's clock, UTC; a hint only."""
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a worker carries: enough to see that its run still holds the lease."""

    key: str
    collection: str
    run_id: str
    epoch: int

    def check(self, objects: ObjectStore) -> None:
        """Raise LeaseError unless the run still holds the lease. Call before every write."""
        state, _ = _read(objects, self.key)
        ours = state is not None and (state.epoch, state.holder.run_id) == (self.epoch, self.run_id)
        if state is None or state.released or not ours:
            holder = "nobody" if state is None or state.released else str(state.holder)
            raise LeaseError(
                self.collection,
                holder,
                f"Run {self.run_id} lost its lease and has written nothing since; run it again.",
            )


class Lease:
    """A held lease. `beat` it several times in a lease time; `release` it at the end."""

    def __init__(self, objects: ObjectStore, fence: Fence, state: LeaseState, etag: str) -> None:
        self._objects = objects
        self.fence = fence
        self._state, self._etag = state, etag

    def beat(self) -> None:
        """Show that we live. Raises LeaseError when another run has taken over."""
        self._write(replace(self._state, beat=self._state.beat + 1, beat_at=_now()))

    def release(self) -> None:
        """Let the next run begin at once; a lease that was lost is left alone."""
        try:
            self._write(replace(self._state, released=True))
        except LeaseError:
            return

    def _write(self, state: LeaseState) -> None:
        try:
            self._etag = self._objects.put(self.fence.key, _dump(state), if_etag=self._etag)
        except (ConditionFailedError, ObjectMissingError):
            # A retried request may have met its own first try; then the object says so.
            found, etag = _read(self._objects, self.fence.key)
            if found != state:
                self.fence.check(self._objects)
                raise
            self._etag = etag
        self._state = state


def acquire(
    objects: ObjectStore,
    key: str,
    collection: str,
    holder: Holder,
    *,
    lease_seconds: float = LEASE_SECONDS,
    wait_seconds: float = 0.0,
    tell: Callable[[str], None] = lambda _: None,
    announce: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Lease:
    """Take the lease, or raise LeaseError that names its holder.

    Args:
        objects: The state store.
        key: Of the lease object.
        collection: For messages.
        holder: Us.
        lease_seconds: Without a beat for so long, a holder counts as dead.
        wait_seconds: How long to wait for a living holder to end.
        tell: Hears why this takes time.
        announce: Called again and again while we wait for a living holder to end.
        clock: Monotonic seconds.
        sleep: Waits.
    """
    begun = clock()
    seen_etag, seen_since, beats, told = "", begun, 0, False
    while True:
        state, etag = _read(objects, key)
        if etag != seen_etag:
            seen_etag, seen_since, beats = etag, clock(), beats + 1
        unchanged = clock() - seen_since
        if state is None or state.released or state.holder.is_gone or unchanged >= lease_seconds:
            fence = Fence(
                key=key,
                collection=collection,
                run_id=holder.run_id,
                epoch=state.epoch + 1 if state else 1,
            )
            lease = _take(objects, fence, holder, etag)
            if lease is not None:
                return lease
            continue
        # A beat that we saw ourselves outweighs what its clock says.
        looks_dead = beats == 1 and not 0 <= _age(state) < lease_seconds
        if not looks_dead and clock() - begun >= wait_seconds:
            raise LeaseError(
                collection,
                str(state.holder),
                "Wait for it with --wait SECONDS, or stop it; a run that died lets go "
                f"{lease_seconds:.0f} s after its last heartbeat ({_age(state):.0f} s ago).",
            )
        if not told:
            why = "shows no sign of life; watching it" if looks_dead else "is at work; waiting"
            tell(f"{state.holder} holds {collection} and {why}")
            told = True
        if not looks_dead:
            announce()
        sleep(min(1.0, lease_seconds / 10))


def _take(objects: ObjectStore, fence: Fence, holder: Holder, etag: str) -> Lease | None:
    """Swap ourselves in for what had this etag (nothing, if empty); None if we lost the race."""
    state = LeaseState(holder=holder, epoch=fence.epoch, beat=0, beat_at=_now())
    try:
        if etag:
            new_etag = objects.put(fence.key, _dump(state), if_etag=etag)
        else:
            new_etag = objects.put(fence.key, _dump(state), if_absent=True)
    except (ConditionFailedError, ObjectMissingError):
        return None
    return Lease(objects, fence, state, new_etag)


def current_holder(objects: ObjectStore, key: str) -> Holder | None:
    """Who holds the lease now, alive or not; None when it is free."""
    state, _ = _read(objects, key)
    return None if state is None or state.released else state.holder


def _read(objects: ObjectStore, key: str) -> tuple[LeaseState | None, str]:
    try:
        data, etag = objects.get(key)
        fields = json.loads(data)
        return LeaseState(**{**fields, "holder": Holder(**fields["holder"])}), etag
    except ObjectMissingError:
        return None, ""
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerDamagedError(
            objects.place,
            key,
            f"it is no lease ({error})",
            "Make sure that no run is at work, then delete it.",
        ) from None


def _dump(state: LeaseState) -> bytes:
    return json.dumps(asdict(state)).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _age(state: LeaseState) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(state.beat_at)).total_seconds()


def _namespace() -> str:
    """Empty where the system does not tell it; then no process is ever taken for gone."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _process_start(pid: int) -> str:
    """Empty when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]
