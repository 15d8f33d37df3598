"""Dask and Spark for real, beside threads: the same integers, also when workers die and tasks fail.

A Dask cluster of two processes and Spark in local mode, both on this machine. Spark needs Java 17; where there is none,
its tests are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.boundary import collect, needed
from tacit.cli import app
from tacit.engines import engine as engine_module
from tacit.engines.open import engine_of, opened_engine
from tacit.engines.threads import Threads
from tacit.screen_release import Screening
from tacit.sources.base import Source
from tacit.sources.csv_file import CsvFile
from tacit.sources.open import open_source

SCHEMA = tacit.Schema(y=(-1, 1), x=(0, 10), g=["a", "b"])
PLAN = tacit.Plan(tacit.LinearRegression("y ~ x + g"), SCHEMA, tacit.PureDP(1.0))
NO_JAVA = "NO JAVA: the Spark engine was NOT tested. `make system-deps` installs Java 17."


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    y[rng.random(n) < 0.1] = np.nan
    return pa.table({"y": y, "x": rng.normal(5, 4, n), "g": rng.choice(["a", "b", "?"], n)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    for i in range(4):
        pq.write_table(table(5000 + i, i), place / f"{i}.parquet", row_group_size=1000)
    return place


def sums(data, engine, progress=None):
    n, found = collect(open_source(data, *needed(PLAN)), PLAN, progress, engine)
    return n, found.totals


@contextmanager
def workers(count):
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def dask():
    with workers(2) as client:
        yield client


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        warnings.warn(NO_JAVA, stacklevel=1)
        pytest.skip(NO_JAVA)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2, 3]").appName("tacit-tests")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
        }.items():
            builder = builder.config(name, value)
        interrupt = signal.getsignal(signal.SIGINT)
        session = builder.getOrCreate()
        signal.signal(signal.SIGINT, interrupt)  # Spark puts its own in place, which other tests would find
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(params=["dask", "spark"])
def cluster(request):
    return engine_of(request.getfixturevalue(request.param))


def test_the_same_integers_on_three_engines(folder, cluster, monkeypatch):
    """Local, Dask and Spark, to the last bit; files cut into runs of row groups; a release made for real."""
    expected = sums(folder, Threads(2))
    assert expected == sums(pa.concat_tables([table(5000 + i, i) for i in range(4)]), Threads(1))
    monkeypatch.setattr(engine_module, "_PIECE_ROWS", 3000)
    seen = []
    assert sums(folder, cluster, seen.append) == expected
    assert sum(seen) == expected[0]
    assert len(seen) == 8
    release = tacit.privatize(folder, PLAN, ledger=None, engine=cluster)
    assert release.n == expected[0]


def test_a_screen_counts_the_same_on_three_engines(folder, cluster):
    asked = Screening.of(PLAN, tacit.PureDP(1.0))
    source = open_source(folder, *needed(asked))
    (n, here), (again, there) = (collect(source, asked, None, engine) for engine in (Threads(2), cluster))
    assert (n, here.totals) == (again, there.totals)
    assert min(here.totals[:4]) == 0 < max(here.totals), "some classes are empty, others are not"
    assert tacit.screen(folder, PLAN, epsilon=1.0, ledger=None, engine=cluster).n == n


class Flaky(CsvFile):
    """A file that fails, or kills whoever reads it, the first time."""

    def pulls(self, schema, columns, batch_rows):
        marker = Path(f"{self.path}.tried")
        if self.start == self.body and not marker.exists():
            marker.write_text(str(os.getpid()))
            if self.path.name.startswith("deadly"):
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("canary")
        time.sleep(0.05)
        yield from super().pulls(schema, columns, batch_rows)

    def pieces(self, columns, least_rows):
        return tuple(Flaky(**vars(piece)) for piece in super().pieces(columns, least_rows))


def flaky(tmp_path, monkeypatch, name):
    path = tmp_path / name
    table(4000, 1).to_pandas().to_csv(path, index=False)
    expected = sums(path, Threads(1))
    monkeypatch.setattr("tacit.sources.csv_file._PIECE_BYTES", 20_000)
    plain = open_source(path, *needed(PLAN))
    source: Source = Flaky(**vars(plain))
    assert len(source.pieces(needed(PLAN)[0], 1)) > 5
    return source, expected


def by_value(monkeypatch):
    """Workers can not import this file: what is defined here is sent whole."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark import cloudpickle as sparks
    sparks.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize("name", ["fails-once.csv", "deadly.csv"])
def test_a_worker_that_dies_and_a_task_that_fails_once(tmp_path, cluster, monkeypatch, name):
    """The planted fault is the worker itself: the piece is run again and counts once."""
    by_value(monkeypatch)
    source, expected = flaky(tmp_path, monkeypatch, name)
    n, found = collect(source, PLAN, None, cluster)
    assert Path(f"{source.path}.tried").exists(), "the fault struck"
    assert (n, found.totals) == expected


def test_all_of_dasks_workers_die(tmp_path, monkeypatch):
    """What a task needs comes with it: nothing that only dead workers held is missing when it runs again."""
    by_value(monkeypatch)
    source, expected = flaky(tmp_path, monkeypatch, "deadly.csv")
    with workers(1) as client:
        n, found = collect(source, PLAN, None, engine_of(client))
    assert Path(f"{source.path}.tried").exists(), "the fault struck"
    assert (n, found.totals) == expected


def test_a_file_that_breaks_after_the_charge(tmp_path, cluster):
    """One sentence with the file's name, one charge, no release."""
    path = tmp_path / "d.parquet"
    pq.write_table(table(3000, 2), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[60 : len(content) // 2] = b"\xff" * (len(content) // 2 - 60)
    path.write_bytes(bytes(content))
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("d", tacit.PureDP(3.0))
    with pytest.raises(tacit.InputError, match=r"d\.parquet' to be readable to its end") as caught:
        tacit.privatize(path, PLAN, ledger=ledger, dataset="d", engine=cluster)
    assert caught.value.__context__ is None
    assert [entry.kind for entry in ledger.entries("d")].count("spend") == 1


def test_the_command_line_takes_a_running_dask_cluster(folder, dask, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    words = ["privatize", str(tmp_path / "plan.toml"), str(folder), "-o", str(tmp_path / "out.json"), "--no-ledger"]
    app([*words, "--engine", dask.scheduler.address], standalone_mode=False)
    assert tacit.Release.load(tmp_path / "out.json").n == 20_006
    with pytest.raises(tacit.InputError, match="scheduler that answers"), opened_engine("tcp://127.0.0.1:9"):
        pass


def test_without_java_the_spark_engine_says_so(tmp_path):
    """A machine without Java, played by an empty path: one sentence, not a traceback."""
    pytest.importorskip("pyspark")
    script = "import tacit.engines.open as o\nwith o.opened_engine('spark'): pass"
    empty = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=empty, timeout=60)
    assert done.returncode == 1
    assert "InputError: Expected engine='spark' to start, which needs Java 17" in done.stderr
