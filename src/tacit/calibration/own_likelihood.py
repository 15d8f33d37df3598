"""The rows' own posterior for a family that is a row's log-likelihood: from every row, for public tables alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Problem
from tacit.models.score_model import ScorePrior

_LEAST = 1e-6  # of an eigenvalue of the curvature, over the largest: a likelihood need not be log-concave everywhere


@dataclass(frozen=True, eq=False)
class LikelihoodDensity:
    """The log posterior of the coordinates, up to a constant: every row ``times`` over, and a normal prior."""

    size: int
    mean: Any
    sd: Any
    _value: Any
    _gradient: Any
    _curvature: Any

    def log_density(self, thetas: Any) -> Any:
        """For each of ``thetas`` (some, p)."""
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        with float64(), on_processor():
            found = np.asarray(self._value(thetas))
        found = found - np.sum(((thetas - self.mean) / self.sd) ** 2, 1) / 2
        return np.where(np.isfinite(found), found, -np.inf)

    def gradient(self, theta: Any) -> Any:
        """At one theta."""
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        with float64(), on_processor():
            return np.asarray(self._gradient(theta)) - (theta - self.mean) / self.sd**2

    def curvature(self, theta: Any) -> Any:
        """Minus the second derivative, made positive."""
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        with float64(), on_processor():
            found = -np.asarray(self._curvature(theta)) + np.diag(self.sd**-2.0)
        lengths, vectors = np.linalg.eigh((found + found.T) / 2)
        return (vectors * np.maximum(np.abs(lengths), _LEAST * np.abs(lengths).max())) @ vectors.T


def likelihood_density(problem: Problem, columns: Mapping[str, Any], times: Any) -> LikelihoodDensity:
    """The density of these rows. A prior whose width follows from the covariates has theirs, as they are."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    model, schema, prior = problem.model, problem.schema, problem.prior
    assert isinstance(model, LikelihoodModel)
    assert isinstance(prior, ScorePrior)
    given, x = model.inputs(columns, schema), model.covariates(schema)
    mean = np.average(given["x"], axis=0, weights=times) if x else np.zeros(0)
    spread = np.sqrt(np.maximum(np.average((given["x"] - mean) ** 2, axis=0, weights=times), 1e-4)) if x else mean
    centre, sd = model.coordinate_prior(prior, mean, spread, schema)
    density = jax.vmap(model.row_density(schema), (0, None))
    weights = np.asarray(times, np.float64)

    def total(t: Any) -> Any:
        return jnp.sum(weights * density(given, t))

    return LikelihoodDensity(
        len(weights),
        np.asarray(centre, float),
        np.asarray(sd, float),
        jax.jit(lambda ts: jax.lax.map(total, ts)),
        jax.jit(jax.grad(total)),
        jax.jit(jax.jacfwd(jax.grad(total))),
    )
