"""Independent draws of one unknown number, whatever the pieces of evidence: its posterior is tabled along a line.

The unknown is phi, in which the prior has mean 0 and spread 1 (`clamped_laws`). Each piece's likelihood is known in
closed form (`noisy_sums`, `report_densities`), so the log posterior is a function on a line. It is scanned over the
whole prior; then, round by round, only where it lies within 40 of its largest value, which leaves out less than e^-40
of the mass times the number of widths that are left out. The last table has 513 entries. Between two of them the
density is taken for linear, and draws follow that law exactly: its spread is off by less than 2e-4 of itself.

It assumes that the log posterior has no second peak so narrow that a scan misses it and so high that it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import expected
from tacit.likelihoods.clamped_laws import Law
from tacit.likelihoods.evidence import BinnedReports, Sums
from tacit.likelihoods.noisy_sums import log_marginal
from tacit.runtime.chain import Arrays, Chain, Settings

_LOWEST, _HIGHEST = -60.0, 30.0  # the prior's tails fall no slower than e^-|phi|
_SCAN, _ROUNDS, _TABLE = 65, 7, 513
_DROP = 40.0
_AT_ONCE = 65


def line_chain(law: Law, evidence: Sequence[Sums | BinnedReports], settings: Settings) -> Chain:
    """Independent draws of the one parameter of ``law``, by name; all pieces must be `closed`."""
    if not evidence:
        raise expected("evidence", list(evidence), "to hold at least one piece")
    cuts = np.cumsum([piece.size for piece in evidence])[:-1]

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, cuts)

        def log_posterior(place: Any) -> Any:
            phi = place[None]
            pieces = zip(evidence, parts, strict=True)
            value = law.log_prior(phi) + sum(log_marginal(piece, law, phi, own) for piece, own in pieces)
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        def table(first: Any, last: Any, size: int) -> tuple[Any, Any]:
            places = first + (last - first) * np.linspace(0.0, 1.0, size)
            return places, jax.lax.map(log_posterior, places, batch_size=_AT_ONCE)

        def narrowed(_: int, ends: tuple[Any, Any]) -> tuple[Any, Any]:
            places, values = table(*ends, _SCAN)
            kept = values > jnp.max(values) - _DROP
            low, high = jnp.argmax(kept), _SCAN - 1 - jnp.argmax(kept[::-1])
            return places[jnp.maximum(low - 1, 0)], places[jnp.minimum(high + 1, _SCAN - 1)]

        start = jnp.asarray(_LOWEST, released.dtype), jnp.asarray(_HIGHEST, released.dtype)
        first, last = jax.lax.fori_loop(0, _ROUNDS, narrowed, start)
        places, values = table(first, last, _TABLE)
        drawn = _piecewise_linear(key, places, jnp.exp(values - jnp.max(values)), settings.draws)
        return jax.vmap(lambda place: law.parameters(place[None]))(drawn), {}

    return chain


def _piecewise_linear(key: Any, places: Any, heights: Any, draws: int) -> Any:
    """Draws from the density that is linear between (places, heights), places equally far apart."""
    cells = (heights[:-1] + heights[1:]) / 2
    below = jnp.concatenate([jnp.zeros(1), jnp.cumsum(cells)])
    aim = jax.random.uniform(key, (draws,), heights.dtype) * below[-1]
    cell = jnp.clip(jnp.searchsorted(below, aim, side="right") - 1, 0, cells.size - 1)
    left, rise = heights[cell], heights[cell + 1] - heights[cell]
    # The share t of the cell with left t + rise t^2 / 2 = what is aimed at inside it; this form of the root is stable.
    inside = jnp.clip(aim - below[cell], 0.0, cells[cell])
    share = 2 * inside / jnp.maximum(left + jnp.sqrt(jnp.maximum(left**2 + 2 * rise * inside, 0.0)), 1e-300)
    return places[cell] + jnp.clip(share, 0.0, 1.0) * (places[1] - places[0])
