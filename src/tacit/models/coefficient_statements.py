"""Priors of single coefficients, said in the units of the data: ``{"age": (0, 0.1)}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.models.regression import DesignMatrix
from tacit.statistics.design import Scaled

Statement = tuple[str, float, float]


def as_statements(value: Any) -> tuple[Statement, ...]:
    """Name, mean and standard deviation of each coefficient that a prior names, checked as numbers."""
    pairs = value.items() if isinstance(value, Mapping) else [(one[0], one[1:]) for one in value]
    found: list[Statement] = []
    for name, numbers in pairs:
        said = tuple(numbers) if isinstance(numbers, Sequence) and not isinstance(numbers, str) else ()
        wrong = [x for x in said if isinstance(x, bool) or not isinstance(x, int | float) or not -1e300 < x < 1e300]
        if len(said) != 2 or wrong or not said[1] > 0:
            raise expected(f"prior {name}", numbers, "to be a mean and a positive standard deviation")
        found.append((str(name), float(said[0]), float(said[1])))
    return tuple(found)


def check_names(statements: Sequence[Statement], design: DesignMatrix) -> None:
    """Refuse a name that is no coefficient of the design."""
    for name, *_ in statements:
        if name not in design.names:
            names = ", ".join(design.names)
            raise expected("prior", name, f"to be one of the coefficients {names}{did_you_mean(name, design.names)}")


def in_mapped_units(statements: Sequence[Statement], design: DesignMatrix, response: Scaled | None) -> dict[int, Any]:
    """By the place of its coefficient, each statement as (row, mean, sd) about row'theta, theta in mapped units.

    Coefficients in the units of the data are an affine function of those in mapped units (`Design.original_units`).
    """
    import numpy as np

    check_names(statements, design)
    p = len(design.columns)
    offset = design.original_units(np.zeros(p), response)
    slopes = (design.original_units(np.eye(p), response) - offset).T
    places = {name: design.names.index(name) for name, *_ in statements}
    return {places[name]: (slopes[places[name]], mean - offset[places[name]], sd) for name, mean, sd in statements}
