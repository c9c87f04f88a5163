"""The object store on a bad day: during a whole run, source and ledger alike."""

import random

import pytest

from jobs.progress import Silence
from jobs.run import RunOptions, run_job
from storage.objects import open_location
from tests.jobs.world import manual
from tests.servers.s3 import REGION
from tests.servers.s3_proxy import Answer, cut, lost, run_proxy, says, slow

pytestmark = pytest.mark.server

CORPUS = {f"{n:02d}.md": manual(f"手册 {n}") for n in range(12)}


class Weather:
    """Faults for the proxy: one request in six meets one, as the seed has it, each kind in turn."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self.met = []

    def popleft(self):
        if self._chance.random() > 1 / 6:
            return None
        name = [*FAULTS][len(self.met) % len(FAULTS)]
        self.met.append(name)
        return FAULTS[name]


def refusal(status, code):
    body = f"<Error><Code>{code}</Code><Message>told so</Message></Error>".encode()
    return says(Answer(status=status, headers={"Content-Length": str(len(body))}, body=body))


FAULTS = {
    "500": refusal(500, "InternalError"),
    "503": refusal(503, "SlowDown"),
    "cut": cut,
    "lost": lost,
    "slow": slow,
}


@pytest.fixture
def on_s3(world, s3_endpoint, s3_bucket):
    """Source and ledger in a bucket."""
    world.settings = {
        "source": {"uri": f"s3://{s3_bucket}/parsed"},
        "state": {"uri": f"s3://{s3_bucket}/kitelift"},
        "s3": {"endpoint_url": s3_endpoint, "region": REGION, "max_attempts": 8},
    }
    config = world.config
    world.source = _Below(open_location(config.source.uri, config.s3))
    return world


class _Below:
    """The store of a location, with keys below its prefix."""

    def __init__(self, location):
        self._location = location

    def put(self, key, data, **conditions):
        return self._location.objects.put(self._location.prefix + key, data, **conditions)

    def delete(self, key):
        self._location.objects.delete(self._location.prefix + key)


def fill(world):
    items = list(CORPUS.items())
    for start in range(0, len(items), 2):
        world.put(f"{start:02d}.parquet", dict(items[start : start + 2]))


@pytest.mark.faults
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_through_faults_ends_as_one_without(on_s3, s3_endpoint, seed):
    fill(on_s3)
    calm_settings = on_s3.settings
    with run_proxy(s3_endpoint) as proxy:
        proxy.faults = weather = Weather(seed)
        on_s3.settings = {**calm_settings, "s3": {**calm_settings["s3"], "endpoint_url": proxy.url}}

        report = on_s3.run()

        assert report["outcome"] == "succeeded", report
        assert set(weather.met) == set(FAULTS)
    on_s3.settings = calm_settings
    rows = on_s3.rows()
    assert report["documents"]["stored"] == len(CORPUS)
    assert report["dead_letters"] == []
    paid = on_s3.server.paid_texts()
    assert len(paid) == len(set(paid))
    assert on_s3.ledger.open_runs() == []
    on_s3.alias = f"{on_s3.alias}_calm"
    on_s3.run()
    assert on_s3.rows() == rows


class Meddling(Silence):
    """Changes the source at one moment of the run."""

    def __init__(self, moment, meddle):
        self._moment, self._meddle = moment, meddle

    def tell(self, sentence):
        if self._moment == "listed" and sentence.startswith("objects listed"):
            self._meddle()

    def begin(self, plan):
        if self._moment == "planned":
            self._meddle()


@pytest.mark.parametrize("moment", ["listed", "planned"])
def test_an_object_that_changes_or_goes_during_the_run_is_named_and_the_rest_goes_in(on_s3, moment):
    """CASES C112: x is overwritten and y deleted after the listing."""
    on_s3.put("x.parquet", {"x.md": "The first version of x."})
    on_s3.put("y.parquet", {"y.md": "The first version of y."})
    on_s3.run()
    on_s3.put("x.parquet", {"x.md": "The second version of x."})
    on_s3.put("y.parquet", {"y.md": "The second version of y.", "z.md": "New in y."})
    on_s3.put("rest.parquet", CORPUS)
    before = [row for row in on_s3.rows() if row.document_id in {"x.md", "y.md"}]

    def meddle():
        on_s3.put("x.parquet", {"x.md": "The third version of x.", "more.md": "More."})
        on_s3.source.delete("y.parquet")

    report = run_job(on_s3.config, RunOptions(), Meddling(moment, meddle))

    assert report["outcome"] == "partial"
    reasons = {
        letter["object_key"].rpartition("/")[2]: letter["reason"]
        for letter in report["dead_letters"]
    }
    assert reasons.keys() == {"x.parquet", "y.parquet"}
    kept = [row for row in on_s3.rows() if row.document_id in {"x.md", "y.md"}]
    assert kept == before
    assert sorted(on_s3.documents()) == sorted([*CORPUS, "x.md", "y.md"])
    after = on_s3.run(allow_delete=True)
    assert after["outcome"] == "succeeded"
    assert sorted(on_s3.documents()) == sorted([*CORPUS, "x.md", "more.md"])
