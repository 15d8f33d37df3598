"""What a family adds to be released as exact draws from its conjugate posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.models.model import Prior
from tacit.schema import Schema
from tacit.statistics.statistic import Statistic

KINDS = ("beta", "beta-query", "dirichlet", "gamma-shape", "gamma-rate", "normal")


@dataclass(frozen=True)
class Conjugacy:
    """How the rows and a prior make a posterior, in the mapped units of ``statistic``, with data weight r:

    beta, beta-query   Beta(b1 + r (n - s), b2 + r s), ``prior`` (b1, b2); s the sum of the one entry, rows in [0, 1]
    dirichlet          Dirichlet(prior + r counts)
    gamma-shape        Gamma(shape + r step s, rate + r n), ``prior`` (shape, rate), rows in [0, 1] times ``step``
    gamma-rate         Gamma(shape + r n, rate + r step s), ``prior`` (shape, rate)
    normal             N(m, 1/p): p = precision + r n / step^2, m = (precision * mean + r s / step^2) / p,
                       ``prior`` (mean, precision), rows in [-1, 1], ``step`` the known standard deviation

    ``parameters`` name the numbers of one draw. Those of a beta are of the second level alone.
    """

    kind: str
    statistic: Statistic
    prior: tuple[Fraction, ...]
    step: Fraction
    parameters: tuple[str, ...]


class ConjugateModel(ABC):
    """A family whose posterior under its own prior can be drawn from exactly."""

    @abstractmethod
    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """How rows become a posterior under ``prior``, the mechanism's."""

    @abstractmethod
    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> Prior:
        """``prior`` after rows that are public already: a prior of the same kind."""


def public_numbers(public: Mapping[str, Any], names: Sequence[str]) -> list[float]:
    """The numbers of a ``public`` table, which must have exactly these ``names``."""
    if set(public) != set(names):
        raise expected("public", dict(public), f"to say exactly {' and '.join(names)}")
    for name in names:
        value = public[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            raise expected(f"public {name}", value, "to be a number of at least 0")
    return [float(public[name]) for name in names]
