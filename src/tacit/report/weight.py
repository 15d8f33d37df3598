"""The warnings of a page in order of weight: what forbids trust stands above the answer, the rest beneath it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.posterior import Posterior
from tacit.report.replicas import ReplicaCheck

_FAR = 8.0  # standard deviations: as for the warnings of a posterior


def weighed(posterior: Posterior, fit: Mapping[str, Sequence[ReplicaCheck]]) -> tuple[list[str], list[str]]:
    """Warnings that stand above the answer, and the others; a released number far from its prediction comes first."""
    grave, other = list(posterior.grave_warnings()), list(posterior.warnings())
    other = [one for one in other if one not in grave]
    checks = [check for one in fit.values() for check in one]
    worst = max(checks, key=lambda check: abs(check.distance), default=None)
    if worst is not None and abs(worst.distance) > _FAR and not any("does not fit" in one for one in grave):
        grave.insert(
            0,
            f"The released number {worst.name} lies {abs(worst.distance):.0f} standard deviations from what this "
            "posterior predicts: the model does not describe these rows in that respect. See Fit.",
        )
    return grave, other
