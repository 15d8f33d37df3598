"""Gradients over everything: parameters and all n latent records at once (bernstein2019, section 3.3, MCMC-Ind).

The posterior is p(parameters) prod_i p(x_i, y_i | parameters) noise(z - T), T the Gram entries of the records, sampled
by NUTS. The number of unknowns grows with n, which is why the method is for small n and for checking others.

Coordinates. Everything is written as a function of independent standard variables: normals e and log-gammas l, with
densities exp(-e^2/2) and exp(a l - exp(l)) for shape a. With C a Cholesky factor of Lambda0 and P one of Psi0,

    sigma^2 = b0 / exp(l_0), l_0 of shape a0;        theta = mu0 + sigma C^-T e_theta;
    A lower triangular with A_ii^2 = 2 exp(l_i), l_i of shape (nu0 - i + 1)/2, and normals below;
    H = P A^-T,  Sigma_x = H H' (Bartlett);          mu_x = m0 + H e_mu / sqrt(kappa0);
    x_i = mu_x + H e_i;                              y_i = theta'(1, x_i) + sigma e_i'.

So the prior needs no Jacobian, and where the release says little, nothing is left but round normals. As in the
collapsed method, records are not clamped in the model.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.likelihoods.conjugate_gram import Centred, Numbers
from tacit.runtime.chain import Arrays, Chain, Settings
from tacit.samplers.explore import explore
from tacit.samplers.gram_records import fitted, near_release, standard_records
from tacit.samplers.latent_gram import NoisyGram


def individual_chain(layout: NoisyGram, prior: Numbers, settings: Settings) -> Chain:
    """NUTS on parameters and records."""
    d, n = layout.size - 1, int(layout.n)
    below = np.tril_indices(d, -1)
    upper = np.triu_indices(layout.size)
    shapes = np.concatenate([[float(prior.a0)], (float(prior.nu0) - np.arange(d)) / 2])
    coefficient_root = np.linalg.cholesky(np.asarray(prior.lambda0))
    psi_root = np.linalg.cholesky(np.asarray(prior.psi0))

    def unpack(position: Arrays) -> tuple[Arrays, Any]:
        """The parameters, and the factor H of Sigma_x."""
        sigma = jnp.sqrt(prior.b0 * jnp.exp(-position["log_gammas"][0]))
        theta = prior.mu0 + sigma * solve_triangular(coefficient_root, position["theta"], lower=True, trans=1)
        a = jnp.zeros((d, d)).at[below].set(position["below"])
        a = a + jnp.diag(jnp.sqrt(2 * jnp.exp(position["log_gammas"][1:])))
        half = solve_triangular(a, psi_root.T, lower=True).T
        mu = prior.m0 + half @ position["mu_x"] / np.sqrt(prior.kappa0)
        return {"theta": theta, "sigma": sigma, "mu_x": mu, "Sigma_x": half @ half.T}, half

    def entries(position: Arrays) -> Any:
        parameters, half = unpack(position)
        theta, noise = parameters["theta"], position["records"]
        x = parameters["mu_x"] + noise[:, :-1] @ half.T
        y = theta[0] + x @ theta[1:] + parameters["sigma"] * noise[:, -1]
        records = jnp.concatenate([x, y[:, None]], axis=1)
        return jnp.concatenate([jnp.sum(records, axis=0), (records.T @ records)[upper]])[layout.order]

    def start(key: Any, gram: Centred) -> Arrays:
        """Where T is exactly ``gram``: records with its mean and scatter under the parameters that fit it best."""
        found = fitted(gram, n)
        sigma = found["sigma"]
        scaled = solve_triangular(gram.factor[:-1, :-1] / np.sqrt(n), psi_root, lower=True)
        a = jnp.linalg.cholesky(scaled.T @ scaled)  # P' Sigma_x^-1 P
        half = solve_triangular(a, psi_root.T, lower=True).T
        return {
            "log_gammas": jnp.log(jnp.append(prior.b0 / sigma**2, jnp.diagonal(a) ** 2 / 2)),
            "theta": coefficient_root.T @ (found["theta"] - prior.mu0) / sigma,
            "below": a[below],
            "mu_x": np.sqrt(prior.kappa0) * jnp.linalg.solve(half, found["mu_x"] - prior.m0),
            "records": standard_records(key, n, layout.size),
        }

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        def target(position: Arrays) -> Any:
            gammas = position["log_gammas"]
            normals = sum(jnp.sum(value**2) for name, value in position.items() if name != "log_gammas")
            noise = jnp.sum(layout.log_noise((released - entries(position)) / layout.scales))
            return jnp.sum(shapes * gammas - jnp.exp(gammas)) - normals / 2 + noise

        for_start, for_chain = jax.random.split(key)
        first = start(for_start, near_release(layout, prior, released))
        positions, info = explore(for_chain, target, first, settings)
        return jax.vmap(lambda position: unpack(position)[0])(positions), info

    return chain
