"""Linear regression from noisy sums, or from reports of (x, y): the methods for every kind of evidence."""

from __future__ import annotations

from tacit.errors import RefusedError, expected
from tacit.models.cells import Cells
from tacit.models.gram_layout import check_latent, free_grams, from_gram_part, noisy_grams
from tacit.models.input_reports import noise_variances
from tacit.models.linear_gibbs import plain_design
from tacit.models.linear_prior import LinearPrior
from tacit.models.model import Problem
from tacit.models.regression import DesignMatrix, Regression
from tacit.runtime.chain import Chain, SamplerSettings


def wishart_sums(problem: Problem, settings: SamplerSettings) -> Chain:
    """The latent Gram matrix, every parameter integrated out; then the parameters exactly.

    By NUTS, or, where the noise is small beside the sums, by fresh noise.
    """
    from tacit.samplers.independence_mh_gram import gram_chain

    design = plain_design(problem)
    assert isinstance(problem.prior, LinearPrior)
    if problem.unknown_n:
        return _counted(problem, design, settings)
    _check_rows(problem, len(design.columns) + 2, "wishart")
    return from_gram_part(gram_chain(noisy_grams(problem), problem.prior.numbers(design), settings), problem)


def _counted(problem: Problem, design: DesignMatrix, settings: SamplerSettings) -> Chain:
    """The same with n among the unknowns."""
    from tacit.samplers.counted_gram import counted_gram_chain

    assert isinstance(problem.prior, LinearPrior)
    check_latent(problem, "wishart")
    chain = counted_gram_chain(noisy_grams(problem), problem.prior.numbers(design), settings)
    return from_gram_part(chain, problem)


def input_reports(problem: Problem, settings: SamplerSettings) -> Chain:
    """From reports of (x, y): the parameters by NUTS, everybody's own row integrated out."""
    from tacit.samplers.linear_inputs import linear_inputs_chain

    design = plain_design(problem)
    assert isinstance(problem.prior, LinearPrior)
    prior = problem.prior.numbers(design)
    if prior.nu0 <= len(prior.m0) - 1:
        raise expected("prior nu0", prior.nu0, f"to be above {len(prior.m0) - 1}, for the prior to be proper")
    return linear_inputs_chain(
        [noise_variances(survey.local_randomizer) for survey in problem.surveys], prior, settings
    )


def _check_rows(problem: Problem, least: int, method: str) -> None:
    fewest = min(site.n or 0 for site in problem.sites)
    if fewest < least:
        raise expected("n", fewest, f"to be at least {least} for the {method} method")


def cell_moments_sums(problem: Problem, settings: SamplerSettings) -> Chain:
    """For any design: the latent sums by NUTS under a weak prior on what is possible, the response exactly."""
    from tacit.samplers.cell_moments_gram import cell_moments_chain

    design, prior = _any_design(problem)
    if problem.unknown_n:
        check_latent(problem, "cell-moments")
    else:
        _check_rows(problem, len(design.columns) + 2, "cell-moments")
    if (why := Cells(design, derived=True).too_large) is not None:
        raise RefusedError(why)
    return from_gram_part(cell_moments_chain(free_grams(problem), prior.response(design), settings), problem)


def naive_sums(problem: Problem, settings: SamplerSettings) -> Chain:
    """The conjugate posterior with the released sums, made positive definite, taken for the exact ones."""
    from tacit.samplers.cell_moments_gram import naive_cell_moments_chain
    from tacit.samplers.latent_gram import naive_chain

    design, prior = _any_design(problem)
    if not design.all_numeric:
        return naive_cell_moments_chain(free_grams(problem), prior.response(design), settings)
    return from_gram_part(naive_chain(noisy_grams(problem), prior.numbers(design), settings), problem)


def _any_design(problem: Problem) -> tuple[DesignMatrix, LinearPrior]:
    assert isinstance(problem.model, Regression)
    assert isinstance(problem.prior, LinearPrior)
    return problem.model.design(problem.schema), problem.prior
