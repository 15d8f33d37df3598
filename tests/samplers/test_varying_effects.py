"""The numbers of a release by group, in the places where the sampler takes them for what they are."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import tacit
from tacit.infer import problem_of
from tacit.models.varying_layout import group_sums
from tacit.samplers.group_sums import Seen, log_among
from tacit.samplers.varying_effects import _Posterior, _residual_squares

SCHEMA = tacit.Schema(y=(0, 10), x=(0, 1), w=(-2, 5), kind=["a", "b", "c"], g=["p", "q", "r"])


@pytest.mark.parametrize("formula", ["y ~ w + kind + x + (1 | g)", "y ~ kind + x + w + (x | g)", "y ~ (1 | g)"])
def test_sums_stand_in_their_places(formula):
    """Seed 3, 200 rows, no noise: all sums are those of the mapped columns, and what is 0 for every table is 0."""
    rng = np.random.default_rng(3)
    columns = {"y": rng.uniform(0, 10, 200), "x": rng.uniform(0, 1, 200), "w": rng.uniform(-2, 5, 200)}
    columns |= {"kind": rng.integers(0, 3, 200), "g": rng.integers(0, 3, 200)}
    plan = tacit.Plan(tacit.VaryingRegression(formula), SCHEMA, tacit.PureDP(1.0))
    statistic, known = plan.statistic(), group_sums(problem_of(plan, {}, 200))
    released = np.array(statistic.batch_sum(columns)) / statistic.unit
    values = [column.values(columns, statistic.steps) / statistic.steps for column in statistic.vector]
    ones, y, rest = np.ones(200), values[-1], [values[j] for j in statistic.rest]
    z = [ones, *(values[j] for j in statistic.slopes)]
    with jax.enable_x64(True):
        seen = Seen.of(known, released[None], *[np.ones((1, len(released)))] * 2)
        n = np.bincount(columns["g"], minlength=3).astype(float)
        vectors = np.asarray(seen.vectors(n)[0]).reshape(3, len(rest) + 1, len(z))
    for group in range(3):
        here = columns["g"] == group
        expected = [[(a * b)[here].sum() for b in z] for a in [*rest, y]]
        np.testing.assert_allclose(vectors[group], expected, atol=1e-9)
        if known.slope:
            place = known.of_slope[:, group]
            np.testing.assert_allclose(released[place], [z[1][here].sum(), (z[1] ** 2)[here].sum()], atol=1e-9)
    everything = np.stack([ones, *rest, y])
    products = known.select @ (everything @ everything.T).reshape(-1)
    np.testing.assert_allclose(products, seen.over_all, atol=1e-9)
    assert known.fixed == (3 if "kind" in formula else 0)


def test_releases_of_the_same_rows_are_their_mean_and_a_constant():
    """Exact: the density of both around any sum, less that of their weighted mean, does not depend on the sum."""
    z, variances = np.array([[1.0], [4.0]]), np.array([[1.0], [2.0]])

    def log_normal(x, variance):
        return -(x**2 / variance + np.log(variance)) / 2

    left = float(log_among(z, variances))
    for exact in (-3.0, 0.0, 5.0):
        both = log_normal(z - exact, variances).sum()
        assert np.isclose(both - log_normal(2.0 - exact, 2 / 3), left)


def test_sizes_add_up_to_the_public_number_of_rows_and_are_uniform():
    """Exact: in terms of all sizes but one and of the sum of the coordinates, the density is what was seen of the sizes
    times a normal density of that sum, up to a constant. Planted fault: without the volume of the sum it is not.
    """
    rows, size_sd, start = 100.0, np.array([4.0, 2.0, 9.0]), np.array([10.0, 3.0, 7.0])
    own = SimpleNamespace(start=SimpleNamespace(size=start, size_sd=size_sd), problem=SimpleNamespace(groups=3), n=rows)
    seen = SimpleNamespace(log_sizes=lambda n: -jnp.sum((n - jnp.array([50.0, 20.0, 40.0])) ** 2 / size_sd**2) / 2)

    def apart(t):
        def places(size):
            m = size_sd * jax.nn.softplus(start + size)
            return jnp.append(_Posterior._sizes(own, {"size": size}, seen)[1][:-1], jnp.sum(m))

        value, n = _Posterior._sizes(own, {"size": t}, seen)
        total = places(t)[-1]
        assert np.isclose(jnp.sum(n), rows)
        volume = jnp.linalg.slogdet(jax.jacfwd(places)(t))[1]
        expected = seen.log_sizes(n) - (total - rows) ** 2 / np.sum(size_sd**2) / 2
        return np.array([value - volume - expected, total])

    with jax.enable_x64(True):
        found = np.array([apart(jnp.array(t)) for t in ([0.0, 0.0, 0.0], [1.0, -2.0, 0.5], [-3.0, 4.0, 1.0])])
    assert np.ptp(found[:, 0]) < 1e-9
    assert np.ptp(found[:, 0] + 2 * np.log(found[:, 1])) > 0.01


@pytest.mark.parametrize("left", [-200.0, -5.0, 30.0, 90.0, 400.0])
@pytest.mark.parametrize("noise", [1e-3, 2.0, 80.0])
def test_the_residual_squares_have_the_density_of_what_they_are_made_of(left, noise):
    """Both integrals, over the coordinate and over the logarithm of the sum of squares, by the trapezoid rule, agree to
    a thousandth: 40 degrees of freedom and sigma = 1.5, so 90 is usual. Planted fault: with a tenth more noise they do
    not, where noise is what decides.
    """
    degrees, sigma = 40.0, 1.5
    if left / noise < -50:
        pytest.skip("nothing fits")
    with jax.enable_x64(True):
        t = jnp.linspace(-60, 60, 40001)
        values, squares = jax.vmap(lambda t: _residual_squares(t, left, noise, sigma, degrees))(t)
    usual = sigma**2 * degrees
    ends = np.log(np.maximum(np.asarray(squares)[[0, -1]], 1e-12) / usual)
    logs = np.linspace(max(ends[0], -8), min(ends[1], 2.5), 400001)

    def integral(noise):
        found = degrees / 2 * (np.log(degrees / 2) + logs - np.exp(logs)) - gammaln(degrees / 2)
        return logsumexp(found - ((left - usual * np.exp(logs)) / noise) ** 2 / 2) + np.log(logs[1] - logs[0])

    mine = logsumexp(np.asarray(values)) + np.log(float(t[1] - t[0]))
    assert abs(mine - integral(noise)) < 1e-3
    if noise < 50:
        assert abs(mine - integral(1.1 * noise)) > 0.01
