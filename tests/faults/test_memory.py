"""CASES C110 through the whole job: one huge row group, and a worker of bounded size."""

import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs.world import manual

pytestmark = [pytest.mark.server, pytest.mark.faults]

DOCUMENTS = 1500
LETTERS = 100_000
MOST_MEGABYTES = 120
"""Above a run of one small document; the row group is 150 MB, and the window 2 MB."""
RUN = """
import sys
from pathlib import Path
from jobs.config import load_config
from jobs.progress import Silence
from jobs.run import RunOptions, run_job
run_job(load_config(Path(sys.argv[1])), RunOptions(run_id=sys.argv[2]), Silence())
status = Path("/proc/self/status").read_text(encoding="ascii")
(peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
print(peak)
"""


def test_a_huge_row_group_is_walked_in_bounded_memory(world):
    world.settings = {"run": {"window_bytes": 2 * 2**20}}
    world.put("small.parquet", {"small.md": manual("small")})
    small = peak_megabytes(world, "small")
    write_huge_row_group(world.folder / "parsed" / "big.parquet")

    big = peak_megabytes(world, "big")

    print(f"peak {small} MB for one small document, {big} MB for a row group of 150 MB")
    assert big - small < MOST_MEGABYTES
    documents = world.ledger.report("big")["documents"]
    assert documents["stored"] == DOCUMENTS // 100
    assert documents["empty"] == DOCUMENTS - DOCUMENTS // 100


def peak_megabytes(world, run_id):
    """Of the run's own process: what `getrusage` tells of a child begins with its parent's."""
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(world.config_file()), run_id],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return int(run.stdout) // 1024


def write_huge_row_group(path):
    """Pictures without a word, for the most part: much to carry, and little to embed."""
    letters = random.Random(1).randbytes(LETTERS).hex()
    rows = []
    for n in range(DOCUMENTS):
        start = n * 61 % LETTERS
        picture = {"kind": "image", "text": "", "image_uri": letters[start : start + LETTERS]}
        words = {"kind": "paragraph", "text": f"Words of {n}. 第{n}篇。", "image_uri": None}
        rows.append([picture] if n % 100 else [picture, words])
    block = pa.struct([(name, pa.string()) for name in ("kind", "text", "image_uri")])
    table = pa.table(
        {
            "document_id": [f"d{n}" for n in range(DOCUMENTS)],
            "blocks": pa.array(rows, pa.list_(block)),
        }
    )
    # A page is the least that can be read, and pyarrow looks at its size once a batch.
    pq.write_table(table, path, compression="none", use_dictionary=False, write_batch_size=8)
    assert pq.ParquetFile(path).num_row_groups == 1
