"""Points that are spread evenly, in every direction and without a repetition."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numerics.even_points import even_points


@pytest.mark.parametrize("dimensions", [1, 2, 5, 12])
def test_every_coordinate_is_nearly_uniform(dimensions):
    """The planted fault is a lattice that repeats itself."""
    points = even_points(dimensions, 48)
    assert points.shape == (48, dimensions)
    assert 0 < points.min() <= points.max() < 1
    ordered = np.sort(points, axis=0)
    uniform = (np.arange(48)[:, None] + 0.5) / 48
    assert np.abs(ordered - uniform).max() < 0.12
    assert len(np.unique(np.round(points, 9), axis=0)) == 48
    assert np.abs(np.sort(0.5 * points, axis=0) - uniform).max() > 0.12


def test_one_dimension_has_the_golden_ratio():
    assert np.allclose(even_points(1, 3)[:, 0], (0.5 + np.arange(1, 4) * (5**0.5 - 1) / 2) % 1)
