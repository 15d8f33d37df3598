"""The distribution that matters most: every family's default method is calibrated, and ignoring the noise is not.

Replicates through the whole path: parameters from the prior, rows, clamping, lattice, noise, release, inference. 192 of
them are six full blocks of datasets; certificates (`make certify`) have thousands for the same methods.
"""

from __future__ import annotations

import pytest

import tacit
from laws.cases import EXAMPLES

pytestmark = pytest.mark.optimised  # thousands of chains
# The false-alarm rate of one cell, over all of its numbers together.
LEVEL = 1e-3
TRIALS = 192
CELLS = {"n=100, epsilon=0.3": (100, 0.3), "n=10, epsilon=0.3": (10, 0.3), "n=1000, epsilon=1": (1000, 1.0)}
OTHER_BUDGETS = {
    "approximate": tacit.ApproxDP(0.3, 1e-6),
    "zcdp": tacit.ZCDP(0.02),
    "gdp": tacit.GDP(0.2),
}


QUICK = [name for name, example in EXAMPLES.items() if example.quick]


def cases(settings, first_always=True):
    """Every example with every setting, most of them in the slow suite alone.

    In the quick one the first of the quick examples has them all, and each of the others one. With ``first_always``
    that is the first setting, which the first example of a family has as well.
    """
    found = []
    for name, example in EXAMPLES.items():
        for i, setting in enumerate(settings):
            place = QUICK.index(name) if name in QUICK else None
            fast = place == 0 or (place is not None and i == (0 if first_always else place % len(settings)))
            fast = fast or (first_always and i == 0 and name.endswith("-0") and example.always)
            found.append(pytest.param(name, setting, marks=() if fast else pytest.mark.slow))
    return found


@pytest.mark.parametrize(("name", "cell"), cases(CELLS))
def test_the_default_method_is_calibrated(name, cell):
    """Seed 11; 192 replicates, 99 draws each; Kolmogorov-Smirnov on ranks, Bonferroni over numbers."""
    model, schema, prior, *_ = EXAMPLES[name]
    n, epsilon = CELLS[cell]
    plan = tacit.Plan(model, schema, tacit.PureDP(epsilon), tacit.AddNoise())
    result = tacit.calibrate(plan, n=n, trials=TRIALS, seed=11, prior=prior)
    assert result.calibrated(LEVEL), result.p_values()


@pytest.mark.parametrize(("name", "budget"), cases(OTHER_BUDGETS, first_always=False))
def test_it_is_calibrated_under_every_law_of_noise(name, budget):
    """Seed 12; as above at n = 100."""
    model, schema, prior, *_ = EXAMPLES[name]
    plan = tacit.Plan(model, schema, OTHER_BUDGETS[budget], tacit.AddNoise(_gaussian(budget)))
    result = tacit.calibrate(plan, n=100, trials=TRIALS, seed=12, prior=prior)
    assert result.calibrated(LEVEL), result.p_values()


def _gaussian(budget):
    return "rounded-gaussian" if budget == "gdp" else "discrete-gaussian"


@pytest.mark.parametrize(
    "name", [name for name, example in EXAMPLES.items() if example.quick or (name.endswith("-0") and example.always)]
)
def test_the_naive_method_is_caught(name):
    """Power: the planted fault is to take noisy numbers for exact ones. Seed 13, n = 100, epsilon = 0.1."""
    model, schema, prior, *_ = EXAMPLES[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(0.1), tacit.AddNoise())
    result = tacit.calibrate(plan, n=100, trials=400, seed=13, method="naive", prior=prior)
    assert not result.calibrated(1e-12), result.p_values()


@pytest.mark.parametrize("factor", [0.6, 1.8])
def test_a_wrong_noise_scale_in_inference_is_caught(factor, monkeypatch):
    """Power against a fault less gross than ignoring the noise: scored with a scale that is off by 40% or 80%. Seed 14.

    n = 300 and epsilon = 0.03, where the noise dominates; rejected at 1e-3, which the right scale passes above.
    """
    import dataclasses
    import sys

    from tacit.infer import problem_of

    def wrong(*arguments):
        problem = problem_of(*arguments)
        scales = tuple(round(s * factor) for s in problem.noise.scales)
        (site,) = problem.sites
        wrong_site = dataclasses.replace(site, noises=(dataclasses.replace(problem.noise, scales=scales),))
        return dataclasses.replace(problem, sites=(wrong_site,))

    monkeypatch.setattr(sys.modules[tacit.calibrate.__module__], "problem_of", wrong)
    plan = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(0.03))
    result = tacit.calibrate(plan, n=300, trials=1500, seed=14)
    assert not result.calibrated(1e-3), result.p_values()
