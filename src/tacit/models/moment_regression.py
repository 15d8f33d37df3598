"""What logistic and Poisson regression share: covariates by cells, a linear predictor, inference from noisy moments.

Rows: a combination of levels (a cell) with probabilities pi; numbers x ~ N(mu_x, Sigma_x) within it, in mapped units;
the linear predictor u = theta'w, w the design vector; a response whose distribution depends on u alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tacit.bibliography import HOFFMAN_2014
from tacit.errors import InputError, expected
from tacit.models.cells import Cells
from tacit.models.cohort import Cohort
from tacit.models.gram_layout import check_latent, site_noises
from tacit.models.local import LocalModel
from tacit.models.model import Method, Prior, Problem
from tacit.models.moment_prior import MomentPrior
from tacit.models.prior_draws import fits_bounds
from tacit.models.regression import Regression
from tacit.models.score_model import ScoreModel
from tacit.models.score_reports import SCORES, score_client
from tacit.models.statistic_reports import STATISTICS, Build, statistic_client, statistic_summary, with_reports
from tacit.models.support import SHARES
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.likelihoods.design_moments import CellDesign as Moments
    from tacit.likelihoods.link_moments import Link
    from tacit.samplers.marginal_likelihood_glm import SiteSums
    from tacit.samplers.release_noise import Noises


@dataclass(frozen=True)
class MomentRegression(Regression, LocalModel, ScoreModel):
    """A regression that is inferred from noisy sums of products of design entries and response."""

    @abstractmethod
    def response_link(self, schema: Schema) -> Link:
        """How the response depends on the linear predictor."""

    @abstractmethod
    def places(self, schema: Schema) -> list[tuple[int, int, int]]:
        """Each released entry as two positions in the design vector, -1 for no factor, and the power of y."""

    @abstractmethod
    def draw_response(self, predictor: Any, schema: Schema, rng: Any) -> Any:
        """The raw cells of the response, given the linear predictor."""

    def cells(self, schema: Schema) -> Cells:
        """The combinations of levels and the numbers that the formula reads."""
        return Cells(self.design(schema))

    def default_prior(self, schema: Schema) -> MomentPrior:
        """Weak and data-free, with 99% of the covariates inside their bounds."""
        return MomentPrior.default(self.cells(schema), self.radius, theta_sd=2.0)

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Theta and the distribution of the covariates."""
        assert isinstance(prior, MomentPrior)
        return prior.draw(self.cells(schema), rng)

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """A cell for each row, numbers around its mean, and the response."""
        import numpy as np

        cells = self.cells(schema)
        chosen = rng.choice(cells.count, size=n, p=parameters["pi"]) if cells.count > 1 else np.zeros(n, int)
        parsed: dict[str, Any] = {}
        rows: dict[str, Any] = {}
        if cells.numbers:
            means = np.reshape(parameters["mu_x"], (cells.count, len(cells.numbers)))
            root = _root(parameters["Sigma_x"])
            mapped = means[chosen] + rng.standard_normal((n, len(cells.numbers))) @ root.T
            for number, column in zip(cells.numbers, mapped.T, strict=True):
                rows[number.numbers[0]] = parsed[number.numbers[0]] = number.offset + number.scale * column
        codes = np.array(cells.codes).reshape(cells.count, len(cells.factors))[chosen]
        for name, own in zip(cells.factors, codes.T, strict=True):
            parsed[name] = own
            rows[name] = [schema.category(name).levels[code] for code in own]
        predictor = cells.design.matrix(parsed) @ parameters["theta"]
        rows[cells.design.formula.response] = self.draw_response(np.broadcast_to(predictor, n), schema, rng)
        return rows

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Parameters `within_bounds`, in some thousand draws or as they come, and rows."""
        parameters = self.draw_parameters(prior, schema, rng)
        for _ in range(_TRIES):
            if self.within_bounds(parameters, schema) in (True, None):
                break
            parameters = self.draw_parameters(prior, schema, rng)
        return parameters, self.draw_rows(dict(parameters), schema, n, rng)

    def within_bounds(self, draws: Arrays, schema: Schema) -> Any:
        """By the normal distribution of the numbers in every cell; None in a ball."""
        import numpy as np

        cells = self.cells(schema)
        if self.radius is not None or not cells.numbers or "Sigma_x" not in draws:
            return None
        own = np.diagonal(np.asarray(draws["Sigma_x"]), axis1=-2, axis2=-1)
        if own.ndim != np.ndim(draws["theta"]):  # several sites
            return None
        if cells.count == 1:
            return fits_bounds(np.asarray(draws["mu_x"]), own)
        return np.all(fits_bounds(np.asarray(draws["mu_x"]), own[..., None, :]), axis=-1)

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """What the row adds to the sums, or its score at a point."""
        return (STATISTICS, SCORES)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that adds noise to what its row adds to the sums, or to its score at 0."""
        if protocol == SCORES:
            return self.cohort_randomizer(schema, budget, protocol, Cohort())
        return statistic_client(self.statistic(schema), schema, budget)

    def cohort_randomizer(self, schema: Schema, budget: Guarantee, protocol: str, cohort: Cohort) -> LocalRandomizer:
        """A device that adds noise to its row's score, and information, at the point of ``cohort``."""
        if protocol != SCORES:
            return super().cohort_randomizer(schema, budget, protocol, cohort)
        return score_client(self.score_sums(schema), schema, budget, cohort)

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """The sum of the reports."""
        return statistic_summary(randomizer, reports)

    @property
    def score_methods(self) -> Mapping[str, Method]:
        """The rows' own likelihood, around the points of the rounds."""
        from tacit.models.score_method import SCORE

        return {"score": SCORE}

    @property
    def cohort_methods(self) -> Mapping[str, Method]:
        """The same likelihood, with people of their own at each point."""
        from tacit.models.cohort_method import COHORTS

        return {"score-cohorts": COHORTS}

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """Every site has its own distribution of the covariates."""
        return ("pi", "mu_x", "Sigma_x")

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients of the formula in the units of the data, on the scale of the linear predictor; no known ones."""
        design = self.design(schema)
        values = design.original_units(draws["theta"])
        return {name: values[..., i] for i, name in enumerate(design.names) if i not in design.fixed}

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """What is predicted has no scatter: the probability of the second level, or the mean count."""
        return self.predict(draws, schema, new, None)

    def predictor(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The linear predictor (draws, points) at public design points."""
        design = self.design(schema)
        return draws["theta"] @ design.matrix(design.parse(new)).T

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"pi": SHARES}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients by name, and the distribution of the covariates."""
        cells = self._described(schema)
        found: dict[str, tuple[str, ...]] = {"theta": ("coefficient",)}
        if cells is None:
            return found
        cell = ("cell",) if cells.count > 1 else ()
        if cell:
            found["pi"] = cell
        if cells.numbers:
            found |= {"mu_x": (*cell, "covariate"), "Sigma_x": ("covariate", "other_covariate")}
        return found

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns, of the cells and of the numbers."""
        cells = self._described(schema)
        if cells is None:
            return {"coefficient": self.design(schema).names}
        names = cells.number_names
        return {
            "coefficient": cells.design.names,
            "cell": cells.labels,
            "covariate": names,
            "other_covariate": names,
        }

    def _described(self, schema: Schema) -> Cells | None:
        """The cells, where noisy sums can be of them; scores in rounds take other formulas, too, and know no cells."""
        try:
            return self.cells(schema)
        except InputError:
            return None


_TRIES = 5000


def by_moments(inputs: Build | None = None) -> dict[str, Method]:
    """The methods that know of the rows what the central limit theorem says of their sums.

    ``inputs`` is how ``marginal`` treats reports of inputs, for families that have them.
    """
    return {
        "gaussian-covariates": Method(
            with_reports(_marginal, inputs),
            thin=2,
            sites=True,
            releases=True,
            surveys=True,
            unknown_n=True,
            papers=(HOFFMAN_2014,),
        ),
        "taylor": Method(_taylor, thin=2, sites=True, releases=True, papers=(HOFFMAN_2014,)),
        "naive": Method(with_reports(_naive), thin=2, sites=True, releases=True, surveys=True),
    }


def _marginal(problem: Problem, settings: SamplerSettings) -> Chain:
    """NUTS on the parameters, the exact sums integrated out by the central limit theorem, with exact moments."""
    return _chain(problem, settings, _noisy_sums(problem))


def _taylor(problem: Problem, settings: SamplerSettings) -> Chain:
    """kulkarni2021 as printed: moments by a Taylor polynomial of the mean. Wrong for large effects; to reproduce it."""
    sums = _noisy_sums(problem)
    return _chain(problem, settings, replace(sums, link=replace(sums.link, moments="taylor", clamp=None)))


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The released sums taken for exact ones: all but a millionth of the noise is ignored."""
    sums = _noisy_sums(problem)
    return _chain(problem, settings, replace(sums, scales=1e-6 * sums.scales, laplace=False))


def _noisy_sums(problem: Problem) -> SiteSums:
    import numpy as np

    from tacit.samplers.marginal_likelihood_glm import SiteSums

    model = problem.model
    assert isinstance(model, MomentRegression)
    laplace = {noise.limit == "laplace" for site in problem.sites for noise in site.noises}
    if len(laplace) > 1:
        raise expected(
            "release", len(problem.sites), "releases to have one noise distribution to be pooled by this family"
        )
    if laplace == {True} and any(len(site.noises) > 1 for site in problem.sites):
        raise expected("release", "several", "of the same rows to have normal noise to be pooled by this family")
    if problem.unknown_n:
        check_latent(problem, "gaussian-covariates")
    noises = _noises(problem)
    return SiteSums(
        design=moments(model, problem.schema),
        link=model.response_link(problem.schema),
        n=None if problem.unknown_n else np.array([float(site.rows) for site in problem.sites]),
        scales=np.stack([noise.scales[0] if laplace == {True} else noise.sds for noise in noises]),
        laplace=laplace == {True},
    )


def _noises(problem: Problem) -> list[Noises]:
    statistic = problem.statistic
    entries = len(statistic.entries) - problem.unknown_n  # n comes last
    return [site_noises(site, statistic.unit, entries) for site in problem.sites]


def moments(model: MomentRegression, schema: Schema) -> Moments:
    """The released entries as products of design entries and response."""
    import numpy as np

    from tacit.likelihoods.design_moments import CellDesign

    constants, slopes = model.cells(schema).maps()
    first, second, power = np.array(model.places(schema)).T
    return CellDesign(constants, slopes, first, second, power)


def _chain(problem: Problem, settings: SamplerSettings, sums: SiteSums) -> Chain:
    import jax.numpy as jnp

    from tacit.samplers.marginal_likelihood_glm import marginal_chain
    from tacit.samplers.release_noise import split_by_site

    model, prior = problem.model, problem.prior
    assert isinstance(model, MomentRegression)
    assert isinstance(prior, MomentPrior)
    cells = model.cells(problem.schema)
    noises = [noise.as_arguments() for noise in _noises(problem)]
    chain = marginal_chain(sums, prior.numbers(cells), settings)

    def pooled(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, noises)
        draws, info = chain(key, jnp.concatenate([own.best(part) for own, part in zip(noises, parts, strict=True)]))
        return named(draws, problem), info

    return pooled


def named(draws: Arrays, problem: Problem) -> Arrays:
    """The parameters as the family names them; no axis of sites where there is one, nor of cells."""
    assert isinstance(problem.model, MomentRegression)
    found = {{"m_x": "mu_x", "S_x": "Sigma_x"}.get(name, name): value for name, value in draws.items()}
    if problem.model.cells(problem.schema).count == 1 and "mu_x" in found:
        found["mu_x"] = found["mu_x"][:, :, 0]
    if len(problem.sites) + len(problem.surveys) == 1:
        found = {name: value if name == "theta" else value[:, 0] for name, value in found.items()}
    return found


def _root(covariance: Any) -> Any:
    """R with R R' = ``covariance``: its triangle, or by eigenvalues where rounding left one that is not positive."""
    import numpy as np

    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return vectors * np.sqrt(np.maximum(values, 0))
