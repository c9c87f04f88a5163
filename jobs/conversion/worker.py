"""One file into one row: what `kitelift convert` does in its worker processes."""

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import parent_process
from multiprocessing.connection import wait

from chunking.ids import canonical_json
from chunking.model import Document
from chunking.parsers import Format, ParseError, parse_bytes
from jobs.conversion.inputs import Input, Root
from storage.converted import EncodedRow, Origin, encode
from storage.errors import BadDocumentError, Fate, StorageError
from storage.protocols import ObjectStore
from storage.s3_objects import S3Settings

FETCHES_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Every setting that shapes a document."""

    version: str
    """Of kitelift: its parsers."""
    format: Format | str
    id_field: str
    """The metadata key to take ids from; empty for none."""

    @property
    def mark(self) -> str:
        settings = [self.version, self.format, self.id_field]
        return hashlib.sha256(canonical_json(settings)).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    file: Input
    known: str = ""
    """Digest of what the target holds of it."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The target holds this version already."""


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str


Outcome = EncodedRow | Unchanged | Failed


def convert_batch(tasks: Sequence[Task], recipe: Recipe, s3: S3Settings) -> list[Outcome]:
    """Convert each file; what is wrong with one is its own outcome.

    Raises:
        StorageError: Of those that every other file would meet too.
    """
    return [
        fetched if isinstance(fetched, Failed) else _convert(task, *fetched, recipe)
        for task, fetched in zip(tasks, _fetch_all(tasks, s3), strict=True)
    ]


def digest_of(recipe: Recipe, version: str) -> str:
    return f"{recipe.mark}:{version}"


def _convert(task: Task, data: bytes, version: str, recipe: Recipe) -> Outcome:
    file = task.file
    digest = digest_of(recipe, version)
    if digest == task.known:
        return Unchanged()
    try:
        document = parse_bytes(
            data,
            name=file.source,
            document_id=file.path,
            format=recipe.format,  # type: ignore[arg-type]  # parse_bytes checks it
        )
        origin = Origin(
            root=file.root.name, path=file.path, digest=digest, warnings=document.warnings
        )
        return encode(_with_id(document, recipe.id_field), origin)
    except ParseError as error:
        return Failed(": ".join(filter(None, [error.element, error.fault])))
    except BadDocumentError as error:
        return Failed(error.reason)
    except MemoryError:
        return Failed("out of memory")
    except Exception as error:  # noqa: BLE001  # a fault of a parser must not stop the others
        return Failed(f"a fault of its parser: {type(error).__name__}: {error}")


def _with_id(document: Document, id_field: str) -> Document:
    given = document.metadata.get(id_field) if id_field else None
    return document if given in {None, ""} else replace(document, document_id=str(given))


def _fetch_all(tasks: Sequence[Task], s3: S3Settings) -> Iterator[tuple[bytes, str] | Failed]:
    """Bytes and version of each file, in order; from a bucket several at once."""
    if not any(task.file.version for task in tasks):
        yield from (_fetch(task.file, s3) for task in tasks)
        return
    with ThreadPoolExecutor(FETCHES_AT_ONCE) as pool:
        yield from pool.map(lambda task: _fetch(task.file, s3), tasks)


def _fetch(file: Input, s3: S3Settings) -> tuple[bytes, str] | Failed:
    try:
        store = _bucket(file.root, s3) if file.version else file.root.open(s3)
        data, etag = store.get(file.root.key(file.path))
    except StorageError as error:
        if file.version and error.fate is not Fate.SET_ASIDE:
            raise
        return Failed(str(error))
    return data, etag if file.version else hashlib.sha256(data).hexdigest()


@cache
def _bucket(root: Root, s3: S3Settings) -> ObjectStore:
    """Clients do not travel; each worker opens its own, once."""
    return root.open(s3)


def end_with_parent() -> None:
    """See to it that this process does not outlive a parent that is killed."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
