"""What becomes of each real file, block by block; read by eye once, and compared ever since.

`make golden` (KITELIFT_UPDATE_GOLDEN=1) writes the files anew; read what differs before a commit.
"""

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest

from chunking.model import Block
from chunking.parsers import ParseError, parse_bytes

PROJECT = Path(__file__).parents[3]
GOLDEN = PROJECT / "tests" / "golden"
FOLDERS = ("docling", "markdown", "mineru", "unstructured")
UPDATES = bool(os.environ.get("KITELIFT_UPDATE_GOLDEN"))
NAMES = sorted(str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.json"))


def golden_of(document):
    """A document as JSON, one block a line, so that a difference shows the block."""
    head = {
        "file_title": document.file_title,
        "source": document.source,
        "metadata": dict(document.metadata),
        "warnings": list(document.warnings),
    }
    blocks = ",\n".join(
        json.dumps(
            {
                field.name: value
                for field in fields(Block)
                if (value := getattr(block, field.name)) is not None
            },
            ensure_ascii=False,
        )
        for block in document.blocks
    )
    return f'{{"document": {json.dumps(head, ensure_ascii=False)},\n"blocks": [\n{blocks}\n]}}\n'


@pytest.mark.parametrize("name", NAMES)
def test_a_real_file_gives_the_blocks_that_were_read_by_eye(data, name):
    document = parse_bytes((data / name).read_bytes(), name=name, document_id=name)

    if UPDATES:
        (GOLDEN / f"{name}.json").write_text(golden_of(document))
    assert golden_of(document) == (GOLDEN / f"{name}.json").read_text()


def test_every_real_file_has_a_golden_one(data):
    """A new file gets one when the update flag is set."""
    files = {str(p.relative_to(data)) for folder in FOLDERS for p in (data / folder).iterdir()}

    if UPDATES:
        for name in files - set(NAMES):
            document = parse_bytes((data / name).read_bytes(), name=name, document_id=name)
            (GOLDEN / f"{name}.json").parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / f"{name}.json").write_text(golden_of(document))
    assert set(NAMES) == files


def test_golden_files_are_not_being_written():
    """A run that writes them proves nothing, so it must not pass."""
    assert not UPDATES, "KITELIFT_UPDATE_GOLDEN is set: read the difference, unset it, run again"


@pytest.mark.parametrize("name", ["xq_manual_zh.docx", "xq_manual_zh.html"])
def test_a_file_that_no_parser_wrote_is_refused_by_name(data, name):
    with pytest.raises(ParseError, match=f"{name}: .*run it through a document parser first"):
        parse_bytes((data / name).read_bytes(), name=name, document_id=name)
