"""The table of benchmarks: what its page says of rows, how rows are kept, and that the peers' models are ours."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit

ROOT = Path(__file__).parents[2]
SHARED = ("run", "page", "kept", "side", "fresh", "noise", "linear", "glm", "local", "throughput", "gpu")


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Import a module of the benchmarks under its plain name, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)

    def load(name):
        found = importlib.import_module(name)
        if name == "kept":
            monkeypatch.setattr(found, "FOLDER", tmp_path)
        return found

    yield load
    for name in set(sys.modules) - before:
        if name in SHARED or name.startswith("side"):
            del sys.modules[name]


ROWS = [
    {"job": "work", "who": "tacit", "seconds": [2.0, 1.0, 3.0], "effective": 1500.0, "target": 3.0},
    {"job": "work", "who": "slow peer", "seconds": [40.0]},
    {"job": "work", "who": "quick peer", "seconds": [7.0, 5.0, 8.0], "note": "why"},
    {"job": "work", "who": "absent peer", "note": "skipped: not installed"},
]


def test_a_ratio_is_of_middle_times(module):
    page = module("page")
    assert page.ratio(ROWS[2], ROWS) == 3.5
    assert page.ratio(ROWS[3], ROWS) is None
    lines = page.table(ROWS)
    assert lines[2] == "| work | tacit | 2.0 (1.0 to 3.0) |  | 1,500 |  |  |"
    assert lines[4] == "| work | quick peer | 7.0 (5.0 to 8.0) | 3.5x |  |  | why |"
    assert lines[5] == "| work | absent peer |  |  |  |  | skipped: not installed |"


@pytest.mark.parametrize(("target", "load", "said"), [(3.0, 0.1, "met"), (4.0, 0.1, "**not met**"), (3.0, 0.9, "busy")])
def test_the_summary_compares_with_the_nearest_peer(module, target, load, said):
    page = module("page")
    rows = [{**ROWS[0], "target": target}, *ROWS[1:]]
    (line,) = page.summary([{"rows": rows, "load": load}])[2:]
    assert "quick peer: 7.0 (5.0 to 8.0) | 3.5x" in line
    assert said in line
    assert ("not met" in line) == (target == 4.0)


def test_rows_are_kept_with_the_machine_and_its_load(module, tmp_path):
    kept, page = module("kept"), module("page")
    kept.keep("work", ROWS, load=0.9, seconds=12.3, quick=False)
    found = kept.load("work")
    assert found["rows"] == ROWS
    assert (found["load"], found["took_seconds"], found["quick"]) == (0.9, 12, False)
    assert "cores" in found["machine"]
    assert found["versions"]["numpy"] == np.__version__
    assert [path.name for path in tmp_path.iterdir()] == ["work.json"]  # nothing half-written is left
    assert kept.load("work", quick=True) is None
    page.DOCS = tmp_path / "page.md"
    text = page.write({"work": "Some work", "other": "Other work"}, quick=False).read_text()
    assert "The machine was busy" in text
    assert text.index("## At a glance") < text.index("## Some work") < text.index("## Other work")
    assert "Not measured yet." in text


def test_the_share_of_other_programs_lies_between_nothing_and_everything(module):
    assert 0 <= module("kept").busy(0.05) <= 1


def test_every_table_is_a_module_that_measures(module):
    for name in module("run").TABLES:
        assert callable(module(name).measure), name


def test_a_page_of_a_gpu_names_the_hardware_and_what_failed(module, tmp_path):
    page = module("page")
    parts = {
        "good": {
            "what": "work",
            "device": "Some GPU",
            "machine": "9 cores",
            "first_seconds": 20.0,
            "again_seconds": [1.0],
        },
        "bad": {"what": "work", "device": "Some GPU", "machine": "9 cores", "error": "stopped after 5 s"},
    }
    (tmp_path / "gpu.json").write_text(json.dumps({"date": "2026-01-01", "parts": parts}))
    lines = page._gpu(tmp_path / "gpu.json")
    assert "| good: work | Some GPU (9 cores) | 20 | 1.0 |  |" in lines
    assert "**stopped after 5 s**" in lines[-1]


def test_parts_for_a_gpu_fit_into_their_time(module):
    """The parts that only a GPU is asked for have 6 minutes, less what a part may leave over."""
    parts = module("gpu").PARTS
    assert all(0 < limit <= 120 and callable(work) for limit, work in parts.values())


def test_a_part_that_fails_leaves_its_error(module, tmp_path, monkeypatch):
    gpu = module("gpu")

    def broken(quick):
        yield {"so far": 1}
        raise ValueError("no luck")

    monkeypatch.setitem(gpu.PARTS, "broken", (5.0, broken))
    with pytest.raises(SystemExit, match="no luck"):
        gpu._work("broken", tmp_path / "found.json", quick=True)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["so far"] == 1
    assert found["error"] == "ValueError: no luck"
    assert "jax" in found["versions"]


def test_the_peers_poisson_model_has_the_same_moments(module, tmp_path):
    """The moments that PyMC gets, in numpy, are tacit's. Seed 3. Planted fault: theta larger by a thousandth."""
    import jax

    from tacit.likelihoods.design_moments import RowLaw, row_moments
    from tacit.models.moment_regression import moments

    peer = module("side_poisson")
    peer.write_problem(tmp_path, 2, 500)
    plain = dict(np.load(tmp_path / "problem.npz"))
    schema = tacit.Schema(y=(0, peer.MOST), x1=(-1, 1), x2=(-1, 1))
    model = tacit.PoissonRegression("y ~ x1 + x2", radius=1.0)
    design, link = moments(model, schema), model.response_link(schema)
    ours = jax.jit(lambda theta, mu, root: row_moments(design, link, theta, RowLaw(np.ones(1), mu[None], root)))
    rng = np.random.default_rng(3)
    for _ in range(3):
        theta, mu, root = 2 * rng.standard_normal(3), 0.3 * rng.standard_normal(2), 0.3 * rng.standard_normal((2, 2))
        with jax.enable_x64(True):
            right = [np.asarray(value) for value in ours(theta, mu, root)]
        for factor, close in ((1.0, True), (1.001, False)):
            found = peer.row_moments(np, plain, factor * theta, mu, root @ root.T)
            # tacit adds 1e-11 of each variance; all variances are below 3.
            assert (max(np.abs(a - b).max() for a, b in zip(found, right, strict=True)) < 1e-10) == close
