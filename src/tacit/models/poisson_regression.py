"""Poisson regression from noisy moments (kulkarni2021, with exact moments of clamped counts)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.bibliography import JU_2022, KULKARNI_2021, Paper
from tacit.errors import expected
from tacit.models.effects import EffectDraws, EffectScale
from tacit.models.model import Example, Method
from tacit.models.moment_exact import augment
from tacit.models.moment_regression import MomentRegression, by_moments
from tacit.models.regression import as_radius
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Number, Schema
from tacit.statistics.count_moments import CountMoments
from tacit.statistics.design import Scaled
from tacit.statistics.score_sums import ScoreSums

if TYPE_CHECKING:
    from tacit.likelihoods.link_moments import Link

_LINKS = ("softplus", "log")


@dataclass(frozen=True)
class PoissonRegression(MomentRegression):
    """y | x ~ Poisson(log(1 + e^u)) or, with ``link`` "log", Poisson(e^u), u = theta'w, w the design of ``formula``.

    The response is a count, declared from 0 to the largest that counts; larger ones are clamped to it, which the
    inference knows. Released: the sums of x, xx', yx, yxx' and y, plus noise.

    ```pycon
    >>> schema = tacit.Schema(visits=(0, 20), age=(18, 90))
    >>> tacit.PoissonRegression("visits ~ age", link="log").design(schema).names
    ['Intercept', 'age']

    ```
    """

    family: ClassVar[str] = "poisson-regression"
    about: ClassVar[str] = "a count explained by others"
    effect_scale: ClassVar[EffectScale] = "rate"
    papers: ClassVar[tuple[Paper, ...]] = (KULKARNI_2021,)
    link: str = "softplus"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link not in _LINKS:
            raise expected("link", self.link, f"to be one of {', '.join(_LINKS)}")

    @property
    def has_ratios(self) -> bool:
        """Of rates, with the link "log"; softplus is no exponential."""
        return self.link == "log"

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Two numbers in a ball; one number with a log link."""
        schema = Schema(visits=(0, 12), age=(18, 90), dose=(0, 10))
        narrow = {"mean_sd": 0.15, "scale": 0.15, "theta_sd": 0.7}
        return (
            Example(cls("visits ~ age + dose", radius=1.0), schema, narrow, quick=False, always=False),
            Example(cls("visits ~ age", link="log"), schema, narrow, quick=False, always=False),
        )

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """So many times the rate: with the link "log" wherever one starts, else from the middle of all bounds.

        The rate softplus(u) is no exponential, so a step d from u multiplies it by softplus(u + d) / softplus(u).
        """
        found = super().effects(draws, schema)
        if self.link == "log":
            return found
        import numpy as np

        design = self.design(schema)
        middle = {name: _middle(schema.declared(name)) for name in design.cells}
        start = np.asarray(draws["theta"]) @ design.matrix(middle)[0]

        def log_rate(u: Any) -> Any:
            return np.log(np.logaddexp(0.0, u))

        return [
            replace(
                one,
                values=log_rate(start + one.values) - log_rate(start),
                after=f"{one.after}, from the middle of all bounds,",
            )
            for one in found
        ]

    def most(self, schema: Schema) -> int:
        """The largest count that is told apart."""
        name = self.design(schema).formula.response
        column = schema.number(name)
        if column.low != 0 or column.high != int(column.high) or not 1 <= column.high <= 4096:
            raise expected("bounds", [column.low, column.high], f"of {name!r} to be 0 and a whole number up to 4096")
        return int(column.high)

    def statistic(self, schema: Schema) -> CountMoments:
        """Sums of products of covariates and count."""
        design = self.design(schema)
        self.cells(schema)
        return CountMoments(design.columns, design.formula.response, self.most(schema), as_radius(self.radius))

    def score_sums(self, schema: Schema) -> ScoreSums:
        """Scores of a count that is clamped."""
        columns, most = self.design(schema).columns, self.most(schema)
        response, ball = self.design(schema).formula.response, as_radius(self.radius)
        return ScoreSums(columns, response, self.link, most, (0,) * len(columns), True, radius=ball)

    def response_link(self, schema: Schema) -> Link:
        """Counts, clamped and divided by the largest."""
        from tacit.likelihoods.link_moments import Link

        most = self.most(schema)
        return Link("log" if self.link == "log" else "softplus", unit=float(most), clamp=most)

    def places(self, schema: Schema) -> list[tuple[int, int, int]]:
        """Positions in (1, x) as positions in the design vector, whose constant needs no factor."""
        statistic = self.statistic(schema)
        numbers = [i for i, column in enumerate(statistic.design) if isinstance(column, Scaled)]
        place = [-1, *numbers]
        return [(place[j], place[k], int(with_y)) for with_y, j, k in statistic.layout]

    @property
    def methods(self) -> Mapping[str, Method]:
        """By moments, and exact for few rows."""
        return {**by_moments(), "augment": Method(augment, thin=50, releases=True, papers=(JU_2022,))}

    def draw_response(self, predictor: Any, schema: Schema, rng: Any) -> Any:
        """Counts, not yet clamped."""
        import numpy as np

        return rng.poisson(self._rate(np.asarray(predictor))).astype(float)

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The rate: the mean of the count before clamping."""
        return self._rate(self.predictor(draws, schema, new))

    def _rate(self, predictor: Any) -> Any:
        import numpy as np

        if self.link == "log":
            return np.exp(np.minimum(predictor, 20.0))
        return np.logaddexp(0.0, predictor)


def _middle(column: Number | Category) -> list[float]:
    """The first level, by its code, or the middle of the bounds."""
    return [0] if isinstance(column, Category) else [(column.low + column.high) / 2]
