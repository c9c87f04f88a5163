"""What `kitelift convert` makes of real files, and what it tells of them."""

import json
from pathlib import Path

import pytest

from chunking.parsers import parse_markdown
from storage.documents import read_shape
from storage.local_objects import LocalObjectStore
from tests.jobs.conversion.calls import PROJECT, convert, documents, kitelift, write

pytestmark = pytest.mark.usefixtures("folder")

DEMO = PROJECT / "demo" / "docs"

SHARED = PROJECT.parent / "shared" / "data"


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
