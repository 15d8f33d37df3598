"""Differentially private Bayesian inference: a small private release in, an honest posterior out."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from tacit._support.moved import install as _install_old_paths
from tacit.version import __version__ as __version__

# Where each public name is; its module is loaded when the name is first asked for, so that a command loads what it
# needs. Type checkers read the same from __init__.pyi, and a test compares the two.
_HOMES = {
    "DPSGD": "tacit.mechanisms.dp_sgd.dp_sgd",
    "GDP": "tacit.privacy.guarantees",
    "ZCDP": "tacit.privacy.guarantees",
    "AddNoise": "tacit.mechanisms.add_noise",
    "ApproxDP": "tacit.privacy.guarantees",
    "Audit": "tacit.audit.audit",
    "Basis": "tacit.privacy.basis",
    "Bernoulli": "tacit.models.bernoulli",
    "BetaBinomialRegression": "tacit.models.beta_binomial_regression",
    "BetaPrior": "tacit.models.bernoulli",
    "BoundedPrior": "tacit.models.bounded_prior",
    "Bounds": "tacit.bounds",
    "BrokenMediumError": "tacit.errors",
    "Calibration": "tacit.calibration.calibrate",
    "Categorical": "tacit.models.categorical",
    "Category": "tacit.schema",
    "Composition": "tacit.privacy.composition",
    "Design": "tacit.design",
    "DirichletPrior": "tacit.models.categorical",
    "Exponential": "tacit.models.exponential",
    "ExponentialSurvival": "tacit.models.exponential_survival",
    "GammaPrior": "tacit.models.exponential",
    "GammaRegression": "tacit.models.gamma_regression",
    "Geometric": "tacit.models.geometric",
    "Histogram": "tacit.models.histogram",
    "InputError": "tacit.errors",
    "Ledger": "tacit.ledger",
    "Likelihood": "tacit.models.likelihood",
    "LinearPrior": "tacit.models.linear_prior",
    "LinearRegression": "tacit.models.linear",
    "Local": "tacit.mechanisms.local",
    "LogisticRegression": "tacit.models.logistic",
    "Mean": "tacit.models.mean",
    "MeanPrior": "tacit.models.normal_mean",
    "MomentPrior": "tacit.models.moment_prior",
    "MultinomialRegression": "tacit.models.multinomial_regression",
    "NegativeBinomialRegression": "tacit.models.negative_binomial_regression",
    "Network": "tacit.models.network",
    "Newton": "tacit.mechanisms.newton",
    "Normal": "tacit.models.normal",
    "NormalMean": "tacit.models.normal_mean",
    "NormalPrior": "tacit.models.normal",
    "Number": "tacit.schema",
    "OrdinalRegression": "tacit.models.ordinal_regression",
    "Parameter": "tacit.models.likelihood_declaration",
    "Partial": "tacit.partial_sums",
    "Person": "tacit.mechanisms.person",
    "Plan": "tacit.plan",
    "Poisson": "tacit.models.poisson",
    "PoissonRegression": "tacit.models.poisson_regression",
    "Posterior": "tacit.posterior",
    "PosteriorSample": "tacit.mechanisms.posterior_sample.posterior_sample",
    "Prediction": "tacit.posterior",
    "PrivateChain": "tacit.mechanisms.private_chain.private_chain",
    "PrivateKey": "tacit.signing.keys",
    "PublicKey": "tacit.signing.keys",
    "PureDP": "tacit.privacy.guarantees",
    "Quantiles": "tacit.models.quantiles",
    "RefusedError": "tacit.errors",
    "Release": "tacit.release",
    "ReleasedDraws": "tacit.released_draws",
    "RenyiDP": "tacit.privacy.guarantees",
    "Reports": "tacit.reports",
    "Schema": "tacit.schema",
    "Screen": "tacit.cell_screen",
    "Shares": "tacit.models.shares",
    "Simulation": "tacit.calibration.simulate",
    "SoftmaxRegression": "tacit.models.softmax",
    "StatisticalQuery": "tacit.models.statistical_query",
    "StudentRegression": "tacit.models.student_regression",
    "SurvivalCurve": "tacit.models.survival_curve",
    "TableCalibration": "tacit.calibration.table",
    "TacitError": "tacit.errors",
    "VaryingLogisticPrior": "tacit.models.varying_logistic_prior",
    "VaryingLogisticRegression": "tacit.models.varying_logistic",
    "VaryingPrior": "tacit.models.varying_prior",
    "VaryingRegression": "tacit.models.varying",
    "WeibullSurvival": "tacit.models.weibull_survival",
    "audit": "tacit.audit.audit",
    "bounds": "tacit.bounds",
    "calibrate": "tacit.calibration.calibrate",
    "calibrate_table": "tacit.calibration.table",
    "cite": "tacit.cite",
    "compose": "tacit.privacy.composition",
    "design": "tacit.design",
    "infer": "tacit.infer",
    "migrate": "tacit.migrate",
    "new_key": "tacit.signing.keys",
    "next_cohort": "tacit.collector.next_cohort",
    "partial": "tacit.boundary",
    "prior_predictive": "tacit.prior_predictive",
    "privatize": "tacit.boundary",
    "randomize": "tacit.device",
    "randomize_rows": "tacit.boundary",
    "released_draws": "tacit.released_draws",
    "report": "tacit.report.page",
    "screen": "tacit.screen",
    "simulate": "tacit.calibration.simulate",
    "split": "tacit.privacy.composition",
    "write_report": "tacit.report.page",
}

__all__ = [*_HOMES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


class _Tacit(ModuleType):
    """The package as a module in which ``tacit.infer`` stays the function when the module of that name is loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        """What importing a module does to its package, but not where the package has another use for the name."""
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    """A public name, or a module of the package; and names that were public once, which work, with a warning."""
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
    if name in ("drawn", "Drawn"):
        import warnings

        new = {"drawn": "released_draws", "Drawn": "ReleasedDraws"}[name]
        warnings.warn(f"tacit.{name} is now tacit.{new}.", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[__name__], new)
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """The public names, and none of the modules that hold them."""
    return list(__all__)


sys.modules[__name__].__class__ = _Tacit
_install_old_paths()
