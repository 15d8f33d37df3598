"""A histogram of a number on declared edges, of all rows or by group, with no shape assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.models.cell_family import CellFamily
from tacit.models.edges import ASKED, bins_of, checked_edges, plain_edges
from tacit.models.effects import EffectDraws, by_words, condition, effects_of_array
from tacit.models.groups import checked_by, factors_of
from tacit.models.model import Example
from tacit.models.support import POSITIVE, SHARE, SHARES
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.cell_table import Bins, CellTable, shortest


@dataclass(frozen=True)
class Histogram(CellFamily):
    """How ``column`` is distributed over the bins between ``edges``, and which share lies at or above each edge.

    ``share`` and ``above`` are about the population that the rows are a sample of, ``count`` about the rows. The bounds
    of the column are edges, too. With ``by`` there is a histogram for every group, whose shares add up to 1 in each.

    ```pycon
    >>> tacit.Histogram("age", edges=[30, 50, 70]).bin_edges(tacit.Schema(age=(18, 90)))
    (18.0, 30.0, 50.0, 70.0, 90.0)

    ```
    """

    family: ClassVar[str] = "histogram"
    about: ClassVar[str] = "how a number is distributed, on edges that you say"
    edges: tuple[float, ...] = field(metadata=ASKED)
    by: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", checked_edges(self.edges))
        object.__setattr__(self, "by", checked_by(self.by, self.column))

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """A wage in four bins; and in three for each of two groups."""
        return (
            Example(cls("wage", (10, 20, 40)), Schema(wage=(0, 100)), quick=False),
            Example(cls("wage", (20, 50), "sex"), Schema(wage=(0, 100), sex=["f", "m"]), quick=False, always=False),
        )

    def to_plain(self) -> dict[str, Any]:
        return {**super().to_plain(), "edges": plain_edges(self.edges)}

    def table(self, schema: Schema) -> CellTable:
        """Bins in each group."""
        return CellTable(bins_of(self.column, self.edges, schema), factors_of(self.by, schema))

    def bin_edges(self, schema: Schema) -> tuple[float, ...]:
        """All edges, the bounds included."""
        inner = self.table(schema).inner
        assert isinstance(inner, Bins)
        return inner.edges

    def parameters_of(self, shares: Any, schema: Schema, rng: Any) -> Arrays:
        """Shares in each group, and those above each edge."""
        import numpy as np

        above = 1 - np.cumsum(shares, axis=1)[:, :-1]
        found = {"share": shares, "above": np.clip(above, 0, 1)}
        return {k: v[0] if self.by is None else v for k, v in found.items()}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Uniform within bins; groups as large as their counts say, or equal."""
        import numpy as np

        shares = np.asarray(parameters["share"], np.float64)
        if self.by is not None and "count" in parameters:
            shares = shares * (np.asarray(parameters["count"]).sum(axis=1, keepdims=True) + 1e-9)
        return self.cell_rows(shares, schema, n, rng)

    def described(self, key: Any, shares: Any, counts: Any | None, schema: Schema) -> Arrays:
        """Shares within each group."""
        import jax.numpy as jnp

        above = jnp.clip(1 - jnp.cumsum(shares, axis=2)[:, :, :-1], 0, 1)
        found = {"share": shares, "above": above, **({} if counts is None else {"count": counts})}
        return {k: v[:, 0] if self.by is None else v for k, v in found.items()}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"share": SHARES, "above": SHARE, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """How is it distributed?"""
        return f"How is {in_prose(self.column)} distributed{by_words(self.by)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The share of every bin, in every group."""
        labels, grouped = self.coords(schema), self.by is not None

        def words(*own: str) -> tuple[str, str, str]:
            where = condition(self.by, own[0]) if grouped else ""
            return ": ".join(own), where, f" have {in_prose(self.column)} from {own[-1]}"

        axes = [*([labels["group"]] if grouped else []), labels["bin"]]
        return effects_of_array(draws["share"], axes, words, "share")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """One number a bin or edge, in each group."""
        group = () if self.by is None else ("group",)
        return {"share": (*group, "bin"), "above": (*group, "edge"), "count": (*group, "bin")}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        table = self.table(schema)
        assert isinstance(table.inner, Bins)
        groups = {} if table.by is None else {"group": list(table.by.labels)}
        edges = [shortest(edge) for edge in table.inner.edges[1:-1]]
        return {**groups, "bin": list(table.inner.labels), "edge": edges}
