"""Cholesky and solves of many small matrices, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numerics.small_matrices import backward, cholesky, forward, log_volume, times


@pytest.mark.parametrize("q", [1, 2, 3])
def test_they_agree_with_numpy(q):
    """Seed 4, 20 matrices; in float32 at least."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=(20, q, q))
    a = a @ np.swapaxes(a, 1, 2) + np.eye(q)
    b = rng.normal(size=(20, q))
    root = cholesky(a)
    np.testing.assert_allclose(root, np.linalg.cholesky(a), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        backward(root, forward(root, b)), np.linalg.solve(a, b[..., None])[..., 0], rtol=2e-3, atol=1e-4
    )
    np.testing.assert_allclose(2 * log_volume(root), np.linalg.slogdet(a)[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(times(a, b), np.einsum("gij,gj->gi", a, b), rtol=1e-4, atol=1e-5)
