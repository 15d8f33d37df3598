"""The law that matters most: every family's default method is calibrated, and ignoring the noise is not.

400 replicates through the whole path: parameters from the prior, rows, clamping, lattice, noise, release, inference.
"""

from __future__ import annotations

import pytest

import tacit
from laws.cases import EXAMPLES

# The false-alarm rate of one cell, over all of its numbers together.
LEVEL = 1e-3
CELLS = {"n=10, epsilon=0.3": (10, 0.3), "n=100, epsilon=0.1": (100, 0.1), "n=1000, epsilon=1": (1000, 1.0)}
OTHER_BUDGETS = {
    "approximate": tacit.ApproxDP(0.3, 1e-6),
    "zcdp": tacit.ZCDP(0.02),
    "gdp": tacit.GDP(0.2),
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_default_method_is_calibrated(name, cell):
    """Seed 11; 400 replicates, 99 draws each; Kolmogorov-Smirnov on ranks, Bonferroni over numbers."""
    model, schema = EXAMPLES[name]
    n, epsilon = CELLS[cell]
    result = tacit.calibrate(tacit.Plan(model, schema, tacit.PureDP(epsilon)), n=n, trials=400, seed=11)
    assert result.calibrated(LEVEL), result.p_values()


@pytest.mark.parametrize("budget", OTHER_BUDGETS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_calibrated_under_every_law_of_noise(name, budget):
    """Seed 12; as above at n = 100."""
    model, schema = EXAMPLES[name]
    plan = tacit.Plan(model, schema, OTHER_BUDGETS[budget], tacit.AddNoise(_gaussian(budget)))
    result = tacit.calibrate(plan, n=100, trials=400, seed=12)
    assert result.calibrated(LEVEL), result.p_values()


def _gaussian(budget):
    return "rounded-gaussian" if budget == "gdp" else "discrete-gaussian"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_naive_method_is_caught(name):
    """Power: the planted fault is to take noisy numbers for exact ones. Seed 13, n = 100, epsilon = 0.1."""
    model, schema = EXAMPLES[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(0.1))
    result = tacit.calibrate(plan, n=100, trials=400, seed=13, method="naive")
    assert not result.calibrated(1e-12), result.p_values()
