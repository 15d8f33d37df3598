"""Linear regression record by record: w = (x, y) with x ~ N(mu_x, Sigma_x), y | x ~ N(theta'(1, x), sigma^2).

What the record-level methods share: the entries of one record, a record from the model, the parameters given all
records (conjugate, through their exact Gram matrix), and records to start from. As in the collapsed method, records are
not clamped in the model: they have the whole line for their range, and what clamping did to the rows is not in the
likelihood.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.likelihoods.conjugate_gram import Centred, Numbers, draw_parameters
from tacit.runtime.chain import Arrays
from tacit.samplers.latent_gram import NoisyGram, prior_moments
from tacit.samplers.record_augmentation import Records


def gram_records(layout: NoisyGram, prior: Numbers) -> Records:
    """The family of `record_augmentation` whose entries are the products of (1, w)."""

    def move_parameters(key: Any, _: Arrays, records: Any) -> Arrays:
        return draw_parameters(key, centred_gram(records), layout.n, prior)

    def start(key: Any, released: Any) -> tuple[Arrays, Any]:
        gram = near_release(layout, prior, released)
        noise = standard_records(key, int(layout.n), layout.size)
        return fitted(gram, layout.n), gram.sums / layout.n + noise @ gram.factor.T / np.sqrt(layout.n)

    return Records(lambda record: record_entries(layout, record), draw_record, move_parameters, start)


def record_entries(layout: NoisyGram, record: Any) -> Any:
    """What one record adds to the released entries."""
    rows, columns = np.triu_indices(layout.size)
    return jnp.concatenate([record, record[rows] * record[columns]])[layout.order]


def draw_record(key: Any, parameters: Arrays) -> Any:
    """One record from the model."""
    mu, theta = parameters["mu_x"], parameters["theta"]
    noise = jax.random.normal(key, (mu.shape[0] + 1,))
    x = mu + jnp.linalg.cholesky(parameters["Sigma_x"]) @ noise[:-1]
    y = theta[0] + theta[1:] @ x + parameters["sigma"] * noise[-1]
    return jnp.append(x, y)


def centred_gram(records: Any) -> Centred:
    """The exact Gram matrix of the records."""
    apart = records - jnp.mean(records, axis=0)
    return Centred(jnp.sum(records, axis=0), jnp.linalg.cholesky(apart.T @ apart))


def near_release(layout: NoisyGram, prior: Numbers, released: Any) -> Centred:
    """A possible Gram matrix close to the release: drawn towards the prior mean, and made positive definite."""
    mean, spread = prior_moments(layout, prior)
    precision = 1 / layout.sds**2 + 1 / spread**2
    floor = min(0.1 * float(mean.max()), float(np.sqrt(1 / precision[layout.order >= layout.size].max())))
    sums, block = layout.matrix((released / layout.sds**2 + mean / spread**2) / precision)
    values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / layout.n)
    return Centred(sums, jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T))


def fitted(gram: Centred, n: Any) -> Arrays:
    """The parameters under which records with this Gram matrix are likeliest."""
    x_factor, mean = gram.factor[:-1, :-1], gram.sums / n
    slopes = solve_triangular(x_factor, gram.factor[-1, :-1], lower=True, trans=1)
    return {
        "theta": jnp.concatenate([jnp.array([mean[-1] - slopes @ mean[:-1]]), slopes]),
        "sigma": gram.factor[-1, -1] / np.sqrt(n),
        "mu_x": mean[:-1],
        "Sigma_x": x_factor @ x_factor.T / n,
    }


def standard_records(key: Any, n: int, size: int) -> Any:
    """n normal records, then made to have mean 0 and scatter n times the identity to rounding; needs n > size."""
    apart = jax.random.normal(key, (n, size))
    apart = apart - jnp.mean(apart, axis=0)
    factor = jnp.linalg.cholesky(apart.T @ apart / n)
    return solve_triangular(factor, apart.T, lower=True).T
