"""The noise of one or more releases about the same rows, as samplers see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from tacit.runtime.backend import argument


@dataclass(frozen=True, eq=False)
class Noises:
    """Releases z_1..z_J of the same exact entries, each with noise of its own.

    ``scales`` and ``spreads`` (J, entries) are the scale and the standard deviation of each; ``log_densities`` has for
    each release the log density of its noise at scale 1, and ``laplace`` whether it is Laplace's; else it is normal.
    """

    scales: Any
    spreads: Any
    log_densities: tuple[Callable[[Any], Any], ...]
    laplace: tuple[bool, ...]

    @property
    def releases(self) -> int:
        """How many releases there are."""
        return len(self.log_densities)

    @property
    def sds(self) -> Any:
        """The standard deviation of `best`, an array (entries,)."""
        return (1 / self.spreads**2).sum(axis=0) ** -0.5

    def as_arguments(self) -> Noises:
        """The same, for a program that is compiled once for all scales."""
        scales, spreads = self.numbers()
        return replace(self, scales=scales, spreads=spreads)

    def numbers(self) -> tuple[Any, Any]:
        """What differs from one noise of these kinds to another, as arguments: scales and spreads."""
        return argument(self.scales), argument(self.spreads)

    def best(self, released: Any) -> Any:
        """The mean of the releases (J, entries), weighted by their precision."""
        return jnp.sum(released / self.spreads**2, axis=0) * self.sds**2

    def fresh(self, key: Any) -> Any:
        """Noise such as the first release has, drawn anew: (entries,)."""
        draw = jax.random.laplace if self.laplace[0] else jax.random.normal
        return self.scales[0] * draw(key, self.scales[0].shape)

    def log_density(self, released: Any, entries: Any) -> Any:
        """The log density of all releases (J, entries) given the exact entries, up to a constant."""
        residuals = (released - entries) / self.scales
        return sum(jnp.sum(log(residual)) for log, residual in zip(self.log_densities, residuals, strict=True))


def split_by_site(released: Any, sites: Sequence[Noises]) -> list[Any]:
    """The flat list of all released numbers as one array (J, entries) a site."""
    parts: list[Any] = []
    start = 0
    for site in sites:
        stop = start + site.scales.size
        parts.append(released[start:stop].reshape(site.scales.shape))
        start = stop
    return parts
