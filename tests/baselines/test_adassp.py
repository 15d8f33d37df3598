"""AdaSSP: least squares where the data outweigh the noise, and a ridge past the noise where they do not."""

from __future__ import annotations

import math

import numpy as np

import tacit
from tacit.baselines.adassp import adassp


def gram_release(n=500, epsilon=1.0, seed=2):
    """A simulated release of a design with levels, its least-squares estimate, and what AdaSSP makes of both sums."""
    schema = tacit.Schema(y=(0, 10), x=(-2, 3), f=["a", "b", "c"])
    plan = tacit.Plan(tacit.LinearRegression("y ~ x + f"), schema, tacit.PureDP(epsilon))
    simulation = tacit.simulate(plan, n=n, seed=seed)
    unit = plan.statistic().unit
    exact, released = (np.array([v / unit for v in values]) for values in (simulation.exact, simulation.release.values))
    return plan, exact, released


def test_adassp_is_least_squares_where_the_data_outweigh_the_noise():
    """epsilon = 1e6: no ridge. The normal equations are written out by name of entry."""
    plan, exact, _ = gram_release(epsilon=1e6)
    s = dict(zip(plan.statistic().entries, exact, strict=True))
    names = ["Intercept", "x", "f[b]", "f[c]"]

    def entry(a, b):
        if a == b == "Intercept":
            return 500.0
        if {a, b} == {"f[b]", "f[c]"}:
            return 0.0
        if a == b and a.startswith("f"):
            return s[f"Intercept*{a}"]
        return s[f"{a}*{b}"] if f"{a}*{b}" in s else s[f"{b}*{a}"]

    gram = np.array([[entry(a, b) for b in names] for a in names])
    cross = np.array([entry(a, "y") for a in names])
    found = adassp(plan.statistic(), plan.noise(), 500, exact)
    assert np.allclose(found, np.linalg.solve(gram, cross), rtol=1e-9)
    assert np.array_equal(adassp(plan.statistic(), plan.noise(), 500, np.stack([exact, exact]))[1], found)


def test_adassp_lifts_every_eigenvalue_past_the_noise():
    """Where noise drowns the data the least eigenvalue becomes sqrt(p log(2 p^2 / 0.05)) times its spread, exactly."""
    plan, _, released = gram_release(epsilon=0.01)
    statistic, noise = plan.statistic(), plan.noise()
    found = adassp(statistic, noise, 500, released)
    level = max(noise.sd) / statistic.unit * math.sqrt(4 * math.log(2 * 16 / 0.05))
    places = {name: i for i, name in enumerate(statistic.entries)}
    cross = np.array([released[places[f"{name}*y"]] for name in ("Intercept", "x", "f[b]", "f[c]")])
    assert np.linalg.norm(found) <= np.linalg.norm(cross) / level * (1 + 1e-9)
    assert np.linalg.norm(found) > 0
