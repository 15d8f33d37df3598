"""What type checkers know of the public names, which are loaded when they are first asked for."""

from tacit.audit.audit import Audit as Audit
from tacit.audit.audit import audit as audit
from tacit.boundary import partial as partial
from tacit.boundary import privatize as privatize
from tacit.boundary import randomize_rows as randomize_rows
from tacit.bounds import Bounds as Bounds
from tacit.bounds import bounds as bounds
from tacit.calibration.calibrate import Calibration as Calibration
from tacit.calibration.calibrate import calibrate as calibrate
from tacit.calibration.simulate import Simulation as Simulation
from tacit.calibration.simulate import simulate as simulate
from tacit.calibration.table import TableCalibration as TableCalibration
from tacit.calibration.table import calibrate_table as calibrate_table
from tacit.cell_screen import Screen as Screen
from tacit.cite import cite as cite
from tacit.collector.next_cohort import next_cohort as next_cohort
from tacit.design import Design as Design
from tacit.design import design as design
from tacit.device import randomize as randomize
from tacit.errors import BrokenMediumError as BrokenMediumError
from tacit.errors import InputError as InputError
from tacit.errors import RefusedError as RefusedError
from tacit.errors import TacitError as TacitError
from tacit.infer import infer as infer
from tacit.ledger import Ledger as Ledger
from tacit.mechanisms.add_noise import AddNoise as AddNoise
from tacit.mechanisms.dp_sgd.dp_sgd import DPSGD as DPSGD
from tacit.mechanisms.local import Local as Local
from tacit.mechanisms.newton import Newton as Newton
from tacit.mechanisms.person import Person as Person
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample as PosteriorSample
from tacit.mechanisms.private_chain.private_chain import PrivateChain as PrivateChain
from tacit.migrate import migrate as migrate
from tacit.models.bernoulli import Bernoulli as Bernoulli
from tacit.models.bernoulli import BetaPrior as BetaPrior
from tacit.models.beta_binomial_regression import BetaBinomialRegression as BetaBinomialRegression
from tacit.models.bounded_prior import BoundedPrior as BoundedPrior
from tacit.models.categorical import Categorical as Categorical
from tacit.models.categorical import DirichletPrior as DirichletPrior
from tacit.models.exponential import Exponential as Exponential
from tacit.models.exponential import GammaPrior as GammaPrior
from tacit.models.exponential_survival import ExponentialSurvival as ExponentialSurvival
from tacit.models.gamma_regression import GammaRegression as GammaRegression
from tacit.models.geometric import Geometric as Geometric
from tacit.models.histogram import Histogram as Histogram
from tacit.models.likelihood import Likelihood as Likelihood
from tacit.models.likelihood_declaration import Parameter as Parameter
from tacit.models.linear import LinearRegression as LinearRegression
from tacit.models.linear_prior import LinearPrior as LinearPrior
from tacit.models.logistic import LogisticRegression as LogisticRegression
from tacit.models.mean import Mean as Mean
from tacit.models.moment_prior import MomentPrior as MomentPrior
from tacit.models.multinomial_regression import MultinomialRegression as MultinomialRegression
from tacit.models.negative_binomial_regression import NegativeBinomialRegression as NegativeBinomialRegression
from tacit.models.network import Network as Network
from tacit.models.normal import Normal as Normal
from tacit.models.normal import NormalPrior as NormalPrior
from tacit.models.normal_mean import MeanPrior as MeanPrior
from tacit.models.normal_mean import NormalMean as NormalMean
from tacit.models.ordinal_regression import OrdinalRegression as OrdinalRegression
from tacit.models.poisson import Poisson as Poisson
from tacit.models.poisson_regression import PoissonRegression as PoissonRegression
from tacit.models.quantiles import Quantiles as Quantiles
from tacit.models.shares import Shares as Shares
from tacit.models.softmax import SoftmaxRegression as SoftmaxRegression
from tacit.models.statistical_query import StatisticalQuery as StatisticalQuery
from tacit.models.student_regression import StudentRegression as StudentRegression
from tacit.models.survival_curve import SurvivalCurve as SurvivalCurve
from tacit.models.varying import VaryingRegression as VaryingRegression
from tacit.models.varying_logistic import VaryingLogisticRegression as VaryingLogisticRegression
from tacit.models.varying_logistic_prior import VaryingLogisticPrior as VaryingLogisticPrior
from tacit.models.varying_prior import VaryingPrior as VaryingPrior
from tacit.models.weibull_survival import WeibullSurvival as WeibullSurvival
from tacit.partial_sums import Partial as Partial
from tacit.plan import Plan as Plan
from tacit.posterior import Posterior as Posterior
from tacit.posterior import Prediction as Prediction
from tacit.prior_predictive import prior_predictive as prior_predictive
from tacit.privacy.basis import Basis as Basis
from tacit.privacy.composition import Composition as Composition
from tacit.privacy.composition import compose as compose
from tacit.privacy.composition import split as split
from tacit.privacy.guarantees import GDP as GDP
from tacit.privacy.guarantees import ZCDP as ZCDP
from tacit.privacy.guarantees import ApproxDP as ApproxDP
from tacit.privacy.guarantees import PureDP as PureDP
from tacit.privacy.guarantees import RenyiDP as RenyiDP
from tacit.release import Release as Release
from tacit.released_draws import ReleasedDraws as ReleasedDraws
from tacit.released_draws import released_draws as released_draws
from tacit.report.page import report as report
from tacit.report.page import write_report as write_report
from tacit.reports import Reports as Reports
from tacit.schema import Category as Category
from tacit.schema import Number as Number
from tacit.schema import Schema as Schema
from tacit.screen import screen as screen
from tacit.signing.keys import PrivateKey as PrivateKey
from tacit.signing.keys import PublicKey as PublicKey
from tacit.signing.keys import new_key as new_key
from tacit.version import __version__ as __version__

__all__ = [
    "DPSGD",
    "GDP",
    "ZCDP",
    "AddNoise",
    "ApproxDP",
    "Audit",
    "Basis",
    "Bernoulli",
    "BetaBinomialRegression",
    "BetaPrior",
    "BoundedPrior",
    "Bounds",
    "BrokenMediumError",
    "Calibration",
    "Categorical",
    "Category",
    "Composition",
    "Design",
    "DirichletPrior",
    "Exponential",
    "ExponentialSurvival",
    "GammaPrior",
    "GammaRegression",
    "Geometric",
    "Histogram",
    "InputError",
    "Ledger",
    "Likelihood",
    "LinearPrior",
    "LinearRegression",
    "Local",
    "LogisticRegression",
    "Mean",
    "MeanPrior",
    "MomentPrior",
    "MultinomialRegression",
    "NegativeBinomialRegression",
    "Network",
    "Newton",
    "Normal",
    "NormalMean",
    "NormalPrior",
    "Number",
    "OrdinalRegression",
    "Parameter",
    "Partial",
    "Person",
    "Plan",
    "Poisson",
    "PoissonRegression",
    "Posterior",
    "PosteriorSample",
    "Prediction",
    "PrivateChain",
    "PrivateKey",
    "PublicKey",
    "PureDP",
    "Quantiles",
    "RefusedError",
    "Release",
    "ReleasedDraws",
    "RenyiDP",
    "Reports",
    "Schema",
    "Screen",
    "Shares",
    "Simulation",
    "SoftmaxRegression",
    "StatisticalQuery",
    "StudentRegression",
    "SurvivalCurve",
    "TableCalibration",
    "TacitError",
    "VaryingLogisticPrior",
    "VaryingLogisticRegression",
    "VaryingPrior",
    "VaryingRegression",
    "WeibullSurvival",
    "__version__",
    "audit",
    "bounds",
    "calibrate",
    "calibrate_table",
    "cite",
    "compose",
    "design",
    "infer",
    "migrate",
    "new_key",
    "next_cohort",
    "partial",
    "prior_predictive",
    "privatize",
    "randomize",
    "randomize_rows",
    "released_draws",
    "report",
    "screen",
    "simulate",
    "split",
    "write_report",
]
