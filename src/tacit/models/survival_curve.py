"""How many are still without an event at declared times, from counts by interval: discrete-time survival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import SUSARLA_1976, Paper
from tacit.errors import expected
from tacit.models.categorical import DirichletPrior
from tacit.models.cell_family import CellFamily
from tacit.models.edges import ASKED, bins_of, checked_edges, plain_edges
from tacit.models.effects import EffectDraws, by_words, condition, effects_of_array
from tacit.models.groups import checked_by, factors_of
from tacit.models.model import Example, Prior
from tacit.models.responses import EVENT_ASKED
from tacit.models.sparse_prior import SparseDirichletPrior
from tacit.models.support import POSITIVE, SHARE
from tacit.models.survival_prior import survival_concentrations
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.cell_table import CellTable, Exits, shortest


@dataclass(frozen=True)
class SurvivalCurve(CellFamily):
    """The share without an event at each of ``edges``, where some rows leave before it came.

    ``column`` is the time, ``event`` the yes/no column that says whether it ended with the event (its second level).
    Released: how many had the event, and how many left without, in each interval, and how many were followed to the
    end, plus noise. A row is in one of these cells, so one row moves two counts by one. People at risk at the beginning
    of an interval are those whose cell is not before it. With d_k events and w_k who left among r_k at risk

        hazard_k = d_k / (r_k - w_k / 2)        survival_k = prod over j <= k of (1 - hazard_j)

    the actuarial estimate (Kaplan-Meier's, if those who leave do so in the middle). ``survival`` and ``hazard`` are
    about the population that the rows are a sample of, ``count`` about the rows. With ``by`` there is a curve for
    every group.
    """

    family: ClassVar[str] = "survival"
    about: ClassVar[str] = "how many are without an event over time, some of them followed for less"
    papers: ClassVar[tuple[Paper, ...]] = (SUSARLA_1976,)
    event: str = field(metadata=EVENT_ASKED)
    edges: tuple[float, ...] = field(metadata=ASKED)
    by: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", checked_edges(self.edges))
        object.__setattr__(self, "by", checked_by(self.by, self.column))
        groups = (self.by,) if isinstance(self.by, str) else self.by or ()
        if self.event in (self.column, *groups):
            raise expected("event", self.event, "to be another column than the time and the groups")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Months to a relapse; and in two arms."""
        schema = Schema(months=(0, 36), relapse=["no", "yes"], arm=["a", "b"])
        return (
            Example(cls("months", "relapse", (6, 12, 24)), schema, quick=False, always=False),
            Example(cls("months", "relapse", (12, 24), "arm"), schema, quick=False, always=False),
        )

    def to_plain(self) -> dict[str, Any]:
        return {**super().to_plain(), "edges": plain_edges(self.edges)}

    def table(self, schema: Schema) -> CellTable:
        """Ways to leave in each group."""
        if len(schema.category(self.event).levels) != 2:
            raise expected("event", self.event, "to be a column with two levels, the second for the event")
        edges = bins_of(self.column, self.edges, schema).edges
        return CellTable(Exits(self.column, self.event, edges), factors_of(self.by, schema))

    def curve_edges(self, schema: Schema) -> tuple[float, ...]:
        """All edges, the bounds included."""
        inner = self.table(schema).inner
        assert isinstance(inner, Exits)
        return inner.edges

    def default_prior(self, schema: Schema) -> SparseDirichletPrior:
        """Smooth hazards; which ones is learned."""
        return SparseDirichletPrior(None)

    def concentrations(self, prior: Prior, schema: Schema) -> Any:
        """Those of smooth curves (`survival_prior`), or as said."""
        assert isinstance(prior, DirichletPrior)
        table = self.table(schema)
        if prior.concentration is None:
            return survival_concentrations(self.curve_edges(schema), table.shape[0])
        return prior.rows(table.cells)

    def parameters_of(self, shares: Any, schema: Schema, rng: Any) -> Arrays:
        """Survival and hazards in each group."""
        import numpy as np

        found = _curves(np.asarray(shares), np)
        return {name: values[0] if self.by is None else values for name, values in found.items()}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Groups as large as ``count`` says, and in each interval so many leave without an event as it says.

        Without it groups of equal size, and a tenth of those that are left without an event leave.
        """
        import numpy as np

        hazard = np.atleast_2d(np.asarray(parameters["hazard"], np.float64))
        gone, leaving = np.full(len(hazard), 1.0), np.full(hazard.shape, 0.1)
        if "count" in parameters:
            count = np.atleast_2d(np.asarray(parameters["count"], np.float64))
            had, went = count[:, : hazard.shape[1]], count[:, hazard.shape[1] : -1]
            gone = count.sum(axis=1)
            stayed = gone[:, None] - np.cumsum(had + went, axis=1) + went  # without an event to the end, or leaving
            leaving = went / np.maximum(stayed, 1e-9)
        events: list[Any] = []
        leave: list[Any] = []
        for own, left in zip(hazard.T, leaving.T, strict=True):  # own = d / (r - w / 2), w = left (r - d)
            event = gone * own * (1 - left / 2) / (1 - own * left / 2)
            events.append(event)
            leave.append(left * (gone - event))
            gone = gone - event - leave[-1]
        return self.cell_rows(np.stack([*events, *leave, gone], axis=1), schema, n, rng)

    def inner_cells(self, codes: Any, schema: Schema, rng: Any) -> Arrays:
        """A time in the middle of its interval or near it, and whether the event came."""
        import numpy as np

        edges, levels = np.array(self.curve_edges(schema)), schema.category(self.event).levels
        count = len(edges) - 1
        place = codes % count
        inside = edges[place] + (edges[place + 1] - edges[place]) * rng.random(len(codes))
        times = np.where(codes == 2 * count, edges[-1], inside)
        return {self.column: times, self.event: [levels[int(code < count)] for code in codes]}

    def described(self, key: Any, shares: Any, counts: Any | None, schema: Schema) -> Arrays:
        """Curves within each group."""
        import jax.numpy as jnp

        found = {**_curves(shares, jnp), **({} if counts is None else {"count": counts})}
        return {k: v[:, 0] if self.by is None else v for k, v in found.items()}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"survival": SHARE, "hazard": SHARE, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """How many are still without the event?"""
        over = f"over time ({in_prose(self.column)}){by_words(self.by)}"
        return f"How many are without the event {in_prose(self.event)} {over}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The share without the event at every edge, in every group."""
        labels, grouped = self.coords(schema), self.by is not None

        def words(*own: str) -> tuple[str, str, str]:
            where = condition(self.by, own[0]) if grouped else ""
            said = f" are without the event {in_prose(self.event)} at {in_prose(self.column)} = {own[-1]}"
            return ": ".join(own), where, said

        axes = [*([labels["group"]] if grouped else []), labels["edge"]]
        return effects_of_array(draws["survival"], axes, words, "share")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """One number an edge, an interval or a cell, in each group."""
        group = () if self.by is None else ("group",)
        return {"survival": (*group, "edge"), "hazard": (*group, "interval"), "count": (*group, "exit")}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        table = self.table(schema)
        assert isinstance(table.inner, Exits)
        groups = {} if table.by is None else {"group": list(table.by.labels)}
        edges, labels = table.inner.edges, list(table.inner.labels)
        spans = [label.removeprefix("event in ") for label in labels[: len(edges) - 1]]
        return {**groups, "edge": [shortest(edge) for edge in edges[1:]], "interval": spans, "exit": labels}


def _curves(cells: Any, np: Any) -> Arrays:
    """Survival and hazards from shares or counts (..., cells)."""
    count = (cells.shape[-1] - 1) // 2
    events, left = cells[..., :count], cells[..., count : 2 * count]
    total = np.sum(cells, axis=-1, keepdims=True)
    risk = total - np.cumsum(events + left, axis=-1) + events + left
    hazard = np.clip(events / np.maximum(risk - left / 2, 1e-300), 0, 1)
    return {"survival": np.cumprod(1 - hazard, axis=-1), "hazard": hazard}
