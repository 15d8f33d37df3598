"""What is promised: one frozen dataclass for each definition of differential privacy.

All are stated for a neighbour relation: ``replace-one``, two data sets of the same, public size that differ in one
record, unless it is said to be ``add-remove``, two data sets of which one has one record more (`privacy.neighbours`).
P and Q below are the distributions of the release on two such data sets, in either order.

    PureDP      P(S) <= e^epsilon Q(S)                       for every set S of releases
    ApproxDP    P(S) <= e^epsilon Q(S) + delta               for every set S of releases
    ZCDP        D_order(P || Q) <= rho * order               for every order > 1, D the Renyi divergence
    GDP         telling P from Q is at least as hard as telling N(0, 1) from N(mu, 1)
    RenyiDP     D_order(P || Q) <= epsilon                   for this order and all below it
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from statistics import NormalDist
from typing import Any, ClassVar

from tacit.bibliography import BUN_2016, DONG_2022, DWORK_2006, DWORK_2006_OURSELVES, MIRONOV_2017, Paper
from tacit.errors import did_you_mean, expected, one_thing
from tacit.privacy.basis import Basis
from tacit.privacy.neighbours import ADD_REMOVE, REPLACE_ONE, checked_relation

LARGEST_EPSILON = 1e12
"""Prices are computed right up to here; beyond, their digits are not checked, and nobody is protected long before."""
_LARGEST = {
    "epsilon": LARGEST_EPSILON,
    "rho": LARGEST_EPSILON,  # the mean of the log ratio, as epsilon is its maximum
    "mu": 1.5e6,  # whose rho, mu^2 / 2, is about that; every (epsilon, delta) up to 1e12 has a smaller one
}

_RARE = 1e-6  # sentences about a tail speak of one probability in a million


@dataclass(frozen=True)
class Guarantee(ABC):
    """A promise about a release, what it rests on, and what it ``assumes`` beyond the program being right."""

    papers: ClassVar[tuple[Paper, ...]] = ()
    neighbours: str = field(default=REPLACE_ONE, kw_only=True)
    assumes: tuple[str, ...] = field(default=(), kw_only=True)
    basis: Basis = field(default=Basis.PROVED, kw_only=True)

    def __post_init__(self) -> None:
        for name in self.parameters():
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
            most = _LARGEST.get(name, math.inf)
            if getattr(self, name) > most:
                raise expected(name, getattr(self, name), f"to be at most {most:g}, far beyond what protects anybody")
        checked_relation(self.neighbours)
        object.__setattr__(self, "assumes", _strings("assumes", self.assumes))
        if not isinstance(self.basis, Basis):
            raise expected("basis", self.basis, "to be Basis.PROVED or Basis.ASSUMED")
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Refuse numbers that are positive but still not possible."""

    @abstractmethod
    def _promise(self) -> str:
        """The promise in plain words, where it is proved."""

    @property
    def _adds(self) -> bool:
        """Whether neighbours differ by a record that is there or not."""
        return self.neighbours == ADD_REMOVE

    def sentence(self) -> str:
        """The promise in plain words, for somebody who must answer for the data."""
        if self.basis is Basis.PROVED:
            return self._promise()
        return f"This is assumed and not proved: it holds if a Markov chain has converged. {self._promise()}"

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of the numbers that make up the promise, as a plan's ``[budget]`` table spells them."""
        return tuple(f.name for f in fields(cls) if f.name not in ("neighbours", "assumes", "basis"))

    @property
    def symbols(self) -> str:
        """The numbers alone: ``epsilon = 1, delta = 1e-06``; the word "assumed" stands before them where they are."""
        numbers = ", ".join(f"{name} = {_shortest(getattr(self, name))}" for name in self.parameters())
        return numbers if self.basis is Basis.PROVED else f"assumed, not proved: {numbers}"

    def to_plain(self) -> dict[str, Any]:
        """The ``[budget]`` table of a plan file; in a release, where it rests on an assumption, that comes first."""
        plain: dict[str, Any] = {} if self.basis is Basis.PROVED else {"basis": self.basis.value}
        plain |= {name: getattr(self, name) for name in self.parameters()}
        plain["neighbours"] = self.neighbours
        if self.assumes:
            plain["assumes"] = list(self.assumes)
        return plain


@dataclass(frozen=True)
class PureDP(Guarantee):
    """Pure differential privacy: P(S) <= e^epsilon Q(S) for every set S (Dwork, McSherry, Nissim, Smith 2006).

    ```pycon
    >>> tacit.PureDP(epsilon=1.0).symbols
    'epsilon = 1'

    ```
    """

    papers: ClassVar[tuple[Paper, ...]] = (DWORK_2006,)
    epsilon: float

    def _check(self) -> None:
        pass

    def _promise(self) -> str:
        """The promise in plain words."""
        factor = _factor(self.epsilon)
        return (
            "This holds for whoever sees the release, whatever they know already. Had any one person's record been "
            f"{'left out, or added' if self._adds else 'replaced by another'}, no conclusion drawn from the release "
            f"would be more than {factor} times as likely, or less than 1/{factor} times as likely."
        )


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """Approximate differential privacy: P(S) <= e^epsilon Q(S) + delta for every set S (Dwork et al. 2006).

    ```pycon
    >>> tacit.ApproxDP(epsilon=1.0, delta=1e-6).symbols
    'epsilon = 1, delta = 1e-06'

    ```
    """

    papers: ClassVar[tuple[Paper, ...]] = (DWORK_2006_OURSELVES,)
    epsilon: float
    delta: float

    def _check(self) -> None:
        if self.delta >= 1:
            raise expected("delta", self.delta, "to lie strictly between 0 and 1")

    def _promise(self) -> str:
        """The promise in plain words, with what delta allows.

        The worst case named is exact: a pair (P, Q) satisfies the definition if and only if it is a randomisation of
        a pair that shows the record with probability delta and is else epsilon-DP (Kairouz, Oh, Viswanath 2015).
        """
        return (
            f"{'Leaving out, or adding, any' if self._adds else 'Replacing any'} one person's record"
            f"{'' if self._adds else ' by another'} makes no conclusion drawn from this release more than "
            f"{_factor(self.epsilon)} times as likely, plus a probability of {_shortest(self.delta)}. That addition is "
            f"a real allowance: a release that shows somebody's record outright with probability "
            f"{_shortest(self.delta)} would still keep this promise."
        )


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """Zero-concentrated differential privacy: D_order(P || Q) <= rho * order for all orders (Bun and Steinke 2016).

    ```pycon
    >>> tacit.ZCDP(rho=0.5).symbols
    'rho = 0.5'

    ```
    """

    papers: ClassVar[tuple[Paper, ...]] = (BUN_2016,)
    rho: float

    def _check(self) -> None:
        pass

    def _promise(self) -> str:
        """The promise in plain words.

        With L = log(P/Q) under P, order to 1 gives E[L] <= rho, and Markov's inequality at the best order gives
        P(L > rho + t) <= exp(-t^2 / (4 rho)).
        """
        tail = self.rho + 2 * math.sqrt(self.rho) * math.sqrt(-math.log(_RARE))
        return _odds(self.symbols, "zero-concentrated differential privacy", self.rho, tail, adds=self._adds)


@dataclass(frozen=True)
class GDP(Guarantee):
    """Gaussian differential privacy: as hard as telling N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022).

    ```pycon
    >>> tacit.GDP(mu=1.0).symbols
    'mu = 1'

    ```
    """

    papers: ClassVar[tuple[Paper, ...]] = (DONG_2022,)
    mu: float

    def _check(self) -> None:
        pass

    def _promise(self) -> str:
        """The promise in plain words.

        With both cases equally likely beforehand the best guess between N(0, 1) and N(mu, 1) is right with probability
        Phi(mu / 2).
        """
        percent = min(100.0, math.ceil(1000 * NormalDist().cdf(self.mu / 2)) / 10)
        return (
            "Telling from this release "
            f"{'whether any one person is in the data' if self._adds else 'which of two records any one person has'} "
            "is at least as hard as telling which of "
            f"two numbers, {_shortest(self.mu)} standard deviations apart, was measured once with normal error "
            f"(mu = {_shortest(self.mu)}). If both are equally likely beforehand, no guess is right more than "
            f"{percent:g}% of the time."
        )


@dataclass(frozen=True)
class RenyiDP(Guarantee):
    """Renyi differential privacy: D_order(P || Q) <= epsilon (Mironov 2017). D grows with the order.

    ```pycon
    >>> tacit.RenyiDP(order=2, epsilon=1.0).symbols
    'order = 2, epsilon = 1'

    ```
    """

    papers: ClassVar[tuple[Paper, ...]] = (MIRONOV_2017,)
    order: float
    epsilon: float

    def _check(self) -> None:
        if self.order <= 1:
            raise expected("order", self.order, "to be a finite number above 1")

    def _promise(self) -> str:
        """The promise in plain words.

        With L = log(P/Q) under P, E[L] <= D_order <= epsilon, and Markov's inequality gives
        P(L > epsilon + t) <= exp(-(order - 1) t).
        """
        tail = self.epsilon - math.log(_RARE) / (self.order - 1)
        return _odds(self.symbols, "Renyi differential privacy", self.epsilon, tail, adds=self._adds)


_BY_PARAMETERS: dict[frozenset[str], type[Guarantee]] = {
    frozenset(kind.parameters()): kind for kind in (PureDP, ApproxDP, ZCDP, GDP, RenyiDP)
}
_KEYS = ("epsilon", "delta", "rho", "mu", "order", "neighbours", "assumes")


def guarantee_from_plain(mapping: object) -> Guarantee:
    """Read a plan's ``[budget]`` table.

    epsilon alone is pure DP; with delta approximate; rho is zCDP; mu is Gaussian DP; order and epsilon are Renyi DP.
    """
    if not isinstance(mapping, Mapping):
        raise expected("budget", mapping, "to be a table such as {epsilon = 1.0}")
    for key in mapping:
        if key not in _KEYS:
            raise expected("budget key", key, f"to be one of {', '.join(_KEYS)}{did_you_mean(key, _KEYS)}")
    plain: dict[str, Any] = dict(mapping)
    kind = _BY_PARAMETERS.get(frozenset(plain) - {"neighbours", "assumes"})
    if kind is None:
        raise expected(
            "budget",
            plain,
            "to hold one of these and no mixture: epsilon; epsilon and delta; rho; mu; order and epsilon",
        )
    return kind(**plain)


def _positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise expected(name, one_thing(value), "to be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise expected(name, value, "to be a finite number above 0")
    return number


def _strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) and v.strip() for v in value):
        raise expected(name, value, "to be a list of non-empty strings")
    return tuple(value)


def _shortest(value: float) -> str:
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)


def _factor(log_factor: float) -> str:
    """e^log_factor in words, rounded up so that "at most" stays true."""
    if log_factor > 700:
        return f"e^{_shortest(float(math.ceil(log_factor)))}"
    if log_factor > 13:
        return f"10^{math.ceil(log_factor / math.log(10))}"
    if log_factor < 1e-6:
        return "1.000001"
    value = math.exp(log_factor)
    # Three digits; just above 1 two digits of what exceeds 1, or every small epsilon would read "1.01".
    digits = 2 - math.floor(math.log10(value)) if value >= 1.1 else 1 - math.floor(math.log10(math.expm1(log_factor)))
    return f"{math.ceil(value * 10.0**digits) / 10.0**digits:.{max(0, digits)}f}"


def _odds(symbols: str, name: str, mean: float, tail: float, *, adds: bool) -> str:
    between = "that any one person is in the data" if adds else "between any one person's record and a replacement"
    return (
        f"This release moves anyone's odds {between} by a factor of at most "
        f"{_factor(mean)} on (geometric) average towards the truth, and by more than {_factor(tail)} with a "
        f"probability of at most one in a million ({name}, {symbols})."
    )
