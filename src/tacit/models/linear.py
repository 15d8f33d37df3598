"""Linear regression from a noisy Gram matrix (bernstein2019, and past it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import BERNSTEIN_2019, HOFFMAN_2014, JU_2022, Paper
from tacit.errors import expected
from tacit.models.input_reports import INPUTS, check_numbers, in_mapped_units, input_client
from tacit.models.linear_gibbs import (
    augment,
    gibbs_noisy,
    gibbs_prior,
    gibbs_update,
    individual,
)
from tacit.models.linear_prior import LinearPrior
from tacit.models.linear_sums import cell_moments_sums, input_reports, naive_sums, wishart_sums
from tacit.models.local import LocalModel
from tacit.models.model import Example, Method, Prior
from tacit.models.prior_draws import extent, fits_bounds
from tacit.models.regression import DesignMatrix, Regression, as_radius
from tacit.models.statistic_reports import STATISTICS, statistic_client, statistic_summary, with_reports
from tacit.models.support import POSITIVE
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.protocols.noisy_vector import NoisyVector
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema
from tacit.statistics.design import Scaled
from tacit.statistics.gram import Gram
from tacit.statistics.gram_moments import GramMoments


@dataclass(frozen=True)
class LinearRegression(Regression, LocalModel):
    """y | x ~ N(theta'x, sigma^2), x from the columns of ``formula``, in mapped units.

    Released: the distinct sums of products of (1, x, y), plus noise. Given the exact sums the posterior is conjugate;
    the methods differ in how they treat the latent exact sums.

    ```pycon
    >>> schema = tacit.Schema(cost=(0, 9000), age=(18, 90), smoker=["no", "yes"])
    >>> tacit.LinearRegression("cost ~ age + smoker").design(schema).names
    ['Intercept', 'age', 'smoker[yes]']

    ```
    """

    family: ClassVar[str] = "linear"
    about: ClassVar[str] = "a number explained by others"
    papers: ClassVar[tuple[Paper, ...]] = (BERNSTEIN_2019,)
    moments: int = 2
    """4 releases the covariates' third and fourth moments as well, jointly, for the method ``gibbs-noisy``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moments not in (2, 4) or isinstance(self.moments, bool):
            raise expected("moments", self.moments, "to be 2 or 4")
        if self.radius is not None and self.moments == 4:
            raise expected("radius", self.radius, "to be left out where moments = 4")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """One covariate; two covariates; a covariate and a category."""
        schema = Schema(charges=(0, 65_000), age=(18, 65), bmi=(15, 55), smoker=["no", "yes"])
        narrow = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0}
        return (
            Example(cls("charges ~ age"), schema, {**narrow, "lambda0": (20.0, 5.0)}, quick=False),
            Example(cls("charges ~ age + bmi"), schema, {**narrow, "lambda0": (20.0, 5.0, 5.0)}, quick=False),
            Example(cls("charges ~ age + smoker"), schema, {**narrow, "lambda0": (20.0, 5.0, 20.0)}, quick=False),
        )

    def statistic(self, schema: Schema) -> Gram | GramMoments:
        """The distinct entries of the Gram matrix of design and response; with ``moments`` = 4 those of x as well."""
        design = self.design(schema)
        if self.moments == 4:
            return GramMoments(design.columns, design.number_response)
        return Gram(design.columns, design.number_response, radius=as_radius(self.radius))

    def default_prior(self, schema: Schema) -> LinearPrior:
        """Weak and data-free."""
        return LinearPrior.default(self.design(schema))

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """As in every regression; ``explained`` and ``total`` change the prior that learns how much is explained."""
        assert isinstance(default, LinearPrior)
        return super().changed_prior(default.changed_base(changes, self.design(schema)), changes, schema)

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Theta and sigma, and the normal distribution of the covariates, whose moments stand for those of endless
        rows.
        """
        assert isinstance(prior, LinearPrior)
        design = self.design(schema)
        distribution, t = prior.draw_law(design, rng)
        centre, squares = self._column_moments(distribution, prior, schema, rng)
        return {"theta": prior.place(design, distribution["sigma"], centre, squares, t), **distribution}

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """The distribution of covariates, then rows without a response, then theta given their moments, then the
        response.

        A weak prior makes rows that no bounds hold, and clamped rows are not the model's: all is drawn anew until it
        is `within_bounds`, in some thousand draws or as it comes.
        """
        import numpy as np

        assert isinstance(prior, LinearPrior)
        design = self.design(schema)
        plain = {c.number.numbers[0] for c in design.columns if isinstance(c, Scaled) and c.number.plain}
        for left in reversed(range(_TRIES)):
            distribution, t = prior.draw_law(design, rng)
            own = np.diagonal(distribution["Sigma_x"])
            if left and (design.all_numeric or n > _MANY):  # of many rows the moments are close to these
                numbers = sum(not isinstance(schema[name], Category) for name in design.cells)
                nearly = own[:numbers] * (1.0 if design.all_numeric else 0.5)
                if not fits_bounds(distribution["mu_x"][:numbers], nearly):
                    continue
            rows, cells = self._covariates(distribution, schema, n, rng)
            if left and not design.all_numeric and extent({name: rows[name] for name in plain}, schema) > 1:
                continue
            moments = _moments(design, self._matrix(cells, schema, n))
            parameters = {"theta": prior.place(design, distribution["sigma"], *moments, t), **distribution}
            if left and design.all_numeric and not self.within_bounds(parameters, schema):
                continue
            response = self._response(parameters, cells, schema, n, rng)
            if left and not design.all_numeric and design.formula.intercept and extent(response, schema) > 1:
                continue
            return parameters, {**rows, **response}
        raise AssertionError

    def within_bounds(self, draws: Arrays, schema: Schema) -> Any:
        """By the normal distribution of covariates and response; with levels by the sums that a draw implies."""
        import numpy as np

        if not self.design(schema).all_numeric:
            return np.asarray(draws["extent"]) <= 1 if "extent" in draws else None
        if "Sigma_x" not in draws:
            return None
        theta, mu, sigma_x = (np.asarray(draws[name]) for name in ("theta", "mu_x", "Sigma_x"))
        if mu.ndim != theta.ndim:  # several sites
            return None
        slopes = theta[..., 1:]
        mean = theta[..., 0] + np.sum(slopes * mu, axis=-1)
        variance = np.einsum("...i,...ij,...j->...", slopes, sigma_x, slopes) + np.asarray(draws["sigma"]) ** 2
        own = np.diagonal(sigma_x, axis1=-2, axis2=-1)
        return fits_bounds(np.append(mu, mean[..., None], axis=-1), np.append(own, variance[..., None], axis=-1))

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Numbers from the normal distribution of the covariates, levels with equal probabilities, the response from
        the model.
        """
        rows, cells = self._covariates(parameters, schema, n, rng)
        return {**rows, **self._response(parameters, cells, schema, n, rng)}

    def _covariates(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """n rows without a response, and the same parsed."""
        design = self.design(schema)
        cells: dict[str, Any] = {}
        rows: dict[str, Any] = {}
        numbers = [name for name in design.cells if not isinstance(schema[name], Category)]
        d = len(numbers)
        mapped: Any = (
            rng.multivariate_normal(parameters["mu_x"][:d], parameters["Sigma_x"][:d, :d], size=n) if d else None
        )
        for i, name in enumerate(numbers):
            column = schema.number(name)
            half = (column.high - column.low) / 2
            rows[name] = cells[name] = column.low + half * (1 + mapped[:, i])
        for name in design.cells:
            if name not in cells:
                levels = schema.category(name).levels
                cells[name] = rng.integers(0, len(levels), n)
                rows[name] = [levels[code] for code in cells[name]]
        return rows, cells

    def _matrix(self, cells: Arrays, schema: Schema, n: int) -> Any:
        import numpy as np

        return self.design(schema).matrix(cells) if cells else np.ones((n, 1))

    def _response(self, parameters: Arrays, cells: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        response = self._matrix(cells, schema, n) @ parameters["theta"] + parameters["sigma"] * rng.standard_normal(n)
        number = self.design(schema).number_response
        return {number.name: number.offset + number.scale * response}

    def _column_moments(self, distribution: Arrays, prior: LinearPrior, schema: Schema, rng: Any) -> tuple[Any, Any]:
        """Mean and variance of the design's columns: exact for plain numbers, else of some made-up rows."""
        import numpy as np

        design = self.design(schema)
        if not prior.tied:
            return np.zeros(len(design.columns)), np.ones(len(design.columns))
        if design.all_numeric:
            return np.append(1.0, distribution["mu_x"]), np.append(0.0, np.diagonal(distribution["Sigma_x"]))
        return _moments(
            design, self._matrix(self._covariates(distribution, schema, _MADE_UP, rng)[1], schema, _MADE_UP)
        )

    @property
    def methods(self) -> Mapping[str, Method]:
        """By how they treat the latent exact sums; the docstrings of the builders say what each is for."""
        found = {
            "wishart": Method(
                with_reports(wishart_sums, input_reports),
                thin=2,
                sites=True,
                releases=True,
                surveys=True,
                unknown_n=True,
                papers=(HOFFMAN_2014,),
            ),
            "cell-moments": Method(
                with_reports(cell_moments_sums, input_reports),
                thin=2,
                sites=True,
                releases=True,
                surveys=True,
                unknown_n=True,
                papers=(HOFFMAN_2014,),
            ),
            "gibbs-update": Method(gibbs_update, thin=10),
            "gibbs-prior": Method(gibbs_prior, thin=10),
            "augment": Method(augment, thin=50, papers=(JU_2022,)),
            "individual": Method(individual, thin=4, papers=(HOFFMAN_2014,)),
            "naive": Method(with_reports(naive_sums), thin=1, sites=True, releases=True, surveys=True),
        }
        return found if self.moments == 2 else {**found, "gibbs-noisy": Method(gibbs_noisy, thin=10)}

    def default_method(self, schema: Schema) -> str:
        """``wishart`` where a normal distribution describes the design; ``cell-moments`` with levels, interactions, no
        intercept.
        """
        return "wishart" if self.design(schema).all_numeric else "cell-moments"

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """What the row adds to the sums, or the row itself."""
        return (STATISTICS, INPUTS)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that adds noise to the products of (1, x, y), or to (x, y)."""
        if protocol == STATISTICS:
            return statistic_client(self.statistic(schema), schema, budget)
        design = self.design(schema)
        check_numbers(design)
        return input_client(Gram(design.columns, design.number_response, radius=as_radius(self.radius)), schema, budget)

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """The sum of the reports, or of the products of (1, report)."""
        from tacit.likelihoods.report_summaries import moment_sums

        if not isinstance(randomizer.protocol, NoisyVector):
            return statistic_summary(randomizer, reports)
        return moment_sums(in_mapped_units(randomizer, reports)).reshape(-1)

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The response at new points, its own scatter included."""
        mean = self.mean_response(draws, schema, new)
        scatter = self.design(schema).number_response.scale * draws["sigma"][:, None]
        return mean + scatter * rng.standard_normal(mean.shape)

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The response without its scatter."""
        design = self.design(schema)
        number = design.number_response
        return number.offset + number.scale * (draws["theta"] @ design.matrix(design.parse(new)).T)

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients of the formula and the residual standard deviation, in the units of the data."""
        design = self.design(schema)
        values = design.original_units(draws["theta"], design.number_response)
        found = {name: values[..., i] for i, name in enumerate(design.names)}
        return {**found, "sigma": design.number_response.scale * draws["sigma"]}

    @property
    def sums_must_fit(self) -> bool:
        """They need not: second moments say all about a linear response, whatever the distribution of covariates."""
        return False

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """Every site has its own distribution of the covariates."""
        return ("mu_x", "Sigma_x")

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sigma": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients by name; the covariates' distribution where a method gives it."""
        return {
            "theta": ("coefficient",),
            "sigma": (),
            "mu_x": ("covariate",),
            "Sigma_x": ("covariate", "other_covariate"),
        }

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns."""
        names = self.design(schema).names
        covariates = [c.name for c in self.design(schema).columns if isinstance(c, Scaled)]
        return {"coefficient": names, "covariate": covariates, "other_covariate": covariates}


_MADE_UP = 500  # rows
_TRIES, _MANY = 5000, 1000  # draws of parameters and rows; rows that take long to draw in vain


def _moments(design: DesignMatrix, matrix: Any) -> tuple[Any, Any]:
    """Mean and variance of the columns; around 0 where there is no intercept."""
    import numpy as np

    centre = matrix.mean(axis=0) if design.formula.intercept else np.zeros(matrix.shape[1])
    return centre, np.mean((matrix - centre) ** 2, axis=0)
