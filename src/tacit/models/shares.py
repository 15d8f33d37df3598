"""The shares of the levels of a column in every group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.errors import expected
from tacit.models.cell_family import CellFamily
from tacit.models.effects import EffectDraws, and_words, condition, effects_of_array, question_of_levels
from tacit.models.groups import checked_by, factors_of
from tacit.models.model import Example
from tacit.models.support import POSITIVE, SHARES
from tacit.runtime.chain import Arrays
from tacit.schema import Schema
from tacit.statistics.cell_table import CellTable
from tacit.statistics.factors import Factors


@dataclass(frozen=True)
class Shares(CellFamily):
    """Which share of a group's rows is at each level of ``column``, for every group of ``by``.

    ``share`` is about the population that the rows are a sample of and adds up to 1 in each group; ``count`` is about
    the rows, and adds up to n over all groups.

    ```pycon
    >>> tacit.Shares("drinks", by="sex").column
    'drinks'

    ```
    """

    family: ClassVar[str] = "shares"
    about: ClassVar[str] = "the shares of several levels in every group"
    by: str | tuple[str, ...] = field(metadata={"asks": "the column whose levels are the groups, or two", "list": True})

    def __post_init__(self) -> None:
        found = checked_by(self.by, self.column)
        if found is None:
            raise expected("by", self.by, "to name one or two columns; without groups the family is `categorical`")
        object.__setattr__(self, "by", found)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Smokers by sex; and votes by sex and region."""
        return (
            Example(cls("smoker", "sex"), Schema(smoker=["no", "yes"], sex=["f", "m"]), quick=False, always=False),
            Example(
                cls("vote", ("sex", "region")),
                Schema(vote=["against", "for"], sex=["f", "m"], region=["north", "south"]),
                quick=False,
                always=False,
            ),
        )

    def table(self, schema: Schema) -> CellTable:
        """Levels in each group."""
        levels = tuple(map(str, schema.category(self.column).levels))
        return CellTable(Factors((self.column,), (levels,)), factors_of(self.by, schema))

    def parameters_of(self, shares: Any, schema: Schema, rng: Any) -> Arrays:
        """Shares in each group."""
        return {"share": shares}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Groups as large as their counts say, or equal."""
        import numpy as np

        shares = np.asarray(parameters["share"], np.float64)
        if "count" in parameters:
            shares = shares * (np.asarray(parameters["count"]).sum(axis=1, keepdims=True) + 1e-9)
        return self.cell_rows(shares, schema, n, rng)

    def described(self, key: Any, shares: Any, counts: Any | None, schema: Schema) -> Arrays:
        """Shares within each group."""
        return {"share": shares, **({} if counts is None else {"count": counts})}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"share": SHARES, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """How many have each level, by group?"""
        return f"{question_of_levels(self.column, schema)}, by {and_words(self.by)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The share of every level in every group; of two levels that of the second."""
        labels = self.coords(schema)
        first = int(len(labels["level"]) == 2)

        def words(group: str, level: str) -> tuple[str, str, str]:
            said = f" have {in_prose(self.column)} = {in_prose(level)}"
            return f"{group}: {level}", condition(self.by, group), said

        shares = draws["share"][..., first:]
        return effects_of_array(shares, [labels["group"], labels["level"][first:]], words, "share")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """One number a level, in each group."""
        return {"share": ("group", "level"), "count": ("group", "level")}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        by = factors_of(self.by, schema)
        assert by is not None
        return {"group": list(by.labels), "level": list(map(str, schema.category(self.column).levels))}
