"""Gibbs sampling of many latent counts at once: all cells in pairs, every pair moved independently.

The target is that of `latent_counts`: whole numbers with a fixed sum n, Dirichlet-multinomial a priori, each released
with noise. A sweep pairs the cells at random and moves a number from one cell of each pair to the other, drawn from its
exact conditional distribution on a window of candidates, as there. Pairs have no cell in common, so that given which
cells are paired all of them can be moved at once. What one sweep leaves of a difference between any two sets of cells
is halved by the next one, however many cells there are.

Several sites have counts and noise of their own and the probabilities in common, which are integrated out:

    prod_k Gamma(a_k + sum_s c_sk)  /  prod_sk Gamma(c_sk + 1)  *  noise.

Where a prior leaves most cells empty, rows hardly move from one cell to another a few at a time. So the cells of random
pairs also exchange all that they hold, by a Metropolis step.

One site moves at a time; or all at once, each by so many rows as its size demands, since where noise is wide the sites
hold each other near a common share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.samplers.latent_counts import WINDOW, nearest_counts


def paired_sweep(
    key: Any,
    counts: Any,
    concentration: Any,
    log_noise: Callable[[Any, Any], Any],
    units: Any,
) -> Any:
    """One move of every pair of cells; ``counts`` (sites, cells).

    ``units`` (sizes, sites) are whole rows that a step moves at each site; every pair takes one of them.
    ``log_noise(cells, counts)`` scores ``counts`` (cells, sites, candidates) of some cells, over all sites together.
    """
    cells = counts.shape[1]
    pairs = cells // 2
    for_order, for_moves = jax.random.split(key)
    order = jax.random.permutation(for_order, cells)
    first, second = order[:pairs], order[pairs : 2 * pairs]
    uniform = jax.random.uniform(for_moves, (3, pairs))
    steps = jnp.asarray(units, jnp.float64)
    stride = steps[jnp.floor(uniform[0] * len(steps)).astype(jnp.int32)]  # (pairs, sites)
    offset = jnp.floor(uniform[1] * WINDOW)
    moved = stride[:, :, None] * (jnp.arange(WINDOW) - offset[:, None])[:, None, :]
    up, down = counts.T[first][:, :, None] + moved, counts.T[second][:, :, None] - moved
    possible = jnp.all((up >= 0) & (down >= 0), axis=1)
    up, down = jnp.maximum(up, 0), jnp.maximum(down, 0)
    logs = (
        _log_shared(up, concentration[first][:, None])
        + _log_shared(down, concentration[second][:, None])
        + log_noise(first, up)
        + log_noise(second, down)
    )
    logs = jnp.where(possible, logs, -jnp.inf)
    cumulative = jnp.cumsum(jnp.exp(logs - jnp.max(logs, axis=1, keepdims=True)), axis=1)
    chosen = jnp.sum(cumulative <= uniform[2][:, None] * cumulative[:, -1:], axis=1)
    chosen = jnp.minimum(chosen, WINDOW - 1)
    here = jnp.take_along_axis(possible, chosen[:, None], axis=1)[:, 0]
    chosen = jnp.where(here, chosen, offset.astype(jnp.int32))  # rounding of the last sums must not leave the range
    taken = jnp.take_along_axis(moved, chosen[:, None, None], axis=2)[:, :, 0].T
    return counts.at[:, first].add(taken).at[:, second].add(-taken)


def plausible_counts(key: Any, released: Any, variances: Any, n: Any, concentrations: Any) -> Any:
    """Where a chain starts: counts (sites, cells) for one of the rows of ``concentrations``, drawn about as often as
    the released counts speak for it.

    Where noise is wide a chain keeps to one row for long, so that it should not start from the noise alone. Counts are
    taken to be normal with the mean and the variance that they have given a row, m = n a / A and
    v = m (1 - a / A) (n + A) / (1 + A), and the noise with ``variances``.
    """
    rows = jnp.asarray(concentrations)
    total = jnp.sum(rows, axis=1, keepdims=True)
    share = (rows / total)[:, None, :]
    mean = n[None, :, None] * share
    spread = mean * (1 - share) * ((n[None, :] + total) / (1 + total))[:, :, None] + 1e-9
    both = spread + variances[None]
    logs = -jnp.sum((released[None] - mean) ** 2 / both + jnp.log(both), axis=(1, 2)) / 2
    for_row, for_counts = jax.random.split(key)
    row = jax.random.categorical(for_row, logs)
    held = spread[row] / both[row]
    drawn = jnp.sqrt(held * variances) * jax.random.normal(for_counts, released.shape)
    counts = mean[row] + held * (released - mean[row]) + drawn
    return jax.vmap(nearest_counts)(counts, n)


def exchange(key: Any, counts: Any, concentration: Any, log_noise: Callable[[Any, Any], Any]) -> Any:
    """One Metropolis step of every random pair of cells: they exchange their ``counts`` (sites, cells), at all sites.

    Pairs have no cell in common and the target is a product over cells, so that all may be decided at once.
    """
    cells = counts.shape[1]
    pairs = cells // 2
    for_order, for_moves = jax.random.split(key)
    order = jax.random.permutation(for_order, cells)
    first, second = order[:pairs], order[pairs : 2 * pairs]
    here = counts.T[jnp.concatenate([first, second])]  # (2 pairs, sites)
    there = counts.T[jnp.concatenate([second, first])]
    own = jnp.concatenate([first, second])
    both = jnp.stack([here, there], axis=2)  # as they are, and exchanged
    logs = _log_shared(both, concentration[own][:, None]) + log_noise(own, both)
    gain = logs[:pairs, 1] + logs[pairs:, 1] - logs[:pairs, 0] - logs[pairs:, 0]
    taken = jnp.log(jax.random.uniform(for_moves, (pairs,))) < gain
    chosen = jnp.where(jnp.tile(taken, 2)[:, None], there, here)
    return counts.at[:, own].set(chosen.T)


def _log_shared(counts: Any, concentration: Any) -> Any:
    """log Gamma(a + sum_s c_s) - sum_s log Gamma(c_s + 1) for ``counts`` (pairs, sites, candidates)."""
    total = jnp.sum(counts, axis=1)
    shared = log_gamma_ratio(total, concentration)
    return shared if counts.shape[1] == 1 else shared + gammaln(total + 1) - jnp.sum(gammaln(counts + 1), axis=1)
