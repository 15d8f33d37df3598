"""Regression from reports of inputs: NUTS on the parameters, every person's own record integrated out.

The unknowns t have prior spreads near 1 (the coordinates of each family say how), which is all that matters while the
reports say little. Before sampling, the peak of the posterior is found and t is whitened by the curvature there
(`peak_chain`), which is what matters once they say much. In between, slopes and the spread of x trade against each
other along a curve, as reports know best about their product: shorter steps, from a higher acceptance rate, follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.nuts import nuts
from tacit.samplers.peak_chain import Geometry, at_least, find_peak

_ACCEPTED, _DEPTH = 0.9, 8
_FLATTEST = 0.5  # a little less than the prior's own information
_START = 0.1  # near the prior's centre, where no coefficient is 0: slopes by a variance of 0 are not finite


class InputReports(Protocol):
    """The reports of one survey: ``size`` numbers, and their likelihood, given t and the survey's place."""

    @property
    def size(self) -> int:
        """How many numbers its summary has."""
        ...

    def log_likelihood(self, t: Any, survey: int, numbers: Any) -> Any:
        """Of all its reports."""
        ...


def input_chain(
    size: int,
    log_prior: Callable[[Any], Any],
    surveys: Sequence[InputReports],
    parameters: Callable[[Any], Arrays],
    settings: Settings,
) -> Chain:
    """NUTS on the ``size`` unknowns of one or more surveys; ``parameters`` gives the draws by name from t."""

    def target(t: Any, parts: Any, _: Any) -> Any:
        pairs = enumerate(zip(surveys, parts, strict=True))
        return log_prior(t) + sum(one.log_likelihood(t, i, numbers) for i, (one, numbers) in pairs)

    def information(t: Any, parts: Any, variances: Any) -> Any:
        return at_least(-jax.hessian(target)(t, parts, variances), _FLATTEST)

    def start(_parts: Any, _variances: Any) -> Any:
        return jnp.full(size, _START)

    def moments(_piece: Any, _t: Any) -> Any:
        raise NotImplementedError  # asked only about pieces with noise of their own

    geometry = Geometry(target, information, start, moments, _FLATTEST)
    cuts = np.cumsum([survey.size for survey in surveys])[:-1]

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, cuts)
        peak, _ = find_peak(surveys, geometry, parts)
        root = jnp.linalg.cholesky(information(peak, parts, None))

        def unwhitened(position: Any) -> Any:
            return peak + solve_triangular(root, position, lower=True, trans=1)

        def log_density(position: Any) -> Any:
            value = target(unwhitened(position), parts, None)
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        first = 0.5 * jax.random.normal(for_start, (size,))
        positions, info = nuts(
            *(for_chain, log_density, first),
            warmup=settings.warmup,
            draws=settings.draws,
            target=_ACCEPTED,
            depth=_DEPTH,
        )
        return jax.vmap(lambda position: parameters(unwhitened(position)))(positions), info

    return chain
