"""Independent draws of one unknown number, whatever the pieces of evidence: its posterior is tabled along a line.

The unknown is phi, in which the prior has mean 0 and spread 1 (`clamped_distributions`). Each piece's likelihood is
known in closed form (`noisy_sums`, `report_densities`), so the log posterior is a function on a line. It is scanned
over the whole prior; then, round by round until hardly anything more can be left out, only where it lies within 40 of
its largest value, which leaves out less than e^-40 of the mass times the number of widths that are left out. The last
table has 513 entries. Between two of them the density is taken for linear, and draws follow that distribution exactly:
its spread is off by less than 2e-4 of itself.

Where the number of rows has noise, too (`CountedPowerSums`), it is summed over a table of its own at every place, every
tenth entry of it while the line is searched. A drawn place then has an n by the table of the entry next to it, whose
density is taken for linear likewise: entries lie 0.5 scales or 0.3 standard deviations of the noise apart, which makes
n spread by about a hundredth more. What lies more than 20 below the largest value is then left out, and the last table
of places has 65 entries, for a spread off by 3e-3.

It assumes that the log posterior has no second peak so narrow that a scan misses it and so high that it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import expected
from tacit.likelihoods.clamped_distributions import ClampedDistribution
from tacit.likelihoods.counted_sums import CountedPowerSums
from tacit.likelihoods.evidence import BinnedReports, NoisyPowerSums
from tacit.likelihoods.noisy_sums import log_marginal
from tacit.runtime.chain import Arrays, Chain, SamplerSettings

_LOWEST, _HIGHEST = -60.0, 30.0  # the prior's tails fall no slower than e^-|phi|
_SCAN, _ROUNDS, _TABLE = 65, 7, 513
_COUNTED_TABLE, _APART = 65, 10
_DROP, _COUNTED_DROP = 40.0, 20.0
_SETTLED = 0.7  # of its width, at least, is kept by a round that is the last one
_AT_ONCE = 65


def grid_1d_chain(
    distribution: ClampedDistribution,
    evidence: Sequence[NoisyPowerSums | CountedPowerSums | BinnedReports],
    settings: SamplerSettings,
) -> Chain:
    """Independent draws of the one parameter of ``distribution``, by name; all pieces must be `closed`. ``n`` has those
    not known.
    """
    if not evidence:
        raise expected("evidence", list(evidence), "to hold at least one piece")
    cuts = np.cumsum([piece.size for piece in evidence])[:-1]

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, cuts)

        counted = [i for i, piece in enumerate(evidence) if isinstance(piece, CountedPowerSums)]
        sizes = {i: evidence[i].table(parts[i]) for i in counted}  # type: ignore[union-attr]

        def log_densities(place: Any, apart: int) -> tuple[Any, list[Any]]:
            """The log posterior, and that of every n beside it, of those ``apart`` entries from each other."""
            phi = place[None]
            value, of_sizes = distribution.log_prior(phi), []
            for i, (piece, own) in enumerate(zip(evidence, parts, strict=True)):
                if isinstance(piece, CountedPowerSums):
                    n, logs = sizes[i]
                    of_sizes.append(piece.tabled(distribution, phi, (n[::apart], logs[::apart]), own))
                    value = value + jax.scipy.special.logsumexp(of_sizes[-1])
                else:
                    value = value + log_marginal(piece, distribution, phi, own)
            return jnp.where(jnp.isfinite(value), value, -jnp.inf), of_sizes

        def table(first: Any, last: Any, size: int, apart: int) -> tuple[Any, Any]:
            places = first + (last - first) * np.linspace(0.0, 1.0, size)
            return places, jax.lax.map(lambda place: log_densities(place, apart), places, batch_size=_AT_ONCE)

        def narrowed(state: tuple[Any, ...]) -> tuple[Any, ...]:
            first, last, rounds, _ = state
            places, (values, _) = table(first, last, _SCAN, _APART)
            kept = values > jnp.max(values) - (_COUNTED_DROP if counted else _DROP)
            low, high = jnp.argmax(kept), _SCAN - 1 - jnp.argmax(kept[::-1])
            low, high = jnp.maximum(low - 1, 0), jnp.minimum(high + 1, _SCAN - 1)
            return places[low], places[high], rounds + 1, high - low > _SETTLED * (_SCAN - 1)

        start = jnp.asarray(_LOWEST, released.dtype), jnp.asarray(_HIGHEST, released.dtype), 0, False
        first, last, *_ = jax.lax.while_loop(lambda state: (state[2] < _ROUNDS) & ~state[3], narrowed, start)
        places, (values, of_sizes) = table(first, last, _COUNTED_TABLE if counted else _TABLE, 1)
        drawn = _piecewise_linear(key, places, jnp.exp(values - jnp.max(values)), settings.draws)
        found = jax.vmap(lambda place: distribution.parameters(place[None]))(drawn)
        if not counted:
            return found, {}
        entry = jnp.rint((drawn - first) / (places[1] - places[0])).astype(jnp.int32)
        rows: list[Any] = []
        for i, logs in zip(counted, of_sizes, strict=True):
            heights = jnp.exp(logs - jnp.max(logs, axis=1, keepdims=True))
            uniform = jax.random.uniform(jax.random.fold_in(key, i + 1), (settings.draws,), heights.dtype)
            rows.append(_along_rows(uniform, sizes[i][0], heights, entry))
        return {**found, "n": rows[0] if len(rows) == 1 else jnp.stack(rows, axis=1)}, {}

    return chain


def _piecewise_linear(key: Any, places: Any, heights: Any, draws: int) -> Any:
    """Draws from the density that is linear between (places, heights), places equally far apart."""
    uniform = jax.random.uniform(key, (draws,), heights.dtype)
    below = jnp.concatenate([jnp.zeros(1), jnp.cumsum((heights[:-1] + heights[1:]) / 2)])
    aim = uniform * below[-1]
    cell = jnp.clip(jnp.searchsorted(below, aim, side="right") - 1, 0, heights.size - 2)
    return _within(places, cell, aim - below[cell], heights[cell], heights[cell + 1])


def _along_rows(uniform: Any, places: Any, heights: Any, row: Any) -> Any:
    """The same where each draw has a row of ``heights`` of its own, out of few; ``uniform`` numbers are given."""
    size = heights.shape[1]
    below = (heights[:, :-1] + heights[:, 1:]) / 2 @ np.tri(size - 1).T  # faster than cumsum on a CPU
    aim = uniform * below[row, -1]
    cell = jnp.clip(jnp.sum(below[row] <= aim[:, None], axis=1), 0, size - 2)
    before = jnp.where(cell > 0, below[row, cell - 1], 0.0)
    return _within(places, cell, aim - before, heights[row, cell], heights[row, cell + 1])


def _within(places: Any, cell: Any, aim: Any, left: Any, right: Any) -> Any:
    """Where in a cell ``aim`` lies, of an area (left + right) / 2 under the line between its heights."""
    # The share t of the cell with left t + rise t^2 / 2 = what is aimed at inside it; this form of the root is stable.
    rise = right - left
    inside = jnp.clip(aim, 0.0, (left + right) / 2)
    share = 2 * inside / jnp.maximum(left + jnp.sqrt(jnp.maximum(left**2 + 2 * rise * inside, 0.0)), 1e-300)
    return places[cell] + jnp.clip(share, 0.0, 1.0) * (places[1] - places[0])
