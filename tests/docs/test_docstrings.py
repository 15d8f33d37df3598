"""The examples in docstrings of public names run, and print what stands beneath them."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

import tacit

EXAMPLE = re.compile(r"```pycon\n(.*?)```", re.S)
RARE = {  # functions that need files of somebody else, many reports, or another release to show anything
    "calibrate",
    "calibrate_table",
    "compose",
    "migrate",
    "new_key",
    "next_cohort",
    "prior_predictive",
    "randomize_rows",
    "released_draws",
    "report",
    "write_report",
}
NEEDED = [name for name in tacit.__all__ if inspect.isfunction(getattr(tacit, name)) and name not in RARE]
NEEDED += ["Plan", "Schema", "PureDP", "ApproxDP", "ZCDP", "GDP", "RenyiDP", "Person", "Ledger"]
NEEDED += ["Mean", "Histogram", "Quantiles", "Shares", "Bernoulli", "Categorical"]
NEEDED += ["LinearRegression", "LogisticRegression", "PoissonRegression"]
SHOWN = [name for name in tacit.__all__ if "```pycon" in (getattr(tacit, name).__doc__ or "")]


def outcome(name, text):
    """How many lines of an example were tried, and how many of them said something else."""
    found = doctest.DocTestParser().get_doctest(text, {"tacit": tacit}, name, None, 0)
    said = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=said.append)
    return result.attempted, result.failed, "".join(said)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_prints_what_stands_beneath_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in EXAMPLE.findall(inspect.getdoc(getattr(tacit, name))):
        tried, failed, said = outcome(name, text)
        assert tried, "an example without a line to run"
        assert not failed, said


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_person_calls_has_an_example(name):
    assert name in SHOWN


def test_a_wrong_example_is_found():
    """The planted fault: a number that the code does not print, and a name that is not there."""
    assert outcome("planted", ">>> tacit.PureDP(epsilon=1.0).symbols\n'epsilon = 2'\n")[1] == 1
    assert outcome("planted", ">>> tacit.NoSuchThing()\n")[1] == 1


@pytest.mark.parametrize("name", ["privatize", "partial", "screen", "bounds", "randomize_rows"])
def test_rows_and_engines_have_types(name):
    """An editor can say what may be passed: nothing that reads rows takes `Any` for them."""
    hints = inspect.get_annotations(getattr(tacit, name))
    assert "Table" in hints["data"]
    assert hints.get("engine", "Engines") == "Engines"
