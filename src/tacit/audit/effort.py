"""How hard an audit tries, and how sure it must be before it accuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tacit.errors import expected
from tacit.runtime.progress import tell

TESTS = 10
"""The most tests of random outcomes in one audit: each is held to ``level`` / TESTS, so that all together keep it."""


@dataclass(frozen=True)
class Effort:
    """``runs`` of the mechanism on each of two data sets of ``n`` units; ``level`` bounds the false-alarm rate.

    ``seed`` is that of the search for a pair of records. The mechanism itself draws from the operating system.
    """

    runs: int
    n: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        for name, least in (("runs", 0), ("n", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10**7:
                raise expected(name, value, f"to be a whole number from {least} to 10^7")
        if isinstance(self.level, bool) or not isinstance(self.level, int | float) or not 0 < self.level < 1:
            raise expected("level", self.level, "to be a number between 0 and 1")

    def repeats(self) -> Iterator[int]:
        """One step for each run on one data set; tells how far the audit is, of which its runs are most."""
        for run in range(self.runs):
            yield run
            tell(0.4 / self.runs)

    @property
    def each(self) -> float:
        """The level of one test."""
        return self.level / TESTS
