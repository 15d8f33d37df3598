"""The prior of regressions that are inferred from the moments of their rows: logistic and Poisson regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tacit.errors import expected
from tacit.models.cells import Cells
from tacit.models.model import Prior
from tacit.runtime.chain import Arrays

if TYPE_CHECKING:
    from tacit.samplers.marginal_likelihood_glm import Numbers


@dataclass(frozen=True)
class MomentPrior(Prior):
    """In mapped units, where numbers lie in [-1, 1]:

    theta ~ N(0, diag(theta_sd^2)), restricted to |theta| <= theta_radius if that is given;
    chances of the cells ~ Dirichlet(alpha); within a cell x ~ N(mu_x, Sigma_x), mu_x ~ N(0, mean_sd^2);
    Sigma_x = T C T, T_j ~ half-normal(scale), C ~ LKJ(shape).

    ``theta_sd`` has one number a coefficient, ``mean_sd`` and ``scale`` one a number of the data; a single one stands
    for all. ``theta_radius`` is public: it is never read off a fit to the data.
    """

    theta_sd: float | tuple[float, ...]
    theta_radius: float | None
    mean_sd: float | tuple[float, ...]
    scale: float | tuple[float, ...]
    shape: float
    alpha: float

    def __post_init__(self) -> None:
        for name in ("theta_sd", "mean_sd", "scale", "shape", "alpha", "theta_radius"):
            value = getattr(self, name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, name, value)
            if name == "theta_radius" and value is None:
                continue
            one = name in ("shape", "alpha", "theta_radius")
            for number in value if isinstance(value, tuple) and not one else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not 1e-9 < number < 1e9:
                    raise expected(f"prior {name}", value, "to be positive numbers from 1e-9 to 1e9")

    @classmethod
    def default(cls, cells: Cells, radius: float | None, *, theta_sd: float) -> Self:
        """Weak, from the number of covariates and the radius of their ball alone.

        A number has the predictive variance mean_sd^2 + scale^2. In the box both are 0.22, so that 99% lie in [-1, 1].
        In a ball of radius R they shrink by R over what the sum of squares of so many normals does not exceed in 99%.
        """
        d = len(cells.numbers)
        size = 0.22 if radius is None else 0.22 * min(1.0, radius * _NORMAL_99 / math.sqrt(_chi_square_99(d)))
        return cls(theta_sd=theta_sd, theta_radius=None, mean_sd=size, scale=size, shape=2.0, alpha=1.0)

    def numbers(self, cells: Cells) -> Numbers:
        """The prior as arrays for a design."""
        import numpy as np

        from tacit.samplers.marginal_likelihood_glm import Numbers

        p, d, k = len(cells.design.columns), len(cells.numbers), cells.count
        return Numbers(
            theta_sd=_spread("theta_sd", self.theta_sd, p),
            radius=self.theta_radius,
            mean=np.zeros((k, d)),
            mean_sd=np.tile(_spread("mean_sd", self.mean_sd, d), (k, 1)),
            scale=_spread("scale", self.scale, d),
            shape=self.shape,
            alpha=np.full(k, self.alpha),
        )

    def draw(self, cells: Cells, rng: Any) -> Arrays:
        """One draw of theta and of the law of the covariates; `pi`, `mu_x`, `Sigma_x` only where there are any."""
        import numpy as np

        numbers = self.numbers(cells)
        d, k = len(cells.numbers), cells.count
        theta = numbers.theta_sd * rng.standard_normal(len(numbers.theta_sd))
        while self.theta_radius is not None and np.linalg.norm(theta) > self.theta_radius:
            theta = numbers.theta_sd * rng.standard_normal(len(theta))
        found: Arrays = {"theta": theta}
        if k > 1:
            found["pi"] = rng.dirichlet(numbers.alpha)
        if d > 0:
            means = numbers.mean + numbers.mean_sd * rng.standard_normal((k, d))
            found["mu_x"] = means if k > 1 else means[0]
            root = (numbers.scale * np.abs(rng.standard_normal(d)))[:, None] * _correlation_root(d, self.shape, rng)
            found["Sigma_x"] = root @ root.T
        return found


_NORMAL_99 = 2.5758293035489004  # what a standard normal does not exceed in size in 99% of cases


def _chi_square_99(degrees: int) -> float:
    from scipy.special import gammaincinv

    return 2 * float(gammaincinv(max(degrees, 1) / 2, 0.99))


def _correlation_root(d: int, shape: float, rng: Any) -> Any:
    """The Cholesky factor of an LKJ(shape) correlation matrix, from its canonical partial correlations.

    Lewandowski, Kurowicka and Joe (2009), section 2.4: that of row i and column j < i is 2 Beta(b, b) - 1 with
    b = shape + (d - 2 - j) / 2.
    """
    import numpy as np

    root = np.eye(d)
    for i in range(1, d):
        left = 1.0
        for j in range(i):
            b = shape + (d - 2 - j) / 2
            partial = 2 * rng.beta(b, b) - 1
            root[i, j] = partial * math.sqrt(left)
            left *= 1 - partial**2
        root[i, i] = math.sqrt(left)
    return root


def _spread(name: str, value: float | tuple[float, ...], length: int) -> Any:
    import numpy as np

    if isinstance(value, tuple) and len(value) != length:
        raise expected(f"prior {name}", value, f"to hold one number or {length}")
    return np.broadcast_to(np.asarray(value, np.float64), (length,))
