"""Linear regression from a noisy Gram matrix where the noise is small: subtract fresh noise, and correct.

Given the release z, the exact entries s have the density p(s) f(z - s), with p the distribution of the Gram matrix,
every parameter integrated out (`conjugate_gram`), and f that of the noise. p varies over the prior's range, which
grows with n; f does not. So for many rows z minus fresh noise is nearly a draw, and Metropolis with such proposals and
the weights p is exact (`independence`). A draw costs eight evaluations of p, all of them at once, where NUTS takes
tens of gradients one after another: docs/benchmarks.md has what that is worth.

Where the prior says which share of the response is explained, e and h of `response` are proposed beside the sums: e
normal, h from what the released sums would say of it, a little widened. p hardly depends on which sums under the noise
those are. h lies within 10 of what the sums speak for.

Whether it will do is said by the release alone: the variance of log p under the noise, roughly. Where that is above
`MOST`, NUTS is run, as it is for several sites, whose coefficients have to agree, for several releases, and where a
coefficient has a prior of its own. Beyond `MOST_BY_NUTS` numbers in a row NUTS would take many minutes, and is refused:
before anything is sampled, and `tacit check` says from how many rows on there is a posterior (`fewest_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import RefusedError, expected
from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, fit, log_site
from tacit.likelihoods.response import Fit, ResponsePrior, given_sigma, log_response
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, Either, SamplerSettings, Shaped
from tacit.samplers.independence import independence
from tacit.samplers.latent_gram import NoisyGram, draw_all, prior_moments, wishart_chain

MOST = 1.0
"""The largest variance of log p under the noise with which fresh noise is tried."""
MOST_BY_NUTS = 40
"""Numbers in a row, the response among them, up to which NUTS samples their Gram matrix."""
_LARGEST = 40  # numbers in a row; asking entry by entry takes memory of the fourth power of them
_DRAWN = 64  # draws of the noise that are asked instead
_WHY_ONE = "for several sites or releases, or a prior of one coefficient: leave columns out"
_MOST_FRESH = 128  # numbers in a row; a block of proposals takes 0.5 GB


def gram_chain(sites: Sequence[NoisyGram], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """The posterior given noisy Gram matrices, by the quicker way that suits."""
    layout = sites[0]
    fresh = one_may_do(sites, prior)
    if layout.size > MOST_BY_NUTS and not fresh:
        raise expected("size", layout.size, f"numbers in a row of the formula to be at most {MOST_BY_NUTS} {_WHY_ONE}")
    sure = wishart_chain(sites, prior, settings)
    if not fresh:
        return sure

    def chosen(released: Any) -> Any:
        found = suits(layout, prior, released)
        if layout.size > MOST_BY_NUTS and not found.all():
            raise RefusedError(
                f"Expected the noise to be small beside the sums, as {layout.size} numbers in a row need more than "
                f"{layout.n:,.0f} rows at this budget: the posterior of fewer would take hours. Release fewer columns, "
                "or look at --method naive, whose intervals leave the noise out."
            )
        return found

    return Either(chosen, independence_mh_chain(layout, prior, settings), sure)


def fewest_rows(layout: NoisyGram, prior: GramPriorParameters) -> int:
    """From about how many rows on fresh noise suits, for rows such as the prior expects: 1, 2 or 5 times a power of 10.

    It sees the plan alone.
    """
    for power in range(2, 16):
        for digit in (1, 2, 5):
            rows = digit * 10**power
            usual = replace(layout, n=float(rows))
            if variance_of_log(usual, prior, prior_moments(usual, prior)[0], layout.sds) <= MOST:
                return rows
    return 10**16


def one_may_do(sites: Sequence[NoisyGram], prior: GramPriorParameters) -> bool:
    """Whether fresh noise is an alternative at all."""
    layout = sites[0]
    return len(sites) == 1 and layout.noises.releases == 1 and layout.size <= _MOST_FRESH and _offered(prior.response)


def _offered(prior: ResponsePrior) -> bool:
    """Whether sigma is integrated out, or proposed beside the sums."""
    return prior.scaled or (prior.share is not None and not prior.coefficients.alone.any())


_GRID, _WIDER, _SD = np.linspace(-9.9, 9.9, 100), 1.2, 1.05


def proposed_unknowns(centred: Centred, n: Any, prior: ResponsePrior) -> Callable[[Any], tuple[Any, Any]]:
    """What proposes the unknowns of `response` given about these sums, and says the log of their density."""
    if prior.scaled:
        return lambda _: (jnp.zeros(1), 0.0)  # not looked at
    fits = one_site(centred, n)
    logs = jax.vmap(lambda h: given_sigma(fits, n, prior, jnp.array([0.0, h])).log_evidence)(_GRID)
    logs = jax.nn.log_softmax(jnp.where(jnp.isfinite(logs), logs, -jnp.inf) / _WIDER)

    def propose(key: Any) -> tuple[Any, Any]:
        for_e, for_place, for_step = jax.random.split(key, 3)
        place = jax.random.categorical(for_place, logs)
        h = _GRID[0] + (_GRID[1] - _GRID[0]) * (place + jax.random.uniform(for_step) - 0.5)
        e = _SD * jax.random.normal(for_e)
        return jnp.stack([e, h]), logs[place] - (e / _SD) ** 2 / 2

    return propose


def log_density(centred: Centred, n: Any, prior: GramPriorParameters, e: Any = ()) -> Any:
    """That of `conjugate_gram`, and of the unknowns of `response` where there are any."""
    return log_site(centred, n, prior) + log_response(one_site(centred, n), n, prior.response, e)


def one_site(centred: Centred, n: Any) -> Fit:
    """`fit` with an axis of sites."""
    return Fit(*(part[None] for part in fit(centred, n)))


def independence_mh_chain(layout: NoisyGram, prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """Metropolis with fresh noise; a proposal that is no Gram matrix has weight 0."""
    whole = replace(layout, n=float("nan"))  # what is written into a program must not depend on it

    def made(given: Any) -> Chain:
        n, (scales, spreads) = given
        noises = replace(layout.noises, scales=scales, spreads=spreads)

        def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
            def centred_of(entries: Any) -> Centred:
                sums, block = whole.matrix(entries)
                return Centred(sums, jnp.linalg.cholesky(block - jnp.outer(sums, sums) / n[0]))

            unknowns = proposed_unknowns(centred_of(released), n[0], prior.response)

            def propose(key: Any) -> tuple[tuple[Centred, Any], Any]:
                for_noise, for_unknowns = jax.random.split(key)
                centred, (e, log_proposal) = centred_of(released - noises.fresh(for_noise)), unknowns(for_unknowns)
                return (centred, e), log_density(centred, n[0], prior, e) - log_proposal

            for_chain, for_parameters = jax.random.split(key)
            (points, e), info = independence(for_chain, propose, settings.draws)
            keys = jax.random.split(for_parameters, settings.draws)

            def finish(key: Any, centred: Centred, e: Any) -> Arrays:
                return draw_all(key, jax.tree.map(lambda a: a[None], centred), n, prior, e)

            return jax.vmap(finish)(keys, points, e), info

        return chain

    purpose = ("wishart by fresh noise", layout.size, layout.order.tobytes(), layout.noises.laplace, prior, settings)
    return Shaped(made, (argument([layout.n]), layout.noises.numbers()), purpose)


def suits(layout: NoisyGram, prior: GramPriorParameters, released: Any) -> Any:
    """For each of the datasets (datasets, entries) whether log p varies little under the noise."""
    return np.array([variance_of_log(layout, prior, entries, layout.sds) <= MOST for entries in released])


def variance_of_log(layout: NoisyGram, prior: GramPriorParameters, entries: Any, sds: Any) -> float:
    """Roughly that of log p under the noise: the squares of its largest change over one sd of each entry, summed.

    For many entries, its variance over some draws of noise, always the same ones.
    """
    by_entry = layout.size <= _LARGEST
    if by_entry:
        steps = np.diag(sds)
        tried = np.concatenate([entries[None], entries + steps, entries - steps])
    else:
        tried = entries + sds * np.random.default_rng(0).standard_normal((_DRAWN, len(entries)))
    with np.errstate(all="ignore"):
        try:
            found = log_prior(layout, prior, tried)
        except np.linalg.LinAlgError:
            return np.inf
        if by_entry:
            up, down = np.abs(found[1:] - found[0]).reshape(2, -1)
            variance = float(np.sum(np.maximum(up, down) ** 2))
        else:
            variance = float(np.var(found))
    return variance if np.isfinite(variance) else np.inf


def log_prior(layout: NoisyGram, prior: GramPriorParameters, entries: Any) -> Any:
    """`conjugate_gram.log_density` of many Gram matrices (many, entries), in numpy; NaN if one is none."""
    n, d = layout.n, layout.size - 1
    flat = np.zeros((len(entries), layout.size + layout.size * (layout.size + 1) // 2))
    flat[:, layout.order] = entries
    block = np.zeros((len(entries), layout.size, layout.size))
    rows, columns = np.triu_indices(layout.size)
    block[:, rows, columns] = block[:, columns, rows] = flat[:, layout.size :]
    sums = flat[:, : layout.size]
    scatter = block - sums[:, :, None] * sums[:, None] / n
    if np.linalg.eigvalsh(scatter).min() <= 0:
        return np.full(len(entries), np.nan)
    x_scatter, x_means = scatter[:, :-1, :-1], sums[:, :-1] / n
    slopes = np.linalg.solve(x_scatter, scatter[:, :-1, -1:])[..., 0]
    rss = scatter[:, -1, -1] - np.sum(slopes * scatter[:, :-1, -1], axis=1)
    apart = x_means - np.asarray(prior.m0)
    psi = prior.psi0 + x_scatter + prior.kappa0 * n / (prior.kappa0 + n) * apart[:, :, None] * apart[:, None]
    gram = np.empty((len(entries), d + 1, d + 1))
    gram[:, 0, 0], gram[:, 0, 1:], gram[:, 1:, 0], gram[:, 1:, 1:] = n, sums[:, :-1], sums[:, :-1], block[:, :-1, :-1]
    intercepts = sums[:, -1] / n - np.sum(slopes * x_means, axis=1)
    said = prior.response.coefficients
    v = said.rows + said.lifted[:, None] * gram[:, 0, None] / n
    # Where e and h are proposed: at their likeliest, and every precision in units of sigma^2.
    share = prior.share is not None
    variance = rss[:, None] / n if share else 1.0
    ratio = max(float(slopes[0] @ scatter[0, :-1, -1] / rss[0]), 1e-3) if share else 1.0
    precisions = variance * said.precisions(np.einsum("kii->ki", gram) / n - (gram[:, 0] / n) ** 2, variance, ratio)
    lambda0 = np.einsum("kji,kj,kjl->kil", v, precisions, v)
    estimate = np.concatenate([intercepts[:, None], slopes], axis=1)
    away = np.einsum("kij,kj->ki", v, estimate) - said.means
    pull = np.einsum("kji,kj->ki", v, precisions * away)
    held = np.linalg.solve(gram + lambda0, pull[..., None])[..., 0]
    b = prior.b0 + (rss + np.sum(precisions * away**2, axis=1) - np.sum(pull * held, axis=1)) / 2
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (x_scatter, psi, gram + lambda0, lambda0)]
    weights = (n - d - 3) / 2, -(prior.nu0 + n) / 2, -1 / 2, 1 / 2
    return sum(w * log for w, log in zip(weights, logs, strict=True)) + (
        ((n - d - 1) / 2 - 1) * np.log(rss) - (prior.a0 + n / 2) * np.log(b)
    )
