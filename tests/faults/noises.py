"""Faults of the noise: too little, the wrong kind, in floating point, with a seed, used twice."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import tacit
from faults.broken import BrokenNoise, Fault, Lying, claim, lying, with_scales
from tacit.noise.entropy import OSEntropy
from tacit.noise.noise import Noise
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.statistic import Statistic

YES_NO = (tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]))
FOUR = (tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c", "d"]))


def plan_of(change, budget=None, model=YES_NO):
    return tacit.Plan(*model, budget or tacit.PureDP(1.0), BrokenNoise(change=change))


class Drawn(Lying):
    """Says one distribution and draws by another: ``draw`` makes the noise of one release."""

    draw: ClassVar[Any]

    def cross(self, collected, n, entropy):
        return tuple(int(a) + int(b) for a, b in zip(collected.totals, type(self).draw(self, collected), strict=True))


def drawing(draw):
    """A change of the crossing: the same claims, and noise made by ``draw(calibrated, collected)``."""
    kind = type("Drawing", (Drawn,), {"draw": staticmethod(draw)})
    return lambda right, budget: kind(right.statistic, right.sensitivity, right.noise, claim(budget))


def _half(calibrated, collected):
    return with_scales(calibrated.noise, 0.5).sample(1, OSEntropy())[0]


def _single_precision(calibrated, collected):
    uniform = np.frombuffer(os.urandom(4 * len(calibrated.noise.scales)), np.uint32) / 2**32 - 0.5
    laplace = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform) * (1 - 2**-31))
    return (laplace * np.array(calibrated.noise.scales)).astype(np.float32).astype(np.int64)


def _with_a_seed(calibrated, collected):
    scales = np.array(calibrated.noise.scales, float)
    return np.rint(np.random.default_rng(0).laplace(0, scales)).astype(np.int64)


def _seeded_by_the_clock(calibrated, collected):
    """A seed of ten bits: the next outcomes look fresh, and soon repeat."""
    scales = np.array(calibrated.noise.scales, float)
    seed = int.from_bytes(os.urandom(2), "big") % 1024
    return np.rint(np.random.default_rng(seed).laplace(0, scales)).astype(np.int64)


def _one_for_all(calibrated, collected):
    one = replace(calibrated.noise, scales=calibrated.noise.scales[:1]).sample(1, OSEntropy())[0][0]
    return [int(one)] * len(calibrated.noise.scales)


def _kept():
    held: list[Any] = []

    def draw(calibrated, collected):
        if held:
            return held.pop()
        held.append(calibrated.noise.sample(1, OSEntropy())[0])
        return held[0]

    return draw


def _mean_of_two(calibrated, collected):
    """The budget is spent twice: two releases of one total, of which the mean is published."""
    first, second = calibrated.noise.sample(2, OSEntropy())
    return [(int(a) + int(b)) // 2 for a, b in zip(first, second, strict=True)]


def _by_the_data(calibrated, collected):
    """Noise in proportion to the data: less of it where the total is small."""
    factor = 1.0 if collected.totals[0] > 0 else 0.6
    return with_scales(calibrated.noise, factor).sample(1, OSEntropy())[0]


@dataclass(frozen=True)
class OneSided(Noise):
    """Geometric noise on 0, 1, 2, ...: its ratio is bounded one way and not the other."""

    kind: ClassVar[str] = "one-sided"
    limit: ClassVar[str] = "laplace"
    calibrate = event = log_density = None
    sd = (1.0,)

    def sample(self, size, entropy):
        uniform = np.frombuffer(entropy.bytes(8 * size), np.uint64) / 2**64
        return np.floor(-np.log1p(-uniform) * self.scales[0]).astype(np.int64)[:, None]

    def log_pmf(self, values):
        k = np.asarray(values, float)
        return np.where(k < 0, -np.inf, -k / self.scales[0] + math.log(-math.expm1(-1 / self.scales[0])))

    def reach(self, drop):
        return (self.scales[0] * drop,)


OneSided.__abstractmethods__ = frozenset()


class Ones(Statistic):
    """How many rows say yes, on the lattice of whole numbers."""

    columns = ("x",)
    entries = ("count",)
    unit = 1
    batch_rows = 2**20

    def batch_sum(self, columns):
        return [int(np.sum(columns["x"]))]

    def sensitivity(self):
        return Sensitivity(1, 1, (1,))


@dataclass(frozen=True)
class FractionalGaussian(Noise):
    """Discrete Gaussian noise of a parameter that is no whole number, on unit counts."""

    kind: ClassVar[str] = "fractional"
    limit: ClassVar[str] = "normal"
    calibrate = event = log_density = None
    sigma: float = 1.0
    sd = (1.0,)

    def _table(self):
        k = np.arange(-200, 201)
        weights = np.exp(-0.5 * (k / self.sigma) ** 2)
        return k, weights / weights.sum()

    def sample(self, size, entropy):
        k, p = self._table()
        uniform = np.frombuffer(entropy.bytes(8 * size), np.uint64) / 2**64
        return k[np.searchsorted(np.cumsum(p), uniform)][:, None]

    def log_pmf(self, values):
        _, p = self._table()
        return -0.5 * (np.asarray(values, float) / self.sigma) ** 2 + math.log(p[200])

    def reach(self, drop):
        return (self.sigma * math.sqrt(2 * drop),)


FractionalGaussian.__abstractmethods__ = frozenset()


def _unit_counts(right, budget):
    sigma = gaussian.sigma_over_sensitivity(budget.epsilon, budget.delta)
    one = Ones()
    return Lying(one, one.sensitivity(), FractionalGaussian((math.ceil(sigma),), sigma=sigma), said=claim(budget))


def _gaussian_of(mu):
    def change(right, budget):
        scale = math.ceil(math.sqrt(right.sensitivity.l2_squared) / mu(budget))
        return lying(right, budget, noise=RoundedGaussian((scale,) * len(right.noise.scales)))

    return change


def _minami(budget):
    """The printed weight of a tempered draw, mu = epsilon / sqrt(1 + 2 log(1 / delta)): false for large epsilon."""
    return budget.epsilon / math.sqrt(1 + 2 * math.log(1 / budget.delta))


def _classical(budget):
    """sigma = sqrt(2 log(1.25 / delta)) / epsilon, which is proved for epsilon below 1 only."""
    return budget.epsilon / math.sqrt(2 * math.log(1.25 / budget.delta))


FAULTS = [
    Fault(
        "noise scale halved", "the noise has half the stated scale", lambda m: plan_of(drawing(_half)), ("outcomes",)
    ),
    Fault(
        "noise scale halved and stated",
        "calibrated to twice the budget; the price says otherwise",
        lambda m: plan_of(lambda right, budget: lying(right, budget, noise=with_scales(right.noise, 0.5))),
        ("exact curve",),
    ),
    Fault(
        "one percent too little",
        "a scale that was rounded down at the second digit",
        lambda m: plan_of(lambda right, budget: lying(right, budget, noise=with_scales(right.noise, 0.99))),
        ("exact curve",),
    ),
    Fault(
        "floating-point noise with gaps",
        "Laplace noise in single precision: most integers can never come out",
        lambda m: plan_of(drawing(_single_precision)),
        ("outcomes",),
    ),
    Fault("seeded noise", "the same noise in every run", lambda m: plan_of(drawing(_with_a_seed)), ("outcomes",)),
    Fault(
        "noise with a short seed",
        "1024 possible noises",
        lambda m: plan_of(drawing(_seeded_by_the_clock)),
        ("outcomes",),
    ),
    Fault(
        "reused noise, entries",
        "one draw for all entries",
        lambda m: plan_of(drawing(_one_for_all), model=FOUR),
        ("outcomes",),
    ),
    Fault("reused noise, releases", "one draw for two releases", lambda m: plan_of(drawing(_kept())), ("outcomes",)),
    Fault(
        "budget spent twice, mean published",
        "two noisy totals are averaged, and one is paid for",
        lambda m: plan_of(drawing(_mean_of_two)),
        ("outcomes",),
    ),
    Fault(
        "noise by the data",
        "less noise where the total is small",
        lambda m: plan_of(drawing(_by_the_data)),
        ("outcomes",),
    ),
    Fault(
        "one direction only",
        "geometric noise on one side: P / Q is bounded and Q / P is not",
        lambda m: plan_of(lambda right, budget: lying(right, budget, noise=OneSided(right.noise.scales))),
        ("exact curve",),
    ),
    Fault(
        "continuous formula on unit counts",
        "discrete Gaussian noise with the analytic sigma of the line, on counts",
        lambda m: plan_of(_unit_counts, tacit.ApproxDP(1.0, 1e-5)),
        ("exact curve",),
    ),
    Fault(
        "printed Minami weight at epsilon = 20",
        "the weight of a tempered draw, past where its formula holds",
        lambda m: plan_of(_gaussian_of(_minami), tacit.ApproxDP(20.0, 1e-5)),
        ("exact curve",),
    ),
    Fault(
        "classical Gaussian formula at epsilon = 10",
        "sqrt(2 log(1.25 / delta)) / epsilon, past where it holds",
        lambda m: plan_of(_gaussian_of(_classical), tacit.ApproxDP(10.0, 1e-6)),
        ("exact curve",),
    ),
]
