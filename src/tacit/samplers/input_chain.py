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

from tacit.runtime.chain import Arrays, Chain, Settings
from tacit.samplers.laplace_preconditioned_nuts import Geometry, at_least, peak_chain

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

    geometry = Geometry(target, information, start, _FLATTEST)
    return peak_chain(surveys, geometry, parameters, settings, accepted=_ACCEPTED, depth=_DEPTH)
