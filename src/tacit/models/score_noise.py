"""The distribution of noisy scores in rounds: at which points they were taken, and how much noise each number has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.bibliography import Paper
from tacit.errors import InputError, expected
from tacit.models.score_round import Round, ScoreLayout
from tacit.noise.noise import Noise
from tacit.noise.registry import NOISES
from tacit.statistics.clipped_scores import MOST_UNIT, UNITS
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sums import LARGEST

MOST_ROUNDS = 20


@dataclass(frozen=True)
class NoisyRound:
    """One round on the lattice: its ``point`` in steps of 1 / `POINT_UNIT`, and the noise of what was released there.

    ``scales`` are those of a score, of an entry on the diagonal of the information and of one off it, in lattice units;
    of a score alone where there was no ``matrix``. Where rows were cut there is one more, of their number. ``rows`` is
    that of the number of rows, where it was released, last. ``units`` is what the entries of a score were divided by,
    in 1 / `UNITS`, where it was not 1.
    """

    point: tuple[int, ...]
    matrix: bool
    scales: tuple[int, ...]
    rows: int | None = None
    units: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.units is not None and (
            len(self.units) != len(self.point) or not all(UNITS <= u <= MOST_UNIT * UNITS for u in self.units)
        ):
            raise expected("units", list(self.units), f"of a round to be {UNITS} to {MOST_UNIT * UNITS} for each entry")
        if not self.point or any(abs(t) > LARGEST * POINT_UNIT for t in self.point):
            raise expected("point", list(self.point), f"to have coefficients of at most {LARGEST} in size")
        if len(self.scales) not in ((3, 4) if self.matrix else (1, 2)):
            raise expected(
                "scales", list(self.scales), "of a round to be one, or three where it has a matrix, and one for a count"
            )

    @property
    def counted(self) -> bool:
        """Whether the number of rows whose score was cut was released, too."""
        return len(self.scales) in (2, 4)

    def every_scale(self) -> tuple[int, ...]:
        """The scale of each released number: the scores, then the upper triangle of the information, row by row."""
        p = len(self.point)
        scores, count = (self.scales[0],) * p, self.scales[-1:] if self.counted else ()
        count += () if self.rows is None else (self.rows,)
        if not self.matrix:
            return scores + count
        _, diagonal, off, *_ = self.scales
        return scores + tuple(diagonal if j == k else off for j in range(p) for k in range(j, p)) + count

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a release."""
        plain: dict[str, Any] = {"point": list(self.point), "matrix": self.matrix, "scales": list(self.scales)}
        if self.units is not None:
            plain["units"] = list(self.units)
        return plain if self.rows is None else {**plain, "rows": self.rows}


@dataclass(frozen=True)
class ScoreNoise:
    """The ``noise`` by its name, and the rounds in order."""

    kind: ClassVar[str] = "rounds"
    papers: ClassVar[tuple[Paper, ...]] = ()

    noise: str
    rounds: tuple[NoisyRound, ...]

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise expected("law", self.noise, f"to be one of {', '.join(NOISES)}")
        if not 1 <= len(self.rounds) <= MOST_ROUNDS:
            raise expected("rounds", len(self.rounds), f"to be 1 to {MOST_ROUNDS}")

    @property
    def laplace(self) -> bool:
        """Whether the noise is Laplace noise."""
        return NOISES[self.noise].limit == "laplace"

    @property
    def layout(self) -> ScoreLayout:
        """What releases of one plan have in common."""
        matrix = tuple(one.matrix for one in self.rounds)
        return ScoreLayout(len(self.rounds[0].point), matrix, self.laplace)

    def of_round(self, place: int) -> Noise:
        """The noise of one round, counted from 0."""
        return NOISES[self.noise](self.rounds[place].every_scale())

    @property
    def sd(self) -> tuple[float, ...]:
        """The standard deviation of the noise of every released number, in lattice units."""
        return tuple(sd for place in range(len(self.rounds)) for sd in self.of_round(place).sd)

    def facts(self, unit: int) -> tuple[Round, ...]:
        """The rounds in real units; ``unit`` stands for a 1 in what was released."""
        return tuple(
            Round(
                point=tuple(t / POINT_UNIT for t in one.point),
                matrix=one.matrix,
                score_scale=one.scales[0] / unit,
                matrix_scale=one.scales[1] / unit if one.matrix else 0.0,
                laplace=self.laplace,
                units=None if one.units is None else tuple(u / UNITS for u in one.units),
                cut_noise=self.of_round(place).sd[-1 - (one.rows is not None)] / unit if one.counted else 0.0,
            )
            for place, one in enumerate(self.rounds)
        )

    def split(self, values: Any) -> list[Any]:
        """The released numbers, round by round, without the number of rows."""
        found: list[Any] = []
        start = 0
        for one in self.rounds:
            size = len(one.every_scale())
            found.append(values[start : start + size - (one.rows is not None)])
            start += size
        return found

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a release."""
        return {"law": self.noise, "point_unit": POINT_UNIT, "rounds": [one.to_plain() for one in self.rounds]}

    @classmethod
    def from_plain(cls, plain: object) -> ScoreNoise:
        """Read what `to_plain` wrote; every key must be known."""
        if not isinstance(plain, Mapping) or set(plain) != {"law", "point_unit", "rounds"}:
            raise InputError("Expected the release's rounds to say their distribution, point_unit and rounds.")
        if plain["law"] not in list(NOISES):
            raise expected("law", plain["law"], f"of the rounds to be one of {', '.join(NOISES)}")
        if plain["point_unit"] != POINT_UNIT or isinstance(plain["point_unit"], bool | float):
            raise expected("point_unit", plain["point_unit"], f"to be {POINT_UNIT}")
        if not isinstance(plain["rounds"], list) or not 1 <= len(plain["rounds"]) <= MOST_ROUNDS:
            raise InputError(f"Expected the release's rounds to be a list of 1 to {MOST_ROUNDS}.")
        found: list[NoisyRound] = []
        for one in plain["rounds"]:
            if not isinstance(one, Mapping) or set(one) - {"rows", "units"} != {"point", "matrix", "scales"}:
                raise InputError("Expected every round to say its point, matrix and scales.")
            if not isinstance(one["matrix"], bool):
                raise expected("matrix", one["matrix"], "of a round to be true or false")
            for name in ("point", "scales", "units"):
                numbers = one.get(name, [])
                if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
                    raise InputError(f"Expected the {name} of a round to be whole numbers.")
            if "rows" in one and (type(one["rows"]) is not int or one["rows"] < 1):
                raise InputError("Expected the rows of a round to be the scale of a noise, a whole number above 0.")
            units = tuple(one["units"]) if "units" in one else None
            found.append(NoisyRound(tuple(one["point"]), one["matrix"], tuple(one["scales"]), one.get("rows"), units))
        return cls(plain["law"], tuple(found))
