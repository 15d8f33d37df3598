"""Fuzzing, for seconds: arbitrary plans, releases, posteriors, ledgers, rows and command lines. Fresh entropy.

No false alarm is possible: an example that breaks a promise is a counter-example. `fuzz.py` runs the same generators
for as long as one likes.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

import fuzz
import tacit


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_only_a_sentence_escapes(name):
    target = fuzz.TARGETS[name]
    seen: Counter[str] = Counter()

    @given(target.strategy)
    @settings(max_examples=target.examples, deadline=None, suppress_health_check=list(HealthCheck))
    def attempt(example):
        seen[target.check(example)] += 1

    attempt()
    assert seen.total() >= target.examples / 2


def test_both_good_and_bad_plans_are_drawn():
    """A generator that only makes refused plans would test little. Seed 1."""
    seen: Counter[str] = Counter()
    fuzz.run_target(fuzz.TARGETS["plans"], seed=1, examples=300, counts=seen)
    assert seen[fuzz.ACCEPTED] >= 10
    assert seen[fuzz.REFUSED] >= 50


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("plans", (tacit.Schema, "__init__")),
        ("release objects", (tacit.Release, "to_plain")),
        ("csv bytes", (tacit.Release, "__post_init__")),
    ],
)
def test_an_error_of_another_kind_is_caught(name, where, monkeypatch):
    """The planted fault: a TypeError from inside, and a canary in a sentence. Seed 1."""
    fuzz.bench()

    def broken(*_arguments, **_named):
        raise TypeError

    with monkeypatch.context() as patch:
        patch.setattr(*where, broken)
        with pytest.raises(TypeError):
            fuzz.run_target(fuzz.TARGETS[name], seed=1, examples=200, counts=Counter())
    with pytest.raises(AssertionError, match="canary"):
        fuzz.check_sentence(tacit.InputError(f"Expected cell={fuzz.CANARY!r} to be a number."))


def test_a_failure_stops_the_long_run(monkeypatch, capsys):
    """The planted fault: a check that fails."""

    def broken(_example):
        raise ValueError

    monkeypatch.setitem(fuzz.TARGETS, "plans", fuzz.Target(fuzz.TARGETS["plans"].strategy, broken, 5))
    monkeypatch.setattr(fuzz.sys, "argv", ["fuzz.py", "--minutes", "0.01", "--only", "plans", "--seed", "1"])
    assert fuzz.main() == 1
    assert "Broken: plans, seed 1." in capsys.readouterr().out
