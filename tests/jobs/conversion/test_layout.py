"""Where objects end: about the right size, and a change is felt nearby only."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.conversion.layout import Cutter, object_name

SIZE = 1000

sizes = st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 300), max_size=200)


def objects(documents: dict[str, int]) -> dict[str, list[str]]:
    """Name of each object, and the documents in it."""
    cutter = Cutter(SIZE)
    found: dict[str, list[str]] = {}
    for path in sorted(documents):
        found.setdefault(cutter.name, []).append(path)
        cutter.ends_after((path, "root"), documents[path])
    return found


@given(sizes)
def test_each_document_is_in_one_object_and_in_order(documents):
    assert [path for paths in objects(documents).values() for path in paths] == sorted(documents)


@given(sizes)
def test_an_object_is_between_half_and_all_of_the_target_with_its_last_document(documents):
    for number, paths in enumerate(found := list(objects(documents).values())):
        size = sum(documents[path] for path in paths)
        assert size - documents[paths[-1]] < SIZE
        assert number == len(found) - 1 or size >= SIZE / 2


@given(sizes, st.data())
def test_a_document_only_moves_to_an_object_of_a_new_name_or_from_one_that_vanishes(
    documents, data
):
    """What the order of writes relies on: jobs/conversion/target.py."""
    before = objects(documents)
    changes = data.draw(sizes)
    gone = data.draw(st.sets(st.sampled_from(sorted(documents)))) if documents else set()
    after = objects({p: s for p, s in {**documents, **changes}.items() if p not in gone})

    place = {path: name for name, paths in before.items() for path in paths}
    for name, paths in after.items():
        for path in paths:
            old = place.get(path, name)
            assert old == name or name not in before or old not in after


def test_one_change_in_many_documents_changes_few_objects():
    documents = {f"{n:05d}": 10 + n * 7919 % 50 for n in range(5000)}
    before = objects(documents)
    total = len(before)
    changed = 0
    for n in range(0, 5000, 50):
        after = objects({**documents, f"{n:05d}x": 40})
        changed += sum(before.get(name) != paths for name, paths in after.items())

    assert total > 100
    assert changed / 100 < 3


def test_the_first_object_keeps_its_name_whatever_comes_first():
    assert next(iter(objects({"b": 1}))) == next(iter(objects({"a": 1, "b": 1})))
    assert object_name(None) != object_name(("", ""))
