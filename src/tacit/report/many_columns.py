"""What a plan with many columns or levels says before it is spent: how many rows a posterior needs, if it has one."""

from __future__ import annotations

from tacit.models.cells import Cells
from tacit.models.linear import LinearRegression
from tacit.models.model import Problem, Site
from tacit.plan import Plan

_FEW_COLUMNS = 20  # of a linear regression: there is a posterior whatever the number of rows is


_MANY_SCORES = 20  # coefficients, whose posterior took 55 seconds of one core; 30 had not ended after 129


def about_many_scores(coefficients: int) -> list[str]:
    """That a posterior from scores in rounds will take minutes."""
    if coefficients <= _MANY_SCORES:
        return []
    return [
        f"Inference: with {coefficients} coefficients the posterior takes minutes of computing: one for 20, and more "
        "than two for 30. Leave columns out if that is too long."
    ]


def about_many_columns(plan: Plan) -> list[str]:
    """From how many rows on there is a posterior, where a linear regression has too many columns or levels for NUTS."""
    model = plan.model
    if not isinstance(model, LinearRegression):
        return []
    if model.default_method(plan.schema) != "wishart":
        why = Cells(model.design(plan.schema), derived=True).too_large
        return [] if why is None else [f"Inference: refused. {why}"]
    size = len(model.design(plan.schema).columns)
    if size <= _FEW_COLUMNS or not plan.calibrated_mechanism().public_n:
        return []
    from tacit.models.gram_layout import noisy_grams
    from tacit.samplers.independence_mh_gram import MOST_BY_NUTS, fewest_rows

    if size <= MOST_BY_NUTS:
        return []
    prior = model.default_prior(plan.schema)
    problem = Problem(model, plan.schema, prior, (Site(1, (plan.noise(),)),))
    rows = fewest_rows(noisy_grams(problem)[0], prior.numbers(model.design(plan.schema)))
    return [
        f"Inference: with {size} numbers in a row there is a posterior from about {rows:,} rows on, where the noise is "
        "small beside the sums; for fewer `tacit infer` refuses, as it would take hours. Leave columns out, or raise "
        "the budget."
    ]
