"""`kitelift convert` as tests call it, in a folder of their own, and what it left behind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from chunking.model import Document
from jobs.cli import main
from jobs.conversion.convert import ConversionSettings, convert_files
from jobs.conversion.progress import FileProgress
from jobs.plan import is_parquet
from storage.documents import read_documents, read_ids
from storage.local_objects import LocalObjectStore
from storage.objects import open_location
from storage.s3_objects import S3Settings

PROJECT = Path(__file__).parents[3]


def write(files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)


def convert(
    *paths: str, to: str = "out", s3: S3Settings | None = None, **settings: Any
) -> dict[str, Any]:
    """In this process, unless a test asks for others."""
    settings = {"workers": 0, **settings}
    with FileProgress() as progress:
        return convert_files(
            paths, to, s3 or S3Settings(), ConversionSettings(**settings), progress
        )


def documents(to: str = "out", s3: S3Settings | None = None) -> dict[str, Document]:
    """By id, as the job reads them."""
    target = open_location(to, s3 or S3Settings())
    found: dict[str, Document] = {}
    for info in target.objects.list(target.prefix):
        if is_parquet(info.key):
            for _, document in read_documents(target.objects, info):
                assert isinstance(document, Document)
                assert document.document_id not in found, "one document in two places"
                found[document.document_id] = document
    return found


def objects(to: str = "out") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(to).iterdir()}


def stamps(to: str = "out") -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in Path(to).iterdir()}


def kitelift(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["convert", *arguments])


def many(count: int = 60) -> dict[str, str]:
    return {
        f"docs/{n % 7}/{n:03d}.md": f"# Title {n}\n\n" + f"Word {n}. " * 40 for n in range(count)
    }


def ids_in_any_object(to: str = "out") -> set[str | None]:
    store = LocalObjectStore(Path(to))
    return {document_id for info in store.list() for document_id in read_ids(store, info)}
