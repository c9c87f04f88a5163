"""What `kitelift convert` is to read: files, folders, globs, and the same in a bucket."""

import fnmatch
import glob
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from chunking.parsers import READABLE_SUFFIXES
from jobs.config import ConfigError
from storage.errors import ObjectMissingError
from storage.local_objects import LocalObjectStore
from storage.protocols import ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings

S3 = "s3://"
VCS_FOLDERS = frozenset({"CVS", "_darcs"})
"""Those of other systems are hidden: .git, .hg, .svn, .bzr, .jj."""

_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder, or a prefix of a bucket, as the caller named it: "manuals", "s3://b/manuals"."""

    name: str

    def open(self, s3: S3Settings) -> ObjectStore:
        if self.name.startswith(S3):
            return S3ObjectStore(self._bucket_and_prefix()[0], s3)
        return LocalObjectStore(Path(self.name))

    def key(self, path: str) -> str:
        """Of a file below it, in that store."""
        prefix = self._bucket_and_prefix()[1] if self.name.startswith(S3) else ""
        return f"{prefix}/{path}" if prefix else path

    def source(self, path: str) -> str:
        """How a reader finds the file: root and path."""
        if self.name == ".":
            return path
        return f"{self.name.removesuffix('/')}/{path}"

    def _bucket_and_prefix(self) -> tuple[str, str]:
        bucket, _, prefix = self.name.removeprefix(S3).partition("/")
        return bucket, prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file to convert."""

    root: Root
    path: str
    """Below the root, with "/", letter for letter."""
    size: int
    version: str = ""
    """Its etag, when it lies in a bucket; a local file is known by its content."""

    @property
    def source(self) -> str:
        return self.root.source(self.path)

    @property
    def order(self) -> tuple[str, str]:
        """As that of `Origin`."""
        return self.path, self.root.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which files one PATH of the command line stands for."""

    given: str
    root: Root
    pattern: tuple[str, ...] = ("**",)
    """One for each step of a path; "**" spans any number of folders."""
    is_file: bool = False
    """Whether it was named itself, and is tried whatever its suffix."""

    def holds(self, path: str) -> bool:
        return _matches(tuple(path.split("/")), self.pattern)


@dataclass(slots=True)
class Found:
    inputs: dict[tuple[str, str], Input] = field(default_factory=dict)
    """By `Input.order`."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Files that are not tried, by reason."""
    failed: dict[tuple[str, Root], str] = field(default_factory=dict)
    """Path and root of files and folders that cannot be read, with the reason."""
    reaches: list[Reach] = field(default_factory=list)

    def covers(self, path: str, root: str) -> bool:
        """Whether the call is about this file, should it exist or not."""
        return any(reach.root.name == root and reach.holds(path) for reach in self.reaches)

    def is_hidden_by_failure(self, path: str, root: str) -> bool:
        """Whether this file, or a folder above it, cannot be read at present."""
        return any(
            root == failed_root.name and f"{path}/".startswith(f"{failed}/" if failed else "")
            for failed, failed_root in self.failed
        )


def find_inputs(paths: Iterable[str], s3: S3Settings, *, any_suffix: bool) -> Found:
    """List the files that `paths` stand for.

    A path that exists is taken literally. Another one with `*`, `?`, `[…]` or `**` is a glob; its
    root is the part before these. The root of a single file is its folder, so that `a.md` and `.`
    name the same document. Hidden files and folders and those of version control are left out
    (unless one is the root); linked files are read, linked folders are not entered.

    Args:
        paths: As on the command line.
        s3: How to reach buckets.
        any_suffix: Take every file, as one does whose format is named.

    Raises:
        ConfigError: A path leads to no file at all, or to none that could be read: an empty folder
            is more often a mistake than the wish to empty the target.
        StorageError: A bucket cannot be listed.
    """
    found = Found()
    for given in paths:
        reach, files = _look(given, s3)
        found.reaches.append(reach)
        one = Found()
        for file in files:
            _sort_in(file, reach, one, any_suffix=any_suffix)
        if not one.inputs and not one.failed:
            told = ", ".join(f"{count} {reason}" for reason, count in one.skipped.most_common(5))
            raise ConfigError(
                f"{given}: no file that can be converted ({told or 'it holds no files'}). "
                "--format takes files of any name."
            )
        new = one.inputs.keys() - found.inputs.keys()
        found.inputs |= {order: one.inputs[order] for order in new}
        found.skipped += one.skipped
        found.failed |= one.failed
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    size: int = 0
    version: str = ""
    skip: str = ""
    fault: str = ""


def _sort_in(file: _File, reach: Reach, found: Found, *, any_suffix: bool) -> None:
    if not reach.holds(file.path):
        return
    suffix = PurePosixPath(file.path).suffix.lower()
    if file.fault:
        found.failed[file.path, reach.root] = file.fault
    elif file.skip:
        found.skipped[file.skip] += 1
    elif any_suffix or reach.is_file or suffix in READABLE_SUFFIXES:
        one = Input(root=reach.root, path=file.path, size=file.size, version=file.version)
        found.inputs[one.order] = one
    else:
        found.skipped[f"unknown suffix {suffix}" if suffix else "no suffix"] += 1


def _look(given: str, s3: S3Settings) -> tuple[Reach, Iterable[_File]]:
    if given.startswith(S3):
        return _look_in_bucket(given, s3)
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{given!r}: the name is not UTF-8; rename it.") from None
    path = os.path.normpath(given)
    if os.path.isdir(path):  # noqa: PTH112  # a path of the command line, not yet one of ours
        return Reach(given=given, root=Root(path)), _walk(path)
    folder, name = os.path.split(path)
    root = Root(folder or ".")
    if os.path.lexists(path):
        return _reach_of_file(given, root, name), [_file(path, name)]
    fixed, pattern = _split_pattern(path)
    if not pattern or not os.path.isdir(fixed):  # noqa: PTH112
        raise ConfigError(f"{given}: no such file or folder.")
    return Reach(given=given, root=Root(fixed), pattern=pattern), _walk(fixed)


def _look_in_bucket(given: str, s3: S3Settings) -> tuple[Reach, Iterable[_File]]:
    bucket, _, rest = given.removeprefix(S3).partition("/")
    if not bucket:
        raise ConfigError(f"{given}: it names no bucket; write s3://bucket/prefix.")
    store = S3ObjectStore(bucket, s3)
    if rest and not rest.endswith("/"):
        try:
            info = store.head(rest)
        except ObjectMissingError:
            pass
        else:
            folder, _, name = rest.rpartition("/")
            reach = _reach_of_file(given, _bucket_root(bucket, folder), name)
            return reach, [_File(path=name, size=info.size, version=info.etag)]
    root = _bucket_root(bucket, rest)
    pattern: tuple[str, ...] = ("**",)
    files = list(_list(store, root))
    if not files and not _MAGIC.isdisjoint(rest):
        fixed, pattern = _split_pattern(rest)
        root = _bucket_root(bucket, "" if fixed == "." else fixed)
        files = list(_list(store, root))
    if not files:
        raise ConfigError(f"{given}: there is no such object, and none below it.")
    return Reach(given=given, root=root, pattern=pattern), files


def _reach_of_file(given: str, root: Root, name: str) -> Reach:
    return Reach(given=given, root=root, pattern=(glob.escape(name),), is_file=True)


def _bucket_root(bucket: str, prefix: str) -> Root:
    return Root(f"{S3}{bucket}/{prefix}".removesuffix("/"))


def _list(store: ObjectStore, root: Root) -> Iterator[_File]:
    prefix = root.key("")
    for info in store.list(prefix):
        path = info.key.removeprefix(prefix)
        if path and not path.endswith("/") and not any(map(_is_hidden, path.split("/"))):
            yield _File(path=path, size=info.size, version=info.etag)


def _walk(root: str, below: str = "") -> Iterator[_File]:
    try:
        with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield _File(path=below.removesuffix("/"), fault=_told(error))
        return
    for entry in found:
        if _is_hidden(entry.name):
            continue
        path = below + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, f"{path}/")
        elif entry.is_symlink() and entry.is_dir():
            yield _File(path=path, skip="linked folder")
        else:
            yield _file(entry.path, path)


def _file(place: str, path: str) -> _File:
    try:
        path.encode()
        status = Path(place).stat()
    except UnicodeEncodeError:
        told = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
        return _File(path=told, fault="its name is not UTF-8; rename it")
    except OSError as error:
        return _File(path=path, fault=_told(error))
    if not stat.S_ISREG(status.st_mode):
        return _File(path=path, skip="no regular file")
    return _File(path=path, size=status.st_size)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in VCS_FOLDERS


def _split_pattern(path: str) -> tuple[str, tuple[str, ...]]:
    """The folder before the first step that is a pattern, and the steps from there on."""
    steps = path.split("/")
    fixed = next((n for n, step in enumerate(steps) if not _MAGIC.isdisjoint(step)), len(steps))
    return "/".join(steps[:fixed]) or ("/" if path.startswith("/") else "."), tuple(steps[fixed:])


def _matches(steps: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not steps
    if pattern[0] == "**":
        if pattern == ("**",):
            return bool(steps)
        return any(_matches(steps[n:], pattern[1:]) for n in range(len(steps) + 1))
    if not steps:
        return False
    return fnmatch.fnmatchcase(steps[0], pattern[0]) and _matches(steps[1:], pattern[1:])


def _told(error: OSError) -> str:
    return error.strerror or str(error)
