"""A study of any family: parameters from the prior, and what sums or reports tell about each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.design.points import Points, noise_of
from tacit.design.table_widths import TableWidths
from tacit.infer import prior_for
from tacit.models.prior_draws import clamped_share, prior_draws
from tacit.plan import Plan
from tacit.runtime.chain import Arrays
from tacit.runtime.progress import tell

PRIOR_DRAWS = 2_000
PARAMETERS = 24


def family_widths(
    plans: Sequence[Plan], sizes: Sequence[int], prior: Any, parameters: int | None, seed: int
) -> tuple[dict[tuple[int, int], dict[str, TableWidths]], dict[str, float]]:
    """By n and the place of the plan the widths of every number, and the share of each column that is clamped."""
    plan = plans[0]
    for one in plans:
        noise_of(one)  # refuses what is not known, before time is spent on it
    whole = prior_for(plan.model, plan.schema, prior)
    draws = prior_draws(plan.model, plan.schema, whole, draws=PRIOR_DRAWS, seed=seed)
    truths = {name: values[: parameters or PARAMETERS] for name, values in draws.items()}
    few = {name: values[:50] for name, values in draws.items()}
    clamped = clamped_share(plan.model, plan.schema, few, rows=200, seed=seed)
    return widths_at(plans, sizes, draws, truths, seed), clamped


def widths_at(
    plans: Sequence[Plan], sizes: Sequence[int], draws: Arrays, truths: Mapping[str, Any], seed: int
) -> dict[tuple[int, int], dict[str, TableWidths]]:
    """By n and the place of the plan the widths of every number, at the parameters ``truths``."""
    noises = [noise_of(one) for one in plans]
    points = Points.of(plans[0], draws, truths, seed)
    evidence = [points.evidence(one, noise) for one, noise in zip(plans, noises, strict=True)]
    tell(0.5)  # what follows is known for every n at once
    found: dict[tuple[int, int], dict[str, TableWidths]] = {}
    for size in sizes:
        for place, one in enumerate(evidence):
            found[size, place] = points.compared(one, size)
            tell(0.5 / (len(sizes) * len(evidence)))
    return found
