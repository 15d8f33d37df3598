"""The families, by the name that a plan gives them. Registering one here is what makes every law test it."""

from __future__ import annotations

from tacit.models.bernoulli import Bernoulli
from tacit.models.beta_binomial_regression import BetaBinomialRegression
from tacit.models.categorical import Categorical
from tacit.models.exponential import Exponential
from tacit.models.exponential_survival import ExponentialSurvival
from tacit.models.gamma_regression import GammaRegression
from tacit.models.geometric import Geometric
from tacit.models.histogram import Histogram
from tacit.models.likelihood import Likelihood
from tacit.models.linear import LinearRegression
from tacit.models.logistic import LogisticRegression
from tacit.models.mean import Mean
from tacit.models.model import Model
from tacit.models.multinomial_regression import MultinomialRegression
from tacit.models.negative_binomial_regression import NegativeBinomialRegression
from tacit.models.network import Network
from tacit.models.normal import Normal
from tacit.models.normal_mean import NormalMean
from tacit.models.ordinal_regression import OrdinalRegression
from tacit.models.poisson import Poisson
from tacit.models.poisson_regression import PoissonRegression
from tacit.models.quantiles import Quantiles
from tacit.models.shares import Shares
from tacit.models.softmax import SoftmaxRegression
from tacit.models.statistical_query import StatisticalQuery
from tacit.models.student_regression import StudentRegression
from tacit.models.survival_curve import SurvivalCurve
from tacit.models.varying import VaryingRegression
from tacit.models.varying_logistic import VaryingLogisticRegression
from tacit.models.weibull_survival import WeibullSurvival

FAMILIES: dict[str, type[Model]] = {
    model.family: model
    for model in (
        Mean,
        Histogram,
        Quantiles,
        SurvivalCurve,
        Bernoulli,
        Categorical,
        Shares,
        Normal,
        NormalMean,
        Exponential,
        Poisson,
        Geometric,
        LinearRegression,
        LogisticRegression,
        PoissonRegression,
        VaryingRegression,
        VaryingLogisticRegression,
    )
}

# Families that cross the boundary as scores in rounds only.
SCORED: dict[str, type[Model]] = {
    model.family: model
    for model in (
        OrdinalRegression,
        MultinomialRegression,
        NegativeBinomialRegression,
        BetaBinomialRegression,
        GammaRegression,
        StudentRegression,
        WeibullSurvival,
        ExponentialSurvival,
    )
}

# A family that everybody brings: a plan file names it, and holds no code.
OWN: dict[str, type[Model]] = {Likelihood.family: Likelihood}

# Families that cross the boundary as posterior draws only: no method of theirs infers from noisy sums, so that the
# distributions of those have nothing to run.
DRAWN: dict[str, type[Model]] = {model.family: model for model in (SoftmaxRegression, StatisticalQuery, Network)}
