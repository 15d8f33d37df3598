"""A posterior as plain parts, as a tree, and as a file: one and the same."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tacit
from tacit.posterior.parts import PosteriorParts

xr = pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def posterior() -> tacit.Posterior:
    plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["no", "yes"]), tacit.PureDP(1.0))
    return tacit.infer(tacit.simulate(plan, n=100, seed=0).release, draws=20, anyway=True)


@pytest.fixture
def parts(posterior: tacit.Posterior) -> PosteriorParts:
    """With labels, a truth value for each draw, and whole numbers."""
    rng = np.random.default_rng(0)
    return PosteriorParts(
        {"theta": rng.standard_normal((2, 20, 3)), "sigma": rng.standard_normal((2, 20))},
        {"diverging": rng.random((2, 20)) < 0.5, "n_steps": rng.integers(0, 9, (2, 20)), "energy": rng.random((2, 20))},
        {"theta": ("coefficient",), "sigma": ()},
        {"coefficient": ["a", "b", "Größe"]},
        {"released": [[1.0, 2.0]], "release": ["one"], "entry": ["x", "y"]},
        dict(posterior.parts.attributes),
    )


def test_the_file_is_what_xarray_would_write(parts: PosteriorParts) -> None:
    ours = xr.open_datatree(io.BytesIO(parts.netcdf({})), engine="h5netcdf")
    theirs = xr.open_datatree(io.BytesIO(bytes(parts.tree().to_netcdf(engine="h5netcdf"))), engine="h5netcdf")
    xr.testing.assert_identical(ours, theirs)
    for group in ("posterior", "sample_stats", "observed_data"):
        for name, one in theirs[group].variables.items():
            mine = ours[group].variables[name]
            assert (mine.dtype, mine.encoding.get("_FillValue")) == pytest.approx(
                (one.dtype, one.encoding.get("_FillValue")), nan_ok=True
            )


def test_a_tree_and_back(parts: PosteriorParts) -> None:
    xr.testing.assert_identical(PosteriorParts.of_tree(parts.tree()).tree(), parts.tree())


def test_a_changed_tree_is_what_counts(posterior: tacit.Posterior) -> None:
    copy = tacit.Posterior(posterior.parts)
    assert copy.diagnostic("extra") is None
    copy.tree["sample_stats"] = xr.DataTree(xr.Dataset({"extra": (("chain", "draw"), np.ones((4, 20)))}))
    np.testing.assert_array_equal(copy.diagnostic("extra"), np.ones((4, 20)))
    assert posterior.diagnostic("extra") is None
