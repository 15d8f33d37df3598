"""Regression from cohorts' noisy scores and information: NUTS on coefficients and the information of people.

Cohorts c of n_c people, N in all, report at public points theta_c. Everything is scaled to N people
(`tacit.models.cohort_data`). J is the information of N people at the anchor, and g the gradient of the cumulant
function that the stand-in for the covariates, bent so that it has this J, gives (`tacit.samplers.score_chain`):

    S_c ~ N(g(theta) - g(theta_c), (N / n_c) J + noise + discount),      J_c ~ N(C'H(tau(theta_c)) C, noise + discount).

Cohorts are different people, so given theta and J their sums are independent, sampling variation included: there is no
estimate of the rows that they would share, and theta takes its place. The discounts for the distance to the anchor, the
prior of J and the reason why the place of theta alone says nothing of J are those of `tacit.samplers.score_chain`: the
volume of the coordinates of theta is left out, as that of the rows' own estimate is there.

Sums over a hundred people or more are normal: of Laplace noise, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.score_chain import Layout, PackedArrays, ScoreRows, normal_coordinates, whitened_draws
from tacit.samplers.score_curve import InformationCurve


@dataclass(frozen=True)
class CohortLayout(PackedArrays):
    """What the packed numbers of a survey mean: how many coefficients there are, and which cohorts have a matrix."""

    p: int
    matrix: tuple[bool, ...]

    @property
    def rounds(self) -> Layout:
        """The cohorts as rounds with normal noise."""
        return Layout(self.p, self.matrix, laplace=False)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays of a survey in order: those of rounds, what is added to the noise of scores, and N / n."""
        count = len(self.matrix)
        return {**self.rounds.shapes, "spread": (count, self.p, self.p), "parts": (count,)}


@dataclass(frozen=True)
class _Posterior:
    """The density of t, standing for (theta, B of each survey): theta about standard normal given B."""

    sites: list[ScoreRows]
    prior_mean: Any
    prior_sd: Any

    def evaluate(self, t: Any) -> tuple[Any, Any, Arrays]:
        """The log density; residuals whose sum of squares is about minus twice it; the draw by name."""
        p, count = self.sites[0].p, len(self.sites)
        bs = t[p:].reshape(count, -1)
        prior = self.prior_sd**-2.0
        precision, pull = jnp.diag(prior), prior * self.prior_mean
        value, residuals, misfit, later = 0.0, [], [], []
        for site, b in zip(self.sites, bs, strict=True):
            data, anchor = site.data, site.data["anchor"]
            L = site.factor(b)
            J, C = L @ L.T, solve_triangular(data["root"], L.T, lower=True, trans=1)
            f, q = site.moments(jnp.concatenate([anchor[None], anchor + (data["points"] - anchor) @ C.T]))
            means = site.means(f, q) @ C
            noise = jnp.eye(p) * data["score_noise"][:, None, :] ** 2
            roots = jnp.linalg.cholesky(noise + data["spread"] + data["parts"][:, None, None] * J)
            told = _whitened(roots, jnp.broadcast_to(J, roots.shape))
            implied = _whitened(roots, (data["scores"] + means[1:] - means[0])[..., None])[..., 0]
            known = jnp.einsum("cij,cik->jk", told, told)
            precision, pull = precision + known, pull + jnp.einsum("cij,ci->j", told, implied) + known @ anchor
            turned = jnp.swapaxes(data["bases"], 1, 2) @ C.T
            matrices = turned @ site.informations(f[:, 1 + site.with_matrix], q[1 + site.with_matrix])
            matrices = (matrices @ jnp.swapaxes(turned, 1, 2))[:, site.upper[0], site.upper[1]]
            missed = data["matrices"] - matrices
            value += site.log_prior(b, L, C) + site.log_noise("matrix", missed)
            value -= jnp.sum(jnp.log(jnp.diagonal(roots, axis1=1, axis2=2)))
            residuals.append((missed / site.spreads["matrix"]).reshape(-1))
            later.append((site, C, L, means[1:], roots))
        theta, _ = normal_coordinates(precision, pull, t[:p])
        value -= jnp.sum(((theta - self.prior_mean) / self.prior_sd) ** 2) / 2
        residuals.append((theta - self.prior_mean) / self.prior_sd)
        reach = []
        for (site, bend, factor, means, roots), matrix in zip(later, tuple(residuals), strict=False):
            far = theta - site.data["anchor"]
            there = site.means(*site.moments(site.data["anchor"] + bend @ far)) @ bend
            white = _whitened(roots, (site.data["scores"] - (there - means))[..., None]).reshape(-1)
            value -= jnp.sum(white**2) / 2
            residuals.append(white)
            misfit.append(jnp.stack([jnp.max(jnp.abs(one)) for one in (white, matrix)]))
            reach.append(jnp.sqrt(jnp.sum((factor.T @ far) ** 2) / jnp.sum(factor[0] ** 2)))
        draw = {
            "theta": theta,
            "information": jnp.stack([one[2] @ one[2].T for one in later]),
            "reach": jnp.stack(reach),
            "misfit": jnp.stack(misfit),
        }
        return value, jnp.concatenate(residuals), draw


def _whitened(roots: Any, columns: Any) -> Any:
    """R^-1 X for each cohort, R lower triangular."""
    return solve_triangular(roots, columns, lower=True)


def cohort_chain(
    layouts: tuple[CohortLayout, ...], curve: InformationCurve, settings: SamplerSettings, *, depth: int = 8
) -> Chain:
    """The chain for the packed numbers of `tacit.models.cohort_data`: the prior of theta, then the surveys.

    Draws: theta; for each survey the information J at the anchor, ``reach`` and ``misfit`` as for rounds.
    """
    p, count = layouts[0].p, len(layouts)
    q = p * (p + 1) // 2
    flattest = np.concatenate([np.full(p, 1e-3), *[np.repeat([1.0, 0.25], [p, q - p])] * count])

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        cuts = np.cumsum([p, p, *(layout.size for layout in layouts)])[:-1]
        prior_mean, prior_sd, *parts = jnp.split(packed, cuts)
        sites = [ScoreRows(own.rounds, own.unpack(part), curve) for own, part in zip(layouts, parts, strict=True)]
        posterior = _Posterior(sites, prior_mean, prior_sd)

        return whitened_draws(key, posterior.evaluate, flattest, settings, depth)

    return chain
