"""What is said of one number or of one point: its summary, its prior, its predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.errors import expected
from tacit.posterior.convergence import r_hat
from tacit.posterior.parts import PosteriorParts


@dataclass(frozen=True)
class Row:
    """One line of a summary: a number's posterior, and how well it was sampled."""

    name: str
    mean: float
    sd: float
    low: float
    high: float
    ess_bulk: float
    ess_tail: float
    r_hat: float


@dataclass(frozen=True)
class PriorRow:
    """One line of a prior: a coefficient's mean and standard deviation in mapped units, then in those of the data."""

    name: str
    mapped_mean: float
    mapped_sd: float
    mean: float
    sd: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictive draws of the response, (draws, points), in the units of the data."""

    draws: Any

    @property
    def mean(self) -> Any:
        """The predictive mean at each point."""
        return self.draws.mean(axis=0)

    def interval(self, probability: float = 0.95) -> Any:
        """The equal-tailed predictive interval at each point: an array (2, points), low then high."""
        return central_interval(self.draws, probability)


def central_interval(draws: Any, probability: float) -> Any:
    """The equal-tailed interval over the first axis: an array (2, ...), low then high."""
    import numpy as np

    if not 0 < probability < 1:
        raise expected("probability", probability, "to lie between 0 and 1")
    tail = (1 - probability) / 2
    return np.asarray(np.quantile(draws, [tail, 1 - tail], axis=0))


def two_moments(values: Any) -> tuple[float, float]:
    """Mean and standard deviation."""
    return float(values.mean()), float(values.std(ddof=1))


def row_of(name: str, values: Any, probability: float) -> Row:
    """The summary of one number from its draws (chains, draws)."""
    import numpy as np

    from tacit.posterior.mixing import effective_draws, effective_draws_in_tails

    constant = bool((values == values[0, 0]).all())
    low, high = central_interval(values.reshape(-1), probability)
    with np.errstate(divide="ignore", invalid="ignore"):  # chains that stand still at different places
        return Row(
            name=name,
            mean=float(values.mean()),
            sd=float(values.std(ddof=1)),
            low=float(low),
            high=float(high),
            ess_bulk=math.nan if constant else effective_draws(values),
            ess_tail=math.nan if constant else effective_draws_in_tails(values),
            r_hat=r_hat(values),
        )


def labels_of(name: str, parts: PosteriorParts) -> list[str]:
    """theta, or theta[north], theta[east], ..."""
    labels: list[tuple[str, ...]] = [()]
    for _, values in parts.labels(name):
        labels = [(*label, value) for label in labels for value in values]
    return [f"{name}[{', '.join(label)}]" if label else name for label in labels]
