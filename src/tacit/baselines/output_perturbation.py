"""Output perturbation: the penalised minimiser plus noise (Chaudhuri, Monteleoni, Sarwate 2011), in four right forms.

theta-hat minimises (1/n) sum of losses + ``ridge``/2 |theta|^2, every loss convex with a gradient g. Let S bound
|g(a) - g(b)|_2 over two records and all theta. Replacing a record moves theta-hat by at most S / (n ridge) in L2.

Proof: at the minimiser of one data set the gradient of the other's objective has norm at most S / n, and that objective
is ridge-strongly convex, so its own minimiser is at most S / (n ridge) away. []

| ``form``      | the gradient of one record  | S         | noise                                                     |
|---------------|-----------------------------|-----------|-----------------------------------------------------------|
| "coordinates" | at most 1 in each entry     | 2 sqrt(p) | independent Laplace, scale 2p / (n ridge epsilon)         |
| "sphere"      | at most 1 in each entry     | 2 sqrt(p) | density exp(-epsilon n ridge norm / (2 sqrt(p)))          |
| "ball"        | at most 1 in L2 norm        | 2         | density exp(-epsilon n ridge norm / 2)                    |
| "gaussian"    | at most 1 in L2 norm        | 2         | normal, standard deviation 2 / (n ridge mu)               |

Proof: for "coordinates" |.|_1 <= sqrt(p) |.|_2 <= 2p / (n ridge), the L1 sensitivity of a Laplace mechanism. For
"sphere" and "ball" the log density is Lipschitz in L2 with constant epsilon n ridge / S, so it moves by at most
epsilon; its direction is uniform and its length is Gamma(p) with scale S / (n ridge epsilon). "gaussian" is the
Gaussian mechanism with mu inside (epsilon, delta). []

jewson2023 (Theorem 4) prints Laplace noise of scale 2 / (n ridge epsilon) for "coordinates": up to p times too little
(Errata J1). These are methods to compare with, on rows that may be seen: they take a random generator with a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.baselines.ridge import minimiser
from tacit.errors import expected
from tacit.privacy import gaussian
from tacit.privacy.events import Event, GaussianEvent, PureEvent

FORMS = ("coordinates", "sphere", "ball", "gaussian")


@dataclass(frozen=True)
class OutputPerturbation:
    """Output perturbation for ``n`` rows and ``size`` coefficients; ``delta`` is for "gaussian" alone."""

    form: str
    n: int
    size: int
    ridge: float
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise expected("form", self.form, f"to be one of {', '.join(FORMS)}")
        for name in ("n", "size", "ridge", "epsilon"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise expected(name, getattr(self, name), "to be a finite number above 0")
        if (self.delta > 0) != (self.form == "gaussian") or not 0 <= self.delta < 1:
            raise expected("delta", self.delta, "to be above 0 for gaussian, and 0 for the other forms")

    @property
    def distance(self) -> float:
        """How far replacing a record can move the minimiser, in L2: S / (n ridge)."""
        root = math.sqrt(self.size) if self.form in ("coordinates", "sphere") else 1.0
        return 2 * root / (self.n * self.ridge)

    @property
    def scale(self) -> float:
        """The scale of the Laplace noise, of the length of the noise, or the standard deviation."""
        if self.form == "coordinates":
            return math.sqrt(self.size) * self.distance / self.epsilon
        if self.form == "gaussian":
            return self.distance / gaussian.mu_for(self.epsilon, self.delta)
        return self.distance / self.epsilon

    def event(self) -> Event:
        """What it costs in ideal arithmetic.

        Proof: that of the table at the top of this file. []
        """
        if self.form == "gaussian":
            return GaussianEvent(Fraction(gaussian.mu_for(self.epsilon, self.delta)) ** 2, 0)
        return PureEvent(self.epsilon)

    def noise(self, draws: int, rng: Any) -> Any:
        """Noise vectors (draws, size)."""
        import numpy as np

        if self.form == "coordinates":
            return rng.laplace(0, self.scale, (draws, self.size))
        normal = rng.standard_normal((draws, self.size))
        if self.form == "gaussian":
            return self.scale * normal
        length = rng.gamma(self.size, self.scale, (draws, 1))
        return length * normal / np.linalg.norm(normal, axis=1, keepdims=True)

    def log_noise(self, vectors: Any) -> Any:
        """The log density of noise vectors (..., size), up to a constant: what an attacker needs."""
        import numpy as np

        vectors = np.asarray(vectors, float)
        if self.form == "coordinates":
            return -np.abs(vectors).sum(axis=-1) / self.scale
        if self.form == "gaussian":
            return -np.square(vectors).sum(axis=-1) / (2 * self.scale**2)
        return -np.linalg.norm(vectors, axis=-1) / self.scale

    def draw(self, x: Any, y: Any, rng: Any) -> Any:
        """The minimiser for logistic regression, y in {-1, 1}, plus noise.

        A row's gradient is at most |x| in any norm, so x must be within 1 in the norm of the form; larger ones are
        moved there.
        """
        x = bounded(x, "coordinates" if self.form in ("coordinates", "sphere") else "ball")
        if x.shape != (self.n, self.size):
            raise expected("x", x.shape, f"to be {self.n} rows of {self.size}")
        return minimiser(x, y, self.ridge) + self.noise(1, rng)[0]


def bounded(x: Any, norm: str) -> Any:
    """Rows moved to within 1: each entry for "coordinates", the L2 norm for "ball"."""
    import numpy as np

    x = np.asarray(x, float)
    if norm == "coordinates":
        return np.clip(x, -1, 1)
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
