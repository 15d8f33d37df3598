"""Stand-in rows: what they have on average is what the model has, and cut rows are as many as were counted."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit.models.likelihood_steps import stand_in_of
from tacit.samplers.stand_in_rows import around_anchor

SCHEMA = tacit.Schema(months=(0, 60), relapse=["no", "yes"], age=(20, 80))
MODEL = tacit.WeibullSurvival("months ~ age", event="relapse", clip=4)
MEAN, ROOT, N = np.array([1.0, 0.0]), np.diag([0.0, 0.4]), 1000.0


@pytest.fixture(scope="module")
def rows():
    with jax.enable_x64(True):
        yield stand_in_of(MODEL, SCHEMA)(MEAN, ROOT, N)


def test_scores_are_0_on_average_however_narrow_the_density_is(rows):
    """Of times with a shape of 20, between which the grid has few points. The planted fault: the density's own."""
    with jax.enable_x64(True):
        t = jnp.array([-1.0, 0.3, 3.0])
        p = jnp.exp(rows.log_p(t))
        assert np.abs(rows.mean(p, rows.scores(t))).max() < 1e-6
        own = rows.mean(p, jnp.nan_to_num(rows._gradients(rows._rows, t)))
    assert np.abs(own).max() > 0.05 * N


def test_cutting_takes_off_as_much_as_rows_were_cut(rows):
    """No rows cut: nothing is taken off. Twice as many as expected: twice as much. An unknown number: as expected."""
    with jax.enable_x64(True):
        anchor, points = jnp.array([0.0, 0.2, 1.0]), jnp.zeros((3, 3)) + jnp.array([0.0, 0.2, 1.0])
        at = jnp.exp(rows.log_p(anchor))
        full, ones = rows.scores(anchor), jnp.ones(3)
        cut = rows.cut(full, ones)
        expected, taken = float(rows.mean(at, rows.long(full, ones))[0]), rows.mean(at, full - cut)
        counts = jnp.array([[0.0, 0.01], [2 * expected, 0.01], [5 * expected, 1e12]])
        found = around_anchor(rows, anchor, jnp.eye(3), points, jnp.ones((3, 3)), counts)
    assert expected > 20
    left = np.asarray(found["means"] + found["shift"])
    size = np.abs(taken).max()
    assert np.allclose(left[0], 0, atol=0.25 * size)
    assert np.allclose(left[1], -2 * taken, atol=0.25 * size)
    assert np.allclose(left[2], -taken, atol=1e-3 * size)
    assert np.abs(found["means"] - left[0]).max() > 0.7 * size  # the planted fault: as many as expected


def test_scores_in_other_units_are_cut_elsewhere(rows):
    with jax.enable_x64(True):
        t = jnp.array([0.0, 0.2, 2.0])
        full, units = rows.scores(t), jnp.array([7.0, 7.0, 1.0])
        cut = rows.cut(full, units)
        assert float(jnp.max(jnp.linalg.norm(cut / units, axis=-1))) <= 4 + 1e-9
        assert float(rows.long(full, units).sum()) < float(rows.long(full, jnp.ones(3)).sum())
