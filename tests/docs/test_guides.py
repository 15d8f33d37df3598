"""Getting started works as it is written, and the table of methods names the defaults."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit.infer import method_name
from tacit.models.registry import FAMILIES, SCORED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def blocks(page):
    """Every fenced block of a page that stands at the margin, as (language, text)."""
    return re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_getting_started_works_as_written(tmp_path):
    """Fresh entropy; what is asserted holds for every noise. Its commands in order, its plan in place of the blanks.

    The planted fault is the plan as `tacit init` leaves it, which `tacit check` must refuse.
    """
    tool = Path(sys.executable).parent / "tacit"

    def shell(text):
        script = "set -e\n" + re.sub(r"^tacit ", f"{tool} ", text, flags=re.MULTILINE)
        return subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)

    commands = 0
    printed = ""
    for language, text in blocks(DOCS / "getting-started.md"):
        if language == "python":
            done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        if language == "toml":
            assert shell("tacit check plan.toml").returncode == 2
            (tmp_path / "plan.toml").write_text(text)
        if language == "bash":
            if not (tmp_path / "posterior.nc").exists():
                commands += len(text.splitlines())
            done = shell(text)
            assert done.returncode == 0, done.stderr
            printed += done.stdout
    assert commands == 5
    assert "In the units of the data, for one more of each column:" in printed
    for name in ("release.json", "posterior.nc", "report.html", "ledger.db"):
        assert (tmp_path / name).stat().st_size > 0


SCHEMA = tacit.Schema(y=(0, 10), x=(0, 1), k=(0, 8), group=["a", "b"], three=["a", "b", "c"])
MODELS = {
    "`mean`": tacit.Mean("y"),
    "`mean` by group": tacit.Mean("y", by="group"),
    "`histogram`": tacit.Histogram("y", [2, 5]),
    "`quantiles`": tacit.Quantiles("y", [0.5], [2, 5]),
    "`shares`": tacit.Shares("three", by="group"),
    "`bernoulli`": tacit.Bernoulli("group"),
    "`categorical`": tacit.Categorical("three"),
    "`normal`": tacit.Normal("y"),
    "`normal-mean`": tacit.NormalMean("y", sd=1.0),
    "`exponential`": tacit.Exponential("y"),
    "`poisson`": tacit.Poisson("k"),
    "`geometric`": tacit.Geometric("k"),
    "`linear`, numbers and an intercept": tacit.LinearRegression("y ~ x"),
    "`linear` with levels, products, or without an intercept": tacit.LinearRegression("y ~ x + group"),
    "`logistic`, levels alone": tacit.LogisticRegression("group ~ three"),
    "`logistic` with numbers": tacit.LogisticRegression("group ~ x"),
    "`poisson-regression`": tacit.PoissonRegression("k ~ x"),
    "`varying`": tacit.VaryingRegression("y ~ (1 | three)"),
    "`varying-logistic`": tacit.VaryingLogisticRegression("group ~ (1 | three)"),
    "`survival`": tacit.SurvivalCurve("y", "group", [2, 5]),
    "`ordinal`": tacit.OrdinalRegression("three ~ x"),
    "`multinomial`": tacit.MultinomialRegression("three ~ x"),
    "`negative-binomial-regression`": tacit.NegativeBinomialRegression("k ~ x"),
    "`beta-binomial-regression`": tacit.BetaBinomialRegression("k ~ x"),
    "`gamma-regression`": tacit.GammaRegression("y ~ x"),
    "`student-regression`": tacit.StudentRegression("y ~ x"),
    "`weibull-survival`": tacit.WeibullSurvival("y ~ x", event="group"),
    "`exponential-survival`": tacit.ExponentialSurvival("y ~ x", event="group"),
}
ROWS = re.findall(
    r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \| `([a-z-]+)`([^|]*) \|",
    (DOCS / "choosing-a-method.md").read_text("utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize("name", MODELS)
def test_the_table_of_methods_names_the_default_and_methods_that_exist(name):
    """The planted fault is the next row's method, where it differs."""
    model = MODELS[name]
    rows = [row for row in ROWS if name == row[0] or name in row[0].split(", ")]
    assert rows, "the family is in the table"
    for families, evidence, rows_text, method, _ in rows:
        if "scores in rounds" in families:  # a kind of its own, with methods of its own
            assert method == next(iter(model.score_methods))
            continue
        if "scores of cohorts" in families:
            assert method == next(iter(model.cohort_methods))
            continue
        assert method in model.methods
        local = "report" in evidence and "release, report" not in evidence
        default = method_name(model, SCHEMA, None, central=not local, local="report" in evidence)
        if "up to" not in rows_text:
            assert method == default, (evidence, default)
            assert {*model.methods} - {method}, "another one would have been caught"


def test_the_table_knows_every_family():
    named = {family for row in ROWS for family in re.findall(r"`([a-z-]+)`", row[0])}
    assert named == {*FAMILIES, *SCORED}


def test_the_site_fetches_nothing_from_elsewhere():
    """The theme's search would load a script from another server when read from a disk; ours takes its place."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert re.search(r"^  polyfills:.*\n    - javascripts/iframe-worker\.js$", settings, re.MULTILINE)
    assert "font: false" in settings
    scripts = [*DOCS.rglob("*.js"), *DOCS.rglob("*.css"), ROOT / "mkdocs.yml"]
    assert scripts[0].name == "iframe-worker.js"
    assert not [path.name for path in scripts if "//" in re.sub(r"^\s*//.*", "", path.read_text(), flags=re.MULTILINE)]
