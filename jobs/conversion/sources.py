"""What `kitelift convert` is to read: files, folders, globs, and the same in a bucket."""

import fnmatch
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from chunking.parsers import READABLE_SUFFIXES
from jobs.config import ConfigError
from jobs.conversion.inputs import S3, Input, Root
from storage.errors import ObjectMissingError
from storage.protocols import ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings

VCS_FOLDERS = frozenset({"CVS", "_darcs"})
"""Those of other systems are hidden: .git, .hg, .svn, .bzr, .jj."""

_MAGIC = frozenset("*?[")


Order = tuple[str, str]
"""Path and name of the root: a file, as `Input.order`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which files below a root one PATH of the command line stands for."""

    root: Root
    pattern: tuple[str, ...] = ("**",)
    """One for each step of a path; "**" spans any number of folders."""
    file: str = ""
    """The one that was named itself, and is tried whatever its suffix; then there is no pattern."""

    def holds(self, path: str) -> bool:
        return path == self.file if self.file else _matches(tuple(path.split("/")), self.pattern)

    def enters(self, folder: str) -> bool:
        """Whether it may hold files below this folder."""
        return not self.file and _begins(tuple(folder.split("/")), self.pattern)


@dataclass(slots=True)
class Found:
    inputs: dict[Order, Input] = field(default_factory=dict)
    skipped: dict[Order, str] = field(default_factory=dict)
    """What is not tried, with the reason."""
    failed: dict[Order, str] = field(default_factory=dict)
    """Files and folders that cannot be read, with the reason."""
    named: set[Order] = field(default_factory=set)
    reaches: list[Reach] = field(default_factory=list)
    """Of folders and globs; files are in `named`."""

    def covers(self, order: Order) -> bool:
        """Whether the call is about this file, should it exist or not."""
        path, root = order
        return order in self.named or any(
            reach.root.name == root and reach.holds(path) for reach in self.reaches
        )

    def is_out_of_sight(self, order: Order) -> bool:
        """Whether this file, or a folder above it, cannot be read at present."""
        path, root = order
        return any(
            root == failed_root and f"{path}/".startswith(f"{failed}/" if failed else "")
            for failed, failed_root in self.failed
        )


def find_inputs(paths: Iterable[str], s3: S3Settings, *, any_suffix: bool) -> Found:
    """List the files that `paths` stand for.

    A path that exists is taken literally. Another one with `*`, `?`, `[…]` or `**` is a glob; its
    root is the part before these. The root of a single file is its folder, so that `a.md` and `.`
    name the same document. Hidden files and folders and those of version control are left out
    (unless named themselves); linked files are read, linked folders are not entered.

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
        one = Found()
        for file in files:
            if file.is_folder or reach.holds(file.path):
                _sort_in(file, reach, one, any_suffix=any_suffix)
        if not one.inputs and not one.failed:
            reasons = Counter(one.skipped.values()).most_common(5)
            told = ", ".join(f"{reason}: {count}" for reason, count in reasons)
            raise ConfigError(
                f"{given}: no file that can be converted ({told or 'it holds no files'}). "
                "--format takes files of any name."
            )
        if reach.file:
            found.named.add((reach.file, reach.root.name))
        else:
            found.reaches.append(reach)
        found.inputs |= one.inputs
        found.skipped |= one.skipped
        found.failed |= one.failed
    for order in found.inputs.keys() & found.skipped.keys():
        del found.skipped[order]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    size: int = 0
    version: str = ""
    skip: str = ""
    fault: str = ""
    is_folder: bool = False
    """Then it comes for its skip or fault alone."""


def _sort_in(file: _File, reach: Reach, found: Found, *, any_suffix: bool) -> None:
    one = Input(root=reach.root, path=file.path, size=file.size, version=file.version)
    suffix = PurePosixPath(file.path).suffix.lower()
    is_wanted = suffix in READABLE_SUFFIXES or (any_suffix and suffix != ".parquet")
    if file.skip:
        found.skipped[one.order] = file.skip
    elif not (is_wanted or reach.file or file.is_folder):
        found.skipped[one.order] = f"unknown suffix {suffix}" if suffix else "no suffix"
    elif file.fault:
        found.failed[one.order] = file.fault
    else:
        found.inputs[one.order] = one


def _look(given: str, s3: S3Settings) -> tuple[Reach, Iterable[_File]]:
    if given.startswith(S3):
        return _look_in_bucket(given, s3)
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{given!r}: the name is not UTF-8; rename it.") from None
    path = given and os.path.normpath(given)  # an empty one is a variable not set, not "."
    if os.path.isdir(path):  # noqa: PTH112  # a path of the command line, not yet one of ours
        reach = Reach(root=Root(path))
        return reach, _walk(path, reach)
    folder, name = os.path.split(path)
    root = Root(folder or ".")
    if os.path.lexists(path):
        return Reach(root=root, file=name), [_file(path, name)]
    fixed, pattern = _split_pattern(path)
    if not pattern or not os.path.isdir(fixed):  # noqa: PTH112
        raise ConfigError(f"{given or '(empty)'}: no such file or folder.")
    reach = Reach(root=Root(fixed), pattern=pattern)
    return reach, _walk(fixed, reach)


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
            reach = Reach(root=_bucket_root(bucket, folder), file=name)
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
    return Reach(root=root, pattern=pattern), files


def _bucket_root(bucket: str, prefix: str) -> Root:
    return Root(f"{S3}{bucket}/{prefix}".removesuffix("/"))


def _list(store: ObjectStore, root: Root) -> Iterator[_File]:
    prefix = root.key("")
    for info in store.list(prefix):
        path = info.key.removeprefix(prefix)
        if path and not path.endswith("/") and not any(map(_is_hidden, path.split("/"))):
            yield _File(path=path, size=info.size, version=info.etag)


def _walk(root: str, reach: Reach, below: str = "") -> Iterator[_File]:
    try:
        with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield _File(path=below.removesuffix("/"), fault=_told(error), is_folder=True)
        return
    for entry in found:
        path = below + entry.name
        if _is_hidden(entry.name):
            continue
        # Of a link that leads to itself, is_dir() of the entry would raise.
        if not (os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()):  # noqa: PTH112
            yield _file(entry.path, path)
        elif not reach.enters(path):
            continue
        elif entry.is_symlink():
            yield _File(path=path, skip="linked folder", is_folder=True)
        else:
            yield from _walk(root, reach, f"{path}/")


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


def _begins(steps: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether steps that go on from these may match."""
    if not pattern or not steps or pattern[0] == "**":
        return bool(pattern)
    return fnmatch.fnmatchcase(steps[0], pattern[0]) and _begins(steps[1:], pattern[1:])


def _told(error: OSError) -> str:
    return error.strerror or str(error)
