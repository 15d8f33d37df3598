"""Faults that were once made are planted again, and the harness finds every one."""

from __future__ import annotations

import pytest

from neighbours.check import ViolationError
from neighbours.faults import FAULTS
from neighbours.media import MEDIA
from neighbours.run import attack, small_pieces

SEED = 11
MOST = 600  # pairs, of which the first violation ends the search


def found(medium):
    with small_pieces():
        for index in range(MOST):
            try:
                attack(MEDIA[medium], SEED, index, small=False)
            except ViolationError as violation:
                return str(violation)
    return None


@pytest.mark.parametrize(
    ("name", "medium"), [(name, medium) for name, fault in FAULTS.items() for medium in fault.media]
)
def test_a_planted_fault_is_found(name, medium):
    """Seed 11; the search is deterministic. Without the fault the same pairs pass, as `test_media` says."""
    with FAULTS[name].planted():
        violation = found(medium)
    assert violation is not None
    assert f"--medium {medium!r} --seed {SEED} --only" in violation
