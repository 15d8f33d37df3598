"""Exact draws of a few coefficients from the beta-divergence posterior of a logistic regression, by rejection under an
envelope made of boxes.

The density on the box |theta_j| <= R is proportional to prior(theta) exp(-w sum_i l(u_i)), u_i = y_i x_i'theta, with
the prior N(0, sd^2 I) and, p = 1 / (1 + e^-u) and q = 1 - p,

    l(u) = -p^b / b + (p^beta + q^beta) / beta,     l'(u) = -(p^b q^2 + p q^beta) < 0,     -l''(u) <= kappa.

R = sd sqrt(2 (n w / b + 60)) depends on public numbers alone, so the prior that is cut off there is public too; the
whole posterior has less than size * e^-59 beyond, as the loss of n rows has a range of n / b.

Envelope. The box is cut into cells. On a cell with centre c and half-widths h put r_i = sum_j |x_ij| h_j. For a row

    -l(u) <= -l(u_i(c) + r_i)                                          as l falls,
    -l(u) <= -l(u_i(c)) - l'(u_i(c)) (u - u_i(c)) + kappa r_i^2 / 2        by Taylor's theorem,

and either may be taken. -|theta|^2 / (2 sd^2) lies below its tangent at c. The sum of all is a constant less a linear
function, so that its exponential is a product of exponential distributions cut off at the cell's ends: its mass is
known and it is drawn from directly. Cells where most of what is too much lies are halved until the mean gap, under the
envelope, is below 1, which makes the share that is accepted at least about e^-1; or until so much was computed that
nobody would wait for more.

Memory. How many cells there are depends on rows, and a process that is stopped for want of memory would show it. So
room for all cells there may be is taken, and written to, before a row is looked at, and everything is computed in
blocks of one size; both follow from the numbers of rows and of coefficients alone.

Proof: every point of the box lies in one cell (cells share ends, which have probability 0), and the envelope of its
cell is nowhere below the density. So accepted proposals follow the density, whatever the cells are. Proposals are made
until one is accepted, so that there is no failure; how long that took depends on the rows and must not be shown. []
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from tacit.private_samplers.entropy_arrays import uniforms

_MEAN_GAP = 1.0
_MOST_WORK = 2 * 10**9  # cells times rows
_MOST_CELLS = 2 * 10**5  # some 30 MB; of fewer coefficients as much less as they need
_AT_ONCE = 2**15  # cells times rows
_MOST_HALVED = 4096  # in one round
_BLOCK = 256


def draw_in_cells(x: Any, y: Any, *, beta: float, weight: float, sd: float, draws: int, source: Any) -> Any:
    """``draws`` independent draws (draws, size); x (n, size), y (n,) of -1 and 1."""
    density = _Density(np.asarray(x) * np.asarray(y)[:, None], beta, weight, sd, most_concave(beta))
    cells = split(density)
    shares = np.cumsum(np.exp(cells.log_masses - cells.log_masses.max()))
    block = max(1, min(_BLOCK, _AT_ONCE // max(1, len(density.rows))))
    points: list[Any] = []
    while len(points) < draws:
        u = uniforms((block, 2 + density.size), source)
        picked = cells.take(np.minimum(np.searchsorted(shares, u[:, 0] * shares[-1]), len(shares) - 1))
        theta = picked.draw(u[:, 2:])
        log_ratio = density.log_values(theta) - picked.log_heights(theta)
        points.extend(theta[np.log(u[:, 1]) < log_ratio])
    return np.array(points[:draws])


@dataclass(frozen=True, eq=False)
class _Density:
    """What is drawn from; ``rows`` are y_i x_i."""

    rows: Any
    beta: float
    weight: float
    sd: float
    kappa: float

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    @property
    def reach(self) -> float:
        """R."""
        return self.sd * math.sqrt(2 * (len(self.rows) * self.weight / (self.beta - 1) + 60))

    def loss(self, u: Any) -> Any:
        """l."""
        b = self.beta - 1
        p, q = expit(u), expit(-u)
        return -(p**b) / b + (p**self.beta + q**self.beta) / self.beta

    def slope(self, u: Any) -> Any:
        """l'."""
        p, q = expit(u), expit(-u)
        return -(p ** (self.beta - 1) * q * q + p * q**self.beta)

    def log_values(self, thetas: Any) -> Any:
        """The logarithm of the density at each theta (count, size)."""
        prior = -np.sum(thetas**2, axis=1) / (2 * self.sd**2)
        return prior - self.weight * self.loss(thetas @ self.rows.T).sum(axis=1)


@dataclass(frozen=True, eq=False)
class BoundedCells:
    """Boxes, each with exp(``constant`` - ``linear``.(theta - centre)) above the density in it."""

    low: Any
    high: Any
    constant: Any
    linear: Any
    log_masses: Any
    gaps: Any
    longest: Any  # along which coefficient the gap is made

    def take(self, places: Any) -> BoundedCells:
        """Those at ``places``."""
        parts = (self.low, self.high, self.constant, self.linear, self.log_masses, self.gaps, self.longest)
        return BoundedCells(*(part[places] for part in parts))

    def put(self, places: Any, cells: BoundedCells) -> None:
        """``cells`` at ``places``."""
        for name in ("low", "high", "constant", "linear", "log_masses", "gaps", "longest"):
            getattr(self, name)[places] = getattr(cells, name)

    def log_heights(self, theta: Any) -> Any:
        """The envelope at one point of each cell."""
        return self.constant - np.sum(self.linear * (theta - (self.low + self.high) / 2), axis=1)

    def draw(self, u: Any) -> Any:
        """A point of each cell from its envelope, by inversion of ``u`` (count, size)."""
        half, rate = (self.high - self.low) / 2, np.abs(self.linear)
        with np.errstate(all="ignore"):
            steep = -np.log1p(u * np.expm1(-2 * half * rate)) / rate
        apart = np.where(2 * half * rate > 1e-12, steep, 2 * half * u) - half  # from the centre, downhill
        centre = (self.low + self.high) / 2
        return np.clip(centre + np.where(self.linear < 0, -apart, apart), self.low, self.high)


def split(density: _Density) -> BoundedCells:
    """The cells, and empty places whose mass is 0."""
    rows, size = len(density.rows), density.size
    most = min(_MOST_CELLS, 1000 * 15 ** (size - 1), max(1, _MOST_WORK // (2 * max(1, rows))))
    cells = BoundedCells(
        np.full((most, size), 0.5),
        np.full((most, size), 0.5),
        np.full(most, 0.5),
        np.full((most, size), 0.5),
        np.full(most, -np.inf),
        np.full(most, 0.5),
        np.full(most, 1),
    )
    reach = np.full((1, size), density.reach)
    block, used = max(1, _AT_ONCE // max(1, rows)), 1
    cells.put(np.array([0]), _bounded(density, -reach, reach, block))
    while used < most:
        excess = np.exp(cells.log_masses - cells.log_masses.max())
        excess *= np.minimum(cells.gaps, 20.0) / excess.sum()
        if (whole := float(excess.sum())) < _MEAN_GAP:
            break
        largest = np.argpartition(-excess, min(_MOST_HALVED, most - 1))[:_MOST_HALVED]
        largest = largest[np.argsort(-excess[largest])]
        count = int(np.searchsorted(np.cumsum(excess[largest]), 0.9 * whole)) + 1
        halved = largest[: min(count, max(64, used // 2), used, most - used)]
        halved = halved[halved < used]
        for part in np.split(halved, range(block, len(halved), block)):
            low, high = cells.low[part], cells.high[part]
            along, every = cells.longest[part], np.arange(len(part))
            middle = (low + high)[every, along] / 2
            first_high, second_low = high.copy(), low.copy()
            first_high[every, along] = second_low[every, along] = middle
            cells.put(part, _bounded(density, low, first_high, block))
            cells.put(used + every, _bounded(density, second_low, high, block))
            used += len(part)
    return cells


def _bounded(density: _Density, low: Any, high: Any, block: int) -> BoundedCells:
    """The envelope of each cell, at most ``block`` of them: as many are computed always."""
    count, filled = len(low), np.arange(block) % len(low)
    return BoundedCells(low, high, *(part[:count] for part in _bounds(density, low[filled], high[filled])))


def _bounds(density: _Density, low: Any, high: Any) -> tuple[Any, ...]:
    centre, half = (low + high) / 2, (high - low) / 2
    u = centre @ density.rows.T
    # more than the rounding of u and r
    r = half @ np.abs(density.rows).T * (1 + 1e-9) + 1e-12 * (np.abs(centre) @ np.abs(density.rows).T)
    here, least, largest = density.loss(u), density.loss(u + r), density.loss(u - r)
    curved = density.kappa * r * r / 2
    taylor = curved < (largest - least) / 2
    constant = density.weight * np.where(taylor, curved - here, -least).sum(axis=1) + 1e-9
    constant -= np.sum(centre**2, axis=1) / (2 * density.sd**2)
    linear = density.weight * np.where(taylor, density.slope(u), 0.0) @ density.rows + centre / density.sd**2
    gaps = density.weight * np.where(taylor, curved, largest - least)
    along = (gaps / np.maximum(r, 1e-300)) @ np.abs(density.rows) * half + half**2 / (2 * density.sd**2)
    log_masses = constant + _log_integrals(np.abs(linear), half).sum(axis=1)
    missing = gaps.sum(axis=1) + np.sum(half**2, axis=1) / (2 * density.sd**2)
    return constant, linear, log_masses, missing, np.argmax(along, axis=1)


def _log_integrals(rate: Any, half: Any) -> Any:
    """ln of the integral of exp(-rate s) over |s| <= half; rate >= 0."""
    z = np.maximum(2 * half * rate, 1e-300)
    return np.log(2 * half) + half * rate + np.where(z > 1e-12, np.log(-np.expm1(-z) / z), 0.0)


def most_concave(beta: float, parts: int = 4000) -> float:
    """kappa: an upper bound on -l'' = p^b q^2 (b q - 2p) + p q^beta (q - beta p) over p in (0, 1).

    Proof: over each of many intervals of p every factor is monotone or unimodal and lies between its values at the ends
    or at its top; a product of a factor that is not negative and one that may be is at most the larger of the two
    products with the second's largest value. []
    """
    b, ends = beta - 1, np.linspace(0.0, 1.0, parts + 1)
    low, high = ends[:-1], ends[1:]

    def term(first: float, second: float, sloped: Any) -> Any:
        def factor(p: Any) -> Any:
            return p**first * (1 - p) ** second

        top = np.clip(first / (first + second), low, high)
        sizes = np.maximum(factor(top), np.maximum(factor(low), factor(high))), np.minimum(factor(low), factor(high))
        return np.maximum(sizes[0] * sloped, sizes[1] * sloped)

    whole = term(b, 2.0, b * (1 - low) - 2 * low) + term(1.0, beta, (1 - low) - beta * low)
    return max(0.0, float(whole.max())) * (1 + 1e-9)
