"""A vector for each text that is to be written: found again where it can be, else embedded once.

The order of looking: the collection itself, other collections of the same model, what attempts
that never ended staged, at this shard or at any other, what deleted rows left, and last the model.
What the model gives is staged before it is used, so that a kill costs the requests in flight and
no more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jobs.changes import Change
from jobs.docket import Docket
from jobs.edges import reach
from jobs.rooms import Rooms, ShardTask
from storage.parts import stage_vectors, staged_vectors
from storage.records import Tally

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced:
    """What came of the texts of a window, by content hash."""

    vectors: Mapping[str, Vector]
    refused: Mapping[str, str]
    """Why the model gives none."""


def find_vectors(
    changes: Sequence[Change], task: ShardTask, rooms: Rooms, docket: Docket
) -> Sourced:
    """Vectors for all texts of these changes that can have one."""
    texts = distinct_texts(changes)
    with docket.stage("look up"):
        vectors = reusable(texts, rooms)
        missing = texts.keys() - vectors.keys()
        if missing:
            folders = (*task.staged, task.folder)
            state = rooms.ledger.objects
            vectors |= staged_vectors(state, folders, missing, rooms.model_key)
        missing = texts.keys() - vectors.keys()
        if missing:
            vectors |= rooms.attic.find(task.attic, missing)
    refused: dict[str, str] = {}
    to_embed = [content_hash for content_hash in texts if content_hash not in vectors]
    for start in range(0, len(to_embed), task.embed_texts):
        hashes = to_embed[start : start + task.embed_texts]
        with docket.stage("embed"):
            embedded = rooms.embedder.embed([texts[content_hash] for content_hash in hashes])
        reach("embedded")
        for reasons in (embedded.refused, embedded.failed):
            refused |= {hashes[n]: why for n, why in reasons.items()}
        usable = [n for n, content_hash in enumerate(hashes) if content_hash not in refused]
        paid = Tally(
            texts=len(usable),
            tokens=embedded.tokens,
            requests=embedded.requests,
            retries=embedded.retries,
            slow_downs=embedded.slow_downs,
        )
        docket.add(paid)
        docket.tell()
        fresh = [hashes[n] for n in usable]
        if fresh:
            with docket.stage("stage"):
                folder = f"{task.folder}/vectors/{rooms.model_key}"
                key = f"{folder}/{task.attempt:03d}-{fresh[0]}.parquet"
                stage_vectors(rooms.ledger.objects, key, fresh, embedded.vectors[usable])
            reach("staged")
        vectors |= {hashes[n]: embedded.vectors[n] for n in usable}
    paid_for = {content_hash for content_hash in to_embed if content_hash in vectors}
    written = [c for change in changes for c in change.write if c.content_hash in vectors]
    sizes = {chunk.content_hash: chunk.token_count for chunk in written}
    docket.add(
        Tally(
            reused=len(written) - len(paid_for),
            reused_tokens=sum(chunk.token_count for chunk in written)
            - sum(sizes[content_hash] for content_hash in paid_for),
        )
    )
    return Sourced(vectors=vectors, refused=refused)


def distinct_texts(changes: Iterable[Change]) -> dict[str, str]:
    """Each text to write once, by its content hash, in order of first use."""
    return {chunk.content_hash: chunk.content for change in changes for chunk in change.write}


def reusable(content_hashes: Iterable[str], rooms: Rooms) -> dict[str, Vector]:
    """Vectors that stand in a collection of the same model."""
    found: dict[str, Vector] = {}
    missing = list(content_hashes)
    for store in (rooms.store, *rooms.lenders):
        if missing:
            found |= store.vectors_of(missing)
            missing = [h for h in missing if h not in found]
    return found
