"""The kill kit: the process dies at an edge, the run is started again, and nobody can tell.

Compared with a run that nobody disturbed: rows (ids, contents, payloads), and the texts paid for.
"""

from collections import Counter

import pytest

from jobs.edges import RUN_EDGES, SHARD_EDGES
from tests.jobs.world import World, manual

pytestmark = [pytest.mark.server, pytest.mark.faults]

BEFORE = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(9)}
AFTER = {
    **{name: text for name, text in BEFORE.items() if name not in {"00.md", "01.md"}},
    "01.md": "A new first paragraph.\n\n" + BEFORE["01.md"],
    "02.md": manual("手册 2", sections=2),
    "new.md": manual("新手册", sections=4),
    "same.md": BEFORE["03.md"],
}
SMALL = {"run": {"embed_texts": 3, "shard_documents": 3, "executor": "inline"}}
IN_FLIGHT = 3
"""Texts of the one request that a kill may cost: `embed_texts`."""


def fill(world: World, corpus: dict[str, str]) -> None:
    items = sorted(corpus.items())
    for start in range(0, 12, 3):
        world.put(f"{start:02d}.parquet", dict(items[start : start + 3]))


@pytest.fixture(scope="module")
def calm(milvus_lite_uri, _openai_server, tmp_path_factory):
    """Rows and paid texts of two runs that nobody disturbed: the first, and the update."""
    calm = World(
        folder=tmp_path_factory.mktemp("calm"),
        milvus_uri=milvus_lite_uri,
        alias="edges_calm",
        server=_openai_server,
        settings=SMALL,
    )
    told = []
    for corpus in (BEFORE, AFTER):
        _openai_server.forget()
        fill(calm, corpus)
        calm.run()
        told.append((calm.rows(), Counter(_openai_server.paid_texts())))
    return told


@pytest.mark.parametrize("edge", [*RUN_EDGES, *SHARD_EDGES, "upserted:3", "staged:2", "*:40"])
def test_a_run_that_dies_at_an_edge_is_made_good_by_the_next(world, forked, calm, edge):
    world.settings = SMALL
    (rows_before, _), (rows_after, paid) = calm
    fill(world, BEFORE)
    world.run()
    assert world.rows() == rows_before
    world.server.forget()
    fill(world, AFTER)

    forked.kill(world, edge)
    again = world.run()

    assert again["outcome"] == "succeeded"
    assert world.rows() == rows_after
    assert again["chunks"]["total"] == len(rows_after)
    twice = Counter(world.server.paid_texts()) - paid
    assert sum(twice.values()) <= (IN_FLIGHT if edge == "embedded" else 0)
    assert world.ledger.open_runs() == []
    assert world.run()["chunks"] == {"total": len(rows_after), "upserted": 0, "deleted": 0}
