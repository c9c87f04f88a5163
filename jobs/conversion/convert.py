"""`kitelift convert`: files of other tools into Parquet of parsed documents, kept up to date.

The target mirrors the sources. Its documents stand in the order of their paths, in objects of
about 64 MB (decoded), `part-….parquet`; where one ends is decided by the documents around
(jobs/conversion/layout.py), and each object says what its documents were made of
(storage/converted.py). So a second call parses what changed and writes the objects in which that
stands, and gives what a first call would have given, byte for byte.

- A file's `document_id` is its path below the folder, glob or prefix that was named, letter for
  letter; its name when it was named itself. With an id field, that metadata key where it is set.
  Of two files with one id the first, by path and then by root, is taken; the other fails.
- A local file has changed when its bytes have (a fresh checkout changes nothing), an object in a
  bucket when its etag has, and all have when kitelift's version or a setting that shapes
  documents is another.
- Documents whose file vanished from what the call names go. What was converted from elsewhere
  stays, unless `mirror` is set; Parquet that this command did not write is never touched.
- A file that fails keeps the document of its last good version, so that a damaged upload does
  not empty an index; it is tried, and told of, by each call until it is mended.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from chunking.parsers import FORMATS
from jobs.config import ConfigError
from jobs.conversion.inputs import Input, Root
from jobs.conversion.layout import OBJECT_BYTES
from jobs.conversion.pool import FilePool
from jobs.conversion.progress import FileProgress
from jobs.conversion.sources import Found, find_inputs
from jobs.conversion.target import Held, Order, TargetWriter, read_target
from jobs.conversion.worker import (
    Failed,
    Outcome,
    Recipe,
    Task,
    Unchanged,
    convert_batch,
    digest_of,
    end_with_parent,
)
from storage.converted import EncodedRow, StoredRow
from storage.errors import SettingError
from storage.objects import open_location
from storage.s3_objects import S3Settings

ConversionReport = dict[str, Any]
"""JSON of what a call did.

`files` {`read`, `unchanged` (of those read), `skipped`, `failed`}; `documents` and `objects` that
the target holds now; `document_changes` {`added`, `changed`, `removed`} and `object_changes`
{`written`, `kept`, `deleted`}; `failures` [{`file`, `reason`}]; `skips` and `warnings`, counts by
reason and kind; `target`, `dry_run`, `seconds`.
"""

_KILLED = "its process was killed (out of memory, or a fault in a native library)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionSettings:
    format: str = "auto"
    """One of chunking.parsers.FORMATS for all files, whatever their names."""
    id_field: str = ""
    """Metadata key (of front matter, say) that holds the document's id; empty for none."""
    max_file_bytes: int = 256 * 2**20
    """A larger file fails."""
    workers: int | None = None
    """Processes, by default one for each CPU. 0 works in this process, which a file may then kill:
    for debuggers, and for processes that must not have children."""
    object_bytes: int = OBJECT_BYTES
    """Decoded size of an object."""
    full: bool = False
    """Parse every file again."""
    mirror: bool = False
    """Drop what earlier calls converted from other sources than those of this call."""
    dry_run: bool = False
    """Read and report, write nothing."""


def convert_files(
    paths: Iterable[str],
    target_uri: str,
    s3: S3Settings,
    settings: ConversionSettings,
    progress: FileProgress,
) -> ConversionReport:
    """Bring the target up to date with the files that `paths` stand for.

    Raises:
        ConfigError: A path leads to nothing that can be converted, or the target or the format is
            none. Nothing was written.
        StorageError: A store failed in a way that every file would meet. What was written stays,
            and the next call goes on from there.
    """
    begun = time.monotonic()
    if settings.format not in {"auto", *FORMATS}:
        raise ConfigError(
            f"--format {settings.format}: there is no such format; use auto, {', '.join(FORMATS)}."
        )
    try:
        target = open_location(target_uri, s3)
    except SettingError as error:
        raise ConfigError(f"--to {error}") from error
    found = find_inputs(paths, s3, any_suffix=settings.format != "auto")
    held = read_target(target)
    walk = _Walk(found, held, settings)
    progress.begin(len(found.inputs))
    writer = TargetWriter(
        target, held, object_bytes=settings.object_bytes, dry_run=settings.dry_run
    )
    pool: FilePool[Task, Outcome] = FilePool(
        partial(convert_batch, recipe=walk.recipe, s3=s3),
        size=_task_size,
        died=Failed(_KILLED),
        prepare=end_with_parent,
        workers=_cpus() if settings.workers is None else settings.workers,
    )
    with pool:
        writer.write(walk.documents(pool.map, progress))
    return {
        "target": target_uri,
        "dry_run": settings.dry_run,
        **walk.report(),
        "objects": writer.changes.written + writer.changes.kept,
        "object_changes": asdict(writer.changes),
        "seconds": round(time.monotonic() - begun, 3),
    }


class _Walk:
    """Through all files and all documents of the target side by side, in their order."""

    def __init__(self, found: Found, held: Held, settings: ConversionSettings) -> None:
        self._found, self._held, self._settings = found, held, settings
        self.recipe = Recipe(
            version=version("kitelift"), format=settings.format, id_field=settings.id_field
        )
        self._failures: list[tuple[str, str]] = []
        self._files: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self._warnings: Counter[str] = Counter()
        self._sources: dict[str, str] = {}
        """Which file each document comes from, by document id."""

    def documents(
        self, convert: Callable[[Iterable[Task]], Iterator[Outcome]], progress: FileProgress
    ) -> Iterator[EncodedRow | StoredRow]:
        """What the target is to hold: what it holds already as `StoredRow`, the rest parsed."""
        for (path, root), reason in self._found.failed.items():
            self._fail(Root(root).source(path), reason)
        orders = sorted({*self._found.inputs, *filter(self._stays, self._held.stored)})
        outcomes = convert(self._tasks(orders))
        for order in orders:
            file, stored = self._found.inputs.get(order), self._held.stored.get(order)
            document: EncodedRow | StoredRow | None = stored
            if file:
                outcome = self._known_outcome(file) or next(outcomes)
                if isinstance(outcome, Failed):
                    self._fail(file.source, outcome.reason)
                elif isinstance(outcome, EncodedRow):
                    document = outcome
                progress.advance(failed=isinstance(outcome, Failed))
            if document and self._is_first_of_its_id(document):
                self._count(document, stored, is_read=file is not None)
                yield document

    def report(self) -> ConversionReport:
        return {
            "files": {
                "read": self._files["read"],
                "unchanged": self._files["unchanged"],
                "skipped": len(self._found.skipped),
                "failed": len(self._failures),
            },
            "documents": len(self._sources),
            "document_changes": {
                "added": self._changes["added"],
                "changed": self._changes["changed"],
                "removed": len(self._held.stored) - self._changes["staying"],
            },
            "failures": [{"file": file, "reason": reason} for file, reason in self._failures],
            "skips": dict(sorted(Counter(self._found.skipped.values()).items())),
            "warnings": dict(sorted(self._warnings.items())),
        }

    def _stays(self, order: Order) -> bool:
        """Whether a document of the target stays although its file was not found."""
        if self._found.is_out_of_sight(order):
            return True
        return not self._found.covers(order) and not self._settings.mirror

    def _tasks(self, orders: Iterable[Order]) -> Iterator[Task]:
        """A task for each file whose outcome is not known without reading it."""
        for order in orders:
            file, stored = self._found.inputs.get(order), self._held.stored.get(order)
            if file and not self._known_outcome(file):
                is_known = stored and not self._settings.full
                yield Task(file=file, known=stored.origin.digest if stored and is_known else "")

    def _known_outcome(self, file: Input) -> Outcome | None:
        if file.size > self._settings.max_file_bytes:
            return Failed(
                f"{file.size} bytes, more than the limit of {self._settings.max_file_bytes}"
            )
        stored = self._held.stored.get(file.order)
        if not file.version or not stored or self._settings.full:
            return None
        is_current = stored.origin.digest == digest_of(self.recipe, file.version)
        return Unchanged() if is_current else None

    def _is_first_of_its_id(self, document: EncodedRow | StoredRow) -> bool:
        source = Root(document.origin.root).source(document.origin.path)
        first = self._sources.setdefault(document.document_id, source)
        if first != source:
            self._fail(
                source,
                f"its document_id {document.document_id!r} is that of {first} already; convert "
                "the folder above both, name an --id-field, or use another target",
            )
        return first == source

    def _count(
        self, document: EncodedRow | StoredRow, stored: StoredRow | None, *, is_read: bool
    ) -> None:
        is_same = stored is not None and stored.origin.digest == document.origin.digest
        self._changes["staying"] += stored is not None
        self._changes["added"] += stored is None
        self._changes["changed"] += stored is not None and not is_same
        if is_read:
            self._files["read"] += 1
            self._files["unchanged"] += is_same
            for warning in document.origin.warnings:
                kind, _, number = warning.rpartition(": ")
                if number.isdecimal():
                    self._warnings[kind] += int(number)
                else:
                    self._warnings[warning] += 1

    def _fail(self, file: str, reason: str) -> None:
        self._failures.append((file, reason))


def _cpus() -> int:
    """That this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _task_size(task: Task) -> int:
    return task.file.size
