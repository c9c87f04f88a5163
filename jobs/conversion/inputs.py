"""The files that `kitelift convert` reads, as they travel to its workers."""

from dataclasses import dataclass
from pathlib import Path

from storage.local_objects import LocalObjectStore
from storage.protocols import ObjectStore
from storage.s3_objects import S3ObjectStore, S3Settings

S3 = "s3://"


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
