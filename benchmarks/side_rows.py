"""Adding up rows: the sums of a linear regression from a Parquet file, beside engines that do not protect anything.

`throughput.py` says what each does. tacit's time is compared with the fastest of them; diffprivlib, which reads an
array in memory, stands beside as the estimator that one would use instead.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import throughput
from fresh import missing

ROWS, FEATURES = 4_000_000, 10

EXACT = "peers add up floats; tacit also parses and clamps cells, rounds them and adds up exact integers"


def measure(quick: bool) -> list[dict[str, Any]]:
    n = 50_000 if quick else ROWS
    repeats = 1 if quick else 3
    found: dict[tuple[int, str], list[float]] = {}
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        throughput.write_rows(path, n, FEATURES)
        for _ in range(repeats):
            for threads in (1, 2):
                for engine in throughput.ENGINES:
                    run = throughput.measure_one(engine, threads, path, FEATURES)
                    found.setdefault((threads, engine), []).append(run["seconds"])
        names = {"tacit": "tacit", "arrow": "pyarrow and BLAS"}
        for (threads, engine), seconds in found.items():
            job = f"{n:,} rows, {FEATURES} features, {threads} thread{'s' * (threads > 1)}"
            row: dict[str, Any] = {"job": job, "who": names.get(engine, engine), "seconds": seconds}
            if engine == "tacit":
                row |= {"target": round(1 / 1.5, 2), "why": EXACT}
                row["quality"] = "exact integers, cells parsed, clamped and rounded"
            row["note"] = f"{n / statistics.median(seconds) / 1e6:.1f} million rows a second"
            rows.append(row)
        rows.append(_diffprivlib(path, rows[0]["job"], repeats))
    return rows


def _diffprivlib(path: Path, job: str, repeats: int) -> dict[str, Any]:
    row: dict[str, Any] = {"job": job, "who": "diffprivlib, LinearRegression.fit"}
    why = missing("diffprivlib")
    if why:
        return {**row, "note": why}
    try:
        from diffprivlib.models import LinearRegression
    except ImportError as error:
        return {**row, "note": f"does not import: {error}"[:200]}
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    x = np.column_stack([table.column(i).to_numpy() for i in range(FEATURES)])
    y = table.column("y").to_numpy()
    seconds: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            LinearRegression(epsilon=1.0, bounds_X=(-4.0, 4.0), bounds_y=(-4.0, 4.0)).fit(x, y)
        seconds.append(time.perf_counter() - begin)
    return {**row, "seconds": seconds, "note": "from an array in memory: reading the file is left out; all cores"}
