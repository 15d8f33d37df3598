"""Draws of two unknown numbers by weighting: no Markov chain, and nothing to adapt.

Places phi are drawn from a mixture of two multivariate t distributions with 5 degrees of freedom: one at the peak of
the posterior with the information there, one as wide as the prior. Every place is weighted by the posterior over the
mixture's density, and draws are taken in proportion to the weights. The second part bounds every weight, by 2.4 times
the likelihood there where the prior is normal, so that no shape of posterior is missed; the first makes weights nearly
equal where there is much evidence. In trials with 100 people 0.4 to 0.8 of the places count on average, and 0.03 at
worst. ``efficiency``, the effective number of places over all, is among the diagnostics.

Where the number of rows has noise, too (`CountedPowerSums`), a place has an n of its own, drawn from what its release
alone says, so that only the sums weigh it.

Beside the error of drawing, draws share that of the places, of which there are at least eight for each draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.errors import expected
from tacit.likelihoods.clamped_distributions import ClampedDistribution
from tacit.likelihoods.counted_sums import CountedPowerSums
from tacit.likelihoods.evidence import BinnedReports, NoisyPowerSums
from tacit.likelihoods.noisy_sums import log_marginal
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.laplace_preconditioned_nuts import find_peak
from tacit.samplers.pooled_posterior import distribution_geometry

_FEWEST_PLACES, _PLACES_A_DRAW = 2048, 8
_DEGREES = 5.0
_WIDER = 1.15  # than the normal distribution at the peak
_AT_ONCE = 16


def importance_chain(
    distribution: ClampedDistribution,
    evidence: Sequence[NoisyPowerSums | CountedPowerSums | BinnedReports],
    settings: SamplerSettings,
) -> Chain:
    """Draws of the parameters of ``distribution``, by name; all pieces must be `closed`. ``n`` has those not known."""
    if not evidence:
        raise expected("evidence", list(evidence), "to hold at least one piece")
    cuts = np.cumsum([piece.size for piece in evidence])[:-1]
    geometry = distribution_geometry(distribution, evidence)
    size, places = distribution.size, max(_FEWEST_PLACES, _PLACES_A_DRAW * settings.draws) // 2 * 2

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, cuts)
        peak, _, information = find_peak(evidence, geometry, parts)
        root = jnp.linalg.cholesky(information) / _WIDER
        for_normal, for_width, for_draws, for_order = jax.random.split(key, 4)
        for_sizes = jax.random.split(jax.random.fold_in(key, 4), len(evidence))
        counted = [(i, piece) for i, piece in enumerate(evidence) if isinstance(piece, CountedPowerSums)]
        sizes = [piece.propose(for_sizes[i], parts[i], places) for i, piece in counted]
        n = jnp.stack([one[0] for one in sizes], axis=1) if sizes else jnp.zeros((places, 0))
        weighed = sum((one[1] for one in sizes), jnp.zeros(places))
        width = jnp.sqrt(_DEGREES / (2 * jax.random.gamma(for_width, _DEGREES / 2, (places, 1))))
        standard = width * jax.random.normal(for_normal, (places, size))
        near = peak + solve_triangular(root, standard[: places // 2].T, lower=True, trans=1).T
        phi = jnp.concatenate([near, standard[places // 2 :]])

        def log_weight(at: tuple[Any, Any, Any]) -> Any:
            place, rows, value = at
            value = value + distribution.log_prior(place)
            for own, (i, piece) in enumerate(counted):
                value = value + piece.log_given(distribution, place, rows[own], parts[i])
            for piece, numbers in zip(evidence, parts, strict=True):
                if not isinstance(piece, CountedPowerSums):
                    value = value + log_marginal(piece, distribution, place, numbers)
            log_root = jnp.sum(jnp.log(jnp.diagonal(root)))
            mixture = jnp.logaddexp(_log_t(root.T @ (place - peak)) + log_root, _log_t(place))
            return jnp.where(jnp.isfinite(value), value - mixture, -jnp.inf)

        weights = jax.nn.softmax(jax.lax.map(log_weight, (phi, n, weighed), batch_size=_AT_ONCE))
        # One draw from each of as many equal parts of the weight, in random order.
        aims = (np.arange(settings.draws) + jax.random.uniform(for_draws, (settings.draws,))) / settings.draws
        chosen = jnp.minimum(jnp.searchsorted(jnp.cumsum(weights), aims), places - 1)
        chosen = jax.random.permutation(for_order, chosen)
        efficiency = jnp.full(settings.draws, 1 / (jnp.sum(weights**2) * places))
        found = jax.vmap(distribution.parameters)(phi[chosen])
        if counted:
            found = {**found, "n": n[chosen, 0] if len(counted) == 1 else n[chosen]}
        return found, {"efficiency": efficiency}

    return chain


def _log_t(standard: Any) -> Any:
    """The log density of the standard t distribution, up to a constant."""
    return -(_DEGREES + standard.shape[0]) / 2 * jnp.log1p(jnp.sum(standard**2) / _DEGREES)
