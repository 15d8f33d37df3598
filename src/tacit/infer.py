"""From a release to a posterior. Nothing here can see a row, and nothing here costs privacy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.models.model import Model, Prior, Problem
from tacit.posterior import Posterior, build_tree
from tacit.release import Release, as_release
from tacit.samplers.chain import Chain, Settings
from tacit.schema import Schema

_MOST_DRAWS = 10**7


def infer(
    release: Release | str | Path,
    *,
    method: str | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    seed: int = 0,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 500,
) -> Posterior:
    """Draw from p(parameters | release), the noise that privacy added included.

    ``method`` picks another sampler of the family, ``prior`` changes some of the prior's numbers (or gives a whole
    prior), ``seed`` makes the draws repeatable: this side of the boundary nothing is secret.
    """
    release = as_release(release)
    settings = check_settings(warmup=warmup, draws=draws, chains=chains, seed=seed)
    problem = problem_for(release.plan.model, release.plan.schema, prior, release.n, release.noise)
    name = method_name(problem.model, problem.schema, method)
    arrays, diagnostics = posterior_arrays(problem, name, settings, [release.values], chains=chains, seed=seed)
    dims = problem.model.dims(problem.schema)
    tree = build_tree(
        {name: arrays[name][0] for name in dims if name in arrays},
        {name: array[0] for name, array in diagnostics.items()},
        dims,
        problem.model.coords(problem.schema),
        {e: v / release.unit for e, v in zip(release.entries, release.values, strict=True)},
        {
            "release": release.to_json(),
            "prior": json.dumps(problem.prior.to_plain()),
            "method": name,
            "seed": str(seed),
            "inference_library": "tacit",
        },
    )
    return Posterior(tree)


def problem_for(model: Model, schema: Schema, prior: Prior | Mapping[str, Any] | None, n: int, noise: Any) -> Problem:
    """Put together what a method needs, the prior checked."""
    default = model.default_prior(schema)
    if prior is None:
        prior = default
    elif isinstance(prior, Mapping):
        prior = default.replaced(prior)
    elif type(prior) is not type(default):
        raise expected("prior", prior, f"to be a {type(default).__name__} or a mapping of its numbers")
    return Problem(model, schema, prior, n, noise)


def method_name(model: Model, schema: Schema, method: str | None) -> str:
    """The family's default method, or the one that was asked for."""
    methods = list(model.methods)
    if method is not None and method not in methods:
        raise expected("method", method, f"to be one of {', '.join(methods)}{did_you_mean(method, methods)}")
    return method or model.default_method(schema)


def check_settings(*, warmup: int, draws: int, chains: int, seed: int) -> Settings:
    """Refuse sizes that make no sense."""
    for name, value, least in (("warmup", warmup, 0), ("draws", draws, 4), ("chains", chains, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise expected(name, value, f"to be a whole number, at least {least}")
    if seed >= 2**63:
        raise expected("seed", seed, "to be below 2^63")
    for name, value in (("chains", chains), ("draws", draws), ("warmup", warmup)):
        if (value if name == "chains" else value * chains) > _MOST_DRAWS:  # compiled code aborts for want of memory
            raise expected(name, value, f"to be at most {_MOST_DRAWS} of all chains together")
    return Settings(warmup, draws)


def posterior_arrays(
    problem: Problem, method: str, settings: Settings, values: Any, *, chains: int, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draws and diagnostics for many releases of one plan at once: arrays (releases, chains, draws, ...)."""
    import numpy as np

    from tacit.samplers.backend import run

    unit = problem.statistic.unit
    released = np.array([[v / unit for v in row] for row in values])
    arrays, diagnostics = run(_chain(problem, method, settings), released, chains=chains, seed=seed)
    return {k: np.asarray(v) for k, v in arrays.items()}, {k: np.asarray(v) for k, v in diagnostics.items()}


@lru_cache(maxsize=64)
def _chain(problem: Problem, method: str, settings: Settings) -> Chain:
    """The same object for the same problem, so that what was compiled for it is found again."""
    return problem.model.methods[method].build(problem, settings)
