"""The interface of a family that is a row's log-likelihood, released as its scores and information in rounds.

A family says its coordinates (numbers on the real line, the unknowns), what of a row it looks at, the logarithm of the
row's density as a JAX function, and how made-up rows look. Scores, information, points of rounds and the posterior
follow from it by automatic differentiation. JAX is needed beside the rows for these families alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from tacit.models.model import Method, Model, Prior
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.models.stand_in_covariates import StandInCovariates
from tacit.runtime.chain import Arrays
from tacit.schema import Number, Schema
from tacit.statistics.clipped_scores import MOST_UNIT, UNITS, ClippedScores, RowScores

_BLOCK = 4096  # rows of one call; the last block is filled up, so that every row goes through one program


class MadeUpRows(NamedTuple):
    """Stand-in rows: arrays (m, G, ...) by name, and what their covariates are, where there are some.

    ``base`` (m, G) is the logarithm of what a response weighs beside its density: of the interval that it stands for.
    """

    rows: Mapping[str, Any]
    base: Any
    covariates: StandInCovariates | None = None


@dataclass(frozen=True)
class LikelihoodModel(Model):
    """A family that says the log-likelihood of one row."""

    @abstractmethod
    def coordinates(self, schema: Schema) -> tuple[str, ...]:
        """The name of each coordinate; refuses a schema that does not fit."""

    @abstractmethod
    def read_columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns of the data that a row's density depends on."""

    @abstractmethod
    def inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """What the density is given of rows, arrays (rows, ...), by correctly rounded operations on each row alone."""

    @abstractmethod
    def row_density(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """The logarithm of one row's density as a JAX function of its inputs and of the coordinates."""

    def densities(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """The same for all responses of a made-up row at once, from that row's arrays (G, ...)."""
        import jax

        return jax.vmap(self.row_density(schema), (0, None))

    @abstractmethod
    def made_up_rows(self, schema: Schema) -> MadeUpRows:
        """What stands in for rows away from where they were measured."""

    @abstractmethod
    def clip_length(self, schema: Schema) -> Fraction:
        """The length that scores are cut to."""

    @abstractmethod
    def named(self, t: Any, schema: Schema, np: Any) -> Arrays:
        """Parameters by name from coordinates (..., p); ``np`` may be jax.numpy."""

    @abstractmethod
    def coordinate_prior(self, said: ScorePrior, mean: Any, sd: Any, schema: Schema) -> tuple[Any, Any]:
        """Mean and sd of each coordinate, as ``said`` and as covariates have ``mean`` and ``sd``, by what is known."""

    def try_out(self, schema: Schema) -> None:
        """Refuse a density that fails on made-up rows: nothing to do for one of tacit's own."""

    def covariates(self, schema: Schema) -> int:
        """How many of the first coordinates multiply a covariate, the constant among them: `inputs` has them as x."""
        return 0

    def blocks(self, schema: Schema) -> int:
        """How many linear predictors there are: as many times `covariates` are the first coordinates."""
        return 1

    def score_units(self, schema: Schema, point: Sequence[float]) -> Sequence[float]:
        """What entries of scores at ``point`` are divided by before they are cut: 1 where nothing is said."""
        return ()

    def clipped_scores(self, schema: Schema) -> ClippedScores:
        """The sums of scores and information at 0."""
        scores = ModelScores(self, schema)
        return ClippedScores(scores, self.clip_length(schema), (0,) * len(scores.coordinates), matrix=True)

    def statistic(self, schema: Schema) -> ClippedScores:
        """What a round releases."""
        return self.clipped_scores(schema)

    def next_point(
        self, schema: Schema, rounds: Sequence[Round], values: Sequence[Sequence[float]], n: float
    ) -> Sequence[float]:
        """Where the next round is taken, from what earlier ones released."""
        from tacit.models.likelihood_steps import next_point

        return next_point(self, schema, rounds, values, n)

    def default_prior(self, schema: Schema) -> ScorePrior:
        """As wide as regression tools take it."""
        return ScorePrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """One draw of the coordinates, by the names that parameters have."""
        import numpy as np

        assert isinstance(prior, ScorePrior)
        x = self.covariates(schema)
        mean, sd = self.coordinate_prior(prior.fixed(), np.zeros(x), np.ones(x), schema)
        return self.named(mean + sd * rng.standard_normal(len(mean)), schema, np)

    @property
    def methods(self) -> Mapping[str, Method]:
        """None for noisy sums."""
        return {}

    @property
    def score_methods(self) -> Mapping[str, Method]:
        """The rows' own likelihood, around the points of the rounds."""
        from tacit.models.likelihood_method import LIKELIHOOD

        return {"likelihood": LIKELIHOOD}


@dataclass(frozen=True)
class ModelScores(RowScores):
    """The scores of rows under a family, by automatic differentiation in float64."""

    model: LikelihoodModel
    schema: Schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the family."""
        return self.model.read_columns(self.schema)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Those of the family."""
        return self.model.coordinates(self.schema)

    @property
    def covariates(self) -> int:
        """Those of the family."""
        return self.model.covariates(self.schema)

    def check_here(self) -> None:
        """Try the density on made-up rows, and compile the program that rows go through.

        A compiled program is kept in a file: it has to be there whether the table has rows or not, where their number
        is a secret. And what fails, fails before the charge.
        """
        import numpy as np

        self.model.try_out(self.schema)
        declared = {name: self.schema.declared(name) for name in self.columns}
        row = {
            name: np.array([column.low]) if isinstance(column, Number) else np.zeros(1, np.int64)
            for name, column in declared.items()
        }
        self.scores(row, (0.0,) * len(self.coordinates))

    def units(self, point: tuple[float, ...]) -> tuple[int, ...] | None:
        """Those of the family; none at 0, where scores are as they are."""
        return _units(self.model, self.schema, point) if any(point) else None

    def scores(self, columns: Mapping[str, Any], point: tuple[float, ...]) -> Any:
        """Block by block, one row after the other within a block.

        A vectorised exponential may round differently in the body and in the rest of a vector, so that a row's last
        digit would depend on its place. `jax.lax.map` runs one compiled program for a single row in a loop; blocks are
        filled up to one size, so that there is one such program.
        """
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        rows = len(next(iter(columns.values())))
        given = self.model.inputs(columns, self.schema)
        found = np.zeros((rows, len(point)))
        with float64(), on_processor():
            program, at = _program(self.model, self.schema), np.array(point)
            for start in range(0, rows, _BLOCK):
                block = {name: values[start : start + _BLOCK] for name, values in given.items()}
                size = len(next(iter(block.values())))
                block = {name: np.resize(values, (_BLOCK, *values.shape[1:])) for name, values in block.items()}
                found[start : start + size] = np.asarray(program(block, at))[:size]
        return found


@lru_cache(maxsize=64)
def _units(model: LikelihoodModel, schema: Schema, point: tuple[float, ...]) -> tuple[int, ...] | None:
    """Once for each point: the same for every row, and what the release says."""
    found = [round(UNITS * min(max(unit, 1.0), MOST_UNIT)) for unit in model.score_units(schema, point)]
    return tuple(found) if any(unit > UNITS for unit in found) else None


@lru_cache(maxsize=16)
def _program(model: LikelihoodModel, schema: Schema) -> Callable[[Any, Any], Any]:
    import jax

    score = jax.grad(model.row_density(schema), argnums=1)
    return jax.jit(lambda rows, t: jax.lax.map(lambda row: score(row, t), rows))
