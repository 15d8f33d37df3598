"""Regressions whose response has any density given a linear predictor and some numbers more: a density each.

eta = x'theta, x the design of the formula with the constant first. The first coordinates are theta in mapped units, the
others the family's `Scalar`s on the real line.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from tacit.errors import expected
from tacit.models.coefficient_statements import changed, of_single_coefficients
from tacit.models.likelihood_model import LikelihoodModel, MadeUpRows
from tacit.models.model import Prior
from tacit.models.regression import Regression
from tacit.models.score_model import ScorePrior
from tacit.models.score_rows import draw_covariates
from tacit.numerics.even_points import even_points
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.score_tables import STEPS

STAND_INS = 48


class Scalar(NamedTuple):
    """A number beside the coefficients, on the real line, with the mean and the sd of its normal prior."""

    name: str
    mean: float
    sd: float


@dataclass(frozen=True)
class LikelihoodRegression(Regression, LikelihoodModel):
    """A regression by the density of its response.

    ``clip`` is the length that a row's score is cut to. Left out, it is `steepest`, what the derivative with respect to
    eta seldom exceeds, times the length of a usual design vector with the scalars. Privacy does not depend on it, as
    noise follows from it.
    """

    steepest: ClassVar[float]
    clip: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            raise expected("radius", self.radius, f"to be left out for family {self.family}")
        if self.clip is not None and (
            isinstance(self.clip, bool) or not isinstance(self.clip, int | float) or not 0.1 <= self.clip <= 1000
        ):
            raise expected("clip", self.clip, "to be a number from 0.1 to 1000, or to be left out")

    @abstractmethod
    def scalars(self, schema: Schema) -> tuple[Scalar, ...]:
        """The numbers beside the coefficients; refuses a response that does not fit."""

    @abstractmethod
    def response_inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """What the density is given of responses, by name."""

    @abstractmethod
    def response_density(self, schema: Schema) -> Callable[[Any, Any, Any], Any]:
        """The logarithm of the density as a JAX function of the row's inputs, of eta and of the scalars (an array)."""

    @abstractmethod
    def responses(self, schema: Schema) -> tuple[Arrays, Any]:
        """What responses of made-up rows there are, arrays (m or 1, G), and the logarithms of what they stand for."""

    @abstractmethod
    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Arrays:
        """The raw cells of the response, by column."""

    @abstractmethod
    def scalars_named(self, s: Any, schema: Schema, np: Any) -> Arrays:
        """Parameters from scalars (..., count)."""

    def response_columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns that the response is in."""
        return (self.design(schema).formula.response,)

    def coordinates(self, schema: Schema) -> tuple[str, ...]:
        """The names of the design's columns, and of the scalars."""
        design = self.design(schema)
        if not design.formula.intercept:
            raise expected("formula", self.formula, "to have an intercept: leave out - 1 or + 0")
        self.check_offsets(schema, taken=False)
        return (*design.names, *(one.name for one in self.scalars(schema)))

    def read_columns(self, schema: Schema) -> tuple[str, ...]:
        """Those of the formula, the response last."""
        return (*self.design(schema).cells, *self.response_columns(schema))

    def covariates(self, schema: Schema) -> int:
        """The columns of the design."""
        return len(self.design(schema).columns)

    def inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """x on the lattice, as multiples of 1 / `STEPS`, and the response."""
        import numpy as np

        design, rows = self.design(schema).columns, len(next(iter(columns.values())))
        x = np.empty((rows, len(design)))
        for j, column in enumerate(design):
            x[:, j] = column.values(columns, STEPS) / STEPS
        return {"x": x, **self.response_inputs(columns, schema)}

    def row_density(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """That of the response at eta = x'theta, the products added up one after the other."""
        density, size = self.response_density(schema), self.covariates(schema)

        def of_row(row: Any, t: Any) -> Any:
            return density(row, row["x"] @ t[:size], t[size:])

        return of_row

    def made_up_rows(self, schema: Schema) -> MadeUpRows:
        """Normal covariates, spread evenly."""
        import numpy as np
        from scipy.special import ndtri

        size = self.covariates(schema)
        count = STAND_INS if size > 1 else 1
        z = np.zeros((count, size))
        if size > 1:
            z[:, 1:] = ndtri(even_points(size - 1, count))
            z[:, 1:] -= z[:, 1:].mean(axis=0)
            z[:, 1:] = z[:, 1:] @ np.linalg.inv(np.linalg.cholesky(np.cov(z[:, 1:].T, ddof=0).reshape(size - 1, -1))).T
        responses, base = self.responses(schema)
        spread = {name: np.resize(one, (count, one.shape[1])) for name, one in responses.items()}
        return MadeUpRows(spread, np.resize(base, (count, base.shape[1])), z)

    def clip_length(self, schema: Schema) -> Fraction:
        """As said, or `steepest` times the length of a usual design vector; a multiple of 1/16."""
        usual = self.steepest * (1 + 0.6 * (self.covariates(schema) - 1) + 0.5 * len(self.scalars(schema))) ** 0.5
        return Fraction(round(16 * (usual if self.clip is None else self.clip)), 16)

    def named(self, t: Any, schema: Schema, np: Any) -> Arrays:
        """theta, and the scalars as parameters."""
        size = self.covariates(schema)
        return {"theta": t[..., :size], **self.scalars_named(t[..., size:], schema, np)}

    def coordinate_prior(self, said: ScorePrior, mean: Any, sd: Any, schema: Schema) -> tuple[Any, Any]:
        """2.5 / sd(x) for slopes, the intercept's at the covariates' mean, and those of the scalars."""
        import numpy as np

        scalars, mean, sd = self.scalars(schema), np.asarray(mean), np.asarray(sd)
        if said.theta_sd is not None:
            sds = np.full(len(mean), float(said.theta_sd))
        else:
            slopes = said.slope / sd[1:]
            sds = np.concatenate([[np.sqrt(said.intercept**2 + np.sum((slopes * mean[1:]) ** 2))], slopes])
        centre = np.zeros(len(mean))
        own = {one.name: (one.mean, one.sd) for one in scalars}
        own |= {name: (at, by) for name, at, by in said.coefficients if name in own}
        rest = [one for one in said.coefficients if one[0] not in own]
        for place, (at, by) in of_single_coefficients(rest, self.design(schema)).items():
            centre[place], sds[place] = at, by
        at, by = np.array([own[one.name] for one in scalars]).reshape(-1, 2).T
        return np.concatenate([centre, at]), np.concatenate([sds, by])

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """``default`` with some numbers changed; a scalar's name gives its mean and sd on the real line."""
        return changed(default, changes, self.coordinates(schema))

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Covariates of many shapes, and the response given them."""
        import numpy as np

        parsed, rows = draw_covariates(self, schema, n, rng)
        eta = np.broadcast_to(self.design(schema).matrix(parsed) @ np.asarray(parameters["theta"], float), n)
        return {**rows, **self.draw_response(eta, parameters, schema, rng)}

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients of the formula in the units of the data, on the scale of the linear predictor."""
        design = self.design(schema)
        values = design.original_units(draws["theta"])
        return {name: values[..., i] for i, name in enumerate(design.names)}

    def predictor(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The linear predictor (draws, points) at public design points."""
        design = self.design(schema)
        return draws["theta"] @ design.matrix(design.parse(new)).T

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients by name, and the scalars, which are single numbers unless a family says otherwise."""
        return {"theta": ("coefficient",), **{one.name: () for one in self.scalars(schema)}}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns."""
        return {"coefficient": self.design(schema).names}
