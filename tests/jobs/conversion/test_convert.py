"""What `kitelift convert` makes of real files, the first time and every time after."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result

from chunking.model import Document
from chunking.parsers import parse_bytes, parse_markdown
from jobs.cli import main
from jobs.config import ConfigError
from jobs.conversion.convert import ConversionSettings, convert_files
from jobs.conversion.inputs import Input, Root
from jobs.conversion.progress import FileProgress
from jobs.conversion.worker import Failed, Recipe, Task, convert_batch
from jobs.plan import is_parquet
from storage.converted import EncodedRow
from storage.document_writer import write_documents
from storage.documents import read_documents, read_ids, read_shape
from storage.errors import AccessRefusedError, StoreUnavailableError
from storage.local_objects import LocalObjectStore
from storage.objects import open_location
from storage.s3_objects import S3ObjectStore, S3Settings

PROJECT = Path(__file__).parents[3]
DEMO = PROJECT / "demo" / "docs"
SHARED = PROJECT.parent / "shared" / "data"


KILLING_PARSER = """
import os, signal
import jobs.conversion.worker as worker

parse = worker.parse_bytes

def parse_bytes(data, **named):
    if b"kill the process" in data:
        os.kill(os.getpid(), signal.SIGKILL)
    return parse(data, **named)

worker.parse_bytes = parse_bytes
"""
"""For each new Python process: a parser that a file can kill, as native code can be."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


# What a document is


def test_markdown_and_text_become_documents_with_their_blocks_titles_and_sources():
    guide = "---\ntitle: 网关手册\n---\n# Start\n\nTurn it on.\n"
    write({"docs/zh/guide.md": guide, "docs/note.txt": "One.\n\nTwo.\n"})

    report = convert("docs")

    assert report["files"] == {"read": 2, "unchanged": 0, "skipped": 0, "failed": 0}
    assert (report["documents"], report["objects"]) == (2, 1)
    found = documents()
    assert sorted(found) == ["note.txt", "zh/guide.md"]
    assert found["zh/guide.md"].file_title == "网关手册"
    assert found["zh/guide.md"].source == "docs/zh/guide.md"
    assert found["zh/guide.md"].markdown == guide
    assert found["zh/guide.md"].blocks == parse_markdown(guide, document_id="x").blocks
    assert found["note.txt"].file_title == "note"
    assert found["note.txt"].text == "One.\n\nTwo.\n"


def test_every_document_of_the_demo_is_there():
    files = {path.relative_to(DEMO).as_posix() for path in DEMO.rglob("*") if path.is_file()}

    report = convert(str(DEMO))

    assert len(files) >= 20
    assert report["files"]["read"] == len(files)
    found = documents()
    assert set(found) == files
    for path, document in found.items():
        assert document.markdown or document.text == (DEMO / path).read_text()
        assert document.blocks


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not beside this project")
@pytest.mark.parametrize("kind", ["docling", "unstructured", "mineru", "markdown"])
def test_real_files_of_every_parser_become_documents(kind):
    report = convert(str(SHARED / kind))

    files = report["files"]
    assert files["failed"] == 0, report["failures"]
    assert files["read"] == report["documents"] == len(documents()) > 5
    assert all(document.blocks for document in documents().values())


def test_ids_are_names_letter_for_letter():
    names = ["caf\u00e9.md", "cafe\u0301.md", "说明 (1)/100%.md"]
    write({f"docs/{name}": name for name in names})

    convert("docs")

    assert sorted(documents()) == sorted(names)


def test_ids_come_from_the_named_field_where_it_is_set():
    write(
        {
            "docs/a.md": "---\ndoc_id: A-17\n---\ntext",
            "docs/b.md": "---\nother: x\n---\ntext",
            "docs/c.txt": "text",
        }
    )

    convert("docs", id_field="doc_id")

    assert sorted(documents()) == ["A-17", "b.md", "c.txt"]


def test_of_two_files_with_one_id_the_first_is_taken_and_the_other_named():
    write({"de/a.md": "eins", "en/a.md": "one", "en/b.md": "two"})

    report = convert("en", "de")

    assert documents()["a.md"].markdown == "eins"
    assert report["files"] == {"read": 2, "unchanged": 0, "skipped": 0, "failed": 1}
    (failure,) = report["failures"]
    assert failure["file"] == "en/a.md"
    assert "'a.md' is that of de/a.md" in failure["reason"]


def test_the_format_can_be_forced_on_files_of_any_name():
    write({"docs/LOG": "# no heading", "docs/b.json": "# no JSON"})

    report = convert("docs", format="text")

    assert report["files"]["read"] == 2
    assert documents()["LOG"].text == "# no heading"


def test_warnings_of_the_parsers_are_summed_by_kind_and_told_again_of_unchanged_files():
    write({"docs/a.txt": b"caf\xe9", "docs/b.txt": b"caf\xe9\n\nna\xefve"})

    first, second = convert("docs"), convert("docs")

    assert first["warnings"] == {"decoded as windows-1252": 2}
    assert second["warnings"] == first["warnings"]
    assert second["files"]["unchanged"] == 2


# Bad input


def test_a_bad_file_fails_alone_and_is_named_with_element_and_fault():
    write({"docs/a.md": "fine", "docs/b.json": '{"schema_name": ', "docs/c.json": "[1, 2]"})

    report = convert("docs")

    assert list(documents()) == ["a.md"]
    assert report["files"] == {"read": 1, "unchanged": 0, "skipped": 0, "failed": 2}
    told = {failure["file"]: failure["reason"] for failure in report["failures"]}
    assert told["docs/b.json"].startswith("line 1 column 17: not JSON")
    assert "no known elements" in told["docs/c.json"]


def test_a_file_over_the_limit_fails_without_being_read():
    write({"docs/a.md": "fine", "docs/b.md": "x" * 1001})

    report = convert("docs", max_file_bytes=1000)

    assert list(documents()) == ["a.md"]
    assert report["failures"] == [
        {"file": "docs/b.md", "reason": "1001 bytes, more than the limit of 1000"}
    ]


def test_a_file_that_fails_keeps_the_document_of_its_last_good_version():
    write({"docs/a.json": '[{"speaker": "A", "text": "good"}]', "docs/b.md": "b"})
    convert("docs")
    before = objects()

    write({"docs/a.json": '[{"speaker": "A", "te'})
    for _ in range(2):
        report = convert("docs")
        assert report["files"]["failed"] == 1
        assert objects() == before

    write({"docs/a.json": '[{"speaker": "A", "text": "mended"}]'})
    report = convert("docs")
    assert report["document_changes"] == {"added": 0, "changed": 1, "removed": 0}
    assert documents()["a.json"].blocks[0].text == "mended"


def test_files_under_a_folder_that_cannot_be_read_keep_their_documents(monkeypatch):
    write({"docs/a.md": "a", "docs/x/b.md": "b"})
    convert("docs")
    scan = os.scandir

    def scandir(path):
        if str(path).rstrip("/").endswith("docs/x"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = convert("docs")

    assert report["failures"] == [{"file": "docs/x", "reason": "Permission denied"}]
    assert sorted(documents()) == ["a.md", "x/b.md"]


def test_a_file_that_kills_its_process_is_named_and_the_rest_goes_in(folder, monkeypatch):
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(KILLING_PARSER)
    monkeypatch.setenv("PYTHONPATH", f"{folder / 'site'}{os.pathsep}{PROJECT}")
    write({f"docs/{n:03d}.md": f"text {n}" for n in range(40)})
    write({"docs/020x.md": "kill the process"})

    report = convert("docs", workers=2)

    assert len(documents()) == 40
    (failure,) = report["failures"]
    assert failure["file"] == "docs/020x.md"
    assert "its process was killed" in failure["reason"]


def test_a_fault_of_a_parser_stays_with_its_file(monkeypatch):
    def parse(data: bytes, **named: Any) -> Document:
        if b"odd" in data:
            raise KeyError("children")
        return parse_bytes(data, **named)

    monkeypatch.setattr("jobs.conversion.worker.parse_bytes", parse)
    write({"docs/a.md": "fine", "docs/b.md": "odd"})

    report = convert("docs")

    assert list(documents()) == ["a.md"]
    assert report["failures"] == [
        {"file": "docs/b.md", "reason": "a fault of its parser: KeyError: 'children'"}
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["empty"], "empty: no file that can be converted"),
        (["docs", "--format", "word"], "--format word: there is no such format; use auto, "),
        (["docs", "--to", "gs://bucket"], "gs:// is not known"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_exits_with_2(arguments, told):
    write({"docs/a.md": "a"})
    Path("empty").mkdir()
    to = [] if "--to" in arguments else ["--to", "out"]

    result = kitelift(*arguments, *to)

    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not Path("out").exists()


def test_an_empty_source_does_not_empty_the_target():
    write({"docs/a.md": "a"})
    convert("docs")
    Path("docs/a.md").unlink()

    with pytest.raises(ConfigError, match="no file"):
        convert("docs")

    assert list(documents()) == ["a.md"]


# A second call


def many(count: int = 60) -> dict[str, str]:
    return {
        f"docs/{n % 7}/{n:03d}.md": f"# Title {n}\n\n" + f"Word {n}. " * 40 for n in range(count)
    }


def test_a_second_call_writes_nothing():
    write(many())
    first = convert("docs", object_bytes=8000)
    before = stamps()

    for path in Path("docs").rglob("*.md"):
        os.utime(path, (1, 1))  # as a fresh checkout does
    second = convert("docs", object_bytes=8000)

    assert first["objects"] > 4
    assert stamps() == before
    assert second["object_changes"] == {"written": 0, "kept": first["objects"], "deleted": 0}
    assert second["files"] == {"read": 60, "unchanged": 60, "skipped": 0, "failed": 0}
    assert second["document_changes"] == {"added": 0, "changed": 0, "removed": 0}


def test_a_change_in_one_file_rewrites_one_object():
    write(many())
    convert("docs", object_bytes=8000)
    before = objects()

    write({"docs/3/024.md": many()["docs/3/024.md"].replace("Word", "Worm")})
    report = convert("docs", object_bytes=8000)

    assert report["document_changes"] == {"added": 0, "changed": 1, "removed": 0}
    assert report["object_changes"] == {"written": 1, "kept": len(before) - 1, "deleted": 0}
    assert sum(objects()[name] != data for name, data in before.items()) == 1
    assert documents()["3/024.md"].markdown.count("Worm 24") == 40


def test_files_that_are_gone_are_gone_and_objects_without_documents_too():
    write(many())
    convert("docs", object_bytes=8000)

    for path in Path("docs").rglob("*.md"):
        if path.name != "033.md":
            path.unlink()
    report = convert("docs", object_bytes=8000)

    assert list(documents()) == ["5/033.md"]
    assert report["document_changes"] == {"added": 0, "changed": 0, "removed": 59}
    assert len(objects()) == report["objects"] == 1
    assert report["object_changes"]["deleted"] > 3


def test_a_document_that_is_gone_from_the_end_is_gone():
    write({"docs/a.md": "a", "docs/b.md": "b"})
    convert("docs")
    Path("docs/b.md").unlink()

    convert("docs")

    assert list(documents()) == ["a.md"]


def test_many_calls_leave_the_very_bytes_that_one_call_would():
    """Files come, go, grow and shrink; objects are cut, merged, moved and renamed."""
    chance = random.Random(5)
    for turn in range(15):
        for _ in range(chance.randint(1, 12)):
            path = Path(f"docs/{chance.choice('abc')}/{chance.randint(0, 40):02d}.md")
            if path.exists() and chance.random() < 0.4:
                path.unlink()
            else:
                write({str(path): f"# {turn}\n\n" + "Wort. " * chance.randint(1, 600)})
        write({"docs/always.md": "here"})
        convert("docs", object_bytes=20_000)
        convert("docs", to=f"fresh{turn}", object_bytes=20_000)

        assert objects() == objects(f"fresh{turn}"), f"turn {turn}"
        assert set(documents()) == {
            path.relative_to("docs").as_posix() for path in Path("docs").rglob("*.md")
        }
    assert len(objects()) > 3


def test_with_full_all_is_parsed_again_and_equal_objects_are_not_written():
    write(many())
    convert("docs", object_bytes=8000)
    before = stamps()

    report = convert("docs", object_bytes=8000, full=True)

    assert report["object_changes"]["written"] == 0
    assert stamps() == before


def test_another_version_of_kitelift_parses_all_again(monkeypatch):
    write(many(3))
    convert("docs")

    monkeypatch.setattr("jobs.conversion.convert.version", lambda _: "99.0")
    report = convert("docs")

    assert report["document_changes"]["changed"] == 3


def test_the_same_bytes_come_from_any_number_of_processes_and_any_hash_seed():
    write(many())

    call = subprocess.run(
        [sys.executable, "-m", "jobs", "convert", "docs", "--to", "there", "--workers", "2"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONHASHSEED": "2"},
    )
    assert call.returncode == 0, call.stderr
    convert("docs", to="here")

    assert objects("there") == objects("here")


def test_a_dry_run_writes_nothing_and_tells_what_a_call_would_do():
    write(many())
    convert("docs", object_bytes=8000)
    shutil.copytree("docs", "docs.old")
    before = stamps()
    shutil.rmtree("docs/2")
    write({"docs/0/000.md": "changed", "docs/0/new.md": "new"})

    dry = convert("docs", object_bytes=8000, dry_run=True)

    assert stamps() == before
    wet = convert("docs", object_bytes=8000)
    assert {**dry, "dry_run": False, "seconds": 0} == {**wet, "seconds": 0}
    assert wet["document_changes"] == {"added": 1, "changed": 1, "removed": 9}


def test_a_dry_run_does_not_even_make_the_folder():
    write({"docs/a.md": "a"})

    report = convert("docs", dry_run=True)

    assert report["object_changes"]["written"] == 1
    assert not Path("out").exists()


# Several sources in one target


def test_what_was_converted_from_elsewhere_stays_unless_the_target_is_to_mirror_the_call():
    write({"one/a.md": "a", "one/x/b.md": "b", "two/c.md": "c", "two/d.md": "d"})
    convert("one")
    convert("two")
    assert sorted(documents()) == ["a.md", "c.md", "d.md", "x/b.md"]

    Path("two/d.md").unlink()
    convert("two")
    assert sorted(documents()) == ["a.md", "c.md", "x/b.md"]

    convert("two", mirror=True)
    assert sorted(documents()) == ["c.md"]


def test_only_what_the_paths_would_match_can_vanish():
    write({"docs/a.md": "a", "docs/b.md": "b", "docs/x/c.md": "c", "docs/x/d.txt": "d"})
    convert("docs")
    Path("docs/b.md").unlink()
    Path("docs/x/c.md").unlink()

    convert("docs/a.md")
    assert sorted(documents()) == ["a.md", "b.md", "x/c.md", "x/d.txt"]
    convert("docs/*.md")
    assert sorted(documents()) == ["a.md", "x/c.md", "x/d.txt"]
    convert("docs/**/*.txt")
    assert sorted(documents()) == ["a.md", "x/c.md", "x/d.txt"]
    convert("docs")
    assert sorted(documents()) == ["a.md", "x/d.txt"]


def test_parquet_and_files_of_others_are_left_alone():
    write({"docs/a.md": "a", "docs/b.md": "b"})
    write({"out/part-0123456789abcdef.parquet.bak": "x", "out/_SUCCESS": ""})
    convert("docs", to="other")
    shutil.copy("other/part-0000000000000000.parquet", "out/mine.parquet")
    theirs = Document(document_id="theirs", text="theirs")
    write_documents(LocalObjectStore(Path("out")), "part-0123456789abcdef.parquet", [theirs])
    (Path("out") / "deep").mkdir()
    shutil.copy("other/part-0000000000000000.parquet", "out/deep/part-0000000000000000.parquet")
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}

    convert("docs")
    Path("docs/b.md").unlink()
    convert("docs", mirror=True)

    for path, data in before.items():
        assert path.read_bytes() == data


def test_a_damaged_object_of_ours_is_named_with_what_to_do():
    write({"docs/a.md": "a"})
    convert("docs")
    write({"out/part-0000000000000000.parquet": "damaged"})

    with pytest.raises(ConfigError, match=r"part-0000000000000000\.parquet .*delete it"):
        convert("docs")


# A call that is cut short


def test_after_a_call_that_broke_off_at_any_write_the_next_one_finishes_and_nothing_was_missing(
    monkeypatch,
):
    """At each write or delete in turn the process ends; readers see every document all along."""
    put, delete = LocalObjectStore.put, LocalObjectStore.delete
    left = 0

    def counted(method):
        def call(*arguments, **named):
            nonlocal left
            if left == 0:
                assert staying <= ids_in_any_object()
                raise KeyboardInterrupt
            left -= 1
            method(*arguments, **named)

        return call

    write(many())
    convert("docs", to="start", object_bytes=8000)
    before = documents("start")
    for path in sorted(Path("docs").rglob("*.md"))[5:20]:
        path.write_text("# Grown\n\n" + "Satz. " * 400)
    for path in sorted(Path("docs").rglob("*.md"))[30:45]:
        path.unlink()
    convert("docs", to="end", object_bytes=8000)
    staying = set(before) & set(documents("end"))

    monkeypatch.setattr(LocalObjectStore, "put", counted(put))
    monkeypatch.setattr(LocalObjectStore, "delete", counted(delete))
    broken = 0
    for writes in range(100):
        shutil.rmtree("out", ignore_errors=True)
        shutil.copytree("start", "out")
        left = writes
        try:
            convert("docs", object_bytes=8000)
            break
        except KeyboardInterrupt:
            broken += 1
        left = -1
        convert("docs", object_bytes=8000)
        assert objects() == objects("end"), f"after {writes} writes"

    assert broken > 5
    assert objects() == objects("end")


def ids_in_any_object(to: str = "out") -> set[str | None]:
    store = LocalObjectStore(Path(to))
    return {document_id for info in store.list() for document_id in read_ids(store, info)}


def test_a_killed_call_leaves_no_process_behind_and_the_next_one_finishes():
    write({f"docs/{n:04d}.md": "# T\n\n" + "Wort. " * 300 for n in range(2000)})
    command = [sys.executable, "-m", "jobs", "convert", "docs", "--to", "out", "--object-mb", "1"]
    call = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: Path("out").is_dir() and any(Path("out").glob("part-*")))
    call.kill()
    call.wait()
    wait_for(lambda: not is_alive(call.pid))

    early = len(objects())
    report = convert("docs", object_bytes=1 << 20)
    assert report["files"]["unchanged"] > 0
    assert report["objects"] > early
    assert len(documents()) == 2000


def is_alive(session: int) -> bool:
    """Whether any process of the session is left that is no zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(") ")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            return True
    return False


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Objects


def test_row_groups_are_of_a_size_for_shards():
    write({f"docs/{n}.md": f"{n} " * 100_000 for n in range(12)})

    convert("docs")

    store = LocalObjectStore(Path("out"))
    (info,) = store.list()
    shape = read_shape(store, info)
    assert shape.rows == 12
    assert 4 <= len(shape.row_groups) <= 6
    assert all(group.decoded_bytes < 3 << 20 for group in shape.row_groups)


# Buckets


@pytest.mark.server
def test_from_a_bucket_into_a_bucket(s3_endpoint, s3_settings, s3_bucket):
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    for n in range(5):
        client.put_object(Bucket=s3_bucket, Key=f"docs/子 {n}.md", Body=f"# T{n}\n\ntext".encode())
    uri, to = f"s3://{s3_bucket}/docs", f"s3://{s3_bucket}/parsed"

    first = convert(uri, to=to, s3=s3_settings, workers=2)
    assert first["files"]["read"] == 5
    found = documents(to, s3_settings)
    assert sorted(found) == [f"子 {n}.md" for n in range(5)]
    assert found["子 3.md"].source == f"{uri}/子 3.md"

    client.put_object(Bucket=s3_bucket, Key="docs/子 3.md", Body=b"# New\n\ntext")
    client.delete_object(Bucket=s3_bucket, Key="docs/子 4.md")
    second = convert(uri, to=to, s3=s3_settings)
    assert second["files"] == {"read": 4, "unchanged": 3, "skipped": 0, "failed": 0}
    assert second["document_changes"] == {"added": 0, "changed": 1, "removed": 1}
    assert documents(to, s3_settings)["子 3.md"].markdown == "# New\n\ntext"

    third = convert(uri, to=to, s3=s3_settings)
    assert third["object_changes"] == {"written": 0, "kept": 1, "deleted": 0}
    client.close()


def test_a_bucket_that_does_not_answer_ends_the_call_instead_of_failing_each_file(
    unused_port, monkeypatch
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    s3 = S3Settings(
        endpoint_url=f"http://127.0.0.1:{unused_port}", region="us-east-1", max_attempts=1
    )
    file = Input(root=Root("s3://bucket/docs"), path="a.md", size=1, version="etag")

    with pytest.raises(StoreUnavailableError):
        convert_batch([Task(file=file)], Recipe(version="1", format="auto", id_field=""), s3)


@pytest.mark.server
def test_an_object_that_is_gone_when_it_is_read_fails_alone(s3_settings, s3_bucket):
    store = S3ObjectStore(s3_bucket, s3_settings)
    store.put("docs/b.md", b"there")
    root = Root(f"s3://{s3_bucket}/docs")
    files = [Input(root=root, path=path, size=1, version="etag") for path in ("a.md", "b.md")]
    recipe = Recipe(version="1", format="auto", id_field="")

    gone, there = convert_batch([Task(file=file) for file in files], recipe, s3_settings)

    assert isinstance(gone, Failed)
    assert "docs/a.md is not in" in gone.reason
    assert isinstance(there, EncodedRow)


@pytest.mark.server
def test_wrong_credentials_end_the_call_instead_of_failing_each_file(
    s3_settings, s3_bucket, monkeypatch
):
    write({"docs/a.md": "a"})
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(AccessRefusedError):
        convert("docs", to=f"s3://{s3_bucket}/parsed", s3=s3_settings)


# The command


def test_json_holds_counts_and_what_failed_and_why():
    write({"docs/a.md": "a", "docs/b.json": "{", "docs/c.png": "c"})

    result = kitelift("docs", "--to", "out", "--json", "--workers", "0")

    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["files"] == {"read": 1, "unchanged": 0, "skipped": 1, "failed": 1}
    assert told["documents"] == 1
    assert told["objects"] == 1
    assert told["failures"][0]["file"] == "docs/b.json"
    assert told["failures"][0]["reason"]
    assert told["skips"] == {"unknown suffix .png": 1}


def test_a_person_reads_what_was_converted_skipped_and_failed():
    write({"docs/a.md": "a", "docs/[b].json": "{", "docs/c.png": "c"})

    result = kitelift("docs", "--to", "out", "--workers", "0")

    assert result.exit_code == 1
    assert "Converted into out" in result.stdout
    assert "1 read, 0 of them unchanged · 1 skipped · 1 failed" in result.stdout
    assert "unknown suffix .png: 1" in result.stdout
    assert "docs/[b].json" in result.stdout
    assert kitelift("docs/a.md", "--to", "out", "--workers", "0").exit_code == 0
    assert "would leave" in kitelift("docs", "--to", "out", "--dry-run", "--workers", "0").stdout
