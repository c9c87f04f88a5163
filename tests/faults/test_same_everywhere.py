"""CASES C46 and C48: ids, contents and metadata come from the document, and from nothing else."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from chunking.model import Block, Document
from tests.jobs.world import World, manual, markdown

pytestmark = pytest.mark.server

SPEAKERS = ("主持人", "工程师甲", "Engineer B")


def dialogue():
    blocks = [
        Block(
            kind="turn",
            text=f"{SPEAKERS[n % 3]} says in turn {n}: 第{n}句，关于部署与回滚。",
            speaker=SPEAKERS[n % 3],
            ts_start=float(n),
            ts_end=n + 0.5,
        )
        for n in range(60)
    ]
    tags = {name: f"值 {name}" for name in ("zebra", "apple", "部门", "mango")}
    return Document(
        document_id="talk",
        file_title="谈话",
        source="talk.txt",
        blocks=tuple(blocks),
        metadata=tags,
    )


def seen(world):
    """Everything of every row but who wrote it."""
    with world.store() as store:
        hits = store.search(text="部署", vector=None, mode="sparse", top_k=200)
    rows = [dict(hit.row) for hit in hits if hit.row["document_id"] == "talk"]
    provenance = ("run_id", "object_key")
    told = [{k: v for k, v in row.items() if k not in provenance} for row in rows]
    keys = [k for k in world.rows() if k.document_id == "talk"]
    assert len(told) == len(keys) > 1
    return sorted(str(sorted(row.items(), key=lambda i: i[0])) for row in told), keys


def test_hash_seed_company_and_order_change_nothing(world, tmp_path_factory):
    others = {f"{n}.md": manual(f"手册 {n}", sections=2) for n in range(6)}
    worlds = []
    for number in range(3):
        here = World(
            folder=tmp_path_factory.mktemp("here"),
            milvus_uri=world.milvus_uri,
            alias=f"{world.alias}_{number}",
            server=world.server,
        )
        here.put(f"{9 - number}.parquet", [dialogue()])
        company = list(others.items()) if number else []  # alone, then among others
        random.Random(number).shuffle(company)
        for place, (name, text) in enumerate(company):
            here.put(f"{place * 2:02d}.parquet", {name: text})

        worlds.append(here)
    with ThreadPoolExecutor() as pool:  # two in processes of their own, and one here
        runs = [
            pool.submit(here.command, "run", PYTHONHASHSEED=seed)
            for here, seed in zip(worlds[1:], "01", strict=True)
        ]
        worlds[0].run()
    for run in runs:
        assert run.result().returncode == 0, run.result().stderr
    found = [seen(here) for here in worlds]
    assert found[0] == found[1] == found[2]


def test_the_same_words_in_six_places_are_six_rows(world):
    """C48."""
    again = tuple(Block(kind="paragraph", text="同上。", page=page) for page in (1, 2, 3))
    world.put(
        "a.parquet",
        [Document(document_id=name, file_title=name, blocks=again) for name in ("一", "二")],
    )
    world.put("b.parquet", [markdown("other", "别的。")])

    report = world.run()

    assert report["outcome"] == "succeeded"
    rows = [row for row in world.rows() if row.document_id != "other"]
    assert len({row.chunk_id for row in rows}) == len(rows) == 6
    assert len(world.server.paid_texts()) == len(set(world.server.paid_texts()))
