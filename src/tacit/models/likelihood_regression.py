"""Regressions whose response has any density given a linear predictor and some numbers more: a density each.

eta = x'theta, x the design of the formula with the constant first. The first coordinates are theta in mapped units, the
others the family's `Scalar`s on the real line.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from tacit.errors import expected
from tacit.models.coefficient_statements import Statement, changed, of_single_coefficients
from tacit.models.likelihood_model import LikelihoodModel, MadeUpRows
from tacit.models.model import Prior
from tacit.models.regression import Regression
from tacit.models.responses import CountDensity, Density, Response
from tacit.models.score_model import ScorePrior
from tacit.models.score_rows import draw_covariates
from tacit.models.stand_in_covariates import stand_in_covariates
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.design import Scaled
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
    extra: ClassVar[tuple[Scalar, ...]] = ()
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
    def response(self, schema: Schema) -> Response[Any]:
        """What kind of response it is; refuses one that does not fit."""

    @abstractmethod
    def density(self, schema: Schema) -> Density | CountDensity:
        """The logarithm of the density of a response given eta and the scalars (an array)."""

    @abstractmethod
    def draw_response(self, eta: Any, parameters: Arrays, schema: Schema, rng: Any) -> Any:
        """A response y for each eta, with numpy."""

    def scalars(self, schema: Schema) -> tuple[Scalar, ...]:
        """The numbers beside the coefficients: ``extra``, unless they depend on the schema."""
        return self.extra

    def scalars_named(self, s: Any, schema: Schema, np: Any) -> Arrays:
        """Parameters from scalars (..., count), which are logarithms."""
        return {one.name: np.exp(s[..., place]) for place, one in enumerate(self.extra)}

    def blocks(self, schema: Schema) -> int:
        """One for each of `predictors`."""
        return max(len(self.predictors(schema)), 1)

    def mapped_response(self, schema: Schema) -> Scaled | None:
        """The response as it is mapped, where eta is a response and no logarithm or logit of one."""
        return None

    def predictors(self, schema: Schema) -> tuple[str, ...]:
        """The levels that have coefficients of their own; empty where there is one linear predictor."""
        return ()

    def coordinates(self, schema: Schema) -> tuple[str, ...]:
        """The names of the design's columns, and of the scalars."""
        design = self.design(schema)
        if not design.formula.intercept:
            raise expected("formula", self.formula, "to have an intercept: leave out - 1 or + 0")
        self.check_offsets(schema, taken=False)
        self.read_columns(schema)
        own = [f"{level}: {name}" for level in self.predictors(schema) for name in design.names]
        return (*(own or design.names), *(one.name for one in self.scalars(schema)))

    def read_columns(self, schema: Schema) -> tuple[str, ...]:
        """Those of the formula, the response last."""
        cells, response = self.design(schema).cells, self.response(schema).columns
        if set(cells) & set(response):
            raise expected("formula", self.formula, f"to have {', '.join(response)} on its left alone")
        return (*cells, *response)

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
        return {"x": x, **self.response(schema).inputs(columns)}

    def _split(self, schema: Schema) -> Callable[[Any, Any], tuple[Any, Any]]:
        """eta, one for each predictor where there are several, and the scalars."""
        size, levels = self.covariates(schema), len(self.predictors(schema))
        end = size * self.blocks(schema)

        def of_row(x: Any, t: Any) -> tuple[Any, Any]:
            return (t[:end].reshape(levels, size) if levels else t[:end]) @ x, t[end:]

        return of_row

    def row_density(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """That of the response at eta = x'theta, the products added up one after the other."""
        density, split = self.response(schema).row(self.density(schema)), self._split(schema)
        return lambda row, t: density(row, *split(row["x"], t))

    def densities(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """Those of all responses of a made-up row."""
        density, split = self.response(schema).every(self.density(schema)), self._split(schema)
        return lambda rows, t: density(rows, *split(rows["x"][0], t))

    def made_up_rows(self, schema: Schema) -> MadeUpRows:
        """Covariates that are spread evenly, with every response."""
        import numpy as np

        covariates = stand_in_covariates(self.design(schema).columns, schema, STAND_INS)
        count = len(covariates.holds)
        responses, base = self.response(schema).made_up()
        spread = {name: np.resize(one, (count, one.shape[1])) for name, one in responses.items()}
        return MadeUpRows(spread, np.resize(base, (count, base.shape[1])), covariates)

    def clip_length(self, schema: Schema) -> Fraction:
        """As said, or `steepest` times the length of a usual design vector; a multiple of 1/16."""
        usual = self.steepest * (1 + 0.6 * (self.covariates(schema) - 1) + 0.5 * len(self.scalars(schema))) ** 0.5
        return Fraction(round(16 * (usual if self.clip is None else self.clip)), 16)

    def score_units(self, schema: Schema, point: Sequence[float]) -> Sequence[float]:
        """How many times as large as at 0 a usual row's derivatives with respect to eta and to the scalars are there.

        The derivatives of a time's density grow with its shape, for instance, and ``clip`` is for those at 0.
        """
        import numpy as np

        from tacit.models.likelihood_steps import usual_squares

        here, first = (usual_squares(self, schema, at) for at in (point, [0.0] * len(point)))
        size, end = self.covariates(schema), self.covariates(schema) * self.blocks(schema)
        own = max(here[:end:size]) / max(max(first[:end:size]), 1e-12)
        rest = here[end:] / np.maximum(first[end:], 1e-12)
        found = np.sqrt(np.nan_to_num(np.array([own] * end + list(rest)), nan=1.0, posinf=1.0))
        return [float(unit) for unit in found]

    def named(self, t: Any, schema: Schema, np: Any) -> Arrays:
        """theta, and the scalars as parameters."""
        size, levels = self.covariates(schema), len(self.predictors(schema))
        end = size * self.blocks(schema)
        theta = t[..., :end].reshape(*t.shape[:-1], levels, size) if levels else t[..., :end]
        return {"theta": theta, **self.scalars_named(t[..., end:], schema, np)}

    def coordinate_prior(self, said: ScorePrior, mean: Any, sd: Any, schema: Schema) -> tuple[Any, Any]:
        """2.5 / sd(x) for slopes, the intercept's at the covariates' mean, and those of the scalars."""
        import numpy as np

        scalars, mean, sd = self.scalars(schema), np.asarray(mean), np.asarray(sd)
        if said.theta_sd is not None:
            sds = np.full(len(mean), float(said.theta_sd))
        else:
            slopes = said.slope / sd[1:]
            sds = np.concatenate([[np.sqrt(said.intercept**2 + np.sum((slopes * mean[1:]) ** 2))], slopes])
        sds = np.tile(sds, self.blocks(schema))
        centre = np.zeros(len(sds))
        own = {one.name: (one.mean, one.sd) for one in scalars}
        own |= {name: (at, by) for name, at, by in said.coefficients if name in own}
        rest = [one for one in said.coefficients if one[0] not in own]
        for place, (at, by) in self._single(rest, schema).items():
            centre[place], sds[place] = at, by
        at, by = np.array([own[one.name] for one in scalars]).reshape(-1, 2).T
        return np.concatenate([centre, at]), np.concatenate([sds, by])

    def _single(self, said: Sequence[Statement], schema: Schema) -> dict[int, tuple[float, float]]:
        """Mean and sd of coefficients that are named, by their place."""
        design, levels = self.design(schema), self.predictors(schema)
        if not levels:
            shift = math.log(self.response(schema).unit)
            moved = [(name, at - shift * (name == design.names[0]), by) for name, at, by in said]
            return of_single_coefficients(moved, design, self.mapped_response(schema))
        found: dict[int, tuple[float, float]] = {}
        for k, level in enumerate(levels):
            own = [(n.removeprefix(f"{level}: "), at, by) for n, at, by in said if n.startswith(f"{level}: ")]
            some = of_single_coefficients(own, design).items()
            found |= {k * len(design.names) + place: one for place, one in some}
        return found

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """``default`` with some numbers changed; a scalar's name gives its mean and sd on the real line."""
        return changed(default, changes, self.coordinates(schema))

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Covariates of many shapes, and the response given them."""
        import numpy as np

        parsed, rows = draw_covariates(self, schema, n, rng)
        theta = np.asarray(parameters["theta"], float)
        eta = np.broadcast_to(self.design(schema).matrix(parsed) @ theta.T, (n, *theta.shape[:-1]))
        return {**rows, **self.response(schema).cells(self.draw_response(eta, parameters, schema, rng), schema, rng)}

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients of the formula in the units of the data, on the scale of the linear predictor."""
        import numpy as np

        design, levels = self.design(schema), self.predictors(schema)
        values = design.original_units(draws["theta"], self.mapped_response(schema))
        if levels:
            places = [(k, i) for k in range(len(levels)) for i in range(len(design.names))]
            return {f"{levels[k]}: {design.names[i]}": values[..., k, i] for k, i in places}
        values[..., 0] += np.log(self.response(schema).unit)
        return {name: values[..., i] for i, name in enumerate(design.names)}

    def predictor(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The linear predictor (draws, points) at public design points."""
        design = self.design(schema)
        return draws["theta"] @ design.matrix(design.parse(new)).T

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients by name, and the scalars, which are single numbers unless a family says otherwise."""
        axes = ("level", "coefficient") if self.predictors(schema) else ("coefficient",)
        return {"theta": axes, **{one.name: () for one in self.scalars(schema)}}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns, and of the levels that have coefficients of their own."""
        levels = self.predictors(schema)
        return {**({"level": list(levels)} if levels else {}), "coefficient": self.design(schema).names}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {one.name: POSITIVE for one in self.extra}
