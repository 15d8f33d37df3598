"""Quantiles of a number from counts on declared edges, of all rows or by group: a median without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.errors import expected
from tacit.models.cell_family import CellFamily
from tacit.models.edges import ASKED, bins_of, checked_edges, plain_edges
from tacit.models.effects import EffectDraws, by_words, condition, effects_of_array, percent
from tacit.models.groups import checked_by, factors_of
from tacit.models.model import Example
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.cell_table import Bins, CellTable

_AT_AN_END = 0.25  # that a quantile lies at either end of its bin: well above the 0.025 that an interval leaves out
_MOST = 100


@dataclass(frozen=True)
class Quantiles(CellFamily):
    """The quantiles of ``column`` at ``probabilities``, from the counts between ``edges``.

    ``quantile`` is about the population that the rows are a sample of, ``rows_quantile`` about the rows. Values pile up
    at bounds, so rows at either bound are counted apart, and a quantile may be the bound itself. Else counts say in
    which bin a quantile lies and not where in it: rows may be spread evenly over the bin, or all lie at one place, as
    whole numbers do. So a draw puts it at either end of the bin with probability 0.25 each, and otherwise where its
    mean place is that of evenly spread rows, or as near to it as can be. A 95% interval then never ends inside a bin
    that holds all the rest, and holds a bin whole that the noise leaves a probability of 0.1.

    ```pycon
    >>> tacit.Quantiles("age", probabilities=[0.5], edges=[30, 50, 70]).column
    'age'

    ```
    """

    family: ClassVar[str] = "quantiles"
    about: ClassVar[str] = "median and other quantiles of a number, on edges that you say"
    probabilities: tuple[float, ...] = field(
        metadata={"asks": "0.5 for the median, or several with commas", "list": True}
    )
    edges: tuple[float, ...] = field(metadata=ASKED)
    by: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        given = self.probabilities
        if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MOST:
            raise expected("probabilities", given, f"to be a list of 1 to {_MOST} numbers between 0 and 1")
        if not all(isinstance(p, int | float) and not isinstance(p, bool) and 0 < p < 1 for p in given):
            raise expected("probabilities", given, "to lie between 0 and 1")
        found = tuple(float(p) for p in given)
        if any(a >= b for a, b in pairwise(found)):
            raise expected("probabilities", given, "to rise from each to the next")
        object.__setattr__(self, "probabilities", found)
        object.__setattr__(self, "edges", checked_edges(self.edges))
        object.__setattr__(self, "by", checked_by(self.by, self.column))

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Quartiles of a wage; and the median in each of two groups."""
        return (
            Example(cls("wage", (0.25, 0.5, 0.75), (10, 20, 40)), Schema(wage=(0, 100)), quick=False, always=False),
            Example(
                cls("wage", (0.5,), (20, 50), "sex"), Schema(wage=(0, 100), sex=["f", "m"]), quick=False, always=False
            ),
        )

    def to_plain(self) -> dict[str, Any]:
        return {**super().to_plain(), "edges": plain_edges(self.edges)}

    def table(self, schema: Schema) -> CellTable:
        """Bins in each group; rows at a bound are counted apart."""
        return CellTable(bins_of(self.column, self.edges, schema, ends=True), factors_of(self.by, schema))

    def parameters_of(self, shares: Any, schema: Schema, rng: Any) -> Arrays:
        """Where the shares put the quantiles."""
        import numpy as np

        uniform = rng.random((1, len(shares)))
        found = _quantiles(shares[None], uniform, self._edges(schema), np.array(self.probabilities), np)[0]
        return {"quantile": found[0] if self.by is None else found}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """The distribution that is uniform between the quantiles and the bounds, groups of equal size."""
        import numpy as np

        edges, table = self._edges(schema), self.table(schema)
        points = np.atleast_2d(np.asarray(parameters["quantile"], np.float64))
        levels = np.array([0.0, *self.probabilities, 1.0])
        shares: list[Any] = []
        for own in points:
            places = np.maximum.accumulate([edges[0], *own, edges[-1]])
            below = np.interp(edges, places, levels)
            below[[0, -1]] = 0, 1
            below[[1, -2]] = levels[places <= edges[0]].max(), levels[places >= edges[-1]].min()  # rows at the bounds
            shares.append(np.maximum(np.diff(below), 1e-12))
        return self.cell_rows(np.array(shares).reshape(table.shape), schema, n, rng)

    def _edges(self, schema: Schema) -> Any:
        import numpy as np

        inner = self.table(schema).inner
        assert isinstance(inner, Bins)
        return np.asarray(inner.places)

    def described(self, key: Any, shares: Any, counts: Any | None, schema: Schema) -> Arrays:
        """Quantiles within each group; of rows and of the population with the same place in a bin."""
        import jax
        import jax.numpy as jnp

        edges, levels = self._edges(schema), jnp.asarray(self.probabilities)
        for_place, for_other = jax.random.split(key)
        uniform = jax.random.uniform(for_place, shares.shape[:2])
        found = {"quantile": _quantiles(shares, uniform, jnp.asarray(edges), levels, jnp)}
        if counts is not None:
            found["rows_quantile"] = _quantiles(counts, uniform, jnp.asarray(edges), levels, jnp)
            # A group without rows has no quantiles of its own: anywhere between the bounds.
            anywhere = edges[0] + (edges[-1] - edges[0]) * jax.random.uniform(for_other, shares.shape[:2])
            empty = jnp.sum(counts, axis=2) <= 0
            found["rows_quantile"] = jnp.where(empty[..., None], anywhere[..., None], found["rows_quantile"])
            found["count"] = jnp.sum(counts, axis=2)
        if self.by is None:
            found.pop("count", None)
            return {k: v[:, 0] for k, v in found.items()}
        return found

    @property
    def draws_make_rows(self) -> bool:
        """Some quantiles do not say how many rows are in each bin."""
        return False

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """The rows of each site are its own."""
        return ("rows_quantile",) if self.by is None else ("rows_quantile", "count")

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """Where do the values lie?"""
        return f"Where do the values of {in_prose(self.column)} lie{by_words(self.by)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """Every quantile, in every group."""
        labels, grouped = self.coords(schema), self.by is not None

        def words(*own: str) -> tuple[str, str, str]:
            where = condition(self.by, own[0]) if grouped else ""
            said = "half" if float(own[-1]) == 0.5 else percent(float(own[-1]))
            before = f"{where}{said} of the values of {in_prose(self.column)} are below "
            return ": ".join(own), before[:1].upper() + before[1:], ""

        axes = [*([labels["group"]] if grouped else []), labels["probability"]]
        return effects_of_array(draws["quantile"], axes, words)

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """One number a probability, in each group."""
        group = () if self.by is None else ("group",)
        sizes = {} if self.by is None else {"count": group}
        return {"quantile": (*group, "probability"), "rows_quantile": (*group, "probability"), **sizes}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        by = factors_of(self.by, schema)
        groups = {} if by is None else {"group": list(by.labels)}
        return {**groups, "probability": [repr(p) for p in self.probabilities]}


def _quantiles(weights: Any, uniform: Any, edges: Any, levels: Any, xp: Any) -> Any:
    """(draws, groups, levels) from the weights (draws, groups, bins) and a uniform number (draws, groups) each.

    One number decides for all levels whether they lie at an end of their bin, so that in every draw quantiles rise with
    their level.
    """
    total = xp.sum(weights, axis=2, keepdims=True)
    below = xp.cumsum(weights, axis=2) / xp.maximum(total, 1e-300)
    below = xp.concatenate([xp.zeros_like(below[:, :, :1]), below], axis=2)
    # The first bin up to whose end there is at least the level: rounding must not lift an exact share above it.
    bins = xp.sum(below[:, :, None, 1:-1] < levels[:, None] - 1e-12, axis=3)
    low = xp.take_along_axis(below, bins, axis=2)
    high = xp.take_along_axis(below, bins + 1, axis=2)
    evenly, uniform = (levels - low) / xp.maximum(high - low, 1e-300), uniform[..., None]
    middle = xp.clip((evenly - _AT_AN_END) / (1 - 2 * _AT_AN_END), 0.0, 1.0)
    place = xp.where(uniform < _AT_AN_END, 0.0, xp.where(uniform > 1 - _AT_AN_END, 1.0, middle))
    return edges[bins] + (edges[bins + 1] - edges[bins]) * place
