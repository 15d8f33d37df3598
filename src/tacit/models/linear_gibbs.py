"""Linear regression by the published samplers: Gibbs steps on latent sums (bernstein2019) and on latent records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.errors import expected
from tacit.models.gram_layout import fourth_moments, from_gram_part, noisy_grams
from tacit.models.linear_prior import LinearPrior
from tacit.models.model import Problem
from tacit.models.regression import DesignMatrix, Regression
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.statistics.gram_moments import GramMoments

if TYPE_CHECKING:
    from tacit.likelihoods.conjugate_gram import GramPriorParameters
    from tacit.samplers.latent_gram import NoisyGram


def gibbs_update(problem: Problem, settings: SamplerSettings) -> Chain:
    """bernstein2019's Gibbs-SS-Update, corrected: the covariates' distribution drawn with the rest. Biased for small
    n.
    """
    from tacit.samplers.gram_gibbs import update_chain

    layout, numbers, laplace = _for_gibbs(problem)
    return from_gram_part(update_chain(layout, numbers, settings, laplace=laplace), problem)


def gibbs_prior(problem: Problem, settings: SamplerSettings) -> Chain:
    """bernstein2019's Gibbs-SS-Prior, corrected: the covariates' moments from their prior. Biased for small n."""
    from tacit.samplers.gram_gibbs import prior_chain

    layout, numbers, laplace = _for_gibbs(problem)
    if numbers.nu0 <= layout.size + 2:
        raise expected("prior nu0", numbers.nu0, f"to be above {layout.size + 2}, for fourth moments to exist")
    return from_gram_part(prior_chain(layout, numbers, settings, laplace=laplace), problem)


def gibbs_noisy(problem: Problem, settings: SamplerSettings) -> Chain:
    """bernstein2019's Gibbs-SS-Noisy: the covariates' moments as released, their noise ignored. For comparison."""
    import jax.numpy as jnp

    from tacit.samplers.gram_gibbs import noisy_draws

    statistic = problem.statistic
    assert isinstance(statistic, GramMoments)
    layout, numbers, laplace = _for_gibbs(problem)
    index, used = fourth_moments(statistic), len(statistic.gram.entries)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        moments = jnp.append(released, layout.n)[index] / layout.n
        return noisy_draws(key, released[:used], moments, layout, numbers, settings, laplace=laplace)

    return chain


def _for_gibbs(problem: Problem) -> tuple[NoisyGram, GramPriorParameters, bool]:
    """Where the entries stand, the prior, and whether the noise is Laplace's (else it is normal)."""
    design = plain_design(problem)
    assert isinstance(problem.prior, LinearPrior)
    least = len(design.columns) + 1
    if problem.n < least:
        raise expected("n", problem.n, f"to be at least {least}, for the Gram matrix to have full rank")
    problem.prior.check_conjugate("gibbs")
    return noisy_grams(problem)[0], problem.prior.numbers(design), problem.noise.limit == "laplace"


def augment(problem: Problem, settings: SamplerSettings) -> Chain:
    """Exact data augmentation: the records latent, swept one by one (Ju, Awan, Gong and Rao 2022)."""
    import jax.numpy as jnp

    from tacit.samplers.gram_records import gram_records
    from tacit.samplers.record_augmentation import augmented_chain

    layout, numbers = _for_records(problem, "augment", 100_000)
    records = gram_records(layout, numbers)
    chain = augmented_chain(records, lambda residual: jnp.sum(layout.log_noise(residual / layout.scales)), settings)
    return from_gram_part(chain, problem)


def individual(problem: Problem, settings: SamplerSettings) -> Chain:
    """bernstein2019's MCMC-Ind: parameters and all records together by NUTS."""
    from tacit.samplers.joint_records_hmc import joint_records_chain

    layout, numbers = _for_records(problem, "individual", 300)
    if numbers.nu0 <= layout.size - 2:
        raise expected("prior nu0", numbers.nu0, f"to be above {layout.size - 2}, for the prior to be proper")
    return from_gram_part(joint_records_chain(layout, numbers, settings), problem)


def _for_records(problem: Problem, method: str, most: int) -> tuple[NoisyGram, GramPriorParameters]:
    """Where the entries stand and the prior, where there are neither too few nor too many records to sample."""
    design = plain_design(problem)
    assert isinstance(problem.prior, LinearPrior)
    least = len(design.columns) + 2
    if not least <= problem.n <= most:
        raise expected("n", problem.n, f"to be from {least} to {most} for the {method} method, which samples every row")
    problem.prior.check_conjugate(method)
    return noisy_grams(problem)[0], problem.prior.numbers(design)


def plain_design(problem: Problem) -> DesignMatrix:
    """The design of a formula with an intercept and plain numbers; others are refused."""
    assert isinstance(problem.model, Regression)
    design = problem.model.design(problem.schema)
    if not design.all_numeric:
        raise expected("formula", problem.model.formula, "to have an intercept and plain numbers only for this method")
    return design
