"""Where the numbers of a release by group stand, and what they say of each latent sum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from tacit.samplers.release_noise import Noises


@dataclass(frozen=True, eq=False)
class GroupSums:
    """What is known beside a release: ``n`` rows, or None, in ``groups``; the noise of each release.

    ``rest`` columns are no slopes; ``slope`` says whether there is one. ``select`` (sums over all rows, (rest + 2)^2)
    makes each sum over all rows of the products of (1, rest, y). Its last ``fixed`` rows are not released: they are 0
    for every table, as an indicator is its own square.
    """

    n: float | None
    groups: int
    rest: int
    slope: bool
    select: Any
    fixed: int
    noises: Noises

    @property
    def q(self) -> int:
        """How many effects vary."""
        return 1 + self.slope

    @property
    def width(self) -> int:
        """How many numbers a group has: the two parts of y, sums of slope and rest, and products with the slope."""
        return 2 + self.slope + self.rest + self.slope * (2 + self.rest)

    @cached_property
    def of_slope(self) -> Any:
        """Where the sums of the slope's column by group stand among the entries, and (2, groups) of its squares."""
        own = [2, 3 + self.rest] if self.slope else []
        return np.array([[self.width * g + i for g in range(self.groups)] for i in own], int).reshape(-1, self.groups)

    @cached_property
    def others(self) -> Any:
        """All other entries."""
        return np.setdiff1d(np.arange(self.noises.scales.shape[1]), self.of_slope)


@dataclass(frozen=True, eq=False)
class Seen:
    """Noisy sums in their places, each followed by the variances of its noise.

    ``parts`` (groups, 2), ``rest`` (groups, rest, q), ``over_all`` (sums over all rows); with a slope its ``sums`` and
    ``squares`` by group, and its products with y, ``turned``.
    """

    parts: Any
    parts_v: Any
    rest: Any
    rest_v: Any
    over_all: Any
    over_all_v: Any
    sums: Any = None
    sums_v: Any = None
    squares: Any = None
    squares_v: Any = None
    turned: Any = None
    turned_v: Any = None

    @staticmethod
    def of(problem: GroupSums, z: Any, variances: Any, usual: Any) -> Seen:
        """From releases ``z`` (releases, entries) with these ``variances`` of their noise, which are ``usual``."""
        groups, k, width = problem.groups, problem.rest, problem.width
        precision = jnp.sum(1 / variances, axis=0)
        best, wide = jnp.sum(z / variances, axis=0) / precision, 1 / precision
        # What is 0 for every table counts as if it had been released with half the noise.
        fixed = jnp.full((problem.fixed,), jnp.min(1 / jnp.sum(1 / usual[:, width * groups :], axis=0)) / 4)
        over_all = {
            "over_all": jnp.append(best[width * groups :], jnp.zeros(problem.fixed)),
            "over_all_v": jnp.append(wide[width * groups :], fixed),
        }
        found: dict[str, Any] = {}
        for one, end in ((best, ""), (wide, "_v")):
            by_group = one[: width * groups].reshape(groups, width)
            first = 2 + problem.slope
            found["parts" + end] = by_group[:, :2]
            rest = [by_group[:, first : first + k]]
            if problem.slope:
                found["sums" + end], found["squares" + end] = by_group[:, 2], by_group[:, first + k]
                rest.append(by_group[:, first + k + 1 : -1])
                found["turned" + end] = by_group[:, -1]
            found["rest" + end] = jnp.stack(rest, axis=-1)
        return Seen(**found, **over_all)

    def sum_of_y(self, n: Any) -> tuple[Any, Any]:
        """What both parts of a group say of its sum of y, given its size: n - 2 low and 2 high - n, by precision."""
        low, high = self.parts_v[:, 0], self.parts_v[:, 1]
        together = 1 / low + 1 / high
        return ((n - 2 * self.parts[:, 0]) / low + (2 * self.parts[:, 1] - n) / high) / together, 4 / together

    def vectors(self, n: Any) -> tuple[Any, Any]:
        """The sums z r of the rest and z y of every group (groups, (rest + 1) q), and the variances of their noise."""
        found: list[Any] = []
        for own, rest, turned in zip(
            self.sum_of_y(n), (self.rest, self.rest_v), (self.turned, self.turned_v), strict=True
        ):
            y = own[:, None] if turned is None else jnp.stack([own, turned], axis=-1)
            found.append(jnp.concatenate([rest, y[:, None, :]], axis=1).reshape(len(n), -1))
        return found[0], found[1]

    def log_sizes(self, n: Any) -> Any:
        """The log density of what the parts say of the sizes."""
        wide = jnp.sum(self.parts_v, axis=1)
        return -jnp.sum((jnp.sum(self.parts, axis=1) - n) ** 2 / wide + jnp.log(wide)) / 2


def log_among(z: Any, variances: Any) -> Any:
    """The log density of several releases of the same sums, over that of their weighted mean."""
    wide = 1 / jnp.sum(1 / variances, axis=0)
    best = jnp.sum(z / variances, axis=0) * wide
    return (jnp.sum(jnp.log(wide)) - jnp.sum(jnp.log(variances)) - jnp.sum((z - best) ** 2 / variances)) / 2
