"""Whether rows of the same document say the same, wherever the row that is taken stands.

A shard tells the hash of each contested row that it reads. A row that is taken from an object that
this run does not walk (outside a backfill's prefix, or of a rerun's objects) is read for its hash
alone, so that an equal further row is no conflict.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from chunking.model import Document
from jobs.docket import Arrival, Docket
from jobs.rooms import Rooms, ShardTask
from storage.documents import document_hash, read_documents, read_shape
from storage.errors import BadDocumentError, Fate, StorageError
from storage.protocols import ObjectInfo, ObjectStore
from storage.records import Rival


def hash_anywhere(document: Document, key: str) -> str:
    """The document's hash without what it only has from the object that it stands in."""
    if document.source != key:
        return document_hash(document)
    return document_hash(replace(document, source="", file_title=""))


def contest_rivals(task: ShardTask, rooms: Rooms, docket: Docket) -> None:
    """Report the rows that were taken instead of this shard's, if no shard of this run will.

    One that cannot be read is left out: then nobody can say that the rows are equal.
    """
    met = {row.document_id for row in docket.contested if not row.won}
    by_object: dict[ObjectInfo, dict[int, Rival]] = {}
    for rival in task.shard.rivals:
        if rival.document_id in met:
            info = ObjectInfo(key=rival.object_key, etag=rival.etag, size=rival.size)
            by_object.setdefault(info, {})[rival.row] = rival
    for info, rivals in by_object.items():
        with docket.stage("read"):
            try:
                for row, document in _rows(rooms.source.objects, info, rivals.keys()):
                    taken = hash_anywhere(document, info.key)
                    arrival = Arrival(
                        row=row, document_id=rivals[row].document_id, document_hash=taken
                    )
                    docket.contest(arrival, taken, won=True, object_key=info.key)
            except StorageError as error:
                if error.fate is not Fate.SET_ASIDE:
                    raise


def _rows(
    objects: ObjectStore, info: ObjectInfo, wanted: Collection[int]
) -> Iterator[tuple[int, Document]]:
    """These rows of an object; no row group without any of them is read."""
    first = 0
    for group, shape in enumerate(read_shape(objects, info).row_groups):
        rows = range(first, first + shape.rows)
        first = rows.stop
        if any(row in rows for row in wanted):
            for row, document in read_documents(objects, info, range(group, group + 1)):
                if row in wanted and not isinstance(document, BadDocumentError):
                    yield row, document
