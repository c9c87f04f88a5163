"""Who waits for a lease, told beside it, so that a run that is in no hurry can give way.

No clock is trusted: whoever waits writes again and again, and only a note that changes while it is
watched is that of a run which still waits.
"""

import json
from dataclasses import asdict

from storage.errors import ObjectMissingError
from storage.lease import Holder
from storage.protocols import ObjectStore


class Announcer:
    """Of a run that waits. One note for all of them: that somebody waits is what matters."""

    def __init__(self, objects: ObjectStore, lease_key: str, holder: Holder) -> None:
        self._objects, self._key, self._holder = objects, _key(lease_key), holder
        self._times = 0

    def __call__(self) -> None:
        """Say that we wait, still."""
        self._times += 1
        note = {"holder": asdict(self._holder), "times": self._times}
        self._objects.put(self._key, json.dumps(note).encode())


class Lookout:
    """Of the run that holds the lease: looks for others from time to time."""

    def __init__(self, objects: ObjectStore, lease_key: str) -> None:
        self._objects, self._key = objects, _key(lease_key)
        self._seen = self._read()

    def look(self) -> str:
        """Who waits; empty if nobody was heard since the last look."""
        before, self._seen = self._seen, self._read()
        if not self._seen or self._seen == before:
            return ""
        return str(Holder(**json.loads(self._seen)["holder"]))

    def _read(self) -> bytes:
        try:
            return self._objects.get(self._key)[0]
        except ObjectMissingError:
            return b""


def _key(lease_key: str) -> str:
    return f"{lease_key}.waiting"
