"""An object store in a local folder: for one machine, and for a folder that several mount."""

import errno
import fcntl
import io
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from storage.errors import (
    ConditionFailedError,
    ObjectChangedError,
    ObjectMissingError,
    SettingError,
    StorageError,
    StoreUnavailableError,
)
from storage.protocols import ObjectInfo

if TYPE_CHECKING:
    from typing_extensions import Buffer

TEMPORARY = ".kitelift-write-"
"""How names of half-written files begin. They lie beside their target and are never listed."""

READ_BYTES = 1 << 17
"""Read ahead by a reader of `open`."""

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE}


class LocalObjectStore:
    """The files under a folder. Keys are paths relative to it, with "/" between their parts.

    A write goes to a temporary file, which is flushed to the disk and then renamed, so that
    readers see the old bytes or the new, and a crash leaves nothing half done. Writers of one
    folder take turns through a lock on that folder (flock), which makes conditional writes safe
    between all processes of a machine.

    Links to files are read as files; linked folders are not listed, and a key that would lead out
    of the store through one is refused. Names are taken as they are: NFC and NFD stay apart where
    the file system keeps them apart.

    The folder need not exist before the first write: until then it is empty.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    @property
    def place(self) -> str:
        return str(self._root)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        with self._our_errors(prefix):
            yield from self._walk("", prefix)

    def head(self, key: str) -> ObjectInfo:
        path = self._path(key)
        with self._our_errors(key):
            return self._info(key, path.stat())

    def get(self, key: str) -> tuple[bytes, str]:
        path = self._path(key)
        with self._our_errors(key), path.open("rb", buffering=0) as file:
            info = self._info(key, os.fstat(file.fileno()))
            return file.readall(), info.etag

    def open(self, info: ObjectInfo) -> BinaryIO:
        path = self._path(info.key)
        self.check(info)
        with self._our_errors(info.key):
            file = path.open("rb", buffering=0)
        return io.BufferedReader(_PinnedFile(self, info, file), READ_BYTES)

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_etag: str | None = None
    ) -> str:
        path = self._path(key)
        with self._our_errors(key, writing=True):
            _make_folder(path.parent)
            self._refuse_outside(key, path)
            temporary = path.parent / f"{TEMPORARY}{uuid.uuid4().hex}"
            try:
                with temporary.open("xb", buffering=0) as file:
                    _write_all(file, data)
                    with _locked(path.parent) as folder:
                        current = _stat_or_none(path)
                        if (if_absent and current is not None) or (
                            if_etag is not None and (current is None or _etag(current) != if_etag)
                        ):
                            raise ConditionFailedError(self.place, key)
                        _stamp_after(file, current)
                        temporary.replace(path)
                        os.fsync(folder)
                        return _etag(os.fstat(file.fileno()))
            finally:
                temporary.unlink(missing_ok=True)

    def delete(self, key: str) -> None:
        path = self._path(key)
        try:
            with self._our_errors(key), _locked(path.parent) as folder:
                path.unlink()
                os.fsync(folder)
        except ObjectMissingError:
            return

    def check(self, info: ObjectInfo) -> None:
        """Raise ObjectMissingError or ObjectChangedError unless this version is still there."""
        if self.head(info.key).etag != info.etag:
            raise ObjectChangedError(self.place, info.key)

    def _walk(self, folder: str, prefix: str) -> Iterator[ObjectInfo]:
        """Everything under `folder` ("" or ending in "/"), in the order of whole keys.

        Sorting "a/" among its neighbours as it stands in keys makes a walk of folders give the
        order of a flat listing, one folder in memory at a time.
        """
        found: dict[str, os.DirEntry[str]] = {}
        try:
            with os.scandir(self._root / folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(TEMPORARY):
                        is_folder = entry.is_dir(follow_symlinks=False)
                        found[folder + entry.name + ("/" if is_folder else "")] = entry
        except FileNotFoundError:
            return
        for key in sorted(found, key=os.fsencode):
            if key.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._walk(key, prefix)
            elif key.startswith(prefix):
                yield from self._listed(key, found[key])

    def _listed(self, key: str, entry: os.DirEntry[str]) -> Iterator[ObjectInfo]:
        try:
            if not entry.is_file():
                return
            status = entry.stat()
        except OSError as error:
            if error.errno in {*_ABSENT, errno.ELOOP}:  # deleted meanwhile, or a dangling link
                return
            raise
        yield self._info(key, status)

    def _info(self, key: str, status: os.stat_result) -> ObjectInfo:
        if not _is_regular(status):
            raise ObjectMissingError(self.place, key)
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise SettingError(
                f"the folder {self.place}",
                f"the name of the file {key!r} is not UTF-8",
                "Rename it (`convmv` repairs many at once).",
            ) from error
        return ObjectInfo(key=key, etag=_etag(status), size=status.st_size)

    def _path(self, key: str) -> Path:
        """Where `key` lies.

        Raises:
            ValueError: It is no relative path in its one spelling, or leads out of the folder.
        """
        parts = key.split("/")
        if "\0" in key or any(part in {"", ".", ".."} for part in parts):
            raise ValueError(f"{key!r} is no key of a folder: give a path such as 'a/b.parquet'")
        if parts[-1].startswith(TEMPORARY):
            raise ValueError(f"{key!r} is no key: names in {TEMPORARY!r} are half-written files")
        path = self._root / key
        self._refuse_outside(key, path)
        return path

    def _refuse_outside(self, key: str, path: Path) -> None:
        if not path.parent.resolve().is_relative_to(self._root):
            raise ValueError(f"{key!r} leads out of {self.place} through a linked folder")

    @contextmanager
    def _our_errors(self, key: str, *, writing: bool = False) -> Iterator[None]:
        """Every touch of the disk goes through here, so that no OSError leaves this file."""
        try:
            yield
        except OSError as error:
            raise self._ours(error, key, writing=writing) from error

    def _ours(self, error: OSError, key: str, *, writing: bool) -> StorageError:
        reason = error.strerror or str(error)
        if error.errno in _ABSENT and not writing:
            return ObjectMissingError(self.place, key)
        if error.errno in _PASSING:
            return StoreUnavailableError("the folder", self.place, reason)
        return SettingError(
            f"the folder {self.place}",
            f"{key} cannot be written: {reason}"
            if writing
            else f"{error.filename or key} cannot be read: {reason}",
            "Check the path and its permissions, or name another folder.",
        )


class _PinnedFile(io.RawIOBase):
    """One version of a file: every read makes sure that it is still the one under its key."""

    def __init__(self, store: LocalObjectStore, info: ObjectInfo, file: io.FileIO) -> None:
        self._store, self._info, self._file = store, info, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: "Buffer", /) -> int:
        with self._store._our_errors(self._info.key):  # noqa: SLF001 -- the store's own reader
            count = self._file.readinto(buffer)
        self._store.check(self._info)  # after the read: what was read is of that version
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _make_folder(folder: Path) -> None:
    """As `mkdir -p`, each new entry flushed to the disk."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    with _locked(folder.parent) as parent:
        os.fsync(parent)


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold the folder alone, against other threads too; gives its descriptor."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(file: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_regular(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o100000


def _stamp_after(file: io.FileIO, current: os.stat_result | None) -> None:
    """Give the new file a time of its own.

    Kernels stamp files by a clock that ticks every few milliseconds, and inode numbers are used
    again: without this, the third version of a fast series could look like the first.
    """
    now = time.time_ns()
    if current is not None:
        now = max(now, current.st_mtime_ns + 1)
    os.utime(file.fileno(), ns=(now, now))


def _etag(status: os.stat_result) -> str:
    """Cheap, and another after each rewrite, even one that restores size and time (`cp -p`)."""
    return f"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ctime_ns:x}"
