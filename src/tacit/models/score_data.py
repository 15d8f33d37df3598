"""What the chain of noisy scores needs of a site, computed from what was released there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.models.score_round import Round
from tacit.models.score_steps import default_prior, discount, estimate, positive, stand_in, symmetric
from tacit.samplers.score_chain import Layout
from tacit.samplers.score_curve import LINEAR


def layout(rounds: Sequence[Round]) -> Layout:
    """How a site's numbers are packed."""
    return Layout(len(rounds[0].point), tuple(one.matrix for one in rounds), rounds[0].laplace)


def site_arrays(
    rounds: Sequence[Round],
    values: Sequence[Any],
    n: float,
    link: Any,
    prior: tuple[Any, Any] | None = None,
    *,
    pooled: bool = False,
) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """The arrays of `Layout`, and mean and sd of the prior of theta: the default one unless another is given."""
    p, laplace = len(rounds[0].point), rounds[0].laplace
    values = [np.asarray(value, float) for value in values]
    model = stand_in(rounds, values, n, link)
    prior = prior or default_prior(model)
    anchor = estimate(rounds, values, model, *prior, np.array(rounds[-1].point))
    at_anchor = positive(model.information(anchor), 1e-9 * n)
    if pooled:
        model = replace(model, curve=LINEAR)
        at_anchor = model.information(anchor)
    upper = np.triu_indices(p)
    off = np.where(upper[0] == upper[1], 1.0, 0.5)  # of a squared entry in the norm of Frobenius, as a variance
    arrays: dict[str, Any] = {name: [] for name in layout(rounds).shapes}
    for one, value in zip(rounds, values, strict=True):
        between = positive(model.information_between(anchor, np.array(one.point)), 1e-9 * n)
        eigen, basis = (np.diag(between), np.eye(p)) if laplace else np.linalg.eigh(between)
        score, matrix = discount(between, np.array(one.point) - anchor)
        if pooled:
            score = matrix = 0.0 if np.any(one.point) else 1e6
        arrays["points"].append(one.point)
        arrays["turns"].append(basis)
        arrays["scores"].append(value[:p] @ basis)
        arrays["score_noise"].append(np.full(p, one.score_scale))
        least = 0.1 * one.score_scale if laplace else 0.0  # so that the density has no kink; its sd grows by 0.25%
        arrays["score_extra"].append(np.sqrt(score * eigen + least**2))
        if one.matrix:
            there = positive(model.information(np.array(one.point)), 1e-9 * n)
            lengths, vectors = (np.diag(there), np.eye(p)) if laplace else np.linalg.eigh(there)
            turned = vectors.T @ symmetric(value[p:], p) @ vectors
            share = np.ones(len(off)) if laplace else off
            least = 0.1 * one.matrix_scale if laplace else 0.0
            arrays["bases"].append(vectors)
            arrays["matrices"].append(turned[upper])
            arrays["matrix_noise"].append(one.matrix_scale * np.sqrt(share))
            spread = matrix * off * lengths[upper[0]] * lengths[upper[1]]
            arrays["matrix_extra"].append(np.sqrt(spread + least**2))
    arrays |= {
        "n": [n],
        "most": [n * float(np.max(model.curve.information(np.linspace(-15, 60, 3001))))],
        "anchor": anchor,
        "mean": model.mean,
        "covariance": model.covariance,
        "root": np.linalg.cholesky(at_anchor),
        "gram": np.linalg.cholesky(positive(model.information(np.zeros(p)), 1e-9 * n)),
    }
    return arrays, prior


def warnings(reach: Any, misfit: Any, entries: int) -> list[str]:
    """What to say of a posterior, from the draws (draws, sites) of ``reach`` and (draws, sites, 2) of ``misfit``.

    ``entries`` is how many numbers were released. False alarms of the second: 1 in 10,000 where the model holds.
    """
    from scipy.special import ndtri

    found = []
    limit = -float(ndtri(0.5e-4 / max(entries, 1)))
    worst = float(np.max(np.median(misfit, axis=0)))
    if worst > limit:
        found.append(
            f"A released score or information lies {worst:.0f} standard deviations from what the posterior predicts: "
            "the model does not describe these rows, or the release is not what it says."
        )
    if float(np.max(np.median(reach, axis=0))) > REACH:
        found.append(
            "The noise leaves coefficients possible at which the rows' information was not measured: the posterior "
            "there rests on the prior and on normally distributed covariates. More rows or a larger budget help."
        )
    return found


def information_left(sites: Sequence[tuple[Sequence[Round], Sequence[Any], float]]) -> tuple[float, float] | None:
    """What is left to explain at the last point that has a matrix, from J_00, and that with two sds of its noise.

    J_00 = sum of mu (1 - mu), over n times p (1 - p), p the share of responses that are 1: one less the coefficient of
    discrimination of Tjur (2009). None where no round is at 0, which says p.
    """
    left, noise, whole = 0.0, 0.0, 0.0
    for rounds, values, n in sites:
        at = [i for i, one in enumerate(rounds) if one.matrix]
        if any(rounds[0].point) or not at:
            return None
        share = float(np.clip(0.5 + float(values[0][0]) / n, 0.001, 0.999))
        left += float(values[at[-1]][len(rounds[0].point)])
        noise += rounds[at[-1]].matrix_scale ** 2 * (2.0 if rounds[0].laplace else 1.0)
        whole += n * share * (1 - share)
    return left / whole, (left + 2 * noise**0.5) / whole


def separated(spread: Any, theta: Any, left: tuple[float, float] | None = None) -> str | None:
    """Why no interval of a logistic regression can be trusted, where covariates separate the responses nearly: from
    draws of ``spread`` (draws,), the standard deviation of the rows' linear predictors, and of ``theta`` (draws, p),
    and from `information_left`.

    There nearly every row is predicted with certainty, and only the few rows between say how far the coefficients go.
    As they go on, what such rows say falls as fast as the predictor at their place grows, which a release does not
    show; that of a normal stand-in falls less. It does no harm where the predictor is known to within less than a unit
    everywhere within the bounds: information changes by a factor of e per unit at most.
    """
    sure = float(np.quantile(spread, 0.025)) > SEPARATED
    explained = left is not None and left[0] < LEFT and left[1] < LEFT_AT_MOST
    if not (sure or explained) or float(np.std(np.sum(np.abs(theta[:, 1:]), axis=1))) <= DOUBT:
        return None
    return (
        "Expected the covariates not to separate the responses nearly: almost every row is predicted with certainty, "
        "few rows say how large the coefficients are, and a release does not show which. Try fewer covariates, or a "
        "narrower prior of the coefficients; anyway=True or --anyway shows these draws."
    )


SEPARATED, DOUBT = 4.0, 0.7
LEFT, LEFT_AT_MOST = 0.38, 0.6  # on six tables that are not separated the first was 0.38 or more, of 4 releases each
REACH = 1.0  # beyond it the linear predictor of a usual row is further from the anchor than the anchored link carries


def pack(
    sites: Sequence[tuple[Sequence[Round], Sequence[Any], float]],
    link: Any,
    prior: tuple[Any, Any] | None = None,
    *,
    pooled: bool = False,
) -> Any:
    """The numbers of one dataset for `tacit.samplers.score_chain`: sites of rounds, values and n.

    Several releases of the same rows are one site: their rounds one after the other. The default prior is that of the
    first site.

    ``pooled`` is a fault for tests of the method, with the chain of kind "linear": rounds count as measurements of one
    score and one information.
    """
    found = []
    for rounds, values, n in sites:
        arrays, prior = site_arrays(rounds, values, n, link, prior, pooled=pooled)
        found.append(layout(rounds).pack(arrays))
    assert prior is not None
    return np.concatenate([*prior, *found])
