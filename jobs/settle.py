"""Who is who, before any work: which row counts for a document, and which documents vanished.

One rule settles a document that comes in several rows or objects: the first row in ascending
order of object key (by its bytes), then of row, is taken; the others are named in the report.
It looks at ids alone, so it reads one column, and works in buckets of ids, so that memory stays
bounded whatever the size of the corpus.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

IDS_A_BUCKET = 500_000
"""Some 100 MB of ids and places in memory at a time."""

ReadIds = Callable[[str], Iterable[tuple[int, str]]]
"""For an object's key: row and document id of every row that has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the ids alone decide."""

    losers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By object key: rows whose document is taken from an earlier place."""
    contested: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """By object key: its rows whose id comes several times, the winner's among them, with it."""
    winners: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By contested id: the object key and row that it is taken from."""
    vanished: tuple[str, ...] = ()
    """Documents that were there before and are in no object now, sorted."""


def buckets_for(rows: int) -> int:
    return max(1, -(-rows // IDS_A_BUCKET))


def settle(
    keys: Iterable[str],
    read_ids: ReadIds,
    earlier_ids: Callable[[], Iterable[str]],
    buckets: int,
) -> Settled:
    """Settle all documents of these objects.

    Args:
        keys: Of every object of the source that can be read, in ascending order of bytes.
        read_ids: How to read an object's ids; called once a bucket.
        earlier_ids: Ids that an earlier run stored from objects that changed or are gone.
        buckets: Into how many slices of the id space the work is cut.
    """
    keys = list(keys)
    losers: dict[str, list[int]] = {}
    contested: dict[str, set[tuple[int, str]]] = {}
    winners: dict[str, tuple[str, int]] = {}
    vanished: list[str] = []
    for bucket in range(buckets):
        first: dict[str, tuple[str, int]] = {}
        for key in keys:
            for row, document_id in _in_bucket(read_ids(key), bucket, buckets):
                winner = first.setdefault(document_id, (key, row))
                if winner != (key, row):
                    losers.setdefault(key, []).append(row)
                    winners[document_id] = winner
                    for place, n in (winner, (key, row)):
                        contested.setdefault(place, set()).add((n, document_id))
        earlier = ((0, document_id) for document_id in earlier_ids())
        gone = {i for _, i in _in_bucket(earlier, bucket, buckets) if i not in first}
        vanished.extend(gone)
    return Settled(
        losers={key: tuple(sorted(rows)) for key, rows in losers.items()},
        contested={key: tuple(sorted(rows)) for key, rows in contested.items()},
        winners=winners,
        vanished=tuple(sorted(vanished)),
    )


def _in_bucket(
    ids: Iterable[tuple[int, str]], bucket: int, buckets: int
) -> Iterator[tuple[int, str]]:
    if buckets == 1:
        return iter(ids)
    return ((row, i) for row, i in ids if _bucket_of(i, buckets) == bucket)


def _bucket_of(document_id: str, buckets: int) -> int:
    digest = hashlib.blake2b(document_id.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") % buckets
