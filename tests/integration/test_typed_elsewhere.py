"""Who chose the types of a table cannot be seen in it: whatever reads one says that it assumes they did not look."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.privacy.assumptions import TYPED_ELSEWHERE
from tacit.sklearn import TacitClassifier

PLAN = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0))


def sources_of(folder):
    """The same rows, as text that tacit reads itself and as tables in which somebody else has chosen the types."""
    cells = ["a", "b", "c"] * 4
    table = rows = pa.table({"x": cells, "y": [1] * 12})  # noqa: F841 (DuckDB finds it)
    (folder / "text").mkdir()
    for name in ("0.csv", "1.csv"):
        (folder / "text" / name).write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    (folder / "rows.tsv").write_text("x\ty\n" + "".join(f"{cell}\t1\n" for cell in cells))
    (folder / "hive" / "y=1").mkdir(parents=True)
    pq.write_table(table.select(["x"]), folder / "hive" / "y=1" / "0.parquet")
    (folder / "files").mkdir()
    for name in ("0.parquet", "1.parquet"):
        pq.write_table(table, folder / "files" / name)
    feather.write_feather(table, str(folder / "rows.feather"))
    (folder / "ipc").mkdir()
    for name in ("0.arrow", "1.arrow"):
        feather.write_feather(table, str(folder / "ipc" / name))
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("create table people as select * from rows")
    memory = duckdb.connect()
    memory.execute("create table people as select * from rows")
    by_file = ds.dataset(folder / "files" / "0.parquet")
    texts = (
        *(folder / "text" / "0.csv", str(folder / "text" / "0.csv"), folder / "text", str(folder / "text" / "*.csv")),
        *([folder / "text" / "0.csv", folder / "text" / "1.csv"], folder / "rows.tsv"),
    )
    typed = (
        *(folder / "files" / "0.parquet", folder / "files", str(folder / "files" / "*.parquet"), folder / "hive"),
        *([folder / "files" / "0.parquet"], folder / "rows.feather", folder / "ipc" / "0.arrow", folder / "ipc"),
        *(by_file, ds.dataset([by_file]), ds.dataset(table), f"{folder / 'rows.duckdb'}::people"),
        *(memory.table("people"), table, table.to_reader(), table.to_batches()[0], pl.DataFrame({"x": cells})),
        *(pd.DataFrame({"x": cells}), {"x": cells}, {"x": np.array(cells)}, {"x": pa.array(cells)}),
    )
    return texts, typed


def test_a_release_of_rows_that_were_typed_elsewhere_says_what_it_assumes(tmp_path):
    """Who chose the types of a table, and by what, cannot be seen in it; text that tacit reads itself has none."""
    texts, typed = sources_of(tmp_path)
    for data in texts:
        release = tacit.privatize(data, PLAN, ledger=None)
        assert not release.guarantee.assumes
        assert "typed_elsewhere" not in release.to_plain()
    for data in typed:
        release = tacit.privatize(data, PLAN, ledger=None)
        assert release.guarantee.assumes == (TYPED_ELSEWHERE,)
        assert tacit.Release.from_json(release.to_json()) == release
        assert release.to_plain()["guarantee"]["assumes"] == [TYPED_ELSEWHERE]
    with pytest.raises(tacit.InputError, match="guarantee"):
        tacit.Release.from_plain({**release.to_plain(), "typed_elsewhere": False})
    posterior = tacit.infer(release, draws=50, chains=1, warmup=20)
    assert TYPED_ELSEWHERE in posterior.assumes
    assert TYPED_ELSEWHERE in tacit.report(posterior)


def test_whatever_reads_rows_says_what_it_assumes(tmp_path):
    """Screens, bounds, reports, draws: each from text and from Parquet."""
    (text, *_), (typed, *_) = sources_of(tmp_path)
    numbers = tacit.Plan(tacit.Normal("y"), tacit.Schema(y=(0, 2)), tacit.PureDP(1.0))
    local = tacit.Plan(PLAN.model, PLAN.schema, tacit.PureDP(1.0), tacit.Local())
    drawn = tacit.Plan(
        tacit.Bernoulli("y"), tacit.Schema(y=tacit.Category([0, 1])), tacit.ApproxDP(1.0, 1e-6), tacit.PosteriorSample()
    )
    for data, assumes in ((text, ()), (typed, (TYPED_ELSEWHERE,))):
        assert tacit.partial(data, PLAN, dataset="rows").typed_elsewhere is bool(assumes)
        bounds = tacit.bounds(data, "y", within=(0, 10), epsilon=1.0, ledger=None)
        assert (bounds.assumes, bounds.to_plain()["assumes"]) == (assumes, list(assumes))
        screen = tacit.screen(data, PLAN, ledger=None, epsilon=1.0)
        assert screen.guarantee.assumes == assumes
        assert screen.to_plain().get("assumes", []) == list(assumes)
        assert tacit.Screen.load(screen.save(tmp_path / "screen.json", overwrite=True)) == screen
        reports = tacit.randomize_rows(data, local, dataset="rows")
        again = tacit.Reports.load(reports.save(tmp_path / "reports.parquet", overwrite=True))
        other = tacit.randomize_rows(text, local, dataset="rows")
        for one in (reports, again, tacit.Reports.merge([other, again]), again.publish()):
            assert one.assumes == assumes
        assert type(again.publish()).from_plain(again.publish().to_plain()).assumes == assumes
        posterior = tacit.infer(again, draws=50, chains=1, warmup=20)
        assert (TYPED_ELSEWHERE in posterior.assumes) is bool(assumes)
        for plan in (numbers, drawn):
            release = tacit.privatize(data, plan, ledger=None)
            assert (TYPED_ELSEWHERE in release.guarantee.assumes) is bool(assumes)


def test_a_forged_assumption_of_a_screen_is_refused(tmp_path):
    plain = tacit.screen({"x": ["a", "b"]}, PLAN, ledger=None, epsilon=1.0).to_plain()
    for forged in ([], ["nothing"], None, True):
        with pytest.raises(tacit.InputError, match="assumes"):
            tacit.Screen.from_plain({**plain, "assumes": forged})
    with pytest.raises(tacit.InputError, match="typed_elsewhere"):
        tacit.Screen.from_plain({**plain, "typed_elsewhere": 1})


def test_files_of_before_load_and_say_what_they_said():
    """A frame had a sentence of its own. A partial that does not say may have been of any rows."""
    old = Path(__file__).parents[1] / "formats"
    release = tacit.Release.load(old / "release-1-frame.json")
    assert release.frame
    assert "how each cell is stored in the frame" in release.guarantee.assumes[0]
    assert tacit.Release.from_json(release.to_json()) == release
    assert json.loads((old / "release-1-frame.json").read_text()) == release.to_plain()
    assert not tacit.Release.load(old / "release-1.json").typed_elsewhere
    for name in ("partial-2.partial", "partial-2-frame.partial"):
        assert tacit.Partial.load(old / name).typed_elsewhere
    assert not tacit.Screen.load(old / "screen-1.json").guarantee.assumes


def test_a_pool_with_rows_typed_elsewhere_says_so(tmp_path):
    frame = tacit.partial({"x": ["a", "b"]}, PLAN, dataset="frame")
    (tmp_path / "rows.csv").write_text("x,y\na,1\n")
    file = tacit.partial(tmp_path / "rows.csv", PLAN, dataset="file")
    for one, typed in ((frame, True), (file, False)):
        path = one.save(tmp_path / f"{one.dataset}.partial")
        assert tacit.Partial.load(path) == one
        assert tacit.Partial.load(path).typed_elsewhere is typed
        assert tacit.privatize([path], PLAN, ledger=None).typed_elsewhere is typed
    pooled = tacit.privatize([frame, file], PLAN, ledger=None)
    assert len(pooled.guarantee.assumes) == 2


def test_the_command_line_says_what_is_assumed(tmp_path, monkeypatch):
    """Of the rows it was given, and, where there are none yet, of rows that are not text."""
    sources_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.toml")
    tacit.Plan(PLAN.model, PLAN.schema, PLAN.budget, tacit.Local()).save("local.toml")
    tacit.Plan(tacit.Normal("y"), tacit.Schema(y=(0, 2)), PLAN.budget).save("numbers.toml")

    def said(*words):
        done = CliRunner().invoke(app, [*words], env={"COLUMNS": "500"})
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    for data, assumed in (("text/0.csv", False), ("files/0.parquet", True), ("rows.duckdb::people", True)):
        many = "--no-ledger", "--overwrite"
        outputs = {
            "privatize": ("plan.toml", data, "-o", "r.json", *many),
            "screen": ("plan.toml", data, "--epsilon", "1", "-o", "s.json", *many),
            "bounds": (data, "--column", "y", "--within", "0", "9", "--epsilon", "1", "-o", "b.json", *many),
            "partial": ("plan.toml", data, "-o", "p.partial", "--dataset", "rows", "--overwrite"),
            "randomize": ("local.toml", data, "-o", "l.parquet", "--dataset", "rows", "--overwrite"),
        }
        for command, words in outputs.items():
            assert (f"Assumes: {TYPED_ELSEWHERE}." in said(command, *words)) is assumed, command
        pooled = said("privatize", "plan.toml", "p.partial", "-o", "r.json", *many)
        assert (f"Assumes: {TYPED_ELSEWHERE}." in pooled) is assumed
    for plan in ("plan.toml", "numbers.toml"):
        checked = said("check", plan)
        assert f"Assumes of rows that are not CSV or TSV files: {TYPED_ELSEWHERE}." in checked
        assert f"assuming: unless the rows are CSV or TSV files, {TYPED_ELSEWHERE}." in checked
        assert json.loads(said("check", plan, "--json"))["assumes_unless_text"] == [TYPED_ELSEWHERE]
    assert TYPED_ELSEWHERE not in said("check", "local.toml")


@pytest.mark.parametrize("kind", ["list", "array", "pandas", "polars", "arrow"])
def test_an_estimator_says_so_and_no_missing_response_changes_the_others(kind):
    """As an array, a column of integers with a missing one is of floats, which cannot hold this level."""
    plan = tacit.Plan(
        tacit.LogisticRegression("y ~ x"), tacit.Schema(y=tacit.Category([0, 2**53 + 1]), x=(0, 1)), tacit.PureDP(1.0)
    )
    estimator = TacitClassifier(plan, ledger=None, dataset="rows", draws=20, warmup=20, chains=1)
    column = {
        "list": list,
        "array": lambda cells: np.array(cells, object),
        "pandas": lambda cells: pd.Series(cells, dtype="Int64"),
        "polars": lambda cells: pl.Series(cells, dtype=pl.Int64),
        "arrow": lambda cells: pd.Series(cells, dtype="int64[pyarrow]"),
    }[kind]
    for last in (0, None):
        rows = estimator._table([[0.5]] * 3, column([0, 2**53 + 1, last]), plan)
        release = tacit.privatize(rows, plan, ledger=None)
        assert release.guarantee.assumes == (TYPED_ELSEWHERE,)
