"""A regression against one with fewer terms, on the same release: by the evidence of both.

The evidence of a model is p(release | model), the likelihood averaged over the prior. The nested model is this one with
the coefficients theta_A of some terms at 0, and its prior is this prior given theta_A = 0, as priors of coefficients in
scores in rounds are independent. So the ratio of both is that of two densities at 0 (Dickey, 1971; Verdinelli and
Wasserman, 1995, with equal conditional priors),

    log B = log p(theta_A = 0) - log p(theta_A = 0 | release),

above 0 where the release speaks for the terms. From scores in rounds the log-likelihood is nearly a quadratic, so the
posterior is nearly N(m, V), whose mean and covariance the draws tell, and with the prior N(m_0, diag(s^2)) both
densities are closed forms. The first part, that of the prior, grows by log 2 for each coefficient when the prior is
twice as wide, whatever the rows say. So the ratio is also given for a prior half as wide and twice as wide: with
L = V_AA^-1 - diag(s_A^-2), the information of the release about theta_A, the posterior under a prior k s_A has the
precision L + diag((k s_A)^-2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import expected
from tacit.models.regression import DesignMatrix, Regression, design_for
from tacit.models.score_model import ScoreModel, ScorePrior

if TYPE_CHECKING:
    from tacit.posterior.posterior import Posterior

_FAR = 3.0  # standard deviations: hardly a draw is as far out, and the normal density there is an extrapolation


@dataclass(frozen=True)
class NestedComparison:
    """How much the release speaks for ``terms``. All are natural logarithms, above 0 where it speaks for them.

    ``log_bayes_factor`` is ``prior_part`` - ``posterior_part``, the log densities of the terms' coefficients at 0
    before and after the release, in mapped units; ``half_as_wide`` and ``twice_as_wide`` the ratio under such priors of
    these coefficients. ``distance`` is how far from 0 they are, in posterior standard deviations.
    """

    terms: tuple[str, ...]
    log_bayes_factor: float
    prior_part: float
    posterior_part: float
    half_as_wide: float
    twice_as_wide: float
    distance: float

    @property
    def sentence(self) -> str:
        """The answer in words."""
        named = ", ".join(self.terms)
        size, toward = abs(self.log_bayes_factor), "for" if self.log_bayes_factor > 0 else "against"
        times = f"{math.exp(size):.3g}" if size < 30 else f"e^{size:.0f}"
        low, high = sorted((self.half_as_wide, self.twice_as_wide))
        found = (
            f"The release speaks {toward} {named} by a factor of {times} (log {self.log_bayes_factor:.2f}; "
            f"{low:.2f} to {high:.2f} with a prior twice and half as wide)."
        )
        if self.distance > _FAR:
            found += f" 0 is {self.distance:.0f} standard deviations away, where the factor is an extrapolation."
        return found


def compare_with(posterior: Posterior, formula: object) -> NestedComparison:
    """This model against the one of ``formula``, whose terms are some of its own."""
    import numpy as np

    plan, prior = posterior.plan, posterior.whole_prior()
    model = plan.model
    if not (isinstance(model, Regression) and isinstance(model, ScoreModel) and isinstance(prior, ScorePrior)):
        raise expected(
            "compare",
            model.family,
            'to be asked of a logistic or Poisson regression from scores in rounds (kind = "newton"), whose likelihood '
            "is nearly a quadratic",
        )
    places = _left_out(model.design(plan.schema), design_for(formula, plan.schema), formula)
    draws = posterior.parameter("theta")[:, places]
    mean, sd = _prior(posterior, prior)
    names = model.design(plan.schema).names
    return compared(
        tuple(names[place] for place in places),
        draws.mean(axis=0),
        np.atleast_2d(np.cov(draws, rowvar=False)),
        mean[places],
        sd[places],
    )


def compared(terms: tuple[str, ...], mean: Any, covariance: Any, prior_mean: Any, prior_sd: Any) -> NestedComparison:
    """The comparison of normal densities at 0."""
    import numpy as np

    precision = np.linalg.inv(covariance)
    said = precision - np.diag(prior_sd**-2.0)  # of the release
    pull = precision @ mean - prior_mean / prior_sd**2

    def ratio(wider: float) -> tuple[float, float]:
        own = (wider * prior_sd) ** -2.0
        whole = said + np.diag(own)
        centre = np.linalg.solve(whole, pull + own * prior_mean)
        before = _log_density(prior_mean, np.diag(own))
        return before, _log_density(centre, whole)

    values = np.linalg.eigvalsh(said + np.diag(prior_sd**-2.0 / 4))
    if not (values > 0).all():
        raise expected("draws", len(terms), "of these terms to be many enough: they say less than the prior alone")
    (before, after), half, twice = ratio(1.0), ratio(0.5), ratio(2.0)
    return NestedComparison(
        terms,
        before - after,
        before,
        after,
        half[0] - half[1],
        twice[0] - twice[1],
        float(np.sqrt(mean @ precision @ mean)),
    )


def _log_density(mean: Any, precision: Any) -> float:
    """Of a normal distribution at 0."""
    import numpy as np

    _, log_determinant = np.linalg.slogdet(precision)
    return float(log_determinant - mean @ precision @ mean - len(mean) * math.log(2 * math.pi)) / 2


def _left_out(whole: DesignMatrix, nested: DesignMatrix, formula: object) -> list[int]:
    """The places of the columns that the nested formula has not."""
    if nested.formula.response != whole.formula.response:
        raise expected("compare", formula, f"to have the response {whole.formula.response!r}")
    more = [column.name for column in nested.columns if column not in whole.columns]
    if more:
        raise expected("compare", formula, f"to have terms of {str(whole.formula)!r} alone, not {more[0]!r}")
    found = [i for i, column in enumerate(whole.columns) if column not in nested.columns]
    if not found:
        raise expected("compare", formula, "to leave out one term or more")
    if any(i in whole.fixed for i in found):
        raise expected("compare", formula, "to keep the offset, whose coefficient is known")
    if whole.formula.intercept and not nested.formula.intercept:
        raise expected("compare", formula, "to keep the intercept")
    return found


def _prior(posterior: Posterior, prior: ScorePrior) -> tuple[Any, Any]:
    """Mean and sd of every coefficient in mapped units, as the chain had them."""
    import numpy as np

    from tacit.models.score_method import score_prior
    from tacit.posterior.score_sites import score_sites

    if prior.mapped:
        mean, sd = np.array(prior.mapped).T
        return mean, sd
    return score_prior(prior, score_sites(posterior.releases)[0], posterior.plan.model, posterior.plan.schema)
