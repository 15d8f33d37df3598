"""Wide plans and long tables in bounded memory, each in a process of its own, whose peak is its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit

WIDE = """
import json, sys, tacit
import numpy as np
d, n = 200, 5_000
names = [f"x{i}" for i in range(d)]
schema = tacit.Schema(dict.fromkeys([*names, "y"], (-3, 3)))
plan = tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names)), schema, tacit.ZCDP(0.5))
rng = np.random.default_rng(1)
release = tacit.privatize({name: rng.normal(size=n) for name in [*names, "y"]}, plan, ledger=None)
text = release.to_json()
assert tacit.Release.from_json(text) == release
print(json.dumps({"entries": len(release.values), "bytes": len(text)}))
"""

LONG = """
import json, sys, tacit
from tacit.engines.threads import Threads
names = [f"x{i}" for i in range(9)]
schema = tacit.Schema(dict.fromkeys([*names, "y"], (-3, 3)))
plan = tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names)), schema, tacit.ZCDP(0.5))
release = tacit.privatize(sys.argv[1], plan, ledger=None, engine=Threads(2))
print(json.dumps({"n": release.n}))
"""


# What getrusage calls the peak would include the process that started this one. In MiB.
PEAK = """
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")


def run(script, *arguments):
    command = [sys.executable, "-c", script + PEAK, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found, peak = done.stdout.splitlines()
    return {**json.loads(found), "peak": float(peak)}


def test_200_covariates():
    """20,502 noisy numbers: 200 covariates, the constant and the response, and the release survives its JSON."""
    found = run(WIDE)
    assert found["entries"] == 202 * 203 // 2 - 1
    assert found["bytes"] < 3_000_000
    assert found["peak"] < 1000


def test_memory_does_not_grow_with_the_table(tmp_path):
    """Ten columns, one file of 2^21 rows in one row group, read once and three times over.

    480 MiB of numbers, and the peak (MiB) moves by less than 60: the allowance is for what allocators keep.
    """
    rng = np.random.default_rng(3)
    names = [*(f"x{i}" for i in range(9)), "y"]
    path = tmp_path / "0.parquet"
    table = pa.table({name: rng.normal(size=2**21) for name in names})
    pq.write_table(table, path, row_group_size=2**21, compression="none", use_dictionary=False)
    once = run(LONG, str(path))
    for i in (1, 2):
        shutil.copyfile(path, tmp_path / f"{i}.parquet")  # a link would be the same file, whose rows count once
    thrice = run(LONG, str(tmp_path))
    assert thrice["n"] == 3 * once["n"] == 3 * 2**21
    assert thrice["peak"] < 1000
    assert thrice["peak"] - once["peak"] < 60


@pytest.mark.parametrize("columns", [1, 64, 5000])
def test_a_wide_table_is_read_in_short_batches(columns):
    """The cells that a thread holds are bounded, not the rows."""
    from tacit.engines.engine import Job
    from tacit.statistics.collector import Sums

    plan = tacit.Plan(tacit.Normal("x"), tacit.Schema(x=(0, 1)), tacit.ZCDP(0.5))
    sums = plan.crossing().collector()
    assert isinstance(sums, Sums)
    job = Job(None, plan.schema, tuple(map(str, range(columns))), sums)
    assert 1 <= job.batch_rows * columns <= 2**22
