"""Faults of sensitivities: printed formulas that are too small, and what people forget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import tacit
from faults.broken import BrokenNoise, Fault, Lying, claim, lying
from tacit.mechanisms.mechanism import Accumulator
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.registry import noise_for
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.statistic import Statistic

STEPS = 2**8
LINE = (tacit.LinearRegression("y ~ x"), tacit.Schema(y=(1, 2), x=(1, 2)))


@dataclass(frozen=True)
class Monomials(Statistic):
    """Sums of products of powers of two columns in their own units; ``printed`` is the claimed L1 distance."""

    powers: tuple[tuple[int, int], ...]  # of (x, y), one pair an entry
    printed: Fraction
    degree: int
    columns = ("x", "y")
    batch_rows = 2**10

    @property
    def entries(self):
        return tuple(f"x^{a} y^{b}" for a, b in self.powers)

    @property
    def unit(self):
        return STEPS**self.degree

    def batch_sum(self, columns):
        x, y = (np.rint(columns[name] * STEPS).astype(np.int64) for name in ("x", "y"))
        return [int((x**a * y**b * STEPS ** (self.degree - a - b)).sum()) for a, b in self.powers]

    def sensitivity(self):
        size = self.printed * self.unit
        return Sensitivity(size, size**2, (Fraction(1),) * len(self.powers))


def with_statistic(statistic, sensitivity=None):
    """A change of the crossing: noise that is right for a sensitivity that is not."""

    def change(right, budget):
        size = sensitivity or statistic.sensitivity()
        return Lying(
            statistic, size, noise_for(budget, size, None), said=claim(budget) if hasattr(budget, "epsilon") else None
        )

    return change


def plan_of(change, schema=None, budget=None):
    model, usual = LINE
    return tacit.Plan(model, schema or usual, budget or tacit.PureDP(1.0), BrokenNoise(change=change))


PRODUCTS = ((2, 0), (1, 1), (0, 2))
# The printed total for d covariates of width w_x and a response of width w_y: w_x^2 d(d+1)/2 + w_x w_y d + w_y^2.
NO_INTERCEPT = Monomials(PRODUCTS, Fraction(3), 2)  # [1, 2] twice: 3, where 9 is true
INTERCEPT = Monomials(((1, 0), (0, 1), *PRODUCTS), Fraction(3, 2), 2)  # [0, 1/2] twice: 1.5, where 1.75 is true
FOURTH = Monomials(((1, 0), (2, 0), (3, 0), (4, 0)), Fraction(5), 4)  # [1, 2]: 5 w^4 = 5, where 26 is true
CLIPPED = Monomials(((1, 0),), Fraction(1), 1)  # [-1, 1], taken for 1 apart, where 2 is true


def _poisson():
    """The printed bound for Poisson statistics (x, xx, yx, yxx) has one y for both records: 4.0701 where 4.11 is true.

    R = R_y = 1 and the ratios c2 = 0.5, c3 = 0.01, c4 = 0.1 of squared noise scales.
    """
    statistic = Monomials(((1, 0), (2, 0), (1, 1), (2, 1)), Fraction(1), 3)
    c2, c3, c4 = 0.5, 0.01, 0.1
    delta = (2 * (c2 + c4) + c3 + 1) / math.sqrt(2 * (c2 + c4))
    weights = tuple(Fraction(1 / math.sqrt(c)).limit_denominator(10**6) for c in (1.0, c2, c3, c4))
    squared = Fraction(delta**2) * statistic.unit**2
    sensitivity = Sensitivity(Fraction(100) * statistic.unit, squared, weights)
    return plan_of(with_statistic(statistic, sensitivity), tacit.Schema(y=(0, 1), x=(-1, 1)), tacit.ZCDP(0.5))


def _no_clamp(monkeypatch):
    """A number beyond its bounds counts as it is."""
    monkeypatch.setattr(np, "clip", lambda values, *rest, **more: values)
    schema = tacit.Schema(y=(-1, 1), x=(-1, 1))
    return plan_of(with_statistic(_AllFour()), schema)


@dataclass(frozen=True)
class _AllFour(Monomials):
    """x, y and their products on [-1, 1]^2, with the right claim for clamped cells."""

    powers: Any = ((1, 0), (0, 1), *PRODUCTS)
    printed: Fraction = Fraction(16, 3)
    degree: int = 2

    def batch_sum(self, columns):
        with np.errstate(all="ignore"):
            x, y = (np.rint(np.nan_to_num(columns[n], nan=0.0, posinf=9.0, neginf=-9.0)) for n in ("x", "y"))
        x, y = (np.where(np.abs(v) > 9, 9, v).astype(np.int64) * STEPS for v in (x, y))
        return [int((x**a * y**b * STEPS ** (2 - a - b)).sum()) for a, b in self.powers]


def _two_blocks(right, budget):
    """Products and sums are two releases, each noised for the whole budget: the claim is the larger one's."""
    claimed = right.sensitivity
    half = Sensitivity(claimed.l1 / 2, claimed.l2_squared / 2, claimed.relative_scales)
    return Lying(right.statistic, half, noise_for(budget, half, None), said=claim(budget))


def _one_row(right, budget):
    one = right.statistic.sensitivity()
    return lying(right, budget, sensitivity=one, noise=noise_for(budget, one, None))


# ---------------------------------------------------------------------------------------------------------------------
# Output perturbation (Chaudhuri and Monteleoni), as printed in a theorem that bounds the L1 norm by the L2 norm's bound

PENALTY, FINE = 1 / 9, 2**40


class Fitted(Accumulator):
    """Rows, and the penalised logistic fit of all of them on a lattice: `totals` is the estimate."""

    batch_rows = 2**16

    def __init__(self):
        self.rows: list[tuple[np.ndarray, float, int]] = []

    def add(self, columns, *, times=1):
        x = np.stack([columns[name] for name in ("a", "b", "c")], axis=1)
        sign = 2.0 * columns["y"] - 1
        self.rows += [(row, float(s), times) for row, s in zip(x, sign, strict=True)]

    @property
    def totals(self):
        x = np.array([row for row, *_ in self.rows])
        sign, times = (np.array([row[i] for row in self.rows]) for i in (1, 2))
        theta = np.zeros(3)
        for _ in range(30):
            p = 1 / (1 + np.exp(sign * (x @ theta)))
            gradient = -(times * p * sign) @ x / times.sum() + PENALTY * theta
            hessian = (x * (times * p * (1 - p))[:, None]).T @ x / times.sum() + PENALTY * np.eye(3)
            step = np.linalg.solve(hessian, gradient)
            theta = theta - step
            if np.abs(step).max() < 1e-14:
                break
        return [round(v * FINE) for v in theta]


@dataclass(frozen=True)
class OutputPerturbation(Lying):
    n: int = 1000

    @property
    def columns(self):
        return ("a", "b", "c", "y")

    @property
    def entries(self):
        return ("theta_a", "theta_b", "theta_c")

    @property
    def unit(self):
        return FINE

    def accumulator(self):
        return Fitted()


def _theorem_4(right, budget):
    """iid Laplace(2 / (n lambda epsilon)), as printed; two fits are up to p times 2 / (n lambda) apart (L1)."""
    size = Fraction(2 / (1000 * PENALTY)) * FINE
    sensitivity = Sensitivity(size, size**2, (Fraction(1),) * 3)
    noise = DiscreteLaplace((math.ceil(size / Fraction(budget.epsilon)),) * 3)
    return OutputPerturbation(right.statistic, sensitivity, noise, claim(budget))


LOGISTIC = (
    tacit.LogisticRegression("y ~ a + b + c"),
    tacit.Schema(y=["no", "yes"], a=(-1, 1), b=(-1, 1), c=(-1, 1)),
)
PEOPLE = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(1.0))


def _forgotten_rows(monkeypatch):
    return replace(PEOPLE, mechanism=BrokenNoise(unit=tacit.Person("who", 3, "row"), change=_one_row))


HALF = tacit.Schema(y=(0, 0.5), x=(0, 0.5))
FAULTS = [
    Fault(
        "printed Gram sensitivity, no intercept",
        "boxes away from 0: 3 for 9",
        lambda m: plan_of(with_statistic(NO_INTERCEPT)),
        ("sensitivity", "exact curve"),
    ),
    Fault(
        "printed Gram sensitivity, intercept",
        "narrow boxes: 1.5 for 1.75",
        lambda m: plan_of(with_statistic(INTERCEPT), HALF),
        ("sensitivity", "exact curve"),
    ),
    Fault(
        "printed fourth moments", "5 for 26", lambda m: plan_of(with_statistic(FOURTH)), ("sensitivity", "exact curve")
    ),
    Fault(
        "printed Poisson sensitivity",
        "one y for both records: 4.0701 for 4.11, squared",
        lambda m: _poisson(),
        ("sensitivity", "exact curve"),
    ),
    Fault(
        "printed clipping to [-D, D]",
        "taken for a distance of D, where it is 2 D",
        lambda m: plan_of(with_statistic(CLIPPED), tacit.Schema(y=(-1, 1), x=(-1, 1))),
        ("sensitivity", "exact curve"),
    ),
    Fault(
        "printed Theorem 4",
        "output perturbation with iid Laplace noise for the L2 distance",
        lambda m: tacit.Plan(*LOGISTIC, tacit.PureDP(1.0), BrokenNoise(change=_theorem_4)),
        ("sensitivity", "exact curve"),
        n=1000,
        runs=1000,
    ),
    Fault("forgotten clamp", "cells outside the bounds count as they are", _no_clamp, ("sensitivity", "exact curve")),
    Fault(
        "budget spent twice, two blocks",
        "each half of the entries is noised for the whole budget",
        lambda m: tacit.Plan(
            tacit.LinearRegression("y ~ x"),
            tacit.Schema(y=(-1, 1), x=(-1, 1)),
            tacit.PureDP(1.0),
            BrokenNoise(change=_two_blocks),
        ),
        ("sensitivity", "exact curve"),
    ),
    Fault(
        "a person's other rows forgotten",
        "three rows a person, noise for one",
        _forgotten_rows,
        ("sensitivity", "exact curve"),
    ),
]
