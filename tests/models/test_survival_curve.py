"""A survival curve from noisy counts by interval: what is counted, and how near it is to Kaplan and Meier's."""

from __future__ import annotations

import numpy as np
import pytest

import tacit

SCHEMA = tacit.Schema(months=(0, 50), relapse=["no", "yes"], arm=["a", "b"])
EDGES = tuple(range(5, 50, 5))  # ten intervals, the bounds included
MODEL = tacit.SurvivalCurve("months", "relapse", EDGES)


def made_up_table(seed=1, n=200):
    """Relapses with a median of two years, whole months; a third of the people leave before, at any time."""
    rng = np.random.default_rng(seed)
    event = 30 * rng.weibull(1.3, n)
    left = np.where(rng.random(n) < 0.5, rng.uniform(0, 50, n), 60.0)
    months = np.ceil(np.minimum(event, left))
    return {"months": months, "relapse": np.where(event <= left, "yes", "no").tolist()}


def kaplan_meier(rows, at):
    """Kaplan and Meier's estimate from the times themselves; a time of 50 or more was followed to the end."""
    months, came = np.asarray(rows["months"]), np.asarray(rows["relapse"]) == "yes"
    survival, found = 1.0, []
    for edge in at:
        for time in np.unique(months[came & (months < min(edge, 50))]):
            if time >= (found[-1][0] if found else 0):
                survival *= 1 - np.sum(came & (months == time)) / np.sum(months >= time)
        found.append((edge, survival))
    return np.array([value for _, value in found])


def test_a_row_is_in_one_cell():
    """Edges belong to the interval that begins there; the last edge and more is followed to the end."""
    table = MODEL.table(SCHEMA)
    months, came = np.array([0.0, 4.9, 5.0, 44.0, 49.9, 50.0, 50.0]), np.array([1, 0, 1, 0, 1, 1, 0])
    assert table.codes({"months": months, "relapse": came}).tolist() == [0, 10, 1, 18, 9, 20, 20]
    assert table.sensitivity().l1 == 2 * table.unit
    assert len(table.entries) == 21


def test_the_curve_is_the_actuarial_one():
    """From exact counts by hand: 100 at risk, 10 events and 20 who leave; then 70, 7 and none."""
    model = tacit.SurvivalCurve("months", "relapse", (25,))
    cells = np.array([[10, 7, 20, 0, 63]])
    found = model.parameters_of(cells, SCHEMA, None)
    assert np.allclose(found["hazard"], [10 / 90, 7 / 70])
    assert np.allclose(found["survival"], [8 / 9, 8 / 9 * 0.9])


def test_made_up_rows_have_the_hazards_they_are_made_with():
    """Seed 3, 40,000 rows: survival at each edge to 0.015, 5 standard errors. Planted fault: nobody leaves."""
    truth = {"hazard": np.array([0.1, 0.2, 0.3])}
    model = tacit.SurvivalCurve("months", "relapse", (10, 25))
    rows = model.draw_rows(truth, SCHEMA, 40_000, np.random.default_rng(3))
    cells = {"months": np.asarray(rows["months"]), "relapse": (np.array(rows["relapse"]) == "yes").astype(int)}
    counts = np.bincount(model.table(SCHEMA).codes(cells), minlength=7)[None]
    found = model.parameters_of(counts, SCHEMA, None)["survival"]
    assert np.abs(found - np.cumprod(1 - truth["hazard"])).max() < 0.015
    assert np.abs(counts[0, [6]] / 40_000 - np.prod(1 - truth["hazard"])) > 0.03


def test_rows_made_up_from_a_posterior_leave_as_often_as_its_counts_say():
    """A report compares releases with such rows, and would call every table odd where more than a tenth leaves. Seed 5,
    100,000 rows: 5 standard errors of a share are 0.008. The planted fault is what rows without counts do.
    """
    model = tacit.SurvivalCurve("months", "relapse", (10, 25), "arm")
    count = np.array([[300.0, 200, 60, 900, 40, 10, 500], [20.0, 30, 100, 60, 500, 40, 3000]])
    shares = count.reshape(-1) / count.sum()
    hazard = model.parameters_of(count, SCHEMA, None)["hazard"]

    def cell_shares(parameters):
        rows = model.draw_rows(parameters, SCHEMA, 100_000, np.random.default_rng(5))
        cells = {"months": np.asarray(rows["months"])}
        for name in ("relapse", "arm"):
            cells[name] = np.array([SCHEMA.category(name).levels.index(level) for level in rows[name]])
        return np.bincount(model.table(SCHEMA).codes(cells), minlength=14) / 100_000

    assert np.abs(cell_shares({"hazard": hazard, "count": count}) - shares).max() < 0.008
    assert np.abs(cell_shares({"hazard": hazard}) - shares).max() > 0.1


def test_by_group_there_are_two_curves():
    plan = tacit.Plan(tacit.SurvivalCurve("months", "relapse", (25,), "arm"), SCHEMA, tacit.PureDP(1.0))
    assert len(plan.statistic().entries) == 10
    assert tacit.Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: tacit.SurvivalCurve("months", "months", (5,)), r"event='months' to be another column"),
        (lambda: tacit.SurvivalCurve("months", "arm", (5,), "arm"), r"event='arm' to be another column"),
        (lambda: tacit.SurvivalCurve("months", "relapse", (5, 5)), r"to rise from each to the next"),
        (lambda: plan_of(tacit.SurvivalCurve("months", "months2", (5,))), r"months2"),
    ],
)
def test_what_does_not_fit_gets_one_sentence(make, what):
    with pytest.raises(tacit.InputError, match=what):
        make()


def plan_of(model):
    return tacit.Plan(model, SCHEMA, tacit.PureDP(1.0)).statistic()


def near_the_curve(releases, n=200):
    """Root mean square error from Kaplan and Meier's curve, the share of 90% intervals that hold it, and of half ones.

    Each release is of the same rows, epsilon 1. The halves are the planted fault: intervals half as wide.
    """
    rows = made_up_table(n=n)
    plan = tacit.Plan(MODEL, SCHEMA, tacit.PureDP(1.0))
    own = kaplan_meier(rows, [*EDGES, 50])
    errors, held, halves = [], [], []
    for seed in range(releases):
        release = tacit.privatize(rows, plan, ledger=None)
        draws = tacit.infer(release, draws=400, warmup=200, chains=2, seed=seed).draws("survival")
        mean = draws.mean(axis=0)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        errors.append(mean - own)
        held.append((low <= own) & (own <= high))
        halves.append((mean - (mean - low) / 2 <= own) & (own <= mean + (high - mean) / 2))
    return float(np.sqrt(np.mean(np.square(errors)))), float(np.mean(held)), float(np.mean(halves))


def test_a_few_releases_are_near_the_curve_of_the_rows():
    """Four releases of a made-up table; fresh noise. The error has a standard deviation of about 0.005 here."""
    error, held, _ = near_the_curve(4)
    assert error < 0.055
    assert held > 0.6


@pytest.mark.slow
def test_a_hundred_releases_are_near_the_curve_of_the_rows():
    """Epsilon 1, 200 rows, 10 intervals; fresh noise. Their standard errors are about 0.001 and 1.5%."""
    error, held, halves = near_the_curve(100)
    assert error < 0.04
    assert held > 0.88
    assert halves < 0.88
