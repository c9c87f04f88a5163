"""What is told while a run goes on."""

import io

import pytest
from rich.console import Console

from jobs.progress import Lines, LiveBar, clock_time
from storage.records import Fates, ObjectPlan, Part, RunPlan, ShardPlan, ShardResult, Tally


def plan(documents: int, shards: int) -> RunPlan:
    cut = tuple(
        ShardPlan(
            number=number,
            object_key="a.parquet",
            etag="e",
            size=1,
            first_group=number,
            group_count=1,
            first_row=0,
            rows=documents // shards,
        )
        for number in range(shards)
    )
    return RunPlan(
        run_id="r",
        fingerprint="f",
        collection="c",
        prefix="",
        objects=(ObjectPlan(key="a.parquet", etag="e", shards=shards),),
        shards=cut,
        skipped=Tally(),
        vanished_key="",
        vanished=0,
        known_documents=0,
    )


def result(part: Part | None) -> ShardResult:
    return ShardResult(
        number=0, object_key="a", etag="e", attempt=1, part=part, tally=Tally(), seconds=1.0
    )


DONE = Part(key="p", first_row=0, rows=50)


def test_lines_come_every_ten_seconds_and_tell_rate_and_time_left(capsys):
    now = [0.0]
    view = Lines(clock=lambda: now[0])
    view.begin(plan(100, 2))
    for second in (4, 8, 12, 16):
        now[0] = float(second)
        view.work(Tally(fates=Fates(stored=10), chunks=30, tokens=1200))

    (line,) = capsys.readouterr().err.splitlines()

    assert line.startswith("kitelift: 30/100 documents, 0/2 shards, 90 chunks, 3600 tokens")
    assert "(300/s)" in line
    assert "0:28 left" in line


def test_nothing_is_said_of_the_time_left_before_something_is_done(capsys):
    now = [0.0]
    view = Lines(clock=lambda: now[0])
    view.begin(plan(100, 2))
    now[0] = 11.0

    view.work(Tally(tokens=100))

    assert "--:-- left" in capsys.readouterr().err


def test_the_last_shard_has_a_line_of_its_own_and_failures_are_counted(capsys):
    view = Lines(clock=lambda: 0.0)
    view.begin(plan(100, 2))
    view.shard(result(DONE))
    assert capsys.readouterr().err == ""

    view.shard(result(None))

    assert "2/2 shards" in (line := capsys.readouterr().err)
    assert "1 failed" in line


def test_the_live_bar_tells_the_same_on_a_terminal():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=140)

    with LiveBar(console) as view:
        view.tell("object [weird].parquet is new")
        view.begin(plan(100, 2))
        view.work(Tally(fates=Fates(stored=40, dead=1), chunks=80, tokens=4000))
        view.shard(result(None))

    told = screen.getvalue()
    assert "[weird].parquet" in told
    assert "41/100" in told
    assert "80 chunks" in told
    assert "1 dead, 1 failed" in told


@pytest.mark.parametrize(
    ("seconds", "told"), [(None, "--:--"), (0, "0:00"), (61.9, "1:01"), (3723, "1:02:03")]
)
def test_times_are_read_like_a_clock(seconds, told):
    assert clock_time(seconds) == told
