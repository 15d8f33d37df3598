"""Regression from noisy sums: NUTS on the parameters, with the sums themselves integrated out.

Released at each of one or more sites: z = s + noise, s the sums over n rows of products of design entries and response.
By the central limit theorem s ~ N(n mu_s, n Sigma_s) with the moments of one row from `design_moments`, so

    z ~ N(n mu_s, n Sigma_s + diag(sigma^2))                                      normal noise, sigma its spreads
    z ~ N(n mu_s, n Sigma_s + diag(omega^2)),  omega_j^2 ~ Exp(mean 2 b_j^2)      Laplace noise, b its scales

(kulkarni2021, equation (3), and the normal mixture of bernstein2019, Algorithm 1). Sites share theta and have their own
probabilities pi of the cells, means m_c and covariance S of the numbers. Priors, each with its coordinates:

    theta as in `coefficient_prior`, whose scales may depend on the distribution of the rows: theta = h(t), t standard
    normal; if
                                                   a radius R is given, only where |theta| <= R, theta = R tanh(|h|/R)
                                                   h/|h|
    pi ~ Dirichlet(alpha)                          log-ratios to the geometric mean, in an orthonormal basis
    m_c ~ N(mean, diag(mean_sd^2))                 m_c = mean + mean_sd t
    S = T C T,  T_j ~ half-normal(scale_j)         T_j = scale_j log(1 + e^t)
                C ~ LKJ(shape)                     partial correlations tanh(z), each with density sech(z)^2b
    omega_j^2                                      -2 b_j^2 log Phi(-t), so that t is standard normal

Half-normal scales and LKJ correlations are the paper's choice (section 4.1). An inverse Wishart prior that is vague
about correlations has a heavy tail of variances, which numbers in [-1, 1] cannot have, and which a release under much
noise does not cut off. The ball is the paper's prior for theta read right (docs/errata.md, K9).

Geometry. In these coordinates the prior has spreads near 1, which is all that matters while noise is large. Before
sampling, damped Gauss-Newton steps find the peak of N(z; n mu_s(t), W^-1) N(t; 0, I), W the precision of z; with
J = d(n mu_s)/dt there, sampling is done in the coordinates L'(t - peak), L L' = J'W J + I. They have spreads near 1
also when the release fixes the parameters to six digits: for 3 and 5 numbers a draw took 7 gradients at n = 1e6, 7 at
n = 20,000 and 15 at n = 500 under noise of 65; for 10 numbers 7 at n = 20,000. They leave a dense metric little to
adapt, and its first estimates, from few draws in many dimensions, make trajectories several times longer, so the metric
is diagonal. Where an omega and the spread of a sum are both near 0 the parameters are held tightly; shorter steps, from
a higher acceptance rate, keep up.

Where n is not public it is one more unknown of every site (`latent_rows`), flat beforehand from 1 on, in a coordinate
that is about standard normal given its release alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import log_ndtr, ndtri

from tacit.errors import expected
from tacit.likelihoods.coefficient_prior import CoefficientPrior, NumberColumns
from tacit.likelihoods.design_moments import CellDesign, RowDistribution, row_mean, row_moments
from tacit.likelihoods.link_moments import Link
from tacit.likelihoods.row_distributions import RowDistributionCoordinates, RowDistributionPrior, log_cosh
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.latent_rows import laplace_rows_at, rows_around, rows_at

_LEAST_ROWS = 1.0  # where n is not public
_ROUNDS, _STEPS = 3, 12  # of Gauss-Newton; the precision of z is renewed with each round


@dataclass(frozen=True, eq=False)
class SiteSums:
    """What was released at the sites: sums over n rows (sites,) of the entries of ``design``, plus noise.

    ``scales`` (sites, entries) are standard deviations of normal noise, or the scales of ``laplace`` noise. Where n is
    None it is the last number of every site, and the last of its ``scales``.
    """

    design: CellDesign
    link: Link
    n: Any
    scales: Any
    laplace: bool = False

    def __post_init__(self) -> None:
        latent = self.n is None
        shape = (len(self.scales if latent else self.n), len(self.design.first) + latent)
        if np.shape(self.scales) != shape:
            raise expected("scales", np.shape(self.scales), f"to have the shape {shape} of sites and entries")


class GlmPriorParameters(NamedTuple):
    """The numbers of the prior: see the head of this file.

    ``coefficients`` is the prior of theta; left out, it is N(0, diag(theta_sd^2)).
    ``theta_sd`` (p,), ``radius`` a number or None, ``mean`` and ``mean_sd`` (K, d), ``scale`` (d,), ``shape`` a number,
    ``alpha`` (K,).
    """

    theta_sd: Any
    radius: Any
    mean: Any
    mean_sd: Any
    scale: Any
    shape: Any
    alpha: Any
    coefficients: CoefficientPrior | None = None

    @property
    def said(self) -> CoefficientPrior:
        """The prior of theta."""
        if self.coefficients is not None:
            return self.coefficients
        nothing = np.zeros(len(self.theta_sd))
        rows, fixed = np.eye(len(nothing)), 1 / np.asarray(self.theta_sd, float) ** 2
        return CoefficientPrior(rows, nothing, nothing, fixed, nothing, nothing)


class GlmCoordinates:
    """Between a vector t and the parameters: theta and, for each site, the distribution of its rows."""

    def __init__(self, design: CellDesign, sites: int, prior: GlmPriorParameters) -> None:
        self.cells, self.p, self.d = design.sizes
        self.sites, self.prior = sites, prior
        self.distribution = RowDistributionCoordinates(
            RowDistributionPrior(prior.mean, prior.mean_sd, prior.scale, prior.shape, prior.alpha)
        )
        self.size = self.p + sites * self.distribution.size
        constant = self.p > 0 and bool(np.all(np.asarray(design.constants)[:, 0] == 1))
        self.columns = NumberColumns.of(design.slopes, intercept=constant)

    def theta(self, t: Any) -> Any:
        """The coefficients."""
        free = self._free(t)
        return free if self.prior.radius is None else free * _shrinkage(free, self.prior.radius)

    def _free(self, t: Any) -> Any:
        return self.prior.said.place(t[: self.p], *self.column_moments(self.distributions(t)))

    def column_moments(self, distributions: RowDistribution) -> tuple[Any, Any]:
        """Centre and squares of `CoefficientPrior`, averaged over sites."""
        variances = jnp.sum(distributions.root**2, axis=2)
        centres, squares = jax.vmap(self.columns.moments)(distributions.probabilities, distributions.means, variances)
        return jnp.mean(centres, axis=0), jnp.mean(squares, axis=0)

    def distributions(self, t: Any) -> RowDistribution:
        """How rows arise at each site: every array has a leading axis of sites."""
        return jax.vmap(self.distribution.distribution)(t[self.p :].reshape(self.sites, -1))

    def _anywhere(self) -> tuple[Any, Any]:
        """Moments for a prior that does not depend on any, as one with a radius does not."""
        return jnp.zeros(self.p), jnp.ones(self.p)

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        theta, prior = t[: self.p], self.prior
        value = -jnp.sum(theta**2) / 2
        if prior.radius is not None:
            free = self._free(t)
            ratio = _length(free) / prior.radius
            value = -jnp.sum(prior.said.unplace(self.theta(t), *self._anywhere()) ** 2) / 2 - 2 * log_cosh(ratio)
            value = value + (self.p - 1) * jnp.log(_shrinkage(free, prior.radius))

        return value + jnp.sum(jax.vmap(self.distribution.log_prior)(t[self.p :].reshape(self.sites, -1)))

    def draws(self, t: Any) -> Arrays:
        """The parameters by name; those of sites with an axis of sites, those that do not exist left out."""
        distributions = self.distributions(t)
        found = {"theta": self.theta(t)}
        if self.cells > 1:
            found["pi"] = distributions.probabilities
        if self.d > 0:
            found["m_x"] = distributions.means
            found["S_x"] = distributions.root @ jnp.swapaxes(distributions.root, 1, 2)
        return found


def marginal_chain(problem: SiteSums, prior: GlmPriorParameters, settings: SamplerSettings) -> Chain:
    """NUTS on theta and the distributions of rows. ``released`` is the concatenation over sites.

    Draws: theta (p,), m_x (sites, K, d), S_x (sites, d, d), and pi (sites, K) if there is more than one cell; n
    (sites,) where it is not public.
    """
    design, link, latent = problem.design, problem.link, problem.n is None
    every = argument(problem.scales)
    known, scales = (every[:, -1], every[:, :-1]) if latent else (argument(problem.n), every)
    sites, entries = scales.shape
    coordinates = GlmCoordinates(design, sites, prior)
    own, size = coordinates.size, coordinates.size + sites * latent

    def rows(t: Any, near: Any) -> tuple[Any, Any]:
        """n of every site, and the log of the volume that it has where it is unknown; ``near``: `rows_around`."""
        if not latent:
            return known, jnp.zeros(())
        return (laplace_rows_at if problem.laplace else rows_at)(t[own:size], near, known, _LEAST_ROWS)

    def expected_sums(t: Any, near: Any) -> Any:
        theta, n = coordinates.theta(t[:own]), rows(t, near)[0]
        return n[:, None] * jax.vmap(lambda distribution: row_mean(design, link, theta, distribution))(
            coordinates.distributions(t[:own])
        )

    def moments(t: Any, near: Any) -> tuple[Any, Any]:
        theta, n = coordinates.theta(t[:own]), rows(t, near)[0]
        mean, covariance = jax.vmap(lambda distribution: row_moments(design, link, theta, distribution))(
            coordinates.distributions(t[:own])
        )
        return n[:, None] * mean, n[:, None, None] * covariance

    def log_rows(t: Any, counts: Any, near: Any) -> Any:
        """What the release says of every n."""
        n, volume = rows(t, near)
        away = (counts - n) / known
        return jnp.sum(volume - (jnp.abs(away) if problem.laplace else away**2 / 2))

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        numbers, near = released.reshape(sites, -1), ()
        z, counts = numbers[:, :entries], numbers[:, -1]
        if latent:
            near = rows_around(counts, known * (math.sqrt(2) if problem.laplace else 1.0), _LEAST_ROWS)
        peak, information, variances = _peak(
            z, lambda t: expected_sums(t, near), lambda t: moments(t, near), size, scales, laplace=problem.laplace
        )
        scaling = solve_triangular(jnp.linalg.cholesky(information), jnp.eye(size), lower=True, trans=1)
        # Sums that nothing can explain, taken for exact, may have no peak: then the draws stay finite, and diverge.
        scaling = jnp.where(jnp.all(jnp.isfinite(scaling)), scaling, jnp.eye(size))
        peak = jnp.where(jnp.all(jnp.isfinite(peak)), peak, 0.0)

        def unpack(position: Any) -> Any:
            return peak + scaling @ position[:size]

        def target(position: Any) -> Any:
            t = unpack(position)
            value = coordinates.log_prior(t[:own])
            if latent:
                value = value + log_rows(t, counts, near)
            spread = scales**2
            if problem.laplace:
                mixing = position[size:].reshape(sites, entries)
                spread = -2 * scales**2 * log_ndtr(-mixing)
                value = value - jnp.sum(mixing**2) / 2
            mean, covariance = moments(t, near)
            value = value + jnp.sum(jax.vmap(_log_normal)(z - mean, covariance + _diagonal(spread)))
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        start = 0.5 * jax.random.normal(for_start, (size,))
        if problem.laplace:
            mixing = -ndtri(jnp.exp(-variances / (2 * scales**2)))
            start = jnp.concatenate([start, mixing.reshape(-1)])
        rate = 0.9 if problem.laplace else 0.8
        positions, info = explore(for_chain, target, start, settings, target=rate, depth=8)

        def draws(position: Any) -> Arrays:
            t = unpack(position)
            return {**coordinates.draws(t[:own]), **({"n": rows(t, near)[0]} if latent else {})}

        return jax.vmap(draws)(positions), info

    return chain


def _peak(z: Any, expected_sums: Any, moments: Any, size: int, scales: Any, *, laplace: bool) -> tuple[Any, Any, Any]:
    """The peak t of N(z; n mu_s(t), W^-1) N(t; 0, I), its J'W J + I, and the variances of the noise that W stands for.

    Each round fixes W, at first at t = 0, and takes damped Gauss-Newton steps (Levenberg and Marquardt): one that does
    not lower the objective is taken back and the damping grows. For Laplace noise W takes omega^2 at its mean given the
    noise e, b|e| + b^2, and e as the part of the residual that is expected of the noise: where that is tiny, the
    residual is the sums' own, and taken for noise it would be an omega that its prior excludes.
    """

    def round_(_round: int, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        best, _, variances = state
        covariance = moments(best)[1] + _diagonal(variances)
        roots = jnp.linalg.cholesky(covariance)
        noise = variances / jnp.diagonal(covariance, axis1=1, axis2=2)  # its share of the variance of a released sum

        def whitened(t: Any) -> tuple[Any, Any]:
            residual = z - expected_sums(t)
            scaled = jax.vmap(lambda root, r: solve_triangular(root, r, lower=True))(roots, residual).reshape(-1)
            return scaled, (scaled, residual)

        def step(_step: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
            t, damping, *kept = state
            jacobian, (scaled, residual) = jax.jacfwd(whitened, has_aux=True)(t)
            information = jacobian.T @ jacobian + jnp.eye(size)
            new = [scaled @ scaled + t @ t, t, jacobian.T @ scaled + t, information, residual]
            better = new[0] < kept[0]
            kept = [jnp.where(better, one, other) for one, other in zip(new, kept, strict=True)]
            damping = jnp.where(better, damping / 5, damping * 5)
            _, t, gradient, information, _ = kept
            root = jnp.linalg.cholesky(information + jnp.diag(damping * jnp.diagonal(information)))
            return t - cho_solve((root, True), gradient), damping, *kept

        nothing = (jnp.inf, best, jnp.zeros(size), jnp.eye(size), jnp.zeros(z.shape))
        *_, best, _, information, residual = jax.lax.fori_loop(0, _STEPS, step, (best, jnp.asarray(0.05), *nothing))
        return best, information, scales * jnp.abs(noise * residual) + scales**2 if laplace else variances

    first = 2.0 * scales**2 if laplace else scales**2
    return jax.lax.fori_loop(0, _ROUNDS, round_, (jnp.zeros(size), jnp.eye(size), first))


@jax.custom_vjp
def _log_normal(residual: Any, covariance: Any) -> Any:
    """log N(residual; 0, covariance) up to a constant."""
    return _log_normal_forward(residual, covariance)[0]


def _log_normal_forward(residual: Any, covariance: Any) -> tuple[Any, tuple[Any, Any]]:
    root = jnp.linalg.cholesky(covariance)
    half = solve_triangular(root, jnp.eye(residual.shape[0]), lower=True)
    precision = half.T @ half
    weighted = precision @ residual
    return -residual @ weighted / 2 - jnp.sum(jnp.log(jnp.diagonal(root))), (weighted, precision)


def _log_normal_backward(kept: tuple[Any, Any], cotangent: Any) -> tuple[Any, Any]:
    weighted, precision = kept
    return -cotangent * weighted, cotangent / 2 * (jnp.outer(weighted, weighted) - precision)


_log_normal.defvjp(_log_normal_forward, _log_normal_backward)


def _diagonal(values: Any) -> Any:
    """A diagonal matrix for each row of ``values``."""
    return values[:, :, None] * np.eye(values.shape[1])


def _length(vector: Any) -> Any:
    return jnp.sqrt(jnp.sum(vector**2) + 1e-30)  # smooth at 0


def _shrinkage(free: Any, radius: Any) -> Any:
    """tanh(r) / r for r = |free| / radius: what maps all of space into the ball."""
    ratio = _length(free) / radius
    return jnp.tanh(ratio) / ratio
