"""How fast rows are added up: the sums of a linear regression, beside engines that add up the same products plainly.

    python benchmarks/throughput.py                        10 million rows, 10 features
    python benchmarks/throughput.py --rows 1000000 --features 5,20,50 --repeats 3
    python benchmarks/throughput.py --memory 100000000     peak memory of tacit alone over so many rows

Every engine reads the same Parquet file (float64, Snappy, row groups of 2^20 rows) and finds the sums of all products
of two columns and of each column. tacit also parses, fills, clamps and rounds every cell to its lattice and adds up
exactly. "arrow" is pyarrow's Parquet reader and one BLAS product a batch in as many threads, with nothing in between.
Each measurement is a process of its own: one run to warm up, then the median of five. Engines take turns, so that a
busy machine slows all of them; the ratio is of medians to that of the fastest engine with as many threads. Seconds of
CPU are given as well, which a busy machine changes least.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

ROWS = 10_000_000
CALLS = 5  # of a process, after a first one that is not timed; their median counts
_FILE_ROWS = 5_000_000  # of each file that `--memory` reads
REPEATS = 5
GROUP = 2**20
ENGINES = ("tacit", "polars", "duckdb", "arrow")


def rows(
    n: int = ROWS, features: tuple[int, ...] = (10, 5, 20, 50), repeats: int = REPEATS, fewer: int = 5
) -> list[dict[str, Any]]:
    """One row an engine, a number of threads and a number of features; beyond the first, with n / ``fewer`` rows."""
    table: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for d in features:
            count = n if d == features[0] else n // fewer
            path = Path(folder) / f"{d}.parquet"
            write_rows(path, count, d)
            table += _compare(path, count, d, repeats)
            path.unlink()
    return table


def write_rows(path: Path, n: int, features: int) -> None:
    """Standard normal numbers, fresh in every row group up to the sixteenth, then the same again."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = _names(features)
    groups: list[pa.Table] = []
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, n, GROUP):
            if len(groups) < 16:
                groups.append(pa.table({name: rng.normal(size=GROUP) for name in names}))
            writer.write_table(groups[start // GROUP % len(groups)].slice(0, min(GROUP, n - start)))


def _compare(path: Path, n: int, d: int, repeats: int) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(repeats):
        for threads in (1, 2):
            for engine in ENGINES:
                found.setdefault((engine, threads), []).append(measure_one(engine, threads, path, d))
    table: list[dict[str, Any]] = []
    for (engine, threads), runs in found.items():
        walls, cpus = [run["seconds"] for run in runs], [run["cpu"] for run in runs]
        peers = [
            (statistics.median(run["seconds"] for run in others), statistics.median(run["cpu"] for run in others))
            for (other, count), others in found.items()
            if other != "tacit" and count == threads
        ]
        table.append(
            {
                "engine": engine,
                "threads": threads,
                "features": d,
                "rows": n,
                "seconds": round(statistics.median(walls), 2),
                "from_to": f"{min(walls):.2f} - {max(walls):.2f}",
                "cpu_seconds": round(statistics.median(cpus), 2),
                "million_rows_s": round(n / statistics.median(walls) / 1e6, 1),
                "times_fastest": round(statistics.median(walls) / min(wall for wall, _ in peers), 2),
                "times_least_cpu": round(statistics.median(cpus) / min(cpu for _, cpu in peers), 2),
                "peak_mib": round(max(run["peak"] for run in runs)),
                "load": round(os.getloadavg()[0], 1),
            }
        )
    return table


def measure_one(engine: str, threads: int, path: Path, d: int) -> dict[str, float]:
    limits = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "ARROW_NUM_THREADS"), str(threads))
    command = [sys.executable, __file__, "--child", engine, "--threads", str(threads), "--path", str(path)]
    done = subprocess.run(
        [*command, "--features", str(d)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **limits, "OPENBLAS_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout)


def _names(features: int) -> list[str]:
    return [*(f"x{i}" for i in range(features)), "y"]


def _tacit(path: str, threads: int, d: int) -> Callable[[], Any]:
    import tacit
    from tacit.boundary import collect, needed
    from tacit.engines.threads import Threads
    from tacit.sources.open import open_source

    names = _names(d)
    schema = tacit.Schema(dict.fromkeys(names, (-4, 4)))
    plan = tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names[:-1])), schema, tacit.ZCDP(0.5))
    return lambda: collect(open_source(path, *needed(plan)), plan, None, Threads(threads))


def _polars(path: str, threads: int, d: int) -> Callable[[], Any]:
    import polars as pl

    names = _names(d)
    sums = [pl.col(a).sum().alias(a) for a in names]
    sums += [(pl.col(a) * pl.col(b)).sum().alias(f"{a}*{b}") for i, a in enumerate(names) for b in names[i:]]
    return lambda: pl.scan_parquet(path).select(sums).collect(engine="streaming")


def _duckdb(path: str, threads: int, d: int) -> Callable[[], Any]:
    import duckdb

    names = _names(d)
    sums = [f"sum({a})" for a in names] + [f"sum({a} * {b})" for i, a in enumerate(names) for b in names[i:]]
    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    return lambda: connection.sql(f"select {', '.join(sums)} from read_parquet('{path}')").fetchall()


def _arrow(path: str, threads: int, d: int) -> Callable[[], Any]:
    import numpy as np
    import pyarrow.parquet as pq

    names = _names(d)

    def work(waiting: SimpleQueue[int], grams: list[Any]) -> None:
        reader = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**16)
        gram = np.zeros((len(names) + 1, len(names) + 1))
        while True:
            try:
                group = waiting.get_nowait()
            except Empty:
                grams.append(gram)
                return
            for batch in reader.iter_batches(2**15, row_groups=[group], use_threads=False):
                matrix = np.stack([np.ones(batch.num_rows), *(column.to_numpy() for column in batch.columns)])
                gram += matrix @ matrix.T

    def run() -> Any:
        waiting: SimpleQueue[int] = SimpleQueue()
        for group in range(pq.ParquetFile(path).num_row_groups):
            waiting.put(group)
        grams: list[Any] = []
        workers = [threading.Thread(target=work, args=(waiting, grams)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(grams)

    return run


def _child(engine: str, path: str, threads: int, d: int) -> None:
    call = {"tacit": _tacit, "polars": _polars, "duckdb": _duckdb, "arrow": _arrow}[engine](path, threads, d)
    call()
    found: list[tuple[float, float]] = []
    for _ in range(CALLS):
        began, cpu = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - began, time.process_time() - cpu))
    seconds, cpu = sorted(found)[CALLS // 2]
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": _peak()}))


def _peak() -> float:
    """MiB. What getrusage says would include the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _memory(n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, copies = Path(folder) / "0.parquet", max(1, n // _FILE_ROWS)
        write_rows(first, min(n, _FILE_ROWS), 9)
        for i in range(1, copies):  # copies, not links: a file under two names is read once
            shutil.copy(first, Path(folder) / f"{i}.parquet")
        n, gib = copies * min(n, _FILE_ROWS), copies * first.stat().st_size / 2**30
        run = measure_one("tacit", 2, Path(folder), 9)
        print(f"{n:,} rows x 10 columns in {copies} files, {gib:.1f} GiB: {run['seconds']:.1f} s, ", end="")
        print(f"{run['cpu']:.1f} s of CPU, peak {run['peak']:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--features", default="10")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--memory", type=int)
    parser.add_argument("--child")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--path")
    given = parser.parse_args()
    if given.child:
        _child(given.child, given.path, given.threads, int(given.features))
        return
    if given.memory:
        _memory(given.memory)
        return
    for d in map(int, given.features.split(",")):
        table = rows(given.rows, (d,), given.repeats)
        print("| " + " | ".join(table[0]) + " |")
        print("|" + "---|" * len(table[0]))
        for row in table:
            print("| " + " | ".join(map(str, row.values())) + " |", flush=True)


if __name__ == "__main__":
    main()
