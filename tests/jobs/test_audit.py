"""verify finds whatever does not fit, names it by its kind, and repairs no more than that."""

import json
from dataclasses import replace

import numpy as np
import pytest

from jobs.audit import audit
from storage.local_objects import LocalObjectStore
from storage.memory_vectors import MemoryVectorDatabase
from storage.parts import RecordWriter
from storage.protocols import CollectionSpec
from storage.records import Catalogue, CatalogueEntry, DocumentRecord
from tests.jobs.world import manual
from tests.storage.chunks import a_chunk

CORPUS = {f"{n}.md": manual(f"手册 {n}") for n in range(6)}


@pytest.mark.server
class TestOnMilvus:
    @pytest.fixture
    def filled(self, world):
        world.put("a.parquet", CORPUS)
        world.run()
        return world

    def test_what_a_run_left_is_clean(self, filled):
        verified = filled.typed("verify", "--json")

        assert verified.returncode == 0, verified.stderr
        told = json.loads(verified.stdout)
        assert told["clean"]
        assert told["rows"] == told["expected"] == len(filled.rows())

    def test_every_kind_of_damage_is_named_repaired_and_paid_for_once(self, filled):
        rows = filled.rows()
        one = next(row for row in rows if row.document_id == "1.md")
        with filled.store() as store:
            victim = next(row for row in rows if row.document_id == "0.md")
            store.delete([victim.chunk_id])
            vectors = np.eye(4, 32, dtype=np.float32)
            known_run = one.run_id
            store.upsert(
                [
                    a_chunk("1.md", 99),
                    a_chunk("nobody.md"),
                ],
                vectors[:2],
                run_id=known_run,
                object_key="a.parquet",
            )
            store.upsert(
                [a_chunk("theirs")],
                vectors[:1],
                run_id="theirs",
                object_key="x",
            )
        filled.server.forget()

        seen = filled.typed("verify", "--json")

        assert seen.returncode == 1
        told = json.loads(seen.stdout)
        counts = {kind: told[kind]["count"] for kind in ("missing", "stale", "orphaned", "foreign")}
        assert counts == {"missing": 1, "stale": 1, "orphaned": 1, "foreign": 1}
        assert told["missing"]["first"][0]["document_id"] == "0.md"

        repaired = filled.typed("verify", "--repair", "--json")
        assert repaired.returncode == 0, repaired.stderr
        assert json.loads(repaired.stdout)["clean"]
        assert filled.rows() == rows
        assert len(filled.server.paid_texts()) == 1
        assert filled.typed("verify").returncode == 0

    def test_a_row_with_another_payload_is_altered(self, filled):
        rows = filled.rows()
        with filled.store() as store:
            (hit,) = store.search(text="手册", vector=None, mode="sparse", top_k=1)
            names = set(a_chunk().__dataclass_fields__) & set(hit.row)
            chunk = replace(a_chunk(), **{name: hit.row[name] for name in names})
            vector = store.vectors_of([chunk.content_hash])[chunk.content_hash]
            altered = replace(chunk, title="tampered", payload_hash="0" * 64)
            store.upsert([altered], vector[None, :], run_id="r", object_key="a.parquet")
        filled.server.forget()

        told = json.loads(filled.typed("verify", "--repair", "--json").stdout)

        assert told["altered"]["count"] == 1
        assert told["clean"]
        assert filled.rows() == rows
        assert filled.server.paid_texts() == []


def test_an_audit_in_slices_finds_what_an_audit_at_once_finds(tmp_path, monkeypatch):
    state, database = LocalObjectStore(tmp_path), MemoryVectorDatabase()
    database.create("c", CollectionSpec(dim=2, fingerprint="f", model="m"))
    store = database.open("c")
    chunks = [a_chunk(f"d{n % 7}", n) for n in range(300)]
    store.upsert(chunks[:250], np.ones((250, 2), np.float32), run_id="r", object_key="a.parquet")
    writer = RecordWriter()
    for place in range(7):
        own = [chunk for chunk in chunks[20:] if chunk.document_id == f"d{place}"]
        record = DocumentRecord(
            document_id=f"d{place}",
            row=place,
            fate="stored",
            document_hash="h",
            chunk_ids=tuple(chunk.chunk_id for chunk in own),
            payload_hashes=tuple(chunk.payload_hash for chunk in own),
        )
        writer.add([record])
    part = writer.put(state, "records.parquet", 0)
    entry = CatalogueEntry(key="a.parquet", etag="e", clean=True, parts=(part,), chunks=280)
    catalogue = Catalogue(fingerprint="f", entries=(entry,))

    at_once = audit(state, catalogue, store, ["r"], ())
    monkeypatch.setattr("jobs.audit.ROWS_A_SLICE", 2)
    in_slices = audit(state, catalogue, store, ["r"], ())

    for found in (at_once, in_slices):
        assert (found.rows, found.expected) == (250, 280)
        assert (found.missing.count, found.stale.count) == (50, 20)
    assert sorted(at_once.to_delete) == sorted(in_slices.to_delete)
