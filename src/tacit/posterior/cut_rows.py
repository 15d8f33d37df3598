"""How many rows had a score that was cut: what a release of cut scores says about it, and when that is much."""

from __future__ import annotations

from typing import NamedTuple

from tacit.models.score_noise import ScoreNoise
from tacit.release import Release

_MANY = 0.02  # of the rows: from there on what cutting takes off is worth a word
_SURE = 2.0  # standard deviations of noise beyond that
FEW_TABLES = (
    "Intervals from scores that are cut were tried on few tables, and some were too narrow: run `tacit calibrate` on "
    "this plan before you rely on them."
)


class CutRows(NamedTuple):
    """The share of rows whose score was cut in the last round, as it was released, and the sd of its noise."""

    share: float
    sd: float

    def sentence(self) -> str:
        """In words."""
        return (
            f"About {100 * max(self.share, 0.0):.1f}% of the rows (noise: {100 * self.sd:.1g}%) had a score longer "
            "than clip in the last round, and it was cut."
        )

    def warning(self) -> str | None:
        """What to say where they are many."""
        if self.share < _MANY + _SURE * self.sd:
            return None
        return (
            f"{self.sentence()} What cutting took off follows the model here, and is wrong where rows do not. A larger "
            "clip in [model] of a new plan cuts fewer rows, with more noise."
        )


def cut_rows(release: Release) -> CutRows | None:
    """Of a release of scores that are cut, whose number of rows is public; None for others."""
    noise = release.noise_parameters
    if not isinstance(noise, ScoreNoise) or not noise.rounds[-1].counted or not release.n:
        return None
    scale = release.unit * release.n
    return CutRows(noise.split(list(release.values))[-1][-1] / scale, float(noise.of_round(-1).sd[-1]) / scale)
