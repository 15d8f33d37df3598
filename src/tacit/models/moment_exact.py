"""Exact posteriors of logistic and Poisson regression: latent counts of cells, or latent records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.errors import expected
from tacit.models.gram_layout import check_latent, site_noises
from tacit.models.model import Problem
from tacit.models.moment_prior import MomentPrior
from tacit.models.moment_regression import MomentRegression, moments, named
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.samplers.glm_records import GlmRecords

_MOST_RECORDS = 1_000


def cells(problem: Problem, settings: SamplerSettings) -> Chain:
    """For two responses and designs of levels alone: the counts of cells and responses latent, exact for every n."""
    import numpy as np

    from tacit.samplers.cell_counts import CellCounts, cell_counts_chain
    from tacit.samplers.marginal_likelihood_glm import GlmCoordinates

    model, prior = _parts(problem)
    if model.cells(problem.schema).numbers:
        raise expected("formula", model.formula, "to have levels and no numbers for the cells method")
    design = moments(model, problem.schema)
    w = np.concatenate([design.constants, np.ones((len(design.constants), 1))], axis=1)  # an index of -1 finds the ones
    products = w[:, design.first] * w[:, design.second]
    entries = np.stack([products * response**design.power for response in (-1.0, 1.0)], axis=1)
    linear = entries.reshape(-1, len(design.first)).T
    if problem.unknown_n:
        check_latent(problem, "exact-cells")
        linear = np.vstack([linear, np.ones(linear.shape[1])])  # n comes last
    counts = CellCounts(
        design=design.constants,
        entries=linear,
        n=None if problem.unknown_n else tuple(site.rows for site in problem.sites),
        noises=[site_noises(site, problem.statistic.unit, len(design.first)) for site in problem.sites],
    )
    numbers = prior.numbers(model.cells(problem.schema))
    chain = cell_counts_chain(counts, GlmCoordinates(design, len(problem.sites), numbers), settings)

    def by_family(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return named(draws, problem), info

    return by_family


def augment(problem: Problem, settings: SamplerSettings) -> Chain:
    """The records latent, swept one by one (Ju, Awan, Gong and Rao 2022). Exact, clamped rows included; for few."""
    import jax.numpy as jnp

    from tacit.samplers.glm_records import glm_records
    from tacit.samplers.record_augmentation import augmented_chain

    (model, prior), n = _parts(problem), problem.n
    found = model.cells(problem.schema)
    least = len(found.numbers) + 2 if found.numbers else 1
    if not least <= n <= _MOST_RECORDS:
        raise expected("n", n, f"to be from {least} to {_MOST_RECORDS} for the augment method, which samples every row")
    (site,) = problem.sites
    noises = site_noises(site, problem.statistic.unit, len(problem.statistic.entries))
    rows = record_rows(model, problem.schema, n)

    def log_noise(residuals: Any) -> Any:
        return noises.log_density(residuals, jnp.zeros(()))

    chain = augmented_chain(glm_records(rows, prior.numbers(found)), log_noise, settings)

    def by_family(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released.reshape(noises.scales.shape))
        shown = {"theta": draws["theta"]}
        if found.count > 1:
            shown["pi"] = jnp.exp(draws["log_pi"])
        if found.numbers:
            shown |= {"mu_x": draws["m_x"] if found.count > 1 else draws["m_x"][:, 0], "Sigma_x": draws["S_x"]}
        return shown, info

    return by_family


def record_rows(model: MomentRegression, schema: Schema, n: int) -> GlmRecords:
    """n records of a model, as the record-level sampler wants them."""
    import numpy as np

    from tacit.likelihoods.glm_response import GlmResponse
    from tacit.samplers.glm_records import GlmRecords

    numbers = model.cells(schema).numbers
    return GlmRecords(
        n=n,
        design=moments(model, schema),
        response=GlmResponse(model.response_link(schema)),
        low=np.array([number.low for number in numbers]),
        high=np.array([number.high for number in numbers]),
        radius=model.radius,
    )


def _parts(problem: Problem) -> tuple[MomentRegression, MomentPrior]:
    assert isinstance(problem.model, MomentRegression)
    assert isinstance(problem.prior, MomentPrior)
    return problem.model, problem.prior
