"""What a study of methods needs beside an analysis: many posteriors at once, and the numbers that mechanisms rest on.

A study repeats one release hundreds of times, on made-up or public rows, to see what a method is worth. `posteriors`
infers all of them with one compiled program, each separately; `tacit.infer` pools the releases of one analysis. The
other names are those that the scripts in ``papers/`` compute with: prices, weights, baselines, attacks, and networks.
None of them reads the rows of a release, and nothing here makes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.audit.one_posterior import ExactPair as ExactPair
from tacit.audit.one_posterior import certified_epsilon as certified_epsilon
from tacit.baselines.objective_perturbation import ObjectivePerturbation as ObjectivePerturbation
from tacit.baselines.output_perturbation import OutputPerturbation as OutputPerturbation
from tacit.baselines.ridge import minimiser as minimiser
from tacit.errors import expected as expected
from tacit.infer import (
    check_settings,
    method_for,
    numbers_of,
    posterior_arrays,
    problem_of,
    summary_of,
)
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss as BetaLoss
from tacit.mechanisms.posterior_sample.loss import DrawSettings as DrawSettings
from tacit.mechanisms.targets.beta_densities import BernoulliDensity as BernoulliDensity
from tacit.mechanisms.targets.network_densities import NetworkBernoulli as NetworkBernoulli
from tacit.mechanisms.targets.network_densities import NetworkNormal as NetworkNormal
from tacit.models.model import Prior
from tacit.models.network import output as network_output
from tacit.models.network import weight_names as weight_names
from tacit.noise.noisy_steps import calibrated_steps as calibrated_steps
from tacit.noise.noisy_steps import threshold_below as threshold_below
from tacit.privacy.beta_divergence import Probabilities as Probabilities
from tacit.privacy.beta_divergence import beta_for as beta_for
from tacit.privacy.beta_divergence import check_beta as check_beta
from tacit.privacy.beta_divergence import default_beta as default_beta
from tacit.privacy.beta_divergence import gaussian as gaussian_range
from tacit.privacy.beta_divergence import weight_for as weight_for
from tacit.privacy.gaussian import epsilon_for as epsilon_for
from tacit.privacy.gaussian import log_delta as log_delta
from tacit.privacy.gaussian import mu_for as mu_for
from tacit.privacy.gaussian import sigma_over_sensitivity as sigma_over_sensitivity
from tacit.private_samplers.particle_draws import run_of as particle_run
from tacit.private_samplers.smc import TemperingSchedule as TemperingSchedule
from tacit.release import Release
from tacit.reports import Reports

__all__ = [
    "BernoulliDensity",
    "BetaLoss",
    "DrawSettings",
    "ExactPair",
    "NetworkBernoulli",
    "NetworkNormal",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Probabilities",
    "TemperingSchedule",
    "beta_for",
    "calibrated_steps",
    "certified_epsilon",
    "check_beta",
    "default_beta",
    "epsilon_for",
    "expected",
    "float64",
    "gaussian_range",
    "log_delta",
    "minimiser",
    "mu_for",
    "network_output",
    "particle_run",
    "posteriors",
    "sigma_over_sensitivity",
    "threshold_below",
    "weight_for",
    "weight_names",
]


def float64() -> Any:
    """A context that computes in float64, without changing what JAX does elsewhere in the process."""
    from tacit.runtime.backend import float64 as context

    return context()


def posteriors(
    evidence: Sequence[Release | Reports],
    *,
    method: str | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    draws: int = 1000,
    warmup: int = 500,
    seed: int = 0,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draws of one posterior for each of many releases, or surveys, of one plan and one number of rows.

    They come back as arrays (releases, draws, ...) by parameter, and the sampler's diagnostics as arrays (releases,
    draws) by name: one chain a release. The posteriors are those of `tacit.infer`, and nothing is pooled. What
    `tacit.infer` would refuse is not refused here, as a study counts failures; "diverging" says which draws they are.
    """
    if isinstance(evidence, Release | Reports) or not evidence:
        raise expected("evidence", len(evidence) if isinstance(evidence, Sequence) else 1, "to be a list of releases")
    first = evidence[0]
    if any((type(one), one.plan, one.n) != (type(first), first.plan, first.n) for one in evidence):
        raise expected("evidence", len(evidence), "to share one plan and one number of rows")
    if first.n is None:
        raise expected("evidence", len(evidence), "to say its number of rows")
    problem = problem_of(first.plan, prior, first.n)
    chosen = method_for(problem, method)
    if isinstance(first, Reports):
        model = first.plan.model
        groups = [one.groups[0] for one in evidence if isinstance(one, Reports)]
        values = [summary_of(model, group.local_randomizer, group.values) for group in groups]
    else:
        values = [numbers_of(problem, [one]) for one in evidence if isinstance(one, Release)]
    settings = check_settings(warmup=warmup, draws=draws, chains=1, seed=seed)
    arrays, diagnostics = posterior_arrays(problem, chosen, settings, values, chains=1, seed=seed)
    return (
        {name: array[:, 0] for name, array in arrays.items()},
        {name: array[:, 0] for name, array in diagnostics.items()},
    )
