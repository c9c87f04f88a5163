"""What `kitelift convert` cannot read, and calls that cannot work."""

import os
from pathlib import Path
from typing import Any

import pytest

from chunking.model import Document
from chunking.parsers import parse_bytes
from jobs.config import ConfigError
from tests.jobs.conversion.calls import PROJECT, convert, documents, kitelift, objects, write

pytestmark = pytest.mark.usefixtures("folder")

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
