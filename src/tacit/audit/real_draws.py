"""Real draws from rows against the distribution that is claimed for them: their support, their fit, their failures.

What is compared is what `PosteriorDraws.cross` gives, rounded as it is released. #{rounded <= v} is #{exact <= v + h}
with h half a step of the grid, so that rounding costs the comparison nothing. A sampler that is within gamma of its
density in total variation may have every cumulative probability off by gamma; that, and what the reference is known to,
is taken off the distance before it is judged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from tacit.audit.cells import Floats
from tacit.audit.quadrature import WORST, Quadrature, quadrature
from tacit.audit.row_laws import MOST_PARAMETERS, potentials, prior_terms, record_terms
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.models.draw_law import FAILED
from tacit.noise.entropy import OSEntropy
from tacit.privacy.basis import Basis

_CHAINS, _AT_ONCE = 10, 100  # draws at a time, between looks at the clock
_REFERENCE = 200_000  # points of a weighted reference
_WIDER = 1.5  # than the draws: the standard deviation of the points of a reference
_LEAST_EFFECTIVE = 5_000
_EQUAL = 1e-9  # of the range of a statistic


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of one table (count, size) in the units of a release, NaN for those that failed; ``half`` a step."""

    table: Floats
    half: float

    @property
    def values(self) -> Floats:
        """Those that did not fail."""
        return self.table[~np.isnan(self.table).any(axis=1)]

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.table) - len(self.values)


def real_draws(
    crossing: PosteriorDraws, collected: Any, n: int, count: int, *, seconds: float, at_once: int = _AT_ONCE
) -> Draws:
    """``count`` independent draws through the boundary's code, several a call; fewer where they take ``seconds``.

    A last batch is not cut off, and at least two are made, so that a draw which is kept shows as a repeat.
    """
    loss = crossing.loss
    assert isinstance(loss, RowLoss)
    k = max(1, min(_CHAINS if loss.basis is Basis.ASSUMED else at_once, count // 2))
    many = replace(
        crossing,
        loss=replace(loss, sampling=replace(loss.settings, draws=k)),
        drawn=replace(crossing.drawn, draws=k),
    )
    found: list[Any] = []
    started = time.monotonic()
    while k * len(found) < count and (len(found) < 2 or time.monotonic() - started < seconds):
        found.append(np.array(many.cross(collected, n, OSEntropy()), np.float64).reshape(k, -1))
    table = np.concatenate(found)[:count]
    return Draws(np.where(table == FAILED, np.nan, table) / crossing.unit, 0.5 / crossing.unit)


def outside(loss: RowLoss, numbers: dict[str, float], draws: Draws) -> int:
    """How many draws lie outside the support of the density, however they were rounded."""
    values = draws.values
    if not len(values):
        return 0
    inside = np.zeros(len(values), bool)
    for moved in (values, np.sign(values) * np.maximum(np.abs(values) - draws.half, 0), values + draws.half):
        inside |= np.isfinite(prior_terms(loss, numbers, loss.theta_of(moved)))
    return int((~inside).sum())


@dataclass(frozen=True, eq=False)
class Weighted:
    """Points with weights that make them a sample of the density, where it is log-concave: one long exact run."""

    points: Floats
    weights: Floats

    def of(self, statistic: Floats) -> tuple[Floats, Floats]:
        """The values of a statistic at the points, and the cumulative probability at each."""
        order = np.argsort(statistic)
        mass = self.weights[order]
        return statistic[order], np.cumsum(mass) - mass / 2

    def effective(self, statistic: Floats) -> float:
        """How many independent draws know the statistic's cumulative probabilities as well, at the worst of them."""
        order = np.argsort(statistic)
        mass = self.weights[order]
        below, squares = np.cumsum(mass), np.cumsum(mass**2)
        variance = squares * (1 - below) ** 2 + (squares[-1] - squares) * below**2
        return float(0.25 / variance.max())


@dataclass(frozen=True, eq=False)
class Reference:
    """What draws are compared with, and in which words; ``law`` is None where there is nothing."""

    law: Quadrature | Weighted | None
    words: str


def reference(loss: RowLoss, numbers: dict[str, float], rows: Any, draws: Draws, seed: int) -> Reference:
    """Quadrature in up to three parameters; beyond, a weighted run where the density is log-concave."""
    if not _turned_back(loss):
        return Reference(None, "nothing, as the density does not say how released numbers become its parameters")
    thetas = loss.theta_of(draws.values)
    exact = quadrature(loss, numbers, rows, _places(loss, rows, thetas))
    if exact is not None:
        return Reference(exact, "quadrature of the exact density")
    if loss.convex and len(thetas) > 2 * thetas.shape[1]:
        run = _weighted(loss, numbers, rows, thetas, seed)
        if run is not None:
            return Reference(run, "a long run with exact weights")
        return Reference(None, "nothing, as no long run came near to the draws")
    return Reference(None, "nothing, as a density of so many parameters that may have many modes has no exact run")


def _turned_back(loss: RowLoss) -> bool:
    """Whether `theta_of` undoes what a loss does to its draws, where it does something."""
    released = getattr(loss, "released", None)
    point = np.full(len(loss.parameters), 0.3)
    return released is None or np.allclose(loss.theta_of(np.array([released(point)], float)), point)


def _places(loss: RowLoss, rows: Any, thetas: Floats) -> Floats:
    """Where a mode may be: fits to single rows, and the middle and quarters of the draws."""
    x, y = rows
    found = [np.zeros(len(loss.parameters))]
    fitted = getattr(getattr(loss, "density", None), "fitted", None)
    if fitted is not None:
        different = np.unique(np.column_stack([x, y]), axis=0)
        fits = [fitted(one[None, :-1], one[-1:]) for one in different]
        found += [np.asarray(fit) for fit in fits if fit is not None]
    found = found[:4]
    if len(thetas):
        found += list(np.quantile(thetas, [0.5, 0.25, 0.75], axis=0))
    return np.array(found)


def _weighted(loss: RowLoss, numbers: dict[str, float], rows: Any, thetas: Floats, seed: int) -> Weighted | None:
    """Points of two normal distributions around the draws, weighted by density over proposal.

    The draws decide which points are weighed, and not what the weights tend to. None where few points count.
    """
    rng, size = np.random.default_rng(seed), thetas.shape[1]
    root = np.linalg.cholesky(np.cov(thetas.T) + 1e-12 * np.eye(size))
    normal = rng.standard_normal((_REFERENCE, size))
    scale = np.where(rng.random((_REFERENCE, 1)) < 0.5, 1.0, _WIDER)
    points = thetas.mean(axis=0) + (scale * normal) @ root.T
    square = np.sum((scale * normal) ** 2, axis=1)
    proposed = np.logaddexp(-square / 2, -square / 2 / _WIDER**2 - size * np.log(_WIDER))
    potential = potentials(loss, numbers, rows, points)
    logs = np.where(np.isfinite(potential), -potential - proposed, -np.inf)
    if not np.isfinite(logs).any():
        return None
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return Weighted(points, weights) if 1 / float(np.sum(weights**2)) >= _LEAST_EFFECTIVE else None


def draw_tests(
    loss: RowLoss, numbers: dict[str, float], draws: Draws, against: Reference, records: Any
) -> dict[str, float]:
    """The p-value of each test, Bonferroni over its own comparisons: support, failures, repeats, fit.

    ``records`` are the two differing rows x, y: the log ratio of their terms is one of the statistics.
    """
    from scipy.stats import binom

    gamma, found = loss.gamma(), dict[str, float]()
    for name, count in (("support", outside(loss, numbers, draws)), ("failures", draws.failed)):
        found[name] = float(binom.sf(count - 1, len(draws.table), gamma)) if count else 1.0
    unique = len(np.unique(draws.values, axis=0))
    found["repeats"] = 0.0 if len(draws.values) >= 20 and unique < len(draws.values) / 2 else 1.0
    if against.law is None or not len(draws.values):
        return found
    p_values = _fits(loss, numbers, draws, against.law, records, gamma)
    if p_values:
        found["fit"] = min(1.0, len(p_values) * min(p_values))
    return found


def _fits(
    loss: RowLoss, numbers: dict[str, float], draws: Draws, law: Quadrature | Weighted, records: Any, gamma: float
) -> list[float]:
    """Kolmogorov and Smirnov on every parameter and on the log ratio of the two records."""
    size, half = draws.values.shape[1], draws.half
    low, high = loss.theta_of(draws.values - half), loss.theta_of(draws.values + half)
    found: list[float] = []

    def ratio(thetas: Floats) -> Floats:
        mine, theirs = record_terms(loss, numbers, records, thetas)
        return mine - theirs

    signs = product((-1, 1), repeat=size) if size <= MOST_PARAMETERS else [(0,) * size]  # beyond, a step is nothing
    corners = [ratio(loss.theta_of(draws.values + half * np.array(one))) for one in signs]
    telling = np.min(corners, axis=0), np.max(corners, axis=0)
    alike = bool(np.ptp(telling) < 1e-12)  # of the two records: their ratio says nothing then
    if isinstance(law, Quadrature):
        coarse = law.coarser
        compared = [((low[:, j], high[:, j]), law.marginal(j), coarse.marginal(j)) for j in range(size)]
        if not alike:
            compared.append((telling, law.of(ratio(law.points)), coarse.of(ratio(coarse.points))))
        for ends, fine, rough in compared:
            error = _apart(fine, rough)
            if error <= WORST:
                found.append(_ks(*ends, *fine, slack=gamma + error))
        return found
    statistics = [(law.points[:, j], (low[:, j], high[:, j])) for j in range(size)]
    for statistic, ends in [*statistics, *([] if alike else [(ratio(law.points), telling)])]:
        found.append(_ks(*ends, *law.of(statistic), slack=gamma, known=law.effective(statistic)))
    return found


def _apart(fine: tuple[Floats, Floats], rough: tuple[Floats, Floats]) -> float:
    """The largest difference of two cumulative functions, each given at its own places."""
    places = np.concatenate([fine[0], rough[0]])
    return float(np.max(np.abs(np.interp(places, *fine) - np.interp(places, *rough))))


def _ks(low: Floats, high: Floats, places: Floats, cumulative: Floats, *, slack: float, known: float = np.inf) -> float:
    """The p-value of Kolmogorov and Smirnov's distance less ``slack``.

    Draw i lies somewhere between low[i] and high[i]. ``known`` draws made the reference. Places that are equal but for
    rounding count as one.
    """
    from scipy.special import kolmogorov
    from scipy.stats import kstwo

    m, equal = len(low), _EQUAL * float(places[-1] - places[0])
    steps = np.arange(1, m + 1) / m
    above = np.interp(np.sort(high) + equal, places, cumulative, left=0.0, right=1.0)
    below = np.interp(np.sort(low) - equal, places, cumulative, left=0.0, right=1.0)
    distance = max(float(np.max(steps - above)), float(np.max(below - (steps - 1 / m)))) - slack
    if distance <= 0:
        return 1.0
    if known < np.inf:
        return float(kolmogorov(distance * np.sqrt(m * known / (m + known))))
    return float(kstwo.sf(min(distance, 1.0), m))
