"""Work in several processes: in order, within a window, and past a file that kills one."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobs.conversion.pool import BATCH_BYTES, BATCH_FILES, WINDOW_BATCHES, WINDOW_BYTES, FilePool
from tests.jobs.conversion.file_work import double, meet, nothing, raise_fault


def pool(work, *, size: int = 1, workers: int = 2) -> FilePool[Any, int]:
    return FilePool(work, size=lambda _: size, died=-1, prepare=nothing, workers=workers)


def test_results_come_in_the_order_of_the_files():
    with pool(double) as files:
        assert list(files.map(range(20, 520))) == list(range(40, 1040, 2))


def test_a_file_that_kills_its_process_is_the_only_one_without_a_result():
    with pool(double) as files:
        results = list(files.map(range(200)))

    assert results == [-1 if n == 13 else 2 * n for n in range(200)]


def test_several_processes_are_at_work_at_once(tmp_path):
    with pool(meet, size=BATCH_BYTES) as files:
        assert list(files.map([tmp_path] * 4)) == [2] * 4


def test_an_error_of_the_work_itself_ends_it():
    with pool(raise_fault, workers=1) as files, pytest.raises(ValueError, match="no work on 5"):
        list(files.map([5]))


@pytest.mark.parametrize(
    ("size", "most"),
    [
        (1, (WINDOW_BATCHES * 2 + 1) * BATCH_FILES + 1),
        (WINDOW_BYTES // 4, 6),
        (WINDOW_BYTES * 2, 3),
    ],
)
def test_files_are_read_no_further_ahead_than_the_window(size, most):
    taken = 0

    def numbers() -> Iterator[int]:
        nonlocal taken
        for n in range(100, 1100):
            taken += 1
            yield n

    with pool(double, size=size) as files:
        results = files.map(numbers())
        next(results)

        assert taken <= most
        results.close()


def test_without_processes_the_work_is_done_here():
    here: list[int] = []

    def work(batch):
        here.extend(batch)
        return [0 for _ in batch]

    with pool(work, workers=0) as files:
        assert list(files.map(range(3))) == [0, 0, 0]
    assert here == [0, 1, 2]
