"""One contract for the collections and aliases of every vector store."""

from dataclasses import replace

import pytest

from storage.errors import (
    CollectionMismatchError,
    SettingError,
)
from storage.protocols import CollectionSpec
from tests.servers.milvus import SPEC
from tests.storage.chunks import DIM, a_chunk, ids_of, put, unused_document

# Collections


def test_a_collection_says_what_it_was_made_with(backend):
    spec = CollectionSpec(dim=DIM, fingerprint="f-1", model='打包 "model"@1')
    name = backend.new_collection(spec)

    assert backend.database.describe(name) == spec
    assert name in backend.database.collections()
    assert backend.database.describe(backend.new_name()) is None


def test_making_a_collection_again_changes_nothing(backend):
    name = backend.new_collection()
    chunk = a_chunk()
    put(backend.database.open(name), [chunk])
    backend.database.create(name, SPEC)

    assert ids_of(backend.database.open(name), "guide") == [chunk.chunk_id]


def test_another_dimension_is_refused_with_both_numbers_and_the_collection_stays(backend):
    made = replace(SPEC, dim=768)
    name = backend.new_collection(made)

    with pytest.raises(CollectionMismatchError, match=r"768.*1024"):
        backend.database.create(name, replace(SPEC, dim=1024))
    assert backend.database.describe(name) == made


def test_a_collection_that_is_not_there_cannot_be_opened(vector_database):
    with pytest.raises(CollectionMismatchError, match="no such collection"):
        vector_database.open("never_made")


def test_a_collection_dropped_behind_our_back_stops_the_run(backend):
    name = backend.new_collection()
    store = backend.database.open(name)
    put(store, [a_chunk()])
    backend.database.drop(name)

    with pytest.raises(CollectionMismatchError, match=name):
        store.keys_of(["guide"])
    with pytest.raises(CollectionMismatchError, match=name):
        put(store, [a_chunk(index=1)])
    backend.database.drop(name)  # gone already: no fault


# Aliases


def test_an_alias_moves_to_the_new_collection_in_one_step(backend):
    database, alias = backend.database, backend.new_name()
    old, new = backend.shared_collection(0), backend.shared_collection(1)
    targets = [database.alias_target(alias)]
    for target in (old, old, new):
        database.point_alias(alias, target)
        targets.append(database.alias_target(alias))

    assert targets == [None, old, old, new]
    assert alias not in database.collections()


def test_readers_of_the_alias_see_the_collection_behind_it(backend):
    alias, chunk = backend.new_name(), a_chunk(unused_document())
    put(backend.store(), [chunk])
    backend.database.point_alias(alias, backend.shared_collection())

    assert ids_of(backend.database.open(alias), chunk.document_id) == [chunk.chunk_id]


def test_a_collection_that_an_alias_points_to_is_not_dropped(backend):
    alias, name, other = backend.new_name(), backend.new_collection(), backend.shared_collection()
    backend.database.point_alias(alias, name)

    with pytest.raises(SettingError, match="alias"):
        backend.database.drop(name)
    assert name in backend.database.collections()
    backend.database.point_alias(alias, other)
    backend.database.drop(name)
    assert name not in backend.database.collections()


def test_an_alias_and_a_collection_cannot_share_a_name(backend):
    database, alias = backend.database, backend.new_name()
    taken, name = backend.shared_collection(0), backend.shared_collection(1)
    database.point_alias(alias, name)

    with pytest.raises(SettingError, match=taken):
        database.point_alias(taken, name)
    with pytest.raises(SettingError, match=alias):
        database.create(alias, SPEC)
    assert (database.alias_target(alias), database.alias_target(taken)) == (name, None)


def test_an_alias_never_points_to_nothing(backend):
    alias = backend.new_name()

    with pytest.raises(CollectionMismatchError, match="never_made"):
        backend.database.point_alias(alias, "never_made")
    assert backend.database.alias_target(alias) is None
