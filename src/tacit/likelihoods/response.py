"""The regression half of the conjugate model, for one site or several: theta and sigma given exact sums.

Every site k has its own rows; theta and sigma are shared. Given its design X_k, a site's sums of products say all about
them through G_k = X_k'X_k, the least-squares estimate t_k and the residual sum of squares RSS_k. Under the prior
theta | sigma^2 ~ N(mu0, sigma^2 Lambda0^-1), sigma^2 ~ IG(a0, b0), with N rows in all and G = sum_k G_k,

    Lambda_n = G + Lambda0,  mu_n = t - Lambda_n^-1 Lambda0 (t - mu0),  a_n = a0 + N/2,
    b_n = b0 + (sum_k RSS_k + sum_k (t_k - t)'G_k (t_k - t) + (t - mu0)'(G^-1 + Lambda0^-1)^-1 (t - mu0)) / 2

with t = G^-1 sum_k G_k t_k. The last is a sum of positive terms, where the textbook form (bernstein2019, section 2.2,
its mu_n read as (X'X + Lambda0)^-1 (X'y + Lambda0 mu0)) subtracts numbers of size N. mu0 and Lambda0 may depend on G,
as those of coefficients that know the spread of their columns do (`coefficient_prior`); |Lambda0| then counts.

Where a coefficient has a prior of its own, which knows nothing of sigma, theta has mean m and precision P, and sigma^2
is an unknown of its own. With Q = G / sigma^2 + P the sums then say of it, up to a constant,

    -N/2 log sigma^2 - RSS / (2 sigma^2) + 1/2 log|P| - 1/2 log|Q| - (t - m)'(sigma^2 G^-1 + P^-1)^-1 (t - m) / 2

and theta given sigma^2 is normal with precision Q. sigma^2 is written as v exp(width e), v about where it is largest
and width = sqrt(2 / (N + 2 a0)), so that e has about a standard normal distribution whatever the sums are.

Where coefficients share a prior that says how much of the response they explain, W = exp(2 h) is one more unknown.
What is sampled is h less what the sums speak for: where noise leaves RSS open it can become very small, and h grows
then, which a chain on h itself hardly follows.

    tau^2 = sigma^2 (1 + W),  tau ~ half-normal(total),  W / (1 + W) ~ Beta(a, b),  theta_j ~ N(., W sigma^2/(k s_j^2)),

times a number that is the prior's slope, for k of them, s_j^2 the variance of column j in the rows. tau^2 is about the
variance of the response, and W / (1 + W) grows with the share of it that is explained, however many there are. A prior
of theta that is fixed in units of sigma says beforehand that nearly all is explained, the more so the more coefficients
there are; noise that could be an effect is then taken for one, and sigma comes out too small. In given_sigma, a0 = -1/2
and b0 = 0 leave sigma = tau / (1 + W)^(1/2) flat, and the rest of both densities stands beside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import gammaln

from tacit.likelihoods.coefficient_prior import CoefficientPrior, column_moments


class ExplainedShare(NamedTuple):
    """The numbers of the Beta distribution of the explained share, and the scale of tau."""

    a: float
    b: float
    total: float

    def log_density(self, variance: Any, h: Any) -> Any:
        """Of log sigma^2 and h, less sigma's own power."""
        share = self.a * jax.nn.log_sigmoid(2 * h) + self.b * jax.nn.log_sigmoid(-2 * h)
        return share - jax.nn.log_sigmoid(-2 * h) / 2 - variance * (1 + ratio_of(h)) / (2 * self.total**2)


def ratio_of(h: Any) -> Any:
    """W, kept finite."""
    return jnp.exp(jnp.minimum(2 * h, 60.0))


class ResponsePrior(NamedTuple):
    """sigma^2 ~ IG(a0, b0), theta as ``coefficients`` say; ``intercept`` if the first column is the constant.

    Where there is a ``share``, it takes the place of IG(a0, b0), and a0 = -1/2, b0 = 0.
    """

    coefficients: CoefficientPrior
    a0: Any
    b0: Any
    intercept: bool
    share: ExplainedShare | None = None

    @property
    def scaled(self) -> bool:
        """Whether the prior is conjugate given the design, so that sigma is integrated out."""
        return self.coefficients.scaled and self.share is None

    @property
    def unknowns(self) -> int:
        """How many unknowns there are beside the sums: none, e, or e and h."""
        return 0 if self.scaled else 1 if self.share is None else 2

    def normal(self, gram: Any, n: Any, variance: Any, ratio: Any = 1.0) -> tuple[Any, Any, Any]:
        """Mean and precision of theta, and the logarithm of the determinant of the latter."""
        return self.coefficients.normal(*column_moments(gram, n, intercept=self.intercept), variance, ratio)


class Fit(NamedTuple):
    """G, least-squares estimate and residual sum of squares, with a leading axis over sites."""

    gram: Any
    estimate: Any
    rss: Any


class Update(NamedTuple):
    """The Cholesky factor of Lambda_n, mu_n, a_n, b_n, and log|Lambda0|."""

    root: Any
    mean: Any
    a: Any
    b: Any
    log_det: Any


def together(fits: Fit) -> Fit:
    """The fit to the rows of all sites, without an axis of sites."""
    if len(fits.rss) == 1:
        return Fit(fits.gram[0], fits.estimate[0], fits.rss[0])
    gram = jnp.sum(fits.gram, axis=0)
    cross = jnp.einsum("kij,kj->i", fits.gram, fits.estimate)
    estimate = cho_solve((jnp.linalg.cholesky(gram), True), cross)
    apart = fits.estimate - estimate
    return Fit(gram, estimate, jnp.sum(fits.rss) + jnp.einsum("ki,kij,kj->", apart, fits.gram, apart))


def update(fits: Fit, n: Any, prior: ResponsePrior) -> Update:
    """The conjugate update; ``n`` is the number of rows of all sites together."""
    gram, estimate, rss = together(fits)
    mu0, lambda0, log_det = prior.normal(gram, n, 1.0)
    root = jnp.linalg.cholesky(gram + lambda0)
    away = lambda0 @ (estimate - mu0)
    correction = cho_solve((root, True), away)
    spread = (estimate - mu0) @ away - away @ correction
    return Update(root, estimate - correction, prior.a0 + n / 2, prior.b0 + (rss + spread) / 2, log_det)


def log_evidence(found: Update) -> Any:
    """What theta and sigma leave behind when integrated out: 1/2 log|Lambda0| - 1/2 log|Lambda_n| - a_n log b_n."""
    return found.log_det / 2 - jnp.sum(jnp.log(jnp.diagonal(found.root))) - found.a * jnp.log(found.b)


def log_response(fits: Fit, n: Any, prior: ResponsePrior, e: Any) -> Any:
    """The log density of (sums given X), or of (sums given X, e) where sigma is an unknown of its own.

    ``e`` (unknowns,) has h after e where there is one.
    """
    return log_evidence(update(fits, n, prior)) if prior.scaled else given_sigma(fits, n, prior, e).log_evidence


def log_of_rows(n: Any, p: int, prior: ResponsePrior) -> Any:
    """What depends on the numbers of rows ``n`` (sites,) alone, and is left out as a constant where they are known:

        log Gamma(a0 + N/2) - sum_k log Gamma((n_k - p)/2) - N/2 log 2,    N = sum_k n_k.

    It comes from the volume pi^((n-p)/2) |G|^(-1/2) RSS^((n-p)/2-1) / Gamma((n-p)/2) of all responses that have the
    same (X'y, y'y). Where sigma is an unknown of its own, e, the first term is -1/2 log(N + 2 a0): sigma^2 is
    v exp(width e), width^2 = 2 / (N + 2 a0).
    """
    total = jnp.sum(n)
    joint = gammaln(prior.a0 + total / 2) if prior.scaled else -jnp.log(total + 2 * prior.a0) / 2
    return joint - jnp.sum(gammaln((n - p) / 2)) - total / 2 * np.log(2)


def finished(fits: Fit, n: Any, prior: ResponsePrior, e: Any, gamma: Any, noise: Any) -> dict[str, Any]:
    """theta and sigma given the sums: ``gamma`` of shape a_n decides sigma, or e does; ``noise`` is standard normal."""
    if prior.scaled:
        return placed(update(fits, n, prior), gamma, noise)
    found = given_sigma(fits, n, prior, e)
    theta = found.mean + solve_triangular(found.root, noise, lower=True, trans=1)
    return {"theta": theta, "sigma": jnp.sqrt(found.variance)}


class GivenSigma(NamedTuple):
    """Of theta given sigma^2 the Cholesky factor of Q and the mean; sigma^2; and what the sums and e say together."""

    root: Any
    mean: Any
    variance: Any
    log_evidence: Any


_NEARER = 2  # steps towards the likeliest sigma^2


def given_sigma(fits: Fit, n: Any, prior: ResponsePrior, e: Any) -> GivenSigma:
    """Theta given e (and h), which stand for sigma^2 (and W), and the log density of (sums given X, e, h)."""
    gram, estimate, rss = together(fits)
    weight = n + 2 * prior.a0
    h = 0.0 if prior.share is None else e[1] + _usual_h(gram, estimate, rss, n, prior)
    ratio = 1.0 if prior.share is None else ratio_of(h)

    def at(variance: Any) -> tuple[Any, ...]:
        mean, precision, log_prior = prior.normal(gram, n, variance, ratio)
        root = jnp.linalg.cholesky(gram / variance + precision)
        away = precision @ (estimate - mean)
        correction = cho_solve((root, True), away)
        return root, estimate - correction, (estimate - mean) @ away - away @ correction, log_prior

    centre = (rss + 2 * prior.b0) / weight
    for _ in range(_NEARER):  # a prior that the rows contradict makes them scatter more
        centre = (rss + 2 * prior.b0 + centre * at(centre)[2]) / weight
    variance = centre * jnp.exp(jnp.sqrt(2 / weight) * e[0])
    root, mean, far, log_prior = at(variance)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
    value = -weight / 2 * jnp.log(variance) - (rss + 2 * prior.b0) / (2 * variance) + (log_prior - log_det - far) / 2
    if prior.share is not None:
        value = value + prior.share.log_density(variance, h)
    return GivenSigma(root, mean, variance, value)


def _usual_h(gram: Any, estimate: Any, rss: Any, n: Any, prior: ResponsePrior) -> Any:
    """About the h that the sums speak for: half the logarithm of the explained over the residual sum of squares."""
    explained = estimate @ gram @ estimate
    if prior.intercept:
        explained = explained - (gram[0] @ estimate) ** 2 / n
    return jnp.log(len(estimate) / n + jnp.maximum(explained, 0.0) / rss) / 2


_GRIDS = {1: [np.linspace(-14.0, 14.0, 561)], 2: [np.linspace(-8.0, 8.0, 129), np.linspace(-10.0, 10.0, 201)]}


def draw_e(key: Any, fits: Fit, n: Any, prior: ResponsePrior, draws: int) -> Any:
    """The unknowns (draws, unknowns) given the sums alone, on a fine grid and uniform between its points."""
    if prior.scaled:
        return jnp.zeros((draws, 0))
    grids = _GRIDS[prior.unknowns]
    points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
    logs = jax.vmap(lambda e: given_sigma(fits, n, prior, e).log_evidence)(points)
    for_point, for_step = jax.random.split(key)
    steps = np.array([grid[1] - grid[0] for grid in grids])
    found = jnp.asarray(points)[jax.random.categorical(for_point, logs, shape=(draws,))]
    return found + steps * (jax.random.uniform(for_step, found.shape) - 0.5)


def draw(key: Any, found: Update) -> dict[str, Any]:
    """theta and sigma, exactly."""
    for_sigma, for_theta = jax.random.split(key)
    return placed(found, jax.random.gamma(for_sigma, found.a), jax.random.normal(for_theta, found.mean.shape))


def placed(found: Update, gamma: Any, noise: Any) -> dict[str, Any]:
    """theta and sigma made of ``gamma``, drawn with shape a_n, and of as many standard normal numbers as theta has."""
    variance = found.b / gamma
    theta = found.mean + jnp.sqrt(variance) * solve_triangular(found.root, noise, lower=True, trans=1)
    return {"theta": theta, "sigma": jnp.sqrt(variance)}
