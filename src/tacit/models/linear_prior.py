"""The prior of linear regression: normal for the coefficients, inverse gamma for sigma^2, inverse Wishart for x."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tacit.errors import expected
from tacit.models.coefficient_statements import Statement, as_statements, in_mapped_units
from tacit.models.model import Prior
from tacit.models.regression import DesignMatrix
from tacit.runtime.chain import Arrays
from tacit.statistics.design import Scaled

if TYPE_CHECKING:
    from tacit.likelihoods.coefficient_prior import CoefficientPrior
    from tacit.likelihoods.conjugate_gram import GramPriorParameters
    from tacit.likelihoods.response import ExplainedShare, ResponsePrior

_TYPICAL = 0.01  # about what a default prior comes to; where chains start depends on it


@dataclass(frozen=True)
class LinearPrior(Prior):
    """In mapped units, where numbers lie in [-1, 1]:

    sigma^2 ~ IG(a0, b0),    Sigma_x ~ IW(diag(psi0), nu0),    mu_x | Sigma_x ~ N(m0, Sigma_x / kappa0).

    Where ``explained`` is given, how much is explained is learned: R ~ Beta(explained), tau is half-normal with the
    scale ``total``, and sigma = tau (1 - R)^(1/2) in place of IG(a0, b0). Each of k coefficients other than the
    intercept then has mean ``mu0`` and about the standard deviation ``slope`` tau (R / k)^(1/2) / s_j, s_j the standard
    deviation of its column in the rows, whatever the bounds (`coefficient_prior`); the expected response at the
    covariates' means is N(mu0, (2 ``total``)^2).

    Else a coefficient has about the standard deviation ``slope`` sigma / s_j, and that response is
    N(mu0, (``level`` sigma)^2). Where ``effect`` is given, a coefficient has about the
    standard deviation ``effect`` / s_j, and that response N(mu0, (2 ``effect``)^2), whatever sigma is. Where
    ``lambda0`` is given, theta | sigma^2 ~ N(mu0, sigma^2 diag(lambda0)^-1) instead; the methods that sample rows, and
    Gibbs sampling, take no other prior.

    ``coefficients`` names coefficients with a mean and a standard deviation in the units of the data, which take the
    place of all that for them. ``mu0`` and ``lambda0`` have one number a coefficient, ``m0`` and ``psi0`` one a
    covariate; a single number stands for all.
    """

    mu0: float | tuple[float, ...]
    lambda0: float | tuple[float, ...] | None
    a0: float
    b0: float
    m0: float | tuple[float, ...]
    kappa0: float
    nu0: float
    psi0: float | tuple[float, ...]
    slope: float = 2.5
    level: float = 10.0
    effect: float | None = None
    coefficients: tuple[Statement, ...] = ()
    explained: tuple[float, float] | None = None
    total: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", as_statements(self.coefficients))
        for name in ("mu0", "lambda0", "m0", "psi0", "explained"):
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        if self.explained is not None and (not isinstance(self.explained, tuple) or len(self.explained) != 2):
            raise expected("prior explained", self.explained, "to be the two numbers of a Beta distribution")
        for name in ("lambda0", "a0", "b0", "kappa0", "nu0", "psi0", "slope", "level", "effect", "explained", "total"):
            value = getattr(self, name)
            if name in ("lambda0", "effect", "explained") and value is None:
                continue
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e300:
                    raise expected(f"prior {name}", value, "to be positive numbers below 1e300")
        for name in ("mu0", "m0"):
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not -1e300 < number < 1e300:
                    raise expected(f"prior {name}", value, "to be numbers from -1e300 to 1e300")

    @classmethod
    def learned_share(cls, design: DesignMatrix) -> Self:
        """What ``explained`` and ``total`` change: weak, and it knows how far columns and response spread in the rows.

        R is Beta(1/2, 1/2), so that little and much explained are both ordinary. The scale of tau is half of what
        bounds allow. Covariates: the mean has a large standard deviation beside the column's own, and that
        is about 0.12, from 0.05 to 0.6 with a probability of 95%.
        """
        d = _covariates(design)
        return cls(
            mu0=0.0,
            lambda0=None,
            a0=3.0,
            b0=3.0 * 0.26**2 / 3,
            m0=0.0,
            kappa0=0.1,
            nu0=d + 1.0,
            psi0=0.02,
            explained=(0.5, 0.5),
        )

    @classmethod
    def default(cls, design: DesignMatrix) -> Self:
        """From the number of covariates alone. It holds large effects back where bounds are wide and rows are few.

        Covariates: predictive t with 5 degrees of freedom and scale 0.24, so that 99% lie in [-1, 1] (the 99.5% point
        of t_5 is 4.03). Response: sigma^2, the intercept and all slopes together contribute equal shares of a
        predictive t with 6 degrees of freedom and scale 0.26 (its 99.5% point is 3.71).

        Functions of a number fill a small part of the range that its bounds give them, and coefficients are large
        there: in a formula that has one all coefficients have the standard deviation 10 sigma.
        """
        covariates = _covariates(design)
        intercept = [1.0] if design.formula.intercept else []
        slopes = [float(max(1, covariates)) * 0.25] * (len(design.columns) - len(intercept))
        if any(isinstance(column, Scaled) and column.number.curves for column in design.columns):
            intercept, slopes = [0.01] * len(intercept), [0.01] * len(slopes)
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

    @property
    def tied(self) -> bool:
        """Whether coefficients know the spread of their columns, so that the rows' own moments are part of it."""
        return self.lambda0 is None or self.explained is not None

    def changed_base(self, changes: Collection[str], design: DesignMatrix) -> LinearPrior:
        """What ``changes`` to some numbers are made to: the other default, where they are of a prior of its kind."""
        if "explained" not in changes and "total" not in changes:
            return self
        if others := [name for name in ("lambda0", "level", "effect", "a0", "b0") if name in changes]:
            raise expected("prior", others[0], "to be left out beside explained and total, which take its place")
        return self.learned_share(design)

    def check_conjugate(self, method: str) -> None:
        """Refuse a prior that a method of rows, or Gibbs sampling, does not know."""
        if self.coefficients:
            raise expected("prior", self.coefficients[0][0], f"to be said of no coefficient for method {method!r}")
        if self.tied:
            raise expected("method", method, "to come with a prior that says lambda0, for instance lambda0 = 0.01")

    def numbers(self, design: DesignMatrix) -> GramPriorParameters:
        """The prior as arrays for a design."""
        import numpy as np

        from tacit.likelihoods.conjugate_gram import GramPriorParameters

        p, d = len(design.columns), _covariates(design)
        return GramPriorParameters(
            m0=_spread("m0", self.m0, d),
            kappa0=self.kappa0,
            nu0=self.nu0,
            psi0=np.diag(_spread("psi0", self.psi0, d)),
            mu0=_spread("mu0", self.mu0, p),
            lambda0=np.diag(_spread("lambda0", _TYPICAL if self.lambda0 is None else self.lambda0, p)),
            a0=self.a0 if self.explained is None else -0.5,
            b0=self.b0 if self.explained is None else 0.0,
            coefficients=self.of_coefficients(design),
            share=self._share(),
        )

    def _share(self) -> ExplainedShare | None:
        from tacit.likelihoods.response import ExplainedShare

        return None if self.explained is None else ExplainedShare(*self.explained, self.total)

    def response(self, design: DesignMatrix) -> ResponsePrior:
        """The part of the prior that is about the response."""
        from tacit.likelihoods.response import ResponsePrior

        share = self._share()
        a0, b0 = (self.a0, self.b0) if share is None else (-0.5, 0.0)
        return ResponsePrior(self.of_coefficients(design), a0, b0, design.formula.intercept, share)

    def of_coefficients(self, design: DesignMatrix) -> CoefficientPrior:
        """The statements about the coefficients."""
        import numpy as np

        from tacit.likelihoods.coefficient_prior import CoefficientPrior

        p = len(design.columns)
        rows, lifted, fixed = np.eye(p), np.zeros(p), np.zeros(p)
        alone, shared = np.zeros(p), np.zeros(p)
        means, by_sigma, by_spread = np.array(_spread("mu0", self.mu0, p)), np.zeros(p), np.full(p, self.slope**-2)
        if self.explained is not None:
            shared, by_spread = np.full(p, max(1, p - design.formula.intercept) / self.slope**2), np.zeros(p)
            if design.formula.intercept:
                rows[0], lifted[0], fixed[0], shared[0] = 0.0, 1.0, (2 * self.total) ** -2, 0.0
        elif self.lambda0 is not None:
            by_sigma, by_spread = np.array(_spread("lambda0", self.lambda0, p)), np.zeros(p)
        elif self.effect is not None:
            alone, by_spread = np.full(p, self.effect**-2), np.zeros(p)
            if design.formula.intercept:
                rows[0], lifted[0], fixed[0], alone[0] = 0.0, 1.0, alone[0] / 4, 0.0
        elif design.formula.intercept:
            rows[0], lifted[0], by_sigma[0], by_spread[0] = 0.0, 1.0, self.level**-2, 0.0
        for place, (row, mean, sd) in in_mapped_units(self.coefficients, design, design.number_response).items():
            rows[place], means[place], fixed[place] = row, mean, sd**-2
            lifted[place] = by_sigma[place] = by_spread[place] = alone[place] = shared[place] = 0.0
        return CoefficientPrior(rows, lifted, means, fixed, by_sigma, by_spread, alone, shared)

    def draw_law(self, design: DesignMatrix, rng: Any) -> tuple[Arrays, tuple[Any, float]]:
        """One draw of sigma, mu_x and Sigma_x, and what theta is made of: standard normal numbers, and the ratio of the
        explained variance to sigma^2.
        """
        import numpy as np

        d = _covariates(design)
        if self.nu0 <= d - 1:
            raise expected("prior nu0", self.nu0, f"to be above {d - 1}")
        ratio = 1.0
        if self.explained is None:
            variance = self.b0 / rng.gamma(self.a0)
        else:
            share, tau = rng.beta(*self.explained), self.total * abs(rng.standard_normal())
            rest = max(1 - share, 1e-12)
            variance, ratio = tau**2 * rest, max(share / rest, 1e-12)
        t = rng.standard_normal(len(design.columns))
        # Bartlett: A lower triangular with chi variates on its diagonal; (L A^-T)(L A^-T)' is inverse Wishart.
        a = np.tril(rng.standard_normal((d, d)), -1) + np.diag(np.sqrt(rng.chisquare(self.nu0 - np.arange(d))))
        half = np.linalg.solve(a, np.diag(np.sqrt(_spread("psi0", self.psi0, d)))).T
        mean = _spread("m0", self.m0, d) + half @ rng.standard_normal(d) / np.sqrt(self.kappa0)
        return {"sigma": np.sqrt(variance), "mu_x": mean, "Sigma_x": half @ half.T}, (t, ratio)

    def place(self, design: DesignMatrix, sigma: float, centre: Any, squares: Any, made_of: tuple[Any, float]) -> Any:
        """Theta made of the numbers of `draw_law`, given sigma and the mean and variance of each column."""
        import numpy as np

        said, (t, ratio) = self.of_coefficients(design), made_of
        precisions = said.precisions(squares, sigma**2, ratio)
        return np.linalg.solve(said.statements(centre), said.means + t / np.sqrt(precisions))


def _covariates(design: DesignMatrix) -> int:
    return sum(isinstance(column, Scaled) for column in design.columns)


def _spread(name: str, value: float | tuple[float, ...], length: int) -> Any:
    import numpy as np

    if isinstance(value, tuple) and len(value) != length:
        raise expected(f"prior {name}", value, f"to hold one number or {length}")
    return np.broadcast_to(np.asarray(value, np.float64), (length,))
