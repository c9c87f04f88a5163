"""What only the database in this process can do: fail when a test asks for it."""

import pytest

from storage.errors import SlowDownError, StoreUnavailableError
from storage.memory_vectors import MemoryVectorDatabase
from tests.servers.milvus import SPEC
from tests.storage.chunks import a_chunk, put


def test_scripted_faults_come_one_a_call_and_write_nothing():
    database = MemoryVectorDatabase()
    database.create("docs", SPEC)
    store = database.open("docs")
    database.faults += [SlowDownError("Milvus", "quota"), StoreUnavailableError("Milvus", "x", "y")]

    with pytest.raises(SlowDownError):
        put(store, [a_chunk()])
    with pytest.raises(StoreUnavailableError):
        database.collections()
    assert store.keys_of(["guide"]) == []


def test_a_vector_changed_by_its_caller_stays_as_it_was_stored():
    database = MemoryVectorDatabase()
    database.create("docs", SPEC)
    store, chunk = database.open("docs"), a_chunk()
    vectors = put(store, [chunk])
    original = vectors.copy()
    vectors[:] = 7
    store.vectors_of([chunk.content_hash])[chunk.content_hash][:] = 9

    assert (
        store.vectors_of([chunk.content_hash])[chunk.content_hash].tolist() == original[0].tolist()
    )
