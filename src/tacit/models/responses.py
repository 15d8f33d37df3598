"""What the response of a likelihood regression can be: levels, a count, a number, or a time that may be cut short.

A family says the `Density` of one response. What is left beyond the declared bounds, where rows were clamped, and which
responses a made-up row may have, follows from the kind of response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from tacit.errors import expected
from tacit.runtime.chain import Arrays
from tacit.schema import Schema

MOST_COUNT = 512
EVENT_ASKED = {"asks": "the yes/no column: whether the time ended with the event", "column": True}
"""What `tacit init` asks."""
_SOONEST = 1e-4  # of the declared largest time or amount: of a smaller one it is known that it is not larger
_POSITIVE_NODES, _NODES, _ENDS = 36, 96, 97
_TAIL = (-9.0, 5.0, 57)  # logarithms of distances from a bound, over which a tail is summed up
_LEAST = 1e-9  # of a tail: below it a difference from 1 has no digits left


class Density(NamedTuple):
    """Logarithms for one row, JAX functions of y, of eta and of the scalars: of the density at y and, of an amount, of
    P(Y >= y) and of P(Y <= y).
    """

    at: Callable[[Any, Any, Any], Any]
    above: Callable[[Any, Any, Any], Any] | None = None
    below: Callable[[Any, Any, Any], Any] | None = None


class CountDensity(NamedTuple):
    """Logarithms of P(Y = 0), a function of eta and of the scalars, and of P(Y = y + 1) / P(Y = y), of y as well."""

    none: Callable[[Any, Any], Any]
    ratio: Callable[[Any, Any, Any], Any]


D = TypeVar("D", Density, CountDensity)


@dataclass(frozen=True)
class Response(ABC, Generic[D]):
    """The response in the column ``name``, as ``y`` in the units of the density; ``unit`` is the value of y = 1."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is in."""
        return (self.name,)

    @property
    def unit(self) -> float:
        """What y = 1 stands for in the units of the data."""
        return 1.0

    @abstractmethod
    def inputs(self, columns: Mapping[str, Any]) -> Arrays:
        """``y`` of each row and, where there are several kinds, ``kind``, by correctly rounded operations."""

    @abstractmethod
    def row(self, density: D) -> Callable[[Any, Any, Any], Any]:
        """The logarithm of the density of one row's response, from its inputs, eta and scalars."""

    @abstractmethod
    def made_up(self) -> tuple[Arrays, Any]:
        """The responses of made-up rows, arrays (m or 1, G), and the logarithms of the widths that they stand for."""

    @abstractmethod
    def every(self, density: D) -> Callable[[Any, Any, Any], Any]:
        """The same for all responses (G,) of one made-up row at once."""

    @abstractmethod
    def cells(self, y: Any, schema: Schema, rng: Any) -> Arrays:
        """Raw cells by column from what was drawn."""


@dataclass(frozen=True)
class LevelResponse(Response[Density]):
    """One of several levels: y is its place."""

    count: int

    def inputs(self, columns: Mapping[str, Any]) -> Arrays:
        """The place."""
        import numpy as np

        return {"y": np.asarray(columns[self.name], np.int64)}

    def row(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """That of the level."""
        return lambda row, eta, s: density.at(row["y"], eta, s)

    def made_up(self) -> tuple[Arrays, Any]:
        """Every level."""
        import numpy as np

        return {"y": np.arange(self.count)[None]}, np.zeros((1, self.count))

    def every(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """Those of all levels."""
        import jax

        return jax.vmap(self.row(density), (0, None, None))

    def cells(self, y: Any, schema: Schema, rng: Any) -> Arrays:
        """The levels themselves."""
        levels = schema.category(self.name).levels
        return {self.name: [levels[place] for place in y]}


@dataclass(frozen=True)
class CountResponse(Response[CountDensity]):
    """A whole number from 0. Of ``most`` it is known that it is at least that, unless more cannot be (``full``)."""

    most: int
    full: bool = False

    def inputs(self, columns: Mapping[str, Any]) -> Arrays:
        """The count."""
        import numpy as np

        return {"y": np.clip(np.rint(np.asarray(columns[self.name], np.float64)), 0, self.most).astype(np.int64)}

    def row(self, density: CountDensity) -> Callable[[Any, Any, Any], Any]:
        """The one among all of them."""
        every = self.every(density)
        return lambda row, eta, s: every(row, eta, s)[row["y"]]

    def made_up(self) -> tuple[Arrays, Any]:
        """Every count."""
        import numpy as np

        counts = np.arange(self.most + 1)[None]
        return {"y": counts}, np.zeros(counts.shape)

    def every(self, density: CountDensity) -> Callable[[Any, Any, Any], Any]:
        """Those of all counts, one from the other; the last one is the tail, which the smaller ones leave."""
        import jax.numpy as jnp
        import numpy as np

        counts = np.arange(float(self.most))

        def of_all(_: Any, eta: Any, s: Any) -> Any:
            steps = jnp.cumsum(density.ratio(counts, eta, s))
            each = density.none(eta, s) + jnp.concatenate([jnp.zeros(1), steps])
            if self.full:
                return each
            tail = 1 - jnp.sum(jnp.exp(each[:-1]))
            last = jnp.where(tail > _LEAST, jnp.log(jnp.maximum(tail, _LEAST)), each[-1])
            return jnp.concatenate([each[:-1], last[None]])

        return of_all

    def cells(self, y: Any, schema: Schema, rng: Any) -> Arrays:
        """Counts, not yet clamped."""
        import numpy as np

        return {self.name: np.asarray(y, float)}


@dataclass(frozen=True)
class NumberResponse(Response[Density]):
    """A number between ``low`` and ``high``, mapped to [-1, 1]; at a bound it is known that it is not inside."""

    low: float
    high: float

    def inputs(self, columns: Mapping[str, Any]) -> Arrays:
        """The mapped number, and at which bound it lies: -1, 0 or 1."""
        import numpy as np

        half = (self.high - self.low) / 2
        y = np.clip((np.asarray(columns[self.name], np.float64) - (self.low + half)) / half, -1, 1)
        return {"y": y, "end": (y >= 1).astype(np.int64) - (y <= -1)}

    def row(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """The density inside, the tails at the bounds."""
        import jax

        def of_row(row: Any, eta: Any, s: Any) -> Any:
            cases = (
                lambda: _beyond(density, -1.0, eta, s),
                lambda: density.at(row["y"], eta, s),
                lambda: _beyond(density, 1.0, eta, s),
            )
            return jax.lax.switch(row["end"] + 1, cases)

        return of_row

    def made_up(self) -> tuple[Arrays, Any]:
        """Numbers on a grid, and both bounds."""
        import numpy as np

        width = 2 / _NODES
        y = np.concatenate([[-1], -1 + width * (np.arange(_NODES) + 0.5), [1]])[None]
        base = np.full_like(y, np.log(width))
        base[0, [0, -1]] = 0.0
        return {"y": y}, base

    def every(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """The tail below, the densities on the grid, the tail above."""
        import jax
        import jax.numpy as jnp

        def of_all(rows: Any, eta: Any, s: Any) -> Any:
            inside = jax.vmap(density.at, (0, None, None))(rows["y"][1:-1], eta, s)
            ends = [_beyond(density, end, eta, s)[None] for end in (-1.0, 1.0)]
            return jnp.concatenate([ends[0], inside, ends[1]])

        return of_all

    def cells(self, y: Any, schema: Schema, rng: Any) -> Arrays:
        """In the units of the data, not yet clamped."""
        half = (self.high - self.low) / 2
        return {self.name: self.low + half + half * y}


@dataclass(frozen=True)
class PositiveResponse(Response[Density]):
    """A time or an amount above 0 in units of half the largest declared one; of ``high`` it is known to be at least so.

    With ``event``, a column of two levels, a row whose event did not come says that its time is longer.
    """

    high: float
    event: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The time, and whether the event came."""
        return (self.name,) if self.event is None else (self.name, self.event)

    @property
    def unit(self) -> float:
        """Half the largest."""
        return self.high / 2

    def inputs(self, columns: Mapping[str, Any]) -> Arrays:
        """y, and what is known: 0 that it is less, 1 that it is y, 2 that it is at least y."""
        import numpy as np

        share = np.asarray(columns[self.name], np.float64) / self.high
        longer = share >= 1
        if self.event is not None:
            longer = longer | (np.asarray(columns[self.event]) != 1)
        return {"y": 2 * np.clip(share, _SOONEST, 1.0), "known": np.where(longer, 2, share > _SOONEST).astype(np.int64)}

    def row(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """The density where y is known, else what is left below or above."""
        import jax

        assert density.above is not None
        assert density.below is not None
        cases = (density.below, density.at, density.above)
        return lambda row, eta, s: jax.lax.switch(row["known"], cases, row["y"], eta, s)

    def made_up(self) -> tuple[Arrays, Any]:
        """Values along the axis, and that a made-up row is cut short: at the end or, with events, before."""
        import numpy as np

        shares = np.ones((1, 1)) if self.event is None else np.minimum(1.0, 0.15 + 1.7 * _ends())
        ends = 2 * shares
        soon, none = np.full_like(ends, 2 * _SOONEST), np.zeros_like(ends)
        left = np.linspace(1, 0, _POSITIVE_NODES + 1) ** 2  # closest to the end, where large shapes have their mass
        edges = ends * (soon / ends) ** left
        times = np.concatenate([soon, np.sqrt(edges[:, 1:] * edges[:, :-1]), ends], axis=1)
        return {"y": times}, np.concatenate([none, np.log(np.diff(edges, axis=1)), none], axis=1)

    def every(self, density: Density) -> Callable[[Any, Any, Any], Any]:
        """Less than the smallest, the densities along the axis, at least the largest."""
        import jax
        import jax.numpy as jnp

        below, above = density.below, density.above
        assert above is not None
        assert below is not None

        def of_all(rows: Any, eta: Any, s: Any) -> Any:
            y = rows["y"]
            inside = jax.vmap(density.at, (0, None, None))(y[1:-1], eta, s)
            return jnp.concatenate([below(y[0], eta, s)[None], inside, above(y[-1], eta, s)[None]])

        return of_all

    def cells(self, y: Any, schema: Schema, rng: Any) -> Arrays:
        """In the units of the data; with events half of the rows are followed to the end, others for a uniform time."""
        import numpy as np

        own = np.asarray(y) * self.unit
        if self.event is None:
            return {self.name: own}
        end = self.high * np.minimum(1.0, 2 * rng.random(len(own)))
        levels = schema.category(self.event).levels
        return {self.name: np.minimum(own, end), self.event: [levels[int(came)] for came in own < end]}


def _beyond(density: Density, end: float, eta: Any, s: Any) -> Any:
    """The logarithm of what lies beyond an end of [-1, 1], summed up over distances that grow by the same factor."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    logs = np.linspace(*_TAIL)
    each = jax.vmap(density.at, (0, None, None))(end * (1 + np.exp(logs)), eta, s)
    return jax.nn.logsumexp(each + logs) + jnp.log(logs[1] - logs[0])


def _ends() -> Any:
    """Numbers that are spread evenly from 0 to 1, by other steps than covariates are."""
    import numpy as np

    return (np.arange(1, _ENDS + 1)[:, None] * np.sqrt(2.0)) % 1.0


def count_response(name: str, schema: Schema, *, full: bool = False) -> CountResponse:
    """A count as it is declared; refuses other bounds."""
    column = schema.number(name)
    if column.low != 0 or column.high != int(column.high) or not 1 <= column.high <= MOST_COUNT:
        raise expected(
            "bounds", [column.low, column.high], f"of {name!r} to be 0 and a whole number up to {MOST_COUNT}"
        )
    return CountResponse(name, int(column.high), full)


def positive_response(name: str, schema: Schema, event: str | None = None) -> PositiveResponse:
    """A time or an amount as it is declared; refuses other bounds."""
    column = schema.number(name)
    if column.low != 0:
        raise expected("bounds", [column.low, column.high], f"of {name!r} to begin at 0")
    if event is not None and len(schema.category(event).levels) != 2:
        raise expected("event", event, "to be a column with two levels, the second for the event")
    return PositiveResponse(name, float(column.high), event)


def level_response(name: str, schema: Schema, fewest: int, most: int, said: str = "") -> LevelResponse:
    """Levels as they are declared; refuses too few or too many."""
    count = len(schema.category(name).levels)
    if not fewest <= count <= most:
        raise expected("levels", count, f"of {name!r} to be {fewest} to {most}{said}")
    return LevelResponse(name, count)
