"""The prior of linear regression: normal-inverse-gamma for the coefficients, normal-inverse-Wishart for covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tacit.errors import expected
from tacit.models.model import Prior
from tacit.models.regression import Design
from tacit.runtime.chain import Arrays
from tacit.statistics.design import Scaled

if TYPE_CHECKING:
    from tacit.likelihoods.conjugate_gram import Numbers
    from tacit.likelihoods.response import ResponsePrior


@dataclass(frozen=True)
class LinearPrior(Prior):
    """In mapped units, where numbers lie in [-1, 1]:

    sigma^2 ~ IG(a0, b0),    theta | sigma^2 ~ N(mu0, sigma^2 diag(lambda0)^-1),
    Sigma_x ~ IW(diag(psi0), nu0),    mu_x | Sigma_x ~ N(m0, Sigma_x / kappa0).

    ``mu0`` and ``lambda0`` have one number a coefficient, ``m0`` and ``psi0`` one a covariate; a single number stands
    for all.
    """

    mu0: float | tuple[float, ...]
    lambda0: float | tuple[float, ...]
    a0: float
    b0: float
    m0: float | tuple[float, ...]
    kappa0: float
    nu0: float
    psi0: float | tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("mu0", "lambda0", "m0", "psi0"):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        for name in ("lambda0", "a0", "b0", "kappa0", "nu0", "psi0"):
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e300:
                    raise expected(f"prior {name}", value, "to be positive numbers below 1e300")
        for name in ("mu0", "m0"):
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not -1e300 < number < 1e300:
                    raise expected(f"prior {name}", value, "to be numbers from -1e300 to 1e300")

    @classmethod
    def default(cls, design: Design) -> Self:
        """Weak, from the number of covariates alone.

        Covariates: predictive t with 5 degrees of freedom and scale 0.24, so that 99% lie in [-1, 1] (the 99.5% point
        of t_5 is 4.03). Response: sigma^2, the intercept and all slopes together contribute equal shares of a
        predictive t with 6 degrees of freedom and scale 0.26 (its 99.5% point is 3.71).
        """
        covariates = _covariates(design)
        intercept = [1.0] if design.formula.intercept else []
        slopes = [float(max(1, covariates)) * 0.25] * (len(design.columns) - len(intercept))
        return cls(
            mu0=0.0,
            lambda0=tuple(intercept + slopes) or 1.0,
            a0=3.0,
            b0=3.0 * 0.26**2 / 3,
            m0=0.0,
            kappa0=1.0,
            nu0=covariates + 4.0,
            psi0=0.24**2 * 5 / 2,
        )

    def numbers(self, design: Design) -> Numbers:
        """The prior as arrays for a design."""
        import numpy as np

        from tacit.likelihoods.conjugate_gram import Numbers

        p, d = len(design.columns), _covariates(design)
        return Numbers(
            m0=_spread("m0", self.m0, d),
            kappa0=self.kappa0,
            nu0=self.nu0,
            psi0=np.diag(_spread("psi0", self.psi0, d)),
            mu0=_spread("mu0", self.mu0, p),
            lambda0=np.diag(_spread("lambda0", self.lambda0, p)),
            a0=self.a0,
            b0=self.b0,
        )

    def response(self, design: Design) -> ResponsePrior:
        """The part of the prior that is about the response."""
        import numpy as np

        from tacit.likelihoods.response import ResponsePrior

        p = len(design.columns)
        precision = np.diag(_spread("lambda0", self.lambda0, p))
        return ResponsePrior(np.array(_spread("mu0", self.mu0, p)), precision, self.a0, self.b0)

    def draw(self, design: Design, rng: Any) -> Arrays:
        """One draw of theta, sigma, mu_x and Sigma_x."""
        import numpy as np

        p, d = len(design.columns), _covariates(design)
        if self.nu0 <= d - 1:
            raise expected("prior nu0", self.nu0, f"to be above {d - 1}")
        variance = self.b0 / rng.gamma(self.a0)
        theta = _spread("mu0", self.mu0, p) + rng.standard_normal(p) * np.sqrt(
            variance / _spread("lambda0", self.lambda0, p)
        )
        # Bartlett: A lower triangular with chi variates on its diagonal; (L A^-T)(L A^-T)' is inverse Wishart.
        a = np.tril(rng.standard_normal((d, d)), -1) + np.diag(np.sqrt(rng.chisquare(self.nu0 - np.arange(d))))
        half = np.linalg.solve(a, np.diag(np.sqrt(_spread("psi0", self.psi0, d)))).T
        mean = _spread("m0", self.m0, d) + half @ rng.standard_normal(d) / np.sqrt(self.kappa0)
        return {"theta": theta, "sigma": np.sqrt(variance), "mu_x": mean, "Sigma_x": half @ half.T}


def _covariates(design: Design) -> int:
    return sum(isinstance(column, Scaled) for column in design.columns)


def _spread(name: str, value: float | tuple[float, ...], length: int) -> Any:
    import numpy as np

    if isinstance(value, tuple) and len(value) != length:
        raise expected(f"prior {name}", value, f"to hold one number or {length}")
    return np.broadcast_to(np.asarray(value, np.float64), (length,))
