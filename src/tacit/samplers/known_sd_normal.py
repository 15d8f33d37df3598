"""The law of a clamped normal number whose standard deviation is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from tacit.likelihoods.clamped_laws import ClampedNormal
from tacit.runtime.chain import Arrays


@dataclass(frozen=True)
class KnownSdNormal:
    """x ~ N(mean, ``sd``^2) clamped to [-1, 1]; mean = ``centre`` + ``mean_sd`` phi_0."""

    mean_sd: float
    sd: float
    centre: float = 0.0
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    size: ClassVar[int] = 1

    @property
    def _both(self) -> ClampedNormal:
        return ClampedNormal(self.mean_sd, self.sd, 1.0, self.centre)

    def _phi(self, phi: Any) -> Any:
        return jnp.stack([phi[0], jnp.zeros_like(phi[0])])

    def parameters(self, phi: Any) -> Arrays:
        """``mean`` of x."""
        return {"mean": self.centre + self.mean_sd * phi[0]}

    def coordinates(self, parameters: Arrays) -> Any:
        """phi of the parameter."""
        return jnp.stack([(parameters["mean"] - self.centre) / self.mean_sd])

    def log_prior(self, phi: Any) -> Any:
        """phi is standard normal."""
        return -jnp.sum(phi**2) / 2

    def atoms(self, phi: Any) -> tuple[Any, Any]:
        """As of a normal number with both parameters."""
        return self._both.atoms(self._phi(phi))

    def log_report(self, phi: Any, z: Any, scale: float) -> Any:
        """As of a normal number with both parameters."""
        return self._both.log_report(self._phi(phi), z, scale)

    def log_gaussian_report(self, phi: Any, z: Any, noise: float) -> Any:
        """As of a normal number with both parameters."""
        return self._both.log_gaussian_report(self._phi(phi), z, noise)
