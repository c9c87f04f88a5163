"""Collections that are killed again and again while their corpus changes, and end as if never.

Each life is one collection: its corpus changes, runs over it are killed at random edges, several
in a row, until one may end. Then it is compared with a collection that was made at once, from the
corpus as it is now. `KITELIFT_KILLS` says how many kills there are in all, and `KITELIFT_SEED`
which ones; the seed of a life stands in the name of its test.
"""

import os
import random
import re
import signal
from collections import Counter
from contextlib import suppress

import pytest

from jobs.progress import Silence
from jobs.verify import verify
from storage.vectors import connect
from tests.jobs.world import World, manual

pytestmark = [pytest.mark.server, pytest.mark.faults]

KILLS_A_LIFE = 20
LIVES = int(os.environ.get("KITELIFT_KILLS", "200")) // KILLS_A_LIFE
SEED = int(os.environ.get("KITELIFT_SEED", "1"))
IN_FLIGHT = 3
"""Texts of the one request that a kill between answer and staging may cost: `embed_texts`."""
MOST_EDGES = 40
SETTINGS = {
    "run": {"embed_texts": IN_FLIGHT, "window_bytes": 1500},
    "limits": {"max_delete_ratio": 1.0},
}


@pytest.mark.parametrize("seed", range(SEED, SEED + LIVES))
def test_a_collection_with_many_deaths_is_as_one_without(world, forked, tmp_path_factory, seed):
    chance = random.Random(seed)
    corpus = Corpus(world, chance)
    world.settings = SETTINGS
    deaths: list[str] = []
    lives = 0
    while len(deaths) < KILLS_A_LIFE:
        for _ in range(chance.randint(1, 4)):  # deaths in a row
            for _ in range(chance.choice([0, 1, 1, 2, 3])):
                corpus.change()
            corpus.write()
            code, edge = forked.run(world, f"*:{chance.randint(1, MOST_EDGES)}")
            assert code == (-signal.SIGKILL if edge else 0)
            deaths += [edge] if edge else []

        report = world.run()

        lives += 1
        calm = corpus.undisturbed(tmp_path_factory.mktemp("calm"), f"{world.alias}_{lives}")
        told = f"seed {seed}, after {len(deaths)} deaths, the last at {deaths[-4:]}"
        assert report["outcome"] == "succeeded", (told, report)
        assert report["documents"]["read"] == len(corpus.texts), told
        assert world.rows() == calm, told
        assert report["chunks"]["total"] == len(calm), told
        assert world.ledger.open_runs() == [], told
        audited = verify(world.config, Silence(), repair=False)
        assert audited["clean"], (told, audited)
        assert not audited["unsettled"] + audited["waiting"], told
        twice = Counter(world.server.paid_texts()) - Counter(set(world.server.paid_texts()))
        assert twice.total() <= IN_FLIGHT * deaths.count("embedded"), (told, twice)
    print(f"seed {seed}: {len(deaths)} deaths, {lives} ends, {dict(Counter(deaths))}")


class Corpus:
    """Documents in objects, and the ways in which they change. No text ever comes back."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world, self._chance = world, chance
        self._made = 0
        self.texts: dict[str, str] = {}
        """By document."""
        self._places: dict[str, set[str]] = {}
        """Objects that hold the document."""
        self._copied: set[str] = set()
        """Documents with a text in common: they are not edited any more."""
        for _ in range(10):
            self._add()

    def change(self) -> None:
        ways = [self._add, self._edit, self._edit, self._insert, self._move, self._move]
        ways += [self._delete, self._duplicate, self._copy, self._drop_object, self._split]
        self._chance.choice(ways)()

    def write(self) -> None:
        """Bring the source to this state."""
        source = self._world.source
        held: dict[str, dict[str, str]] = {}
        for document, keys in self._places.items():
            for key in keys:
                held.setdefault(key, {})[document] = self.texts[document]
        for info in list(source.list("")):
            if info.key not in held:
                source.delete(info.key)
        for key, documents in held.items():
            self._world.put(key, dict(sorted(documents.items())))

    def undisturbed(self, folder, alias):
        """The rows of this corpus in a collection of its own; that is then dropped again."""
        calm = World(
            folder=folder,
            milvus_uri=self._world.milvus_uri,
            alias=alias,
            server=self._world.server,
            settings=self._world.settings,
        )
        calm.source = self._world.source
        calm.settings = {**calm.settings, "source": {"uri": str(self._world.folder / "parsed")}}
        paid = self._world.server.record.read_bytes()
        calm.run()
        self._world.server.record.write_bytes(paid)  # what this run paid is its own affair
        rows = calm.rows()
        database = connect(calm.config.milvus)
        with suppress(Exception):  # only to keep Milvus small
            database.drop(database.alias_target(alias))
        database.close()
        return rows

    def _add(self) -> None:
        self._made += 1
        document = f"{self._made:03d}.md"
        self.texts[document] = manual(f"文档 {self._made}", sections=2, sentences=3)
        self._places[document] = {self._object()}

    def _edit(self) -> None:
        self._made += 1
        head, _, _ = self.texts[document := self._some()].rpartition("\n\n")
        self.texts[document] = f"{head}\n\nEdited {self._made}, 第{self._made}次修改。\n"

    def _insert(self) -> None:
        self._made += 1
        document = self._some()
        self.texts[document] = f"Inserted {self._made}, 插入。\n\n{self.texts[document]}"

    def _split(self) -> None:
        """The last section leaves its document, and is one of its own."""
        document = self._some()
        rest, section, last = self.texts[document].rpartition("\n\n## ")
        if section:
            self._made += 1
            (title,) = re.findall(r"^# .*$", rest, re.MULTILINE)
            self.texts[document] = f"{rest}\n"
            self.texts[own := f"{self._made:03d}-split.md"] = f"{title}\n\n## {last}"
            self._places[own] = {self._object()}

    def _move(self) -> None:
        document = self._chance.choice(sorted(self.texts))
        self._places[document] = {self._object()}

    def _duplicate(self) -> None:
        """The same row once more, elsewhere: only one of them counts."""
        self._places[self._chance.choice(sorted(self.texts))].add(self._object())

    def _copy(self) -> None:
        """The same text as another document."""
        self._made += 1
        original, copy = self._some(), f"{self._made:03d}-copy.md"
        self.texts[copy] = self.texts[original]
        self._places[copy] = {self._object()}
        self._copied |= {original, copy}

    def _delete(self) -> None:
        if len(self.texts) > 4:
            document = self._chance.choice(sorted(self.texts))
            del self.texts[document], self._places[document]

    def _drop_object(self) -> None:
        """All that it holds moves elsewhere."""
        key = self._object()
        for keys in self._places.values():
            if key in keys:
                keys.discard(key)
                keys.add(self._object())

    def _some(self) -> str:
        """A document that shares no text with another."""
        alone = sorted(self.texts.keys() - self._copied)
        if not alone:
            self._add()
            return self._some()
        return self._chance.choice(alone)

    def _object(self) -> str:
        return f"{self._chance.randint(0, 5)}.parquet"
