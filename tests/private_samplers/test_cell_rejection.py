"""Exact draws of the beta-divergence posterior: the envelope is never below it, and what is accepted follows it."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy.special import gammaincinv

import tacit
from tacit.noise.entropy import OSEntropy
from tacit.private_samplers import cell_rejection as cells

SD = 2.5


class Seeded:
    """Bytes of a seeded generator in place of the system's."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def bytes(self, count):
        return self.rng.bytes(count)


def density(x, y, beta, weight):
    return cells._Density(np.asarray(x) * np.asarray(y)[:, None], beta, weight, SD, cells.most_concave(beta))


TABLES = {
    "mixed": lambda rng: (np.column_stack([np.ones(60), rng.uniform(-1, 1, 60)]), rng.choice([-1.0, 1.0], 60)),
    "separated": lambda rng: (
        np.column_stack([np.ones(60), np.linspace(-1, 1, 60)]),
        np.where(np.linspace(-1, 1, 60) > 0, 1.0, -1.0),
    ),
    "far out": lambda rng: (
        np.array([[1.0, 1e6], [1.0, -3e5], [1.0, 0.2], [0.0, 0.0]]),
        np.array([1.0, 1.0, -1.0, 1.0]),
    ),
    "two modes": lambda rng: (
        np.array([[1.0, 0.9]] * 20 + [[1.0, 1.0]] * 20),
        np.array([1.0] * 20 + [-1.0] * 20),
    ),
    "empty": lambda rng: (np.zeros((0, 2)), np.zeros(0)),
}


@pytest.mark.parametrize("beta", [1.2, 1.5, 3.0, 8.0])
def test_the_curvature_is_bounded_and_nearly_reached(beta):
    p = np.linspace(0, 1, 100_003)
    q, b = 1 - p, beta - 1
    curved = p**b * q**2 * (b * q - 2 * p) + p * q**beta * (q - beta * p)
    assert curved.max() <= cells.most_concave(beta) <= curved.max() * 1.01
    u = np.linspace(-20, 20, 40_001)
    found = density(np.zeros((0, 1)), np.zeros(0), beta, 1.0)
    assert np.allclose(np.gradient(found.loss(u), u), found.slope(u), atol=1e-5)
    assert -np.gradient(found.slope(u), u).min() <= cells.most_concave(beta)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("beta", "weight"), [(3.0, 1.0), (1.5, 1.25)])
def test_the_envelope_is_nowhere_below_the_density_and_the_cells_fill_the_box(table, beta, weight):
    """Seed 12: 40 points of each cell, of all sizes. The planted fault, half of the curvature, is below it."""
    rng = np.random.default_rng(12)
    found = density(*TABLES[table](rng), beta, weight)
    made = cells.split(found)
    made = made.take(np.flatnonzero(made.log_masses > -np.inf))
    volume = np.exp(np.log((made.high - made.low) / (2 * found.reach)).sum(axis=1)).sum()
    assert volume == pytest.approx(1, rel=1e-12)
    chosen = made.take(rng.integers(0, len(made.gaps), 2000))
    for u in rng.uniform(0, 1, (20, 2000, 2)):
        theta = chosen.low + (chosen.high - chosen.low) * u
        assert np.all(found.log_values(theta) <= chosen.log_heights(theta) + 1e-9)
    if table != "empty":
        less = cells._Density(found.rows, beta, weight, SD, 0.0)
        wrong = cells._bounded(less, chosen.low, chosen.high, len(chosen.low))
        ends = np.where(rng.uniform(size=chosen.low.shape) < 0.5, chosen.low, chosen.high)
        assert np.any(less.log_values(ends) > wrong.log_heights(ends) + 1e-9)


def test_masses_and_draws_of_a_cell_are_those_of_its_distribution():
    """In closed form, where the rate is weak, and where it is so strong that nearly all lies at one end."""
    for rate, half in ((0.0, 3.0), (0.4, 1.0), (-2.0, 5.0), (3e4, 1e-4), (-3e4, 0.01), (1e7, 2e-7), (1e-9, 1e-5)):
        size = abs(rate)
        true = math.log(2 * math.sinh(size * half) / size) if size > 1e-6 else math.log(2 * half)
        assert float(cells._log_integrals(np.array([size]), np.array([half]))[0]) == pytest.approx(true, abs=1e-12)
        box = np.array([[-half]]), np.array([[half]])
        one = cells.BoundedCells(*box, np.zeros(1), np.array([[rate]]), *np.zeros((3, 1)))
        for u in (1e-6, 0.2, 0.9):
            drawn = float(one.draw(np.array([[u]]))[0, 0]) * (-1 if rate < 0 else 1)  # downhill from one end
            below = (drawn + half) / (2 * half)
            if size > 1e-6:
                below = math.expm1(-size * (drawn + half)) / math.expm1(-2 * size * half)
            assert below == pytest.approx(u, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("table", ["mixed", "separated", "two modes"])
def test_draws_follow_the_posterior(table):
    """Seed 13: 4,000 draws against the distribution by quadrature, 12 cells along each coefficient; false alarm 1e-6.
    The planted fault: the posterior with half the weight is rejected for the separated rows.
    """
    beta, weight = 3.0, 1.0
    x, y = TABLES[table](np.random.default_rng(13))
    axis = np.linspace(-12, 12, 301)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)

    def statistic(draws, weight):
        logs = np.concatenate([density(x, y, beta, weight).log_values(part) for part in np.array_split(grid, 20)])
        mass = np.exp(logs - logs.max()).reshape(301, 301)
        worst = 0.0
        for j in (0, 1):
            share = mass.sum(axis=1 - j) / mass.sum()
            edges = np.interp(np.linspace(0, 1, 13)[1:-1], np.cumsum(share) - share / 2, axis)
            counts = np.bincount(np.searchsorted(edges, draws[:, j]), minlength=12)
            worst = max(worst, float(((counts - len(draws) / 12) ** 2).sum() / (len(draws) / 12)))
        return worst

    draws = cells.draw_in_cells(x, y, beta=beta, weight=weight, sd=SD, draws=4000, source=Seeded(13))
    limit = 2 * float(gammaincinv(11 / 2, 1 - 5e-7))
    assert statistic(draws, weight) < limit
    if table == "separated":
        assert statistic(draws, weight / 2) > limit


def peak_of(x, y):
    """The most memory in bytes that a draw takes, as Python's allocators see it."""
    tracemalloc.start()
    cells.draw_in_cells(x, y, beta=3.0, weight=1.0, sd=SD, draws=1, source=Seeded(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_follow_the_rows():
    """Rows of three kinds, 40 each: from 171 to 63,413 cells, and memory within 1%. Arrays of as many
    places as there are cells took 0.6 MB for the first and 42 MB for the last.
    """
    rng = np.random.default_rng(14)
    signs = np.where(np.arange(40) < 20, 1.0, -1.0)
    tables = {
        "none": (np.zeros((40, 3)), signs),
        "mixed": (rng.uniform(-1, 1, (40, 3)), signs),
        "far apart": (rng.normal(size=(40, 3)) * 30, signs),
    }
    for table in tables.values():
        peak_of(*table)  # what is made once
    peaks = [peak_of(*table) for table in tables.values()]
    counts = [int(np.sum(cells.split(density(*table, 3.0, 1.0)).log_masses > -np.inf)) for table in tables.values()]
    assert max(counts) > 100 * min(counts)
    assert max(peaks) < 1.01 * min(peaks)


def plan_of(formula="ill ~ age", budget=None, **said):
    names = ("age", "dose", "weight", "size", "height")
    schema = tacit.Schema(ill=["no", "yes"], **{name: {"bounds": [-1, 1], "clamp": False} for name in names})
    sample = tacit.PosteriorSample(loss="beta-divergence", **said)
    return tacit.Plan(tacit.LogisticRegression(formula), schema, budget or tacit.PureDP(1.0), sample)


def test_a_plan_by_rejection_is_proved_and_pure():
    plan = plan_of(sampler="rejection")
    assert plan.promise.basis.value == "proved"
    assert plan.event().epsilon() <= 1
    release = tacit.simulate(plan, n=200, seed=1).release
    assert release.noise_parameters.sampler == "rejection"
    assert any("exact draw" in text for text in release.guarantee.assumes)
    for wrong in ({"formula": "ill ~ age + dose + weight + size + height"}, {"gamma": 1e-9}, {"assume": "converged"}):
        with pytest.raises(tacit.InputError):
            plan_of(sampler="rejection", **wrong)
    with pytest.raises(tacit.InputError, match="assume"):
        plan_of()  # a chain, as before, must be assumed


def test_what_is_released_about_neighbours_keeps_the_promise():
    """From rows to released numbers, 3,000 draws about each of two neighbours whose row is far out: the sign of the
    coefficient, which is what the row decides, proves no more than the budget (level 1e-6), and half of it at least.
    """
    from tacit.audit.empirical import Attack, epsilon_lower_bound

    plan = plan_of(formula="ill ~ 0 + age", sampler="rejection")
    numbers = dict(plan.calibrated_mechanism().noise_parameters.numbers)
    said = {"beta": numbers["beta"], "weight": numbers["weight"], "sd": SD, "draws": 3000, "source": OSEntropy()}
    other = [[0.3]], [1.0]
    found = [
        np.rint(cells.draw_in_cells(np.array([[far], *other[0]]), np.array([1.0, *other[1]]), **said) * 2**20) > 0
        for far in (1e6, -1e6)
    ]
    wrong = [int((~found[0]).sum()), int(found[1].sum())]
    attack = Attack(false_positives=wrong[0], negatives=3000, false_negatives=wrong[1], positives=3000)
    proved = epsilon_lower_bound(attack, delta=0.0, confidence=1 - 1e-6)
    assert 0.25 < proved <= 1.0


@pytest.mark.parametrize(("factor", "kept"), [(1.0, True), (1.3, False)], ids=["as it is", "too much weight"])
def test_neighbouring_files_are_no_further_apart_than_a_draw_s_range(factor, kept, tmp_path, monkeypatch):
    """From two CSV files that differ in one row far out, 10,000 draws each at a range of 1 a draw.

    The two log ratios of the share with a positive coefficient lie in an interval of length 1, here 0.91 of it. Five
    standard errors are allowed: a false alarm has a probability below 1e-6. A weight 1.3 times too large is caught.
    """
    count = 10_000
    schema = tacit.Schema(ill=["no", "yes"], dose={"bounds": [-1, 1], "clamp": False})
    drawing = tacit.PosteriorSample(loss="beta-divergence", sampler="rejection", draws=count)
    plan = tacit.Plan(tacit.LogisticRegression("ill ~ dose"), schema, tacit.PureDP(count), drawing)
    as_it_is = cells.draw_in_cells

    def heavier(x, y, *, weight, **said):
        return as_it_is(x, y, weight=factor * weight, **said)

    monkeypatch.setattr(cells, "draw_in_cells", heavier)
    shares = []
    for answer in ("yes", "no"):
        file = tmp_path / f"{answer}.csv"
        file.write_text(f"ill,dose\nno,-0.9\n{answer},50\n")
        release = tacit.privatize(file, plan, ledger=None)
        shares.append(np.mean(np.reshape(release.values, (count, 2))[:, 1] > 0))
    p, q = shares
    error = math.sqrt(sum((1 - s) / s + s / (1 - s) for s in shares) / count)
    found = math.log(p / q) + math.log((1 - q) / (1 - p))
    assert (found <= 1 + 5 * error) is kept
    assert found > 0.8
