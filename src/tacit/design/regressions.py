"""A study of a regression: plausible tables, and what each kind of release tells about their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.calibration.expected_columns import ExpectedColumns
from tacit.calibration.plausible_tables import PlausibleTable, PlausibleTables
from tacit.design.families import PARAMETERS, PRIOR_DRAWS, widths_at
from tacit.design.normal_equations import normal_equations
from tacit.design.points import noise_of, noise_of_known_n
from tacit.design.table_parameters import check_levels_alike, table_parameters
from tacit.design.table_widths import TableWidths
from tacit.infer import prior_for, prior_of
from tacit.mechanisms.newton import Newton
from tacit.models.linear import LinearRegression
from tacit.models.linear_prior import LinearPrior
from tacit.models.prior_draws import prior_draws
from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.schema import Category, Number
from tacit.statistics.gram import Gram


def regression_widths(
    plans: Sequence[Plan], sizes: Sequence[int], said: ExpectedColumns, prior: Any, parameters: int | None, seed: int
) -> tuple[dict[tuple[int, int], dict[str, TableWidths]], dict[str, float]]:
    """By n and the place of the plan the widths of every number, and the share of each column that is clamped."""
    plan = plans[0]
    if isinstance(plan.mechanism, Newton):
        from tacit.design.simulated_rounds import simulated_rounds, tables_for

        prior_of(plan, prior)
        several = PlausibleTables(plan, said, parameters or tables_for(len(plans) * len(sizes)), seed)
        return simulated_rounds(plans, sizes, several, prior, seed), clamped(plan, several.every())
    noises = [noise_of(one) for one in plans]
    whole = prior_for(plan.model, plan.schema, prior)
    tables = PlausibleTables(plan, said, parameters or PARAMETERS, seed).every()
    if by_normal_equations(plan):
        assert isinstance(whole, LinearPrior)
        known = [noise_of_known_n(one) for one in plans]
        widths = {
            (size, place): normal_equations(
                plan, noise.sds(size), whole, tables, size, None if of_known is None else of_known.sds(size)
            )
            for size in sizes
            for place, (noise, of_known) in enumerate(zip(noises, known, strict=True))
            if noise is not None
        }
        return widths, clamped(plan, tables)
    check_levels_alike(plan, list(said.shares))
    draws = prior_draws(plan.model, plan.schema, whole, draws=PRIOR_DRAWS, seed=seed)
    truths = table_parameters(plan, tables, list(draws))
    return widths_at(plans, sizes, draws, truths, seed), clamped(plan, tables)


def by_normal_equations(plan: Plan) -> bool:
    """Whether a plan releases the sums that the normal equations of a linear regression are made of."""
    model = plan.model
    if not isinstance(model, LinearRegression) or isinstance(plan.mechanism, Newton):
        return False
    return isinstance(model.statistic(plan.schema), Gram) and noise_of(plan) is not None


def clamped(plan: Plan, tables: Sequence[PlausibleTable]) -> dict[str, float]:
    """The share of each number's values outside its bounds."""
    found: dict[str, float] = {}
    for name in tables[0].cells:
        column: Any = plan.schema.declared(name)
        if isinstance(column, Number):
            values = np.concatenate([table.cells[name] for table in tables])
            found[name] = float(np.mean((values < column.low) | (values > column.high)))
    return found


def guessed(plan: Plan, said: ExpectedColumns) -> tuple[str, ...]:
    """The columns of which mean, sd or shares were not said."""
    model = plan.model
    assert isinstance(model, Regression)
    design = model.design(plan.schema)
    found: list[str] = []
    for name in (design.formula.response, *design.cells):
        column = plan.schema.declared(name)
        alone = name == design.formula.response and not isinstance(model, LinearRegression)
        mean, sd = said.numbers.get(name, (None, None))
        known = name in said.shares if isinstance(column, Category) else mean is not None and (alone or sd is not None)
        if not known:
            found.append(name)
    return tuple(found)
