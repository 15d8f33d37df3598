"""A model as beta-divergence sampling needs it: a density that is bounded, whatever the parameters and covariates are.

To bring a model of your own, write a frozen dataclass that says four things, and a function that builds it for a plan;
add the function to `DENSITIES` in `tacit.mechanisms.posterior_sample.beta_divergence` under a name of your choice. A
plan of any regression family then asks for it with ``[mechanism] loss = "beta-divergence"`` and
``density = "that-name"``. What you say is:

`parameters`        a name for each number of theta, the coefficients of the design first
`loss_range`        how far the beta-divergence loss of one record can move, as one of the proved kinds in
                    `tacit.privacy.beta_divergence`. This is the privacy claim. `Probabilities` for anything discrete,
                    `LocationScale(peak)` for a fixed shape with a location and a scale that is bounded below,
                    `AnyDensity(peak)` for every other density with values of at most ``peak``.
`log_density`       ln f(y | x, theta) of every row, as a JAX function. It must be finite for all finite x, y and theta.
`power_integral`    the sum or integral over y of f(y | x, theta)^beta, of every row. If there is no closed form, a
                    quadrature will do, as long as it is that of some density in the range.

Nothing is asked of x: no bounds, no scaling. The sampler works on unbounded theta; `released` turns it into the numbers
that leave, such as a standard deviation instead of its logarithm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from tacit.privacy.beta_divergence import LossRange


@dataclass(frozen=True)
class BoundedDensity(ABC):
    """f(y | x, theta) <= M for all y, x and theta, with what its beta-divergence loss needs.

    ``sd`` is the standard deviation of the normal prior of every coefficient, in mapped units.
    """

    coefficients: tuple[str, ...]
    sd: float

    @property
    def parameters(self) -> tuple[str, ...]:
        """The name of each number of theta."""
        return self.coefficients

    @property
    @abstractmethod
    def loss_range(self) -> LossRange:
        """How far the loss of one record can move."""

    @abstractmethod
    def log_density(self, theta: Any, x: Any, y: Any) -> Any:
        """ln f(y_i | x_i, theta): ``theta`` (size,), ``x`` (n, columns), ``y`` (n,) -> (n,). Pure JAX."""

    @abstractmethod
    def power_integral(self, theta: Any, x: Any, beta: float) -> Any:
        """The sum or integral over y of f(y | x_i, theta)^beta for every row. Pure JAX; beta is a plain number."""

    def predictor(self, theta: Any, x: Any) -> Any:
        """What the distribution of y is built around, of every row: linear unless said. Pure JAX."""
        return x @ theta

    @property
    def linear_logistic(self) -> bool:
        """Whether the loss is that of a logistic regression, for which `private_samplers.cell_rejection` is exact."""
        return False

    @property
    def rugged(self) -> bool:
        """Whether the posterior has so many modes that particles must be cooled into them, instead of one chain."""
        return False

    def checked_beta(self, beta: float) -> float:
        """``beta``, refused if `power_integral` cannot take it: a plan is refused then, before any row is read."""
        return beta

    def prior_potential(self, theta: Any) -> Any:
        """-ln prior(theta) up to a constant: independent normal coefficients. Pure JAX."""
        return (theta @ theta) / (2 * self.sd**2)

    @property
    def draws_prior(self) -> bool:
        """Whether `prior_draws` are from the prior of `prior_potential`: a subclass that changes one changes both."""
        return type(self).prior_potential is BoundedDensity.prior_potential

    def prior_draws(self, count: int, source: Any) -> Any:
        """``count`` independent theta (count, size) from the prior, for `private_samplers.prior_rejection`."""
        from tacit.private_samplers.entropy_arrays import normals

        return self.sd * normals((count, len(self.parameters)), source)

    def released(self, theta: Any) -> Any:
        """The numbers that leave, in the order of ``parameters``, from a draw (size,)."""
        return theta

    def theta_of(self, released: Any) -> Any:
        """`released` turned back, of many draws (count, size), each number rising with its own: audits need it.

        Say it where `released` changes a number.
        """
        return released

    def fitted(self, x: Any, y: Any) -> Any:
        """The theta (size,) of a fit to a few rows, from which a search for modes may begin; None where none is known.

        Rows far apart then lead to modes far apart, which draws of the prior hardly ever meet where modes are narrow.
        """
        return None

    @property
    def wide(self) -> Any:
        """The centre and the standard deviation (2, size) of a normal distribution as wide as the prior: where chains
        begin.
        """
        import numpy as np

        size = len(self.parameters)
        return np.stack([np.zeros(size), np.full(size, self.sd)])
