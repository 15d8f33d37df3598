"""How steep the beta-divergence loss of one record is: bounds that no search beats, and that some come near to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.errors import InputError
from tacit.mechanisms.iterative.private_sums import PrivateSums
from tacit.mechanisms.iterative.row_bounds import RowBounds, row_bounds
from tacit.mechanisms.iterative.row_vectors import RowDifference, RowGradient
from tacit.mechanisms.posterior_sample.beta_divergence import beta_divergence
from tacit.mechanisms.posterior_sample.loss import Settings
from tacit.noise.noisy_steps import NoisySteps
from tacit.privacy.beta_slopes import bernoulli_slope, normal_mean_slope, normal_scale_slope, softmax_slope

BETAS = (1.05, 1.3, 1.5, 2.0, 3.0, 8.0)


def bernoulli_slopes(p, beta):
    b = beta - 1
    return p**b * (1 - p) ** 2 + p * (1 - p) ** beta


@pytest.mark.parametrize(("beta", "kappa"), [(1.5, 0.4454065), (2.0, 8 / 27), (3.0, 4 / 27)])
def test_two_levels_have_the_known_slopes(beta, kappa):
    assert bernoulli_slope(beta) == pytest.approx(kappa, rel=2e-7)
    assert bernoulli_slope(2.0) > 0.25 * 1.18, "max(G, G M) with G = 1/4 as printed is too small"


@pytest.mark.parametrize("beta", [*BETAS, 1.0001, 40.0, 1e4])
def test_two_levels_are_never_steeper_and_nearly_so(beta):
    """A grid of 4 million points, even and geometric at both ends; the bound is within 2e-7 of the largest."""
    even = np.linspace(0, 1, 2_000_001)[1:-1]
    ends = np.geomspace(1e-12, 0.5, 1_000_000)
    seen = max(float(bernoulli_slopes(p, beta).max()) for p in (even, ends, 1 - ends))
    assert seen <= bernoulli_slope(beta) <= seen * (1 + 2e-6)


def softmax_gradients(p, y, beta):
    b = beta - 1
    own = np.take_along_axis(p, y[:, None], axis=1)
    unit = np.eye(p.shape[1])[y]
    total = (p**beta).sum(axis=1, keepdims=True)
    return -(own**b) * (unit - p) + p * (p**b - total)


@pytest.mark.parametrize("beta", BETAS)
def test_softmax_is_never_steeper(beta):
    """Seed 1, 400,000 random points of simplices of 2 to 6 classes, many near their faces. Two classes reach the bound
    from beta = 1.3 on; a bound for the observed class alone, 1/sqrt(2) of it, would be too little."""
    rng = np.random.default_rng(1)
    largest = 0.0
    for classes in (2, 3, 4, 6):
        p = rng.dirichlet(np.full(classes, 0.4), 100_000)
        y = rng.integers(0, classes, len(p))
        largest = max(largest, float(np.linalg.norm(softmax_gradients(p, y, beta), axis=1).max()))
    assert 0.9 * softmax_slope(beta) < largest <= softmax_slope(beta)
    two = np.linspace(0, 1, 20_001)
    found = softmax_gradients(np.stack([two, 1 - two], axis=1), np.zeros(len(two), int), beta)
    assert np.linalg.norm(found, axis=1).max() == pytest.approx(math.sqrt(2) * bernoulli_slope(beta), rel=1e-4)
    if beta >= 1.3:
        assert softmax_slope(beta) == pytest.approx(math.sqrt(2) * bernoulli_slope(beta), rel=1e-6)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_normal_rows_are_never_steeper_and_reach_it(beta, scale):
    """A grid over residuals and standard deviations, with derivatives in closed form, checked by differences."""
    b, integral = beta - 1, beta**-1.5

    def loss(mean, v):
        sigma = scale + np.exp(v)
        power = (math.sqrt(2 * math.pi) * sigma) ** -b
        return power * (integral - np.exp(-b * (mean / sigma) ** 2 / 2) / b)

    v = np.linspace(-12, 6, 1801)[:, None]
    sigma = scale + np.exp(v)
    z = np.linspace(0, 12 / math.sqrt(min(b, 1.0)), 4001)
    power, h = (math.sqrt(2 * math.pi) * sigma) ** -b, np.exp(-b * z**2 / 2)
    by_mean = power * h * z / sigma
    by_scale = power / sigma * (h * (1 - z**2) - b * integral) * np.exp(v)
    assert 0.999 * normal_mean_slope(beta, scale) < by_mean.max() <= normal_mean_slope(beta, scale)
    assert 0.999 * normal_scale_slope(beta, scale) < np.abs(by_scale).max() <= normal_scale_slope(beta, scale)
    at, step = (0.7 * sigma[900, 0], v[900, 0]), 1e-5
    slope = (loss(at[0], at[1] + step) - loss(at[0], at[1] - step)) / (2 * step)
    j = np.array([0.7])
    exact = power[900, 0] / sigma[900, 0] * (np.exp(-b * j**2 / 2) * (1 - j**2) - b * integral) * math.exp(at[1])
    assert slope == pytest.approx(float(exact[0]), rel=1e-4, abs=1e-9)


def test_a_power_beyond_floats_is_an_infinite_slope():
    assert normal_mean_slope(1e4, 0.1) == math.inf


MODELS = {
    "logistic": (tacit.LogisticRegression("y ~ a + b"), tacit.Schema(y=["no", "yes"], a=(-1, 1), b=(-1, 1)), {}),
    "softmax": (tacit.SoftmaxRegression("y ~ a"), tacit.Schema(y=["u", "v", "w"], a=(-1, 1)), {}),
    "linear": (tacit.LinearRegression("y ~ a"), tacit.Schema(y=(-2, 2), a=(-1, 1)), {"sigma_min": 0.4}),
}


@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize("beta", [1.5, pytest.param(2.5, marks=pytest.mark.slow)])
def test_rows_of_a_model_stay_within_its_bounds(family, beta):
    """Seed 2: 800 random rows, corners among them, at 30 random theta, through the real row functions. The integers at
    the boundary clip at the bound; here gradients and differences are held below it before any clipping: with a radius
    for twice the bound no vector reaches half of it by more than rounding."""
    model, schema, options = MODELS[family]
    loss = beta_divergence(model, schema, Settings(loss="beta-divergence", options=options, n=800))
    loss = type(loss)(loss.rows, loss.sampling, loss.density, beta)
    bounds = row_bounds(loss, beta, None)
    rng = np.random.default_rng(2)
    size = len(loss.parameters)
    columns = len(loss.rows.design)
    x = rng.uniform(-1, 1, (800, columns))
    x[:400] = np.sign(x[:400])
    x[:, 0] = 1.0
    y = {
        "logistic": lambda: np.sign(rng.uniform(-1, 1, 800)),
        "softmax": lambda: rng.integers(0, 3, 800).astype(float),
        "linear": lambda: rng.uniform(-1, 1, 800),
    }[family]()
    steps = NoisySteps(2**24, 2**64, 1)
    sums = PrivateSums(loss, 1.0, bounds, steps, x, y, None)  # type: ignore[arg-type]
    largest = 0.0
    for _ in range(30):
        theta, other = rng.normal(0, 2, size), rng.normal(0, 2, size)
        for i in rng.integers(0, 800, 6):
            place = np.array([i])
            gradient = sums.exact(RowGradient(loss), theta, 2 * bounds.slope, place, size) / 2**23
            largest = max(largest, float(np.linalg.norm(gradient)))
            near = theta + (other - theta) * rng.choice([1e-3, 1.0])
            allowed = bounds.difference(float(np.linalg.norm(near - theta)))
            moved = sums.exact(RowDifference(loss), (theta, near), 2 * allowed, place, 1) / 2**23
            assert abs(float(moved[0])) <= 1 + 1e-6
    assert 0.2 < largest <= 1 + 1e-6


def test_a_model_without_a_bound_needs_a_clip():
    model = tacit.PoissonRegression("y ~ a")
    schema = tacit.Schema(y=(0, 9), a=(-1, 1))
    loss = beta_divergence(model, schema, Settings(loss="beta-divergence"))
    with pytest.raises(InputError, match=r"Expected clip=None to be said: no bound"):
        row_bounds(loss, 1.5, None)
    found = row_bounds(loss, 1.5, 3.0)
    assert (found.slope, found.proved) == (3.0, False)
    assert found.difference(0.1) == pytest.approx(0.3)
    assert found.difference(1e6) == found.spread


def test_a_clip_below_the_proved_slope_is_used_and_said():
    model, schema, _ = MODELS["logistic"]
    loss = beta_divergence(model, schema, Settings(loss="beta-divergence"))
    assert row_bounds(loss, 2.0, None) == RowBounds(1 + 1e-12, pytest.approx(8 / 27 * math.sqrt(3), rel=1e-6), True)
    assert not row_bounds(loss, 2.0, 0.1).proved
    assert row_bounds(loss, 2.0, 9.0).proved


def test_a_network_does_not_inherit_the_slope_of_its_law():
    model = tacit.Network("y ~ a + b", hidden=2)
    schema = MODELS["logistic"][1]
    loss = beta_divergence(model, schema, Settings(loss="beta-divergence"))
    with pytest.raises(InputError, match="Expected clip"):
        row_bounds(loss, 1.5, None)
