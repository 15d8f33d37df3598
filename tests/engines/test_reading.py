"""Once rows are read: silence, one fixed sentence for a fault, as many rows as announced, progress in equal steps."""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.boundary import collect, needed
from tacit.engines import reading
from tacit.engines.clusters import Cluster
from tacit.engines.engine import UNFINISHED
from tacit.engines.reading import announced, guarded
from tacit.engines.threads import Threads
from tacit.errors import BROKEN, NO_ROWS, BrokenMediumError, InputError, RefusedError
from tacit.mechanisms.noisy_rank import NoisyRanks
from tacit.protocols.local_randomizer import LatticeNumber
from tacit.sources import csv_file
from tacit.sources.base import broken
from tacit.sources.open import open_source
from tacit.statistics.power_sums import PowerSums

SCHEMA = tacit.Schema(x=(0, 10))
PLAN = tacit.Plan(tacit.Normal("x"), SCHEMA, tacit.PureDP(1.0))
PEOPLE = tacit.Plan(tacit.Normal("x"), SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=tacit.Person("who", 2, "person")))
DRAWS = tacit.Plan(
    tacit.LogisticRegression("y ~ x"),
    tacit.Schema(x=(0, 10), y=["no", "yes"]),
    tacit.GDP(1.0),
    tacit.PosteriorSample(draws=1),
)
LOCAL = tacit.Plan(tacit.Normal("x"), SCHEMA, tacit.PureDP(1.0), tacit.Local())


def table(n=40):
    return pa.table(
        {
            "x": [float(i % 11) for i in range(n)],
            "who": [f"p{i % 7}" for i in range(n)],
            "y": ["no", "yes"] * (n // 2),
        }
    )


def files(folder, suffix):
    """Two files of 40 rows in all."""
    folder.mkdir()
    for i in range(2):
        part = table().slice(20 * i, 20)
        if suffix == ".csv":
            part.to_pandas().to_csv(folder / f"{i}.csv", index=False)
        elif suffix == ".parquet":
            pq.write_table(part, folder / f"{i}.parquet", row_group_size=5)
        else:
            feather.write_feather(part, folder / f"{i}.arrow", compression="uncompressed")
    return folder


WAYS = {
    "privatize": lambda data: tacit.privatize(data, PLAN, ledger=None),
    "partial": lambda data: tacit.partial(data, PLAN, dataset="d"),
    "people": lambda data: tacit.privatize(data, PEOPLE, ledger=None),
    "threads": lambda data: tacit.privatize(data, PLAN, ledger=None, engine=Threads(3)),
    "bounds": lambda data: tacit.bounds(data, "x", within=(0, 100), epsilon=1.0, ledger=None),
    "randomize": lambda data: tacit.randomize_rows(data, LOCAL, dataset="d"),
}
READERS = {"bounds": (NoisyRanks, "counts"), "randomize": (LatticeNumber, "encode")}


@pytest.fixture
def small_pieces(monkeypatch):
    """So that threads have something to share."""
    monkeypatch.setattr("tacit.engines.threads._SMALL", 1)
    monkeypatch.setattr("tacit.engines.engine._PIECE_ROWS", 5)
    monkeypatch.setattr(csv_file, "_PIECE_BYTES", 64)


# ---------------------------------------------------------------------------------------------------------------------
# A fault says nothing


@pytest.mark.parametrize("fault", [InputError, RefusedError, RuntimeError, FloatingPointError, MemoryError])
@pytest.mark.parametrize("way", WAYS)
def test_no_error_comes_out_once_rows_are_read_but_a_broken_medium(way, fault, monkeypatch, tmp_path, small_pieces):
    """Before, every `TacitError` passed, with whatever its message told."""

    def fail(*_args, **_more):
        raise fault("Expected canary=77 to be quiet.")

    folder = files(tmp_path / "rows", ".parquet")
    monkeypatch.setattr(*READERS.get(way, (PowerSums, "batch_sum")), fail)
    if way == "partial":  # its lattice is looked at first, by made-up rows
        monkeypatch.setattr("tacit.boundary.Measure.of", lambda plan: None)
    with pytest.raises(BrokenMediumError) as caught:
        WAYS[way](folder)
    assert str(caught.value) == BROKEN
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    frame = caught.value.__traceback__
    while frame is not None:
        assert frame.tb_frame.f_code.co_name != "fail", "its frames would hold rows"
        frame = frame.tb_next


def test_a_fault_of_the_crossing_is_the_same_sentence(monkeypatch):
    def fail(*_args):
        raise InputError("Expected canary=77 to be quiet.")

    monkeypatch.setattr("tacit.mechanisms.add_noise.NoisySums.cross", fail)
    with pytest.raises(BrokenMediumError) as caught:
        tacit.privatize(table(), PLAN, ledger=None)
    assert str(caught.value) == BROKEN


def test_a_broken_medium_is_told_by_its_label_alone(tmp_path, small_pieces):
    folder = files(tmp_path / "rows", ".parquet")
    source = open_source(folder, *needed(PLAN))
    whole = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[:4] + b"\0" * 300 + whole[304:])
    for engine in (Threads(1), Threads(3)):
        with pytest.raises(BrokenMediumError) as caught:
            guarded(lambda engine=engine: collect(source, PLAN, None, engine))
        assert str(caught.value) in {str(broken(label)) for label in source.labels}
        assert caught.value.__context__ is None


# ---------------------------------------------------------------------------------------------------------------------
# Silence


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("errors", ["warn", "raise", "call"])
def test_no_warning_comes_out_while_rows_are_read(way, errors, monkeypatch, tmp_path, small_pieces):
    """NumPy's settings are a thread's own: each thread must be silent. pytest turns what comes out into an error."""
    where, name = READERS.get(way, (PowerSums, "batch_sum"))
    plain = getattr(where, name)
    seen = set()

    def noisy(self, *args):
        seen.add(threading.get_ident())
        np.array([0.0, 1.0]) / np.array([0.0])
        np.array([1e308]) * 10
        warnings.warn("canary 77", stacklevel=1)
        return plain(self, *args)

    monkeypatch.setattr(where, name, noisy)
    if way == "partial":
        monkeypatch.setattr("tacit.partial_sums._probe", lambda *_: "")
    folder = files(tmp_path / "rows", ".parquet")
    before = list(warnings.filters)
    called = []
    with np.errstate(all=errors, call=lambda *told: called.append(told)):
        WAYS[way](folder)
    assert called == []
    assert warnings.filters == before, "as they were"
    assert seen
    if way == "threads":
        assert threading.get_ident() not in seen


def test_filters_are_put_back_by_the_last_thread():
    """Several threads come and go; in between nobody's warning passes, afterwards everybody's does."""
    inside, leave = threading.Barrier(3), threading.Event()
    caught = []

    def work():
        with reading.silence():
            inside.wait()
            leave.wait()
            try:
                warnings.warn("canary", stacklevel=1)
            except UserWarning as error:
                caught.append(error)

    before = list(warnings.filters)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    with reading.silence():
        inside.wait()
    leave.set()
    for thread in threads:
        thread.join()
    assert caught == []
    assert warnings.filters == before
    with pytest.raises(UserWarning):
        warnings.warn("canary", stacklevel=1)


# ---------------------------------------------------------------------------------------------------------------------
# As many rows as announced


def sources(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table())
        connection.execute("create table t as select * from given")
    connection = duckdb.connect(str(path), read_only=True)
    parquet = files(tmp_path / "parquet", ".parquet")
    pq.write_table(table(), tmp_path / "one.parquet")
    return {
        "dict": table().to_pydict(),
        "pandas": pandas.DataFrame(table().to_pydict()),
        "polars": polars.from_arrow(table()),
        "table": table(),
        "stream": table().to_reader(),
        "csv": files(tmp_path / "csv", ".csv"),
        "parquet": parquet,
        "one file": tmp_path / "one.parquet",
        "arrow": files(tmp_path / "arrow", ".arrow"),
        "dataset": ds.dataset(parquet),
        "database": path,
        "relation": connection.table("t"),
    }


@dataclass(frozen=True)
class Losing(Threads):
    """The planted fault: an engine that loses a row."""

    def run(self, job, progress):
        n, sums = super().run(job, progress)
        return n - 1, sums


def test_rows_that_were_announced_are_compared_with_rows_that_were_read(tmp_path, monkeypatch, small_pieces):
    """For every source, sums, people and draws. Before, most sources were believed, and some told both numbers."""
    known = 0
    for name, data in sources(tmp_path).items():
        for plan in (PLAN, PEOPLE, DRAWS):
            if name == "stream" and plan is not PLAN:
                continue
            source = open_source(data if name != "stream" else table().to_reader(), *needed(plan))
            told = announced(source, needed(plan)[0])
            assert (told.rows is None) is (name in {"stream", "csv", "polars"}), name
            n, _ = collect(source, plan, None, Threads(2), told)
            assert n == (7 if plan is PEOPLE else 40), (name, plan, n)
            for off in (-1, 1) if told.rows is not None else ():
                known += 1
                with pytest.raises(BrokenMediumError) as caught:
                    collect(source, plan, None, Threads(2), reading.Announced(told.rows + off, told.files))
                assert str(caught.value) == str(broken(source.label))
                assert not any(str(number) in str(caught.value).replace(source.label, "") for number in (39, 40, 41))
            if told.rows is not None and plan is PLAN:
                with pytest.raises(BrokenMediumError):
                    collect(source, plan, None, Losing(1), told)
    assert known >= 40


@pytest.mark.parametrize("way", WAYS)
def test_a_length_that_lies_ends_every_way_of_reading(way, tmp_path, monkeypatch):
    """Through the public functions: a footer, a length or a count that says one row too many."""
    plain = tacit.sources.arrow_rows.ArrowRows.rows
    monkeypatch.setattr(tacit.sources.arrow_rows.ArrowRows, "rows", lambda self, columns: plain(self, columns) + 1)
    with pytest.raises(BrokenMediumError) as caught:
        WAYS[way](files(tmp_path / "rows", ".parquet"))
    message = str(caught.value)
    assert "40" not in message
    assert "41" not in message


def test_a_frame_that_grows_or_shrinks_meanwhile(monkeypatch):
    for change in (lambda rows: rows.append(1.0), lambda rows: rows.pop()):
        rows = [1.0, 2.0, 3.0]
        source = open_source({"x": rows}, *needed(PLAN))
        told = announced(source, ["x"])
        change(rows)
        with pytest.raises(BrokenMediumError):
            guarded(lambda source=source, told=told: collect(source, PLAN, None, None, told))


CHANGES = {
    "longer": lambda path, whole: path.write_bytes(whole + whole[-20:]),
    "shorter": lambda path, whole: path.write_bytes(whole[:-20]),
    "gone": lambda path, _: path.unlink(),
    "other content": lambda path, whole: path.write_bytes(whole.replace(b"1", b"2")),
    "another file": lambda path, whole: [path.rename(f"{path}.old"), path.write_bytes(whole)],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_file_that_is_not_the_one_that_was_checked(tmp_path, suffix, change):
    """A CSV file announces no number of rows; which file it is, how long and since when takes its place."""
    folder = files(tmp_path / "rows", suffix)
    path = folder / f"1{suffix}"
    source = open_source(folder, *needed(PLAN))
    told = announced(source, ["x"])
    old = path.stat()
    CHANGES[change](path, path.read_bytes())
    if path.exists():
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns + (1 if change == "other content" else 0)))
    with pytest.raises(BrokenMediumError) as caught:
        guarded(lambda: collect(source, PLAN, None, None, told))
    assert str(caught.value) in {str(broken(label)) for label in source.labels}


def test_a_stream_without_rows_is_told_as_such():
    with pytest.raises(BrokenMediumError, match="at least one row"):
        tacit.privatize(table(0).to_reader(), PLAN, ledger=None)
    assert NO_ROWS.endswith("at least one row.")


# ---------------------------------------------------------------------------------------------------------------------
# Progress


@pytest.mark.parametrize("way", ["privatize", "bounds"])
def test_progress_does_not_tell_how_long_texts_are(tmp_path, monkeypatch, way):
    """Before, `bounds` told the rows of each block, which depend on a column that the plan does not read."""
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(reading, "STEP", 16)
    told = []
    for note in ("short", "a long story about one person" * 20):
        path = tmp_path / "d.csv"
        path.write_text("x,note\n" + "".join(f"{i % 7},{note if i == 5 else ''}\n" for i in range(100)))
        seen = []
        if way == "bounds":
            tacit.bounds(path, "x", within=(0, 100), epsilon=1.0, ledger=None, progress=seen.append)
        else:
            tacit.privatize(path, PLAN, ledger=None, progress=seen.append)
        told.append(seen)
    assert told[0] == told[1] == [16] * 6 + [4]


# ---------------------------------------------------------------------------------------------------------------------
# Clusters


@dataclass(frozen=True)
class Quoting(Cluster):
    """A cluster that fails with an error of its own, which may quote anything."""

    words: str

    @property
    def name(self):
        return "quoting"

    def ask(self, piece):
        return tacit.__version__, True

    def tallies(self, job, pieces):
        raise RuntimeError(self.words)
        yield


def test_of_a_cluster_s_words_only_our_own_sentences_are_said(tmp_path):
    """Before, whatever looked like a sentence of tacit's was said, a row's text included."""
    folder = files(tmp_path / "rows", ".csv")
    source = open_source(folder, *needed(PLAN))
    ours = str(broken(source.labels[-1]))
    for words, said in (
        ("tacit.errors.InputError: Expected age=77 to be canary.\n", UNFINISHED),
        ("tacit.errors.BrokenMediumError: Expected age=77 to be canary.\n", UNFINISHED),
        (f"Traceback\n tacit.errors.BrokenMediumError: {ours}\n canary", ours),
        (f"... {BROKEN} canary", BROKEN),
    ):
        with pytest.raises(BrokenMediumError) as caught:
            collect(source, PLAN, None, Quoting(words))
        assert str(caught.value) == said
        assert caught.value.__context__ is None
