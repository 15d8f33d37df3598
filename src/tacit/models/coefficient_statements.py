"""Priors of single coefficients in the units of the data, ``{"age": (0, 0.1)}``: all regressions read them here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import did_you_mean, expected
from tacit.models.model import Prior

if TYPE_CHECKING:
    from tacit.models.regression import DesignMatrix
    from tacit.statistics.design import Scaled

Statement = tuple[str, float, float]
AnyPrior = TypeVar("AnyPrior", bound=Prior)
_FORM = "to be a mean and a positive standard deviation"


def as_statements(value: object) -> tuple[Statement, ...]:
    """Name, mean and standard deviation of each coefficient that a prior names, each name once, checked as numbers.

    ``value`` is a mapping of names to pairs, or a list of triples as files have it. It may be anything: what is neither
    is refused in one sentence.
    """
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list | tuple):
        pairs = [(one[0], one[1:]) if isinstance(one, list | tuple) and one else (one, ()) for one in value]
    else:
        raise expected("prior coefficients", value, "to list coefficients with a name, a mean and an sd each")
    found: dict[str, Statement] = {}
    for name, numbers in pairs:
        if not isinstance(name, str):
            raise expected("prior coefficients", name, "to name coefficients by text")
        if name in found:
            raise expected("prior", name, "to be said once")
        said = tuple(numbers) if isinstance(numbers, list | tuple) else ()
        wrong = [x for x in said if isinstance(x, bool) or not isinstance(x, int | float) or not -1e300 < x < 1e300]
        if len(said) != 2 or wrong or not said[1] > 0:
            raise expected(f"prior {name[:80]}", numbers, _FORM)
        found[name] = (name, float(said[0]), float(said[1]))
    return tuple(found.values())


def changed(default: AnyPrior, changes: Mapping[str, Any], names: Sequence[str]) -> AnyPrior:
    """``default`` with some numbers changed; one of the coefficients' ``names`` has its mean and sd in data units."""
    known = [field.name for field in fields(default)]
    if "coefficients" not in known:
        return default.replaced(changes)
    named: dict[str, Any] = {name: (mean, sd) for name, mean, sd in as_statements(changes.get("coefficients", {}))}
    numbers: dict[str, Any] = {}
    for name, value in changes.items():
        if name in known:
            numbers[name] = value
        elif name in names:
            named[name] = value
        else:
            hint = did_you_mean(name, [*known, *names])
            raise expected(
                "prior", name, f"to be a coefficient ({', '.join(names)}) or one of {', '.join(known)}{hint}"
            )
    _check_names(named, names)
    if "slope" in numbers or "effect" in numbers:  # it says something only where no fixed spread is said
        numbers.setdefault("lambda0" if "lambda0" in known else "theta_sd", None)
    return default.replaced({**numbers, "coefficients": named})


def in_mapped_units(statements: Sequence[Statement], design: DesignMatrix, response: Scaled | None) -> dict[int, Any]:
    """By the place of its coefficient, each statement as (row, mean, sd) about row'theta, theta in mapped units.

    Coefficients in the units of the data are an affine function of those in mapped units (`Design.original_units`).
    """
    import numpy as np

    _check_names([name for name, *_ in statements], design.names)
    p = len(design.columns)
    offset = design.original_units(np.zeros(p), response)
    slopes = (design.original_units(np.eye(p), response) - offset).T
    places = {name: design.names.index(name) for name, *_ in statements}
    return {places[name]: (slopes[places[name]], mean - offset[places[name]], sd) for name, mean, sd in statements}


def of_single_coefficients(
    statements: Sequence[Statement], design: DesignMatrix, response: Scaled | None = None
) -> dict[int, tuple[float, float]]:
    """Mean and sd of each named coefficient in mapped units, by its place; refuses one that moves with others."""
    import numpy as np

    found: dict[int, tuple[float, float]] = {}
    for place, (row, mean, sd) in in_mapped_units(statements, design, response).items():
        if np.count_nonzero(row) > 1:
            name = design.names[place]
            raise expected("prior", name, "to be a coefficient that does not move with others when numbers are centred")
        found[place] = float(mean / row[place]), float(sd / row[place])
    return found


def _check_names(said: Sequence[str] | Mapping[str, Any], names: Sequence[str]) -> None:
    for name in said:
        if name not in names:
            raise expected("prior", name, f"to be a coefficient: {', '.join(names)}{did_you_mean(name, names)}")
