"""Logistic regression from noisy moments (kulkarni2021, with exact moments)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.bibliography import HOFFMAN_2014, JU_2022, KULKARNI_2021, Paper
from tacit.errors import expected
from tacit.models.effects import EffectScale
from tacit.models.input_reports import INPUTS, check_numbers, in_mapped_units, input_client, noise_variances
from tacit.models.model import Example, Method, Problem
from tacit.models.moment_exact import augment, cells
from tacit.models.moment_prior import MomentPrior
from tacit.models.moment_regression import MomentRegression, by_moments, moments, named
from tacit.models.regression import as_radius
from tacit.models.score_reports import SCORES
from tacit.models.statistic_reports import STATISTICS, with_reports
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.design import sign
from tacit.statistics.gram import Gram
from tacit.statistics.score_sums import ScoreSums

if TYPE_CHECKING:
    from tacit.likelihoods.link_moments import Link
    from tacit.samplers.logistic_inputs import LabelledReports

LEARNED = "learned-covariates"
_MOST_INPUTS = 4  # covariates, for reports of inputs: their likelihood is a sum over a grid


@dataclass(frozen=True)
class LogisticRegression(MomentRegression):
    """P(y is the second of its two levels | x) = 1 / (1 + exp(-theta'w)), w the design of ``formula``.

    Released: the distinct sums of products of (w, y) with y coded as -1 and 1, plus noise. They are the statistics of
    the logistic likelihood's second-order approximation (kulkarni2021, section 3.2), used here for what they are: sums
    whose mean and covariance are known functions of the parameters.

    ```pycon
    >>> schema = tacit.Schema(age=(18, 90), smoker=["no", "yes"])
    >>> tacit.LogisticRegression("smoker ~ age").question(schema)
    'What goes with smoker?'

    ```
    """

    family: ClassVar[str] = "logistic"
    about: ClassVar[str] = "a yes or no explained by others"
    effect_scale: ClassVar[EffectScale] = "odds"
    papers: ClassVar[tuple[Paper, ...]] = (KULKARNI_2021,)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Two categories; two numbers in a ball; a number and a category."""
        schema = Schema(ill=["no", "yes"], age=(18, 90), dose=(0, 10), sex=["f", "m"], smoker=["no", "yes"])
        narrow = {"mean_sd": 0.1, "scale": 0.1, "theta_sd": 1.0}
        return (
            Example(cls("ill ~ sex + smoker"), schema, {"theta_sd": 1.0}, quick=False, always=False),
            Example(cls("ill ~ age + dose", radius=1.0), schema, narrow, quick=False, always=False),
            Example(cls("ill ~ age + sex"), schema, narrow, quick=False, always=False),
        )

    def statistic(self, schema: Schema) -> Gram:
        """The distinct sums of products of design and response."""
        design = self.design(schema)
        self.cells(schema)
        return Gram(design.columns, sign(design.formula.response, schema), radius=as_radius(self.radius))

    def score_sums(self, schema: Schema) -> ScoreSums:
        """Scores of a response with two levels, the second of which counts."""
        columns = self.design(schema).columns
        response = sign(self.design(schema).formula.response, schema).column
        return ScoreSums(columns, response, "logistic", 1, (0,) * len(columns), True, radius=as_radius(self.radius))

    def response_link(self, schema: Schema) -> Link:
        from tacit.likelihoods.link_moments import Link

        return Link("logistic")

    def places(self, schema: Schema) -> list[tuple[int, int, int]]:
        """Off the layout of the Gram statistic, where the response comes last."""
        statistic = self.statistic(schema)
        last = len(statistic.design)
        return [(p.j, -1, 1) if p.k == last else (p.j, p.k, 0) for p in statistic.layout[0].values()]

    @property
    def methods(self) -> Mapping[str, Method]:
        """Exact for levels alone, by moments, and exact for few rows."""
        return {
            "exact-cells": Method(with_reports(cells), thin=8, sites=True, releases=True, surveys=True, unknown_n=True),
            **by_moments(_inputs),
            "augment": Method(augment, thin=50, releases=True, papers=(JU_2022,)),
            LEARNED: Method(
                with_reports(_sums_alone, _learned),
                thin=2,
                surveys=True,
                central=False,
                papers=(HOFFMAN_2014,),
            ),
        }

    def default_method(self, schema: Schema) -> str:
        """``exact-cells`` where the response depends on levels alone, else ``gaussian-covariates``."""
        return "gaussian-covariates" if self.cells(schema).numbers else "exact-cells"

    def survey_method(self, randomizer: LocalRandomizer) -> str | None:
        """Reports of one covariate say how it is distributed, so that it need not be assumed; of several it is slow."""
        protocol = randomizer.protocol
        return LEARNED if isinstance(protocol, LabelAndVector) and len(protocol.vector.noise.sd) == 1 else None

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """What the row adds to the sums, its score at a point, or the row itself."""
        return (STATISTICS, SCORES, INPUTS)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that adds noise to the products of (1, x, y), to a score, or to x, and then randomises y."""
        if protocol != INPUTS:
            return super().local_randomizer(schema, budget, protocol)
        check_numbers(self.design(schema))
        if len(self.design(schema).columns) > 1 + _MOST_INPUTS:
            raise expected(
                "formula",
                self.formula,
                f"to have at most {_MOST_INPUTS} covariates for {INPUTS!r}; 'statistics' takes any",
            )
        return input_client(self.statistic(schema), schema, budget)

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """The sum of the reports; or, of reports of inputs, that of products and of labels on a grid."""
        if not isinstance(randomizer.protocol, LabelAndVector):
            return super().summary(randomizer, reports)
        found = in_mapped_units(randomizer, reports)
        return _labelled(randomizer).summary(found[:, 0], found[:, 1:])

    def draw_response(self, predictor: Any, schema: Schema, rng: Any) -> Any:
        """One of the two levels."""
        from scipy.special import expit

        levels = schema.category(self.design(schema).formula.response).levels
        return [levels[int(yes)] for yes in rng.random(len(predictor)) < expit(predictor)]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The probability of the second level."""
        from scipy.special import expit

        return expit(self.predictor(draws, schema, new))


def _labelled(randomizer: LocalRandomizer) -> LabelledReports:
    from tacit.samplers.logistic_inputs import LabelledReports

    assert isinstance(randomizer.protocol, LabelAndVector)
    return LabelledReports(noise_variances(randomizer), float(randomizer.protocol.epsilon_label))


def _inputs(problem: Problem, settings: SamplerSettings) -> Chain:
    """From reports of x and y: the parameters by NUTS, everybody's own row integrated out, x normal."""
    from tacit.samplers.logistic_inputs import logistic_inputs_chain

    model, prior = problem.model, problem.prior
    assert isinstance(model, LogisticRegression)
    assert isinstance(prior, MomentPrior)
    surveys = [_labelled(survey.local_randomizer) for survey in problem.surveys]
    numbers = prior.numbers(model.cells(problem.schema))
    chain = logistic_inputs_chain(moments(model, problem.schema), surveys, numbers, settings)
    return _by_family(chain, problem)


def _learned(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same with the distribution of x learned, between its bounds; of the prior what it says of theta."""
    from tacit.samplers.learned_inputs import learned_inputs_chain

    model, prior = problem.model, problem.prior
    assert isinstance(model, LogisticRegression)
    assert isinstance(prior, MomentPrior)
    if prior.theta_radius is not None:
        raise expected(
            "prior theta_radius", prior.theta_radius, f"to be left out for {LEARNED!r}; 'gaussian-covariates' takes it"
        )
    surveys = [_labelled(survey.local_randomizer) for survey in problem.surveys]
    counts = [survey.n for survey in problem.surveys]
    chain = learned_inputs_chain(surveys, counts, prior.of_coefficients(model.cells(problem.schema)), settings)
    return _by_family(chain, problem)


def _sums_alone(_problem: Problem, _settings: SamplerSettings) -> Chain:
    raise expected("method", LEARNED, f"to be for reports of {INPUTS!r}; sums say too little about the covariates")


def _by_family(chain: Chain, problem: Problem) -> Chain:
    def by_family(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return named(draws, problem), info

    return by_family
