"""The same two parts of a variance (see `tacit.report.uncertainty`) where scores in rounds were released.

With J the information of the rows at the coefficients and P the precision of the prior, exact rows leave about the
covariance (P + J)^-1, and what the posterior has beyond it is there because of privacy. J follows from the release: the
covariates that its information tells of, at the posterior's mean. The approximation is as good as these covariates are
known; where noise hides them, usual ones stand in.
"""

from __future__ import annotations

from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.score_model import ScoreModel, ScorePrior
from tacit.models.score_noise import ScoreNoise
from tacit.posterior import Posterior
from tacit.report.uncertainty import Split


def split_of_scores(posterior: Posterior) -> list[Split]:
    """The two parts for every coefficient; empty where the release holds something else."""
    import numpy as np

    from tacit.models.score_method import score_prior
    from tacit.models.score_steps import stand_in
    from tacit.posterior.score_sites import score_sites

    model, prior, schema = posterior.plan.model, posterior.whole_prior(), posterior.plan.schema
    if not isinstance(model, ScoreModel) or isinstance(model, LikelihoodModel) or not isinstance(prior, ScorePrior):
        return []
    if posterior.surveys or not all(isinstance(one.noise_parameters, ScoreNoise) for one in posterior.releases):
        return []
    sites, link = score_sites(posterior.releases), model.score_link(schema)
    draws = posterior.parameter("theta")
    information = sum(stand_in(*site, link).information(draws.mean(axis=0)) for site in sites)
    sd = np.asarray(score_prior(prior, sites[0], model, schema)[1], float)
    exact = np.linalg.inv(information + np.diag(sd**-2.0)).diagonal()
    total = draws.var(axis=0, ddof=1)
    names = [row.name for row in posterior.summary()][: len(total)]
    return [
        Split(name, float(v), float(w))
        for name, v, w in zip(names, total, exact, strict=True)
        if v > 0 and np.isfinite(v) and np.isfinite(w) and w > 0
    ]
