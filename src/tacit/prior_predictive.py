"""What a plan's prior expects before any release: a check that costs no privacy and needs no data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.errors import expected
from tacit.infer import check_settings, prior_for, prior_of
from tacit.models.model import Prior
from tacit.models.prior_draws import prior_draws
from tacit.models.regression import Regression
from tacit.models.score_model import ScoreModel, ScorePrior
from tacit.plan import Plan, as_plan
from tacit.posterior import Prediction


def prior_predictive(
    plan: Plan | str | Path,
    new: Any,
    *,
    prior: Prior | Mapping[str, Any] | None = None,
    draws: int = 4000,
    seed: int = 0,
) -> Prediction:
    """Predictive draws of a regression's response at public design points, from the prior alone."""
    import numpy as np

    plan = as_plan(plan)
    model = plan.model
    if not isinstance(model, Regression):
        raise expected("family", model.family, "to be a regression: only those predict")
    check_settings(warmup=0, draws=draws, chains=1, seed=seed)
    whole = prior_of(plan, prior)
    if isinstance(whole, ScorePrior):
        if whole.theta_sd is None:
            raise expected("prior", None, "to say theta_sd: by default its width follows from a release of this kind")
        size = (draws, len(model.design(plan.schema).columns))
        assert isinstance(model, ScoreModel)
        mean, sd = model.score_link(plan.schema).pinned(np.zeros(size), np.full(size, whole.theta_sd))
        parameters = {"theta": mean + sd * np.random.default_rng(seed).standard_normal(size)}
    else:
        parameters = prior_draws(model, plan.schema, prior_for(model, plan.schema, prior), draws=draws, seed=seed)
    return Prediction(model.predict(parameters, plan.schema, new, np.random.default_rng([seed, 1])))
