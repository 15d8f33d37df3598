"""The densities of networks with one hidden layer: those of logistic and linear regression around another predictor.

The range of the beta-divergence loss rests on the law of the response alone (`tacit.privacy.beta_divergence`): for two
levels it is 1/b whatever the logit is, for a normal law M^b / b whatever the mean is. So both are inherited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.targets.beta_densities import Bernoulli, Normal
from tacit.models.network import output


@dataclass(frozen=True)
class NetworkBernoulli(Bernoulli):
    """P(y | x) = 1 / (1 + exp(-y m(x))), y in {-1, 1}, m a network with ``hidden`` units."""

    hidden: int

    def predictor(self, theta: Any, x: Any) -> Any:
        """m(x)."""
        import jax.numpy as jnp

        return output(theta, x, self.hidden, jnp.tanh)

    @property
    def rugged(self) -> bool:
        """Networks have many modes."""
        return True


@dataclass(frozen=True)
class NetworkNormal(Normal):
    """y ~ N(m(x), sigma^2), m a network with ``hidden`` units."""

    hidden: int = 1

    def predictor(self, theta: Any, x: Any) -> Any:
        """m(x)."""
        import jax.numpy as jnp

        return output(theta, x, self.hidden, jnp.tanh)

    @property
    def rugged(self) -> bool:
        """Networks have many modes."""
        return True

    def fitted(self, x: Any, y: Any) -> None:
        """Nothing: least squares say where the mode of a linear predictor is, and nothing about a network's."""
