"""The same integers whoever reads the rows, and never a release over part of them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.boundary import _job, collect, needed
from tacit.engines import engine as engine_module
from tacit.engines import threads as threads_module
from tacit.engines.clusters import Cluster
from tacit.engines.engine import Tally, gather, tally
from tacit.engines.open import engine_of, opened_engine
from tacit.engines.threads import Threads
from tacit.errors import BROKEN, BrokenMediumError
from tacit.runtime.progress import pace
from tacit.sources import csv_file
from tacit.sources.open import open_source
from tacit.statistics.counts import Counts
from tacit.statistics.gram import Gram

SCHEMA = tacit.Schema(y=(-1, 1), x=(0, 10), g=["a", "b"])
PLAN = tacit.Plan(tacit.LinearRegression("y ~ x + g"), SCHEMA, tacit.PureDP(1.0))


def opened(data, plan=PLAN):
    return open_source(data, *needed(plan))


def sums(data, plan=PLAN, engine=None):
    n, found = collect(opened(data, plan), plan, None, engine or Threads(1))
    return n, found.totals


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    y[rng.random(n) < 0.1] = np.nan
    x = pa.array(rng.integers(-2, 13, n), mask=rng.random(n) < 0.1)
    return pa.table({"y": y, "x": x, "g": rng.choice(["a", "b", "?"], n)})


def write(table, folder, name):
    path = folder / name
    if name.endswith(".csv"):
        frame = table.to_pandas()
        frame["x"] = frame["x"].astype("Int64")
        frame.to_csv(path, index=False)
    elif name.endswith(".feather"):
        feather.write_feather(table, str(path), chunksize=17)
    else:
        pq.write_table(table, path, row_group_size=23)
    return path


@given(
    n=st.integers(1, 300),
    seed=st.integers(0, 2**32),
    batch=st.integers(1, 200),
    threads=st.integers(2, 4),
    piece=st.integers(1, 100),
    files=st.integers(1, 4),
    name=st.sampled_from(["d.parquet", "d.csv", "d.feather", "table", "stream", "pandas", "dataset"]),
)
@settings(max_examples=120, deadline=None)
def test_the_same_integers_every_way(tmp_path_factory, n, seed, batch, threads, piece, files, name):
    """Fresh entropy. Formats, files, batches, pieces, threads and the order of rows change nothing, to the last bit.

    The planted fault is in `test_a_lost_row_is_noticed`: the comparison tells sums apart that differ in one row.
    """
    table = rows(n, seed)
    expected = sums(table)
    shuffled = table.take(np.random.default_rng(seed).permutation(n))
    folder = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "_MOST_ROWS", batch)
        patch.setattr(engine_module, "_PIECE_ROWS", piece)
        patch.setattr(csv_file, "_PIECE_BYTES", 40 * piece)
        patch.setattr(threads_module, "_SMALL", 0)
        if "." in name:
            cuts = np.linspace(0, n, files + 1).astype(int)
            for i in range(files):
                write(shuffled.slice(cuts[i], cuts[i + 1] - cuts[i]), folder, f"{i}{name}")
            data = folder
        elif name == "dataset":
            data = ds.dataset(write(shuffled, folder, "d.parquet"))
        else:
            data = {"table": shuffled, "stream": shuffled.to_reader(batch), "pandas": shuffled.to_pandas()}[name]
        assert sums(data, engine=Threads(threads)) == expected


def test_a_lost_row_is_noticed():
    table = rows(1000)
    assert sums(table.slice(1)) != sums(table)
    twice = pa.concat_tables([table, table.slice(0, 1)])
    assert sums(twice) != sums(table)


@pytest.mark.parametrize(
    "model",
    [
        tacit.Categorical("g"),
        tacit.Bernoulli("g"),
        tacit.Normal("y"),
        tacit.LogisticRegression("g ~ x + y"),
        tacit.Poisson("x"),
    ],
    ids=lambda model: model.family,
)
def test_every_statistic_can_be_sent_and_added_up(tmp_path, model, monkeypatch):
    """Through pickle and back, as clusters send it, piece by piece and twice as many rows as a batch holds."""
    plan = tacit.Plan(model, SCHEMA, tacit.ZCDP(0.5))
    pq.write_table(rows(500), tmp_path / "d.parquet", row_group_size=60)
    monkeypatch.setattr(engine_module, "_MOST_ROWS", 30)
    monkeypatch.setattr(engine_module, "_PIECE_ROWS", 60)
    source = opened(tmp_path / "d.parquet", plan)
    job = _job(source, plan)
    pieces = job.pieces()
    assert len(pieces) == 9
    sent = pickle.loads(pickle.dumps([(job, piece) for piece in pieces]))
    n, found = gather(job, 9, [tally(i, piece, light) for i, (light, piece) in enumerate(sent)])
    assert (n, found.totals) == sums(rows(500), plan)


def test_what_is_sent_is_small():
    """What a statistic has derived stays here: 20,502 entries of 200 covariates would be megabytes a task."""
    names = [f"x{i}" for i in range(60)]
    schema = tacit.Schema(dict.fromkeys([*names, "y"], (-1, 1)))
    plan = tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names)), schema, tacit.ZCDP(0.5))
    statistic = plan.statistic()
    assert len(statistic.entries) > 1800
    assert len(pickle.dumps(statistic)) < 20_000
    assert pickle.loads(pickle.dumps(statistic)) == statistic


# ---------------------------------------------------------------------------------------------------------------------
# Putting together


def job_of(table=None):
    return _job(opened(rows(10) if table is None else table), PLAN)


def test_a_piece_counts_once_and_none_is_missing():
    job = job_of()
    width = len(job.empty.totals)
    tallies = [Tally(i, 10, [i + 1] * width) for i in range(3)]
    assert gather(job, 3, tallies)[0] == 30
    assert gather(job, 3, tallies)[1].totals == [6] * width
    n, found = gather(job, 3, [tallies[1], *reversed(tallies), tallies[0]])
    assert (n, found.totals) == (30, [6] * width), "a piece that was run again counts once"
    with pytest.raises(tacit.InputError, match=r"every piece .* the budget counts as spent"):
        gather(job, 3, tallies[:2])
    with pytest.raises(tacit.InputError, match=r"every piece"):
        gather(job, 2, tallies)
    with pytest.raises(tacit.InputError, match="the budget counts as spent"):
        gather(job, 3, [*tallies, Tally(0, 11, [1] * width)])
    seen = []
    gather(job, 3, [*tallies, *tallies], seen.append)
    assert seen == [10, 10, 10]


class LossyCluster(Cluster):
    """A cluster made of this process, whose results ``edit`` tampers with."""

    def __init__(self, edit):
        object.__setattr__(self, "edit", edit)

    @property
    def name(self):
        return "lossy"

    def ask(self, piece):
        return tacit.__version__, True

    def tallies(self, job, pieces):
        return self.edit([tally(i, piece, job) for i, piece in enumerate(pieces)])


def raising(error):
    def edit(_found):
        raise error

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda found: found, None),
        (lambda found: found * 2, None),
        (lambda found: found[1:], "every piece"),
        (raising(RuntimeError("canary 7731")), "every piece"),
        (raising(BrokenMediumError("Expected data='d' to be readable to its end.")), "readable"),
        (raising(RuntimeError(f"x\ntacit.errors.BrokenMediumError: {BROKEN}\ncanary")), "readable"),
        (raising(tacit.InputError("Expected data='canary' to be readable to its end.")), "every piece"),
        (raising(RuntimeError("x\ntacit.errors.InputError: Expected canary=7 to be readable.\nmore")), "every piece"),
    ],
)
def test_a_release_is_of_everything_or_is_not_made(tmp_path, monkeypatch, edit, said):
    """Whatever a cluster loses or repeats: the right integers, or one sentence, and one charge."""
    monkeypatch.setattr(engine_module, "_PIECE_ROWS", 50)
    path = tmp_path / "d.parquet"
    pq.write_table(rows(200), path, row_group_size=50)
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("d", tacit.PureDP(3.0))
    cluster = LossyCluster(edit)
    if said is None:
        assert tacit.privatize(path, PLAN, ledger=ledger, dataset="d", engine=cluster).n == 200
        assert sums(path, engine=cluster) == sums(rows(200))
    else:
        with pytest.raises(tacit.InputError, match=said) as caught:
            tacit.privatize(path, PLAN, ledger=ledger, dataset="d", engine=cluster)
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None
    assert [entry.kind for entry in ledger.entries("d")].count("spend") == 1


@pytest.mark.parametrize("name", ["d.parquet", "d.csv"])
@pytest.mark.parametrize("fault", ["version", "results"])
def test_a_cluster_that_fails_does_so_for_a_table_without_rows_too(tmp_path, monkeypatch, name, fault):
    """Where the number of rows is a secret, a table of one row and none end alike: refused, or paid and broken."""
    counted = tacit.Plan(tacit.Bernoulli("g"), SCHEMA, tacit.PureDP(1.0, neighbours="add-remove"))
    if fault == "version":
        monkeypatch.setattr(LossyCluster, "ask", lambda self, piece: ("0.0.1", True))
    cluster, said = LossyCluster(lambda found: found[1:]), set()
    for n in (0, 1):
        table = pa.table({"g": pa.array(["a"] * n, pa.string()), "x": pa.array([1] * n, pa.int64())})
        if name.endswith("csv"):
            (tmp_path / name).write_text("g,x\n" + "a,1\n" * n)
        else:
            with pq.ParquetWriter(tmp_path / name, table.schema) as writer:
                if n:
                    writer.write_table(table)
        with pytest.raises(tacit.InputError) as caught:
            tacit.privatize(tmp_path / name, counted, ledger=None, engine=cluster)
        said.add(str(caught.value))
    assert len(said) == 1


def test_refused_before_anything_is_paid(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("d", tacit.PureDP(3.0))
    ledger.new_dataset("p", tacit.PureDP(3.0), "who")
    path = tmp_path / "d.parquet"
    pq.write_table(rows(10).append_column("who", pa.array(["p"] * 10)), path)
    person = tacit.Plan(PLAN.model, SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=tacit.Person("who", 1)))
    cluster = LossyCluster(lambda found: found)

    def refused(data, plan, engine, dataset="d"):
        with pytest.raises(tacit.InputError) as caught:
            tacit.privatize(data, plan, ledger=ledger, dataset=dataset, engine=engine)
        return str(caught.value)

    assert "'local', a Dask Client or a SparkSession".replace("'", '"') in refused(path, PLAN, "cluster")
    assert "a Dask Client" in refused(path, PLAN, 7)
    assert "only files can be read by workers" in refused(rows(10), PLAN, cluster)
    assert "brings the rows of a person together" in refused(path, person, cluster, "p")

    class Old(LossyCluster):
        def ask(self, piece):
            return "0.0.1", True

    class Elsewhere(LossyCluster):
        def ask(self, piece):
            return tacit.__version__, False

    class Dead(LossyCluster):
        def ask(self, piece):
            raise OSError("canary")

    assert "that can import tacit" in refused(path, PLAN, Old(None))
    assert "that can import tacit" in refused(path, PLAN, Dead(None))
    assert "that can read" in refused(path, PLAN, Elsewhere(None))
    assert all(entry.kind != "spend" for entry in ledger.entries())


@pytest.mark.parametrize("count", [0, -1, 1.5, True, 5000])
def test_numbers_of_threads(count):
    with pytest.raises(tacit.InputError, match="threads"):
        Threads(count)


def test_names_of_engines(tmp_path):
    assert engine_of("local") == Threads()
    with opened_engine("local") as found:
        assert found == Threads()
    with pytest.raises(tacit.InputError, match=r"did you mean 'spark'"), opened_engine("sparc"):
        pass


# ---------------------------------------------------------------------------------------------------------------------
# Threads


@pytest.fixture
def large(tmp_path):
    """Enough rows for threads: 3 x 2^17, in 12 row groups and in two CSV files."""
    table = rows(3 * 2**17)
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=2**15)
    return table, tmp_path / "d.parquet"


def test_threads_are_used_and_end(large, monkeypatch):
    """Each source is added up by two threads, which are gone afterwards."""
    table, path = large
    monkeypatch.setattr(engine_module, "_PIECE_ROWS", 2**15)
    plain, expected = Gram.batch_sum, sums(table)
    seen, both = set(), threading.Barrier(2, timeout=60)

    def noted(self, columns):
        name = threading.current_thread().name + str(threading.get_ident())
        if name not in seen:
            seen.add(name)
            both.wait()  # on a busy computer one thread could do it all before the other begins
        return plain(self, columns)

    monkeypatch.setattr(Gram, "batch_sum", noted)
    for data in (path, table, table.to_reader(2**14)):
        seen.clear()
        assert sums(data, engine=Threads(2)) == expected
        assert len(seen) == 2
    assert [thread for thread in threading.enumerate() if thread.name == "tacit"] == []


@pytest.mark.parametrize("kind", ["path", "table"])
def test_a_fault_in_one_thread_stops_all(large, monkeypatch, tmp_path, kind):
    table, path = large
    monkeypatch.setattr(engine_module, "_PIECE_ROWS", 2**15)
    calls = []

    def faulty(self, columns):
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("canary")
        if len(calls) > 4:
            time.sleep(0.5)  # time for the fault to be noticed, on a busy computer too
        return [0] * len(self.entries)

    monkeypatch.setattr(Gram, "batch_sum", faulty)
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("d", tacit.PureDP(3.0))
    with pytest.raises(tacit.InputError, match="the budget counts as spent") as caught:
        tacit.privatize(path if kind == "path" else table, PLAN, ledger=ledger, dataset="d", engine=Threads(2))
    assert caught.value.__context__ is None
    assert [entry.kind for entry in ledger.entries("d")].count("spend") == 1
    assert len(calls) <= 8  # of 12
    assert [thread for thread in threading.enumerate() if thread.name == "tacit"] == []


def test_an_interrupt_stops_the_threads_and_leaves_no_release(large):
    """Ctrl-C while threads read: the child ends at once, with what it spent in the ledger and no release."""
    _, path = large
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(path), str(path.parent / "ledger.db")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "stopped [] True ['dataset', 'spend']\n", done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time, tacit, tacit.engines.threads
from tacit.engines import engine
from tacit.statistics.gram import Gram
engine._PIECE_ROWS = 2**15
schema = tacit.Schema(y=(-1, 1), x=(0, 10), g=["a", "b"])
plan = tacit.Plan(tacit.LinearRegression("y ~ x + g"), schema, tacit.PureDP(1.0))
calls = []
def slow(self, columns):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    return [0] * len(self.entries)
Gram.batch_sum = slow
ledger = tacit.Ledger.create(sys.argv[2])
ledger.new_dataset("d", tacit.PureDP(3.0))
try:
    tacit.privatize(sys.argv[1], plan, ledger=ledger, dataset="d", engine=tacit.engines.threads.Threads(2))
except KeyboardInterrupt:
    left = [thread.name for thread in threading.enumerate() if thread.name == "tacit"]
    print("stopped", left, 3 <= len(calls) <= 8, [entry.kind for entry in ledger.entries("d")])
"""


def test_progress_says_what_is_public(large):
    table, path = large

    class Bar:
        def __init__(self):
            self.total, self.done, self.threads = "?", 0, set()

        def expect(self, rows):
            self.total = rows

        def __call__(self, rows):
            self.done += rows
            self.threads.add(threading.current_thread())

    for data in (path, table, table.to_pandas()):
        bar = Bar()
        tacit.privatize(data, PLAN, ledger=None, engine=Threads(2), progress=bar)
        assert (bar.total, bar.done) == (table.num_rows, table.num_rows)
        assert bar.threads == {threading.main_thread()}
    bar = Bar()
    tacit.privatize(table.to_reader(), PLAN, ledger=None, progress=bar)
    assert (bar.total, bar.done) == (None, table.num_rows)


def test_a_person_s_rows_are_not_expected_in_public(tmp_path):
    plan = tacit.Plan(
        tacit.Categorical("g"), SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=tacit.Person("who", 2, "person"))
    )
    seen = []

    class Bar:
        def expect(self, rows):
            seen.append(("expect", rows))

        def __call__(self, rows):
            seen.append(rows)

    tacit.privatize({"who": ["p"] * 5 + ["q"], "g": ["a"] * 6}, plan, ledger=None, progress=Bar())
    assert seen == [("expect", None), 2]


def test_how_progress_is_worded():
    assert pace(0, None, 0.0, "rows") == "0 rows"
    assert pace(2_000_000, None, 2.0, "rows") == "2,000,000 rows, 1,000,000 rows/s"
    assert pace(2e6, 1e7, 2.0, "rows") == "2,000,000 of 10,000,000 rows, 1,000,000 rows/s, 8 s left"
    assert pace(2e6, 1e9, 2.0, "rows").endswith("17 min left")


def test_blas_is_held_to_one_thread_and_let_go():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    np.ones((2, 2)) @ np.ones((2, 2))
    before = counts()
    with threads_module._one_thread_of_blas():
        assert set(counts()) == {1}
    assert counts() == before


def test_one_batch_still_counts_its_rows(monkeypatch):
    """Small tables take no thread at all."""
    calls = []
    plan = tacit.Plan(tacit.Categorical("g"), SCHEMA, tacit.PureDP(1.0))
    plain = Counts.batch_sum
    monkeypatch.setattr(Counts, "batch_sum", lambda self, c: calls.append(threading.current_thread()) or plain(self, c))
    assert sums(rows(50), plan, Threads(2))[0] == 50
    assert calls == [threading.main_thread()]
