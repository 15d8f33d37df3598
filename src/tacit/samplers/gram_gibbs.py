"""Linear regression from a noisy Gram matrix by the Gibbs samplers of bernstein2019 (Algorithm 1), corrected.

With t(x, y) and its moments as in `gram_moments_clt`, one sweep draws

    theta, sigma^2, mu_x, Sigma_x | s   from their conjugate laws
    omega_i^2 | z - s          for Laplace noise, the variances of its normal mixture, see `mixture_variances`
    s | parameters, omega, z   from N(s; n E[t], n Cov(t)) N(z; s, diag(omega^2)), the central limit law of the sums

where s stands for the distinct entries of the Gram matrix of (1, x, y) without n, which does not vary, and z for the
released ones. For Gaussian noise omega^2 is its variance and stays.

It is not a Gibbs sampler of any joint law: the parameters are drawn given s under the exact law of s, and s given the
parameters under the central limit law. The bias fades with n. For one covariate and known sigma, against the exact
posterior (mean shift in posterior standard deviations; ratio of standard deviations): 0.18 and 1.14 at n = 10 with
noise of scale 1; at noise of scale 5: 0.08 and 1.11 at n = 10, 0.06 and 1.04 at n = 50, 0.03 and 1.00 at n = 200.

A central limit draw need not be a Gram matrix. One that is not is drawn again, up to `_TRIES` times, and if all fail s
stays as it was. Whether they fail does not depend on the current s, so the law that this leaves unchanged is the normal
one restricted to Gram matrices, exactly. bernstein2019 sets negative eigenvalues to 0 instead, which is no draw from
any law, piles draws up at sigma = 0 and changes n (docs/errata.md, B9).

Neighbouring sweeps are strongly dependent where n is large and the noise larger than the spread of s: s is then held by
the parameters and the parameters by s. `latent_gram` has no such trouble.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve

from tacit.likelihoods.conjugate_gram import Centred, Numbers, draw_parameters
from tacit.likelihoods.gram_moments_clt import (
    CovariateLaw,
    canonical_order,
    deviations,
    mean_and_covariance,
    normal_law,
    prior_law,
    released_law,
)
from tacit.runtime.chain import Arrays, Chain, Settings
from tacit.samplers.latent_gram import NoisyGram, prior_moments

_TRIES = 8
SWEEPS = 5  # for each draw


def update_chain(layout: NoisyGram, prior: Numbers, settings: Settings, *, laplace: bool) -> Chain:
    """Gibbs-SS-Update: covariates normal, with mu_x and Sigma_x drawn from their conjugate law in every sweep."""
    count = tries(layout.n, layout.size)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        return _draws(key, released, _from_parameters, layout, prior, settings, laplace=laplace, count=count)

    return chain


def prior_chain(layout: NoisyGram, prior: Numbers, settings: Settings, *, laplace: bool) -> Chain:
    """Gibbs-SS-Prior: the moments of the covariates' prior, never updated; mu_x and Sigma_x follow from s.

    A normal law with the right mean and covariance stands in for a mixture of inverse Wishart laws. It is close for
    large nu0 and kappa0 (calibrated at n = 1000 for nu0 = 30 and kappa0 = 20). For a weak prior of covariates (nu0 = 8,
    kappa0 = 1, two covariates, n = 1000, epsilon = 1) 95% intervals cover theta in 98-100% of trials. The paper's form,
    which takes records for independent, covers the intercept in 75%, and mu_x in about 10%.
    """
    law = prior_law(prior.m0, float(prior.kappa0), float(prior.nu0), prior.psi0, layout.n)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        return _draws(key, released, lambda _: law, layout, prior, settings, laplace=laplace, count=_TRIES)

    return chain


def noisy_draws(
    key: Any,
    released: Any,
    fourth: Any,
    layout: NoisyGram,
    prior: Numbers,
    settings: Settings,
    *,
    laplace: bool,
) -> tuple[Arrays, Arrays]:
    """Gibbs-SS-Noisy: the moments of the covariates as released, their noise ignored; for one dataset.

    ``fourth`` is the noisy mean of (1, q)(1, q)' over the records, q the products of the covariates as in
    `gram_moments_clt`; ``released`` are the entries of the Gram matrix in the order of ``layout``. Where both come from
    one joint release, its first and second moments are used twice, as the centre of s and as what was released of it.
    """
    law = released_law(fourth)
    return _draws(key, released, lambda _: law, layout, prior, settings, laplace=laplace, count=_TRIES)


def _from_parameters(parameters: Arrays) -> CovariateLaw:
    return normal_law(parameters["mu_x"], jnp.linalg.cholesky(parameters["Sigma_x"]))


def mixture_variances(normals: Any, uniforms: Any, residual: Any, scale: Any) -> Any:
    """omega^2 given a Laplace residual r of scale b: 1 / omega^2 ~ inverse Gaussian(1 / (b |r|), 1 / b^2).

    bernstein2019, Algorithm 1, line 6. In terms of omega^2 itself, so that nothing overflows as r tends to 0: with g
    standard normal, w = b|r| + (b g)^2 / 2 + b |g| sqrt(b|r| + (b g)^2 / 4) and m = b|r|, take w with probability
    w / (w + m), else m^2 / w.
    """
    m = scale * jnp.abs(residual)
    step = scale * jnp.abs(normals)
    w = jnp.maximum(m + step**2 / 2 + step * jnp.sqrt(m + step**2 / 4), jnp.finfo(jnp.float64).tiny)
    return jnp.where(uniforms * (w + m) <= w, w, m * (m / w))


def condition(released: Any, spread: Any, mean: Any, covariance: Any, draws: Any, noise: Any) -> Any:
    """Draws (entries, tries) of s ~ N(mean, S), S = ``covariance``, given ``released`` = s + N(0, diag(spread)).

    The gain form: with s0 - mean = ``draws`` from N(0, S) and e0 = ``noise`` from N(0, diag(spread)),

        s = s0 + S (S + diag(spread))^-1 (released - s0 - e0).

    It needs no inverse of S; the paper's NormProduct inverts a singular matrix (docs/errata.md, B8).
    """
    # The factor on the diagonal, 1 + 1e-13, keeps rounding from making a nearly singular sum indefinite.
    gain = jnp.linalg.cholesky(covariance + jnp.diag(spread + 1e-13 * jnp.diagonal(covariance)))
    start = mean[:, None] + draws
    return start + covariance @ cho_solve((gain, True), released[:, None] - start - noise)


def tries(n: float, size: int) -> int:
    """How many central limit draws of a Gram matrix are made at once, ``size`` the length of (x, y).

    In units of its expectation the centred block is I + W / sqrt(n), W symmetric normal with variance 2 on the
    diagonal and 1 off it. The smallest eigenvalue of W is above -2 sqrt(size) - u with a probability of at least
    1 - exp(-u^2 / 4), about; u = 13 leaves less than 1e-17.
    """
    return 1 if math.sqrt(n) > 2 * math.sqrt(size) + 13 else _TRIES


def _draws(
    key: Any,
    released: Any,
    law_of: Callable[[Arrays], CovariateLaw],
    layout: NoisyGram,
    prior: Numbers,
    settings: Settings,
    *,
    laplace: bool,
    count: int,
) -> tuple[Arrays, Arrays]:
    """One chain; ``law_of`` gives the moments of the covariates, ``count`` is the number of tries at a Gram matrix."""
    n, size = layout.n, layout.size
    canonical, upper = canonical_order(size - 1), np.triu_indices(size)
    order, entries = canonical[layout.order], len(canonical)  # of the released entries in t
    block_places = np.zeros((size, size), dtype=int)  # of the products of (x, y) in t
    block_places[upper] = block_places.T[upper] = canonical[size:]
    scales = np.zeros(entries)
    scales[order] = layout.scales if laplace else layout.sds
    z = jnp.zeros(entries).at[order].set(released)

    def gram(candidates: Any, current: Centred) -> tuple[Centred, Any]:
        """The first candidate that is a Gram matrix, or the current one; and whether there was none."""
        sums, blocks = candidates.T[:, canonical[:size]], candidates.T[:, block_places]
        factors = jnp.linalg.cholesky(blocks - sums[:, :, None] * sums[:, None, :] / n)
        valid = jnp.isfinite(factors).all(axis=(1, 2))
        first = jnp.argmax(valid)
        found = valid[first]
        factor = jnp.where(found, factors[first], current.factor)
        return Centred(jnp.where(found, sums[first], current.sums), factor), ~found

    def sweep(centred: Centred, key: Any) -> tuple[Centred, Any]:
        for_parameters, for_uniforms, for_normals = jax.random.split(key, 3)
        normals = jax.random.normal(for_normals, (2 * count + 1, entries))
        parameters = draw_parameters(for_parameters, centred, n, prior)
        omega2 = jnp.asarray(scales**2)
        if laplace:
            s = jnp.zeros(entries).at[canonical].set(jnp.concatenate([centred.sums, centred.block(n)[upper]]))
            omega2 = mixture_variances(normals[-1], jax.random.uniform(for_uniforms, (entries,)), z - s, scales)
        theta, variance, law = parameters["theta"], parameters["sigma"] ** 2, law_of(parameters)
        mean, covariance = mean_and_covariance(theta, variance, law)
        spread = math.sqrt(n) * deviations(theta, variance, law, normals[:count].T)
        noise = jnp.sqrt(omega2)[:, None] * normals[count:-1].T
        centred, stayed = gram(condition(z, omega2, n * mean, n * covariance, spread, noise), centred)
        return centred, (parameters, stayed)

    def step(centred: Centred, key: Any) -> tuple[Centred, Any]:
        centred, (parameters, stayed) = jax.lax.scan(sweep, centred, jax.random.split(key, SWEEPS))
        return centred, ({name: x[-1] for name, x in parameters.items()}, jnp.mean(stayed))

    keys = jax.random.split(key, settings.warmup + settings.draws)
    _, (parameters, stayed) = jax.lax.scan(step, _start(released, layout, prior), keys)
    return {name: x[settings.warmup :] for name, x in parameters.items()}, {"stayed": stayed[settings.warmup :]}


def _start(released: Any, layout: NoisyGram, prior: Numbers) -> Centred:
    """The release, drawn towards the prior mean, with the eigenvalues of its centred block raised to a noise's width.

    A start nearer to a singular matrix would have sigma near 0, from where the sweeps climb in steps of 1 / sqrt(n).
    """
    mean, width = prior_moments(layout, prior)
    precision = 1 / layout.sds**2 + 1 / width**2
    sums, block = layout.matrix((released / layout.sds**2 + mean / width**2) / precision)
    steps = 1 / np.sqrt(precision)
    floor = min(0.1 * float(mean.max()), float(steps[layout.order >= layout.size].min()))
    values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / layout.n)
    return Centred(sums, jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T))
