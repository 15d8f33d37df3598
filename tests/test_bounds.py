"""Paid bounds: the price is true by enumeration, the ledger pays first, and rows with values decide nothing else."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.mechanisms.noisy_rank import NoisyRanks, noisy_choice, public_grid
from tacit.noise.entropy import OSEntropy
from tacit.schema import Number

TOOL = str(Path(sys.executable).parent / "tacit")
GRID = (0.0, 1.0, 2.0, 3.0)


# ---------------------------------------------------------------------------------------------------------------------
# The price, by enumeration


def sides(rows, n):
    """(here, inwards) of both ends for rows, None being a missing value; by the definition, not by the code."""
    below = [sum(v is not None and v < g for v in rows) for g in GRID]
    above = [sum(v is not None and v > g for v in rows) for g in GRID]
    return (below, [*below[1:], n]), (above, [n, *above[:-1]])


def distribution(losses, scale, reach=60):
    """The exact distribution of the winner of -d_i + Z_i, up to e^-60: for each value of Z_i all others lie below, or
    are equal and come later.
    """
    a = math.exp(-1 / scale)
    top = int(reach * scale)
    k = np.arange(-top - 40, top + 41)
    pmf = (1 - a) / (1 + a) * a ** np.abs(k)
    cdf = np.cumsum(pmf)
    found = []
    for i, own in enumerate(losses):
        total = np.array(pmf)
        for j, other in enumerate(losses):
            if j == i:
                continue
            # Z_j < Z_i - d_i + d_j if j comes first (it wins ties), else <=
            limit = k - own + other - (1 if j < i else 0)
            total = total * cdf[np.clip(limit - k[0], 0, len(k) - 1)]
        found.append(total.sum())
    return np.array(found)


def losses_of(here, inwards, target):
    return [max(a - target, target - b, 0) for a, b in zip(here, inwards, strict=True)]


def worst_ratio(scale, target, n=3):
    """The largest log ratio of any outcome over all neighbouring tables of n rows, of one end and then the other."""
    values = (-1.0, 0.0, 0.5, 1.5, 2.0, 9.0, None)
    laws = {}
    for rows in itertools.combinations_with_replacement(range(len(values)), n):
        both = sides([values[v] for v in rows], n)
        laws[rows] = [distribution(losses_of(*side, target), scale) for side in both]
    worst = 0.0
    for rows, own in laws.items():
        for place, other in itertools.product(range(n), range(len(values))):
            changed = laws[tuple(sorted((*rows[:place], other, *rows[place + 1 :])))]
            for p, q in zip(own, changed, strict=True):
                worst = max(worst, float(np.max(np.abs(np.log(p) - np.log(q)))))
    return worst


def test_no_pair_of_tables_costs_more_than_the_claim_and_a_smaller_claim_is_caught():
    """Exact: no false alarm. One end costs 2/s; the planted fault is the claim 1/s, that of a count alone."""
    for scale, target in itertools.product((1, 3), (1, 2)):
        worst = worst_ratio(scale, target)
        assert worst <= 2 / scale + 1e-9
        assert worst > 1.2 / scale, "the planted fault: 1/s is not enough"


def test_the_code_chooses_by_this_law():
    """Fresh entropy. 20,000 choices of both ends; alarm at 6 standard errors of any of 8 counts (below 1e-7). Planted
    fault: the noise distribution twice as large is rejected.
    """
    mechanism, rows, n, target = NoisyRanks(GRID, 3 * 2**16), [0.5, 1.5, 2.0, 2.0, None, 9.0], 6, 2
    counts = mechanism.counts(np.array([-5.0 if v is None else v for v in rows]), -5.0)
    expected = sides(rows, n)
    assert counts.tolist() == [expected[0][0], expected[1][0]]
    times = 20_000
    drawn = [mechanism.choose(counts, n, target, OSEntropy()) for _ in range(times)]
    for end in range(2):
        seen = np.array([sum(pair[end] == g for pair in drawn) for g in GRID]) / times
        # A unit of 2^16 steps is fine: the continuous limit of the lattice, here with 64 steps a row.
        fine = [64 * loss for loss in losses_of(*expected[end], target)]
        for scale, right in ((3 * 64, True), (6 * 64, False)):
            p = distribution(fine, scale, reach=12)
            inside = np.abs(seen - p) < 6 * np.sqrt(p * (1 - p) / times) + 0.002
            assert inside.all() == right


def test_ties_go_to_the_first_and_the_right_point_has_no_loss():
    assert noisy_choice([0, 1, 3], [1, 3, 5], 2, [0, 0, 0], 4) == 1
    assert noisy_choice([0, 0, 0], [0, 0, 0], 2, [5, 5, 5], 4) == 0
    assert noisy_choice([0, 1, 3], [1, 3, 5], 2, [0, 0, 9], 4) == 2


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7, 1e-3])
def test_the_event_meets_the_budget_and_hardly_less(epsilon):
    event = NoisyRanks.calibrate(GRID, epsilon).event()
    assert event.satisfies(tacit.PureDP(epsilon))
    assert event.epsilon() > Fraction(epsilon) * Fraction(999, 1000)


# ---------------------------------------------------------------------------------------------------------------------
# What comes out


def test_the_suggestion_leaves_few_outside_and_lies_close():
    """Fresh entropy. 20,000 rows at epsilon 1: each end misses its target by more than 60 rows with probability below
    1001 e^-30, so no false alarm. The planted fault is a target that ignores the noise, of 1 row at epsilon 0.01.
    """
    rows = {"x": np.random.default_rng(4).normal(500, 50, 20_000)}
    found = tacit.bounds(rows, "x", within=(0, 1000), epsilon=1.0, ledger=None)
    assert found.reliable
    assert found.outside == 100
    below, above = int(np.sum(rows["x"] < found.low)), int(np.sum(rows["x"] > found.high))
    assert 100 - 60 - 20 <= below <= 160
    assert 100 - 60 - 20 <= above <= 160
    assert NoisyRanks.calibrate(tuple(range(1001)), 0.01).least_target > 4000


def test_an_empty_range_is_hardly_ever_chosen():
    """Fresh entropy. All rows in one cell of 1,001; the probability of an end elsewhere is at most 5% a trial and end
    by the docstring. 60 trials, 2 ends: more than 20 misses have probability below 1e-6.
    """
    rows = {"x": np.full(400, 3.2)}
    found = [tacit.bounds(rows, "x", within=(0, 1000), epsilon=1.0, ledger=None) for _ in range(60)]
    assert all(one.reliable for one in found)
    missed = sum(one.low != 3.0 for one in found) + sum(one.high != 4.0 for one in found)
    assert missed <= 20


def test_too_few_rows_learn_nothing_and_say_so():
    found = tacit.bounds({"x": [1.0, 2.0, 3.0]}, "x", within=(0, 10), epsilon=0.1, ledger=None)
    assert not found.reliable
    assert (found.low, found.high) == (0, 10)


def test_missing_and_unreadable_cells_are_on_neither_side():
    mechanism = NoisyRanks(GRID, 2**16)
    assert mechanism.counts(np.array([-4.0, -4.0, 1.0]), -4.0).tolist() == [[0, 0, 1, 1], [1, 0, 0, 0]]
    cells = {"x": ["", "no number", "nan", None, *["5.5"] * 2000]}
    found = tacit.bounds(cells, "x", within=(0, 10), epsilon=5.0, ledger=None, points=10)
    assert (found.n, found.low, found.high) == (2004, 5, 6)


def test_grids_are_public_and_in_order():
    assert public_grid(Number(0, 10), "linear", 5) == (0, 2, 4, 6, 8, 10)
    log = public_grid(Number(0, 1000), "log", 5)
    assert {0, 1, 2, 5, 10, 1000} <= set(log)
    assert list(log) == sorted(set(log))
    assert public_grid(Number(-100, 100), "log", 5)[0] == -100
    assert min(public_grid(Number(3, 400), "log", 5)) == 3


# ---------------------------------------------------------------------------------------------------------------------
# The order of things


@pytest.fixture
def book(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("rows", tacit.PureDP(1.0))
    return ledger


def test_the_ledger_pays_before_a_row_is_read_and_notes_the_result(book, monkeypatch):
    paid_at = []
    counts = NoisyRanks.counts

    def watched(self, values, missing):
        paid_at.append(len(book.entries("rows")))
        return counts(self, values, missing)

    monkeypatch.setattr(NoisyRanks, "counts", watched)
    found = tacit.bounds({"x": [5.0] * 900}, "x", within=(0, 10), epsilon=0.75, ledger=book, dataset="rows")
    assert paid_at == [2]
    assert found.ledger["entry"] == 3
    assert [entry.content["kind"] for entry in book.entries("rows")] == ["dataset", "spend", "released"]
    with pytest.raises(tacit.RefusedError, match="room"):
        tacit.bounds({"x": [5.0] * 900}, "x", within=(0, 10), epsilon=0.75, ledger=book, dataset="rows")
    assert len(paid_at) == 1, "refused before a row was read"


def test_a_fault_while_reading_is_paid_for_and_says_nothing(book, monkeypatch):
    def broken(self, values, missing):
        raise RuntimeError("somebody earns 4711")

    monkeypatch.setattr(NoisyRanks, "counts", broken)
    with pytest.raises(tacit.InputError) as caught:
        tacit.bounds({"x": [5.0] * 9}, "x", within=(0, 10), epsilon=0.5, ledger=book, dataset="rows")
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(book.entries("rows")) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"within": (10, 0)}, "within="),
        ({"within": (0, math.inf)}, "within="),
        ({"within": (0, 1e305)}, "within="),
        ({"within": 3}, "within=3"),
        ({"epsilon": 0}, "epsilon"),
        ({"spacing": "cubic"}, "spacing='cubic'"),
        ({"points": 1}, "points=1"),
        ({"share": 0.5}, "share=0.5"),
        ({"column": "y"}, "column='y'"),
        ({"column": ""}, "column=''"),
        ({"dataset": None}, "dataset"),
        ({"dataset": "other"}, "other"),
        ({"ledger": 3}, "ledger=3"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_bad_input_is_refused_for_free(book, changes, said):
    words = {"column": "x", "within": (0, 10), "epsilon": 0.5, "ledger": book, "dataset": "rows", **changes}
    with pytest.raises(tacit.TacitError, match=r"^Expected .*\.$") as caught:
        tacit.bounds({"x": [1.0, 2.0]}, **words)
    assert said in str(caught.value)
    assert len(book.entries("rows")) == 1, "nothing was charged"


def test_the_command(tmp_path):
    (tmp_path / "rows.csv").write_text("income,age\n" + "2500,40\n" * 3000)

    def run(*words, code=0):
        done = subprocess.run([TOOL, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    run("ledger", "new", "l.db", "--dataset", "rows", "--epsilon", "2.5")
    paid = ("--ledger", "l.db", "--dataset", "rows")
    asked = ("bounds", "rows.csv", "--column", "income", "--within", "0", "1e6", "--epsilon", "2", "--spacing", "log")
    said = run(*asked, *paid, "-o", "bounds.json").stdout
    plain = json.loads((tmp_path / "bounds.json").read_text())
    assert said.startswith("income = [")
    assert plain["reliable"]
    assert plain["ledger"] is not None
    run(*asked, *paid, code=1)
    assert "--no-ledger" in run(*asked, code=2).stderr
    assert "not to exist" in run(*asked, *paid, "-o", "bounds.json", code=2).stderr
    assert json.loads(run(*asked, "--no-ledger", "--json").stdout)["ledger"] is None
