"""The numbers that a reader of the posterior looks at, from draws of the parameters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.runtime.chain import Arrays


def numbers_of(plan: Plan, draws: Arrays) -> dict[str, Any]:
    """Draws (M,) by name: a regression's coefficients in the units of the data, of other families all parameters.

    What belongs to a site alone, such as the law of covariates, is left out.
    """
    model = plan.model
    if isinstance(model, Regression):
        return {name: np.asarray(values) for name, values in model.coefficients(draws, plan.schema).items()}
    dims, coords = model.dims(plan.schema), model.coords(plan.schema)
    found: dict[str, Any] = {}
    for name, values in draws.items():
        if name in model.site_parameters:
            continue
        axes = [coords[dim] for dim in dims.get(name, ())]
        flat = np.asarray(values).reshape(len(values), -1)
        labels = list(itertools.product(*axes)) if axes else [()]
        for label, column in zip(labels, flat.T, strict=True):
            found[f"{name}[{', '.join(label)}]" if label else name] = column
    return found
