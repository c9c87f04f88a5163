"""What `kitelift convert` makes of the same files, the second time and every time after."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chunking.model import Document
from jobs.config import ConfigError
from storage.document_writer import write_documents
from storage.local_objects import LocalObjectStore
from tests.jobs.conversion.calls import PROJECT, convert, documents, many, objects, stamps, write

pytestmark = pytest.mark.usefixtures("folder")

# A second call


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
