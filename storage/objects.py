"""Which object store a URI means, and whether it can be trusted with claims."""

import uuid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from storage.errors import ConditionFailedError, SettingError
from storage.local_objects import LocalObjectStore
from storage.protocols import Location, ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings


def open_location(uri: str, s3: S3Settings) -> Location:
    """The store and prefix behind `s3://bucket[/prefix]`, `file:///folder` or a folder's path.

    In s3 URIs and paths every character stands for itself ("%20" is no blank); in file URIs
    percent escapes are decoded. Keys are whole keys of the bucket, or relative to the folder.
    A folder need not exist yet. Nothing is contacted.

    Raises:
        SettingError: It names no store, or a file instead of a folder.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return _folder(uri, uri)
    if scheme == "s3":
        bucket, _, prefix = rest.partition("/")
        if not bucket:
            raise SettingError(repr(uri), "it names no bucket", "Write s3://bucket/prefix.")
        if prefix and not prefix.endswith("/"):
            prefix += "/"
        return Location(objects=S3ObjectStore(bucket, s3), prefix=prefix)
    if scheme == "file":
        parts = urlsplit(uri)
        if parts.netloc not in {"", "localhost"}:
            raise SettingError(
                repr(uri), f"{parts.netloc!r} is another host", "Write file:///absolute/folder."
            )
        return _folder(uri, unquote(parts.path))
    raise SettingError(
        repr(uri), f"{scheme}:// is not known", "Use s3://bucket/prefix, file:///folder or a path."
    )


def open_object(uri: str, s3: S3Settings) -> tuple[ObjectStore, str]:
    """The store and key of one object: `s3://bucket/key`, `file:///path` or a path.

    Raises:
        SettingError: It names no object.
    """
    if "://" not in uri:
        path = Path(uri).expanduser()
        return LocalObjectStore(path.parent), path.name
    folder, _, name = uri.rpartition("/")
    location = open_location(folder, s3)
    if uri.startswith("file:"):
        name = unquote(name)
    return location.objects, location.prefix + name


def _folder(uri: str, path: str) -> Location:
    if not path:
        raise SettingError(repr(uri), "it is empty", "Name a folder or s3://bucket/prefix.")
    folder = Path(path).expanduser()
    if folder.is_file():
        raise SettingError(repr(uri), "this is a file", f"Name its folder: {folder.parent}.")
    return Location(objects=LocalObjectStore(folder))


def probe_conditional_writes(location: Location) -> None:
    """Make sure that claims in this store exclude each other, with one small object.

    Raises:
        SettingError: The store accepts a write whose condition does not hold, or refuses one
            whose condition does.
    """
    objects = location.objects
    key = f"{location.prefix}.kitelift-probe-{uuid.uuid4().hex}"
    try:
        etag = _accepted(objects, key, b"first", if_absent=True)
        _refused(objects, key, if_absent=True)
        _accepted(objects, key, b"second", if_etag=etag)
        _refused(objects, key, if_etag=etag)
    finally:
        objects.delete(key)


def _accepted(
    objects: ObjectStore,
    key: str,
    data: bytes,
    *,
    if_absent: bool = False,
    if_etag: str | None = None,
) -> str:
    try:
        return objects.put(key, data, if_absent=if_absent, if_etag=if_etag)
    except ConditionFailedError as error:
        raise _unfit(objects, "refuses a conditional write whose condition holds") from error


def _refused(
    objects: ObjectStore, key: str, *, if_absent: bool = False, if_etag: str | None = None
) -> None:
    try:
        objects.put(key, b"must not be written", if_absent=if_absent, if_etag=if_etag)
    except ConditionFailedError:
        return
    header = "If-None-Match" if if_absent else "If-Match"
    raise _unfit(objects, f"ignores {header}, so that two runs could both believe they hold it")


def _unfit(objects: ObjectStore, reason: str) -> SettingError:
    return SettingError(
        f"the object store {objects.place}",
        reason,
        "Keep [state] in one with conditional writes: AWS S3, MinIO since 2024, or a local folder.",
    )
