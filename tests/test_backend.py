"""How JAX is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, tacit
plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["no", "yes"]), tacit.PureDP(1.0))
tacit.infer(tacit.simulate(plan, n=100, seed=0).release, draws=10)
names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
print(names.count("tf_XLAEigen"), os.environ.get("NPROC"))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.parametrize(("said", "threads"), [(None, "1 None"), ("2", "2 2")])
def test_xla_gets_one_thread_unless_the_user_says_otherwise(said, threads):
    """With two threads batched factorizations can wait for each other for ever. The environment is left as it was."""
    own = {name: value for name, value in os.environ.items() if name != "NPROC"} | ({"NPROC": said} if said else {})
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=own, capture_output=True, text=True, check=True)
    assert done.stdout.split() == threads.split()


def test_linear_algebra_has_one_thread_while_a_program_runs_and_what_was_set_before_afterwards():
    from threadpoolctl import threadpool_info, threadpool_limits

    from tacit.samplers.backend import float64

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        with float64():
            assert threads() == {1}
        assert threads() == {2}


@pytest.mark.parametrize("count", [33, 64, 70])
def test_many_datasets_in_blocks_get_the_draws_that_each_would_get_alone(count, monkeypatch):
    import jax
    import numpy as np

    from tacit.samplers import backend

    def chain(key, released):
        return {"x": released[0] + jax.random.normal(key, (3,))}

    released = np.arange(float(count))[:, None]
    blocks = backend._blocks(count)
    assert len({len(rows) for rows in blocks}) == 1
    assert len(blocks[0]) <= backend._DATASETS
    assert sorted(set(np.concatenate(blocks))) == list(range(count))
    found = backend.run(chain, released, chains=2, seed=4)["x"]
    monkeypatch.setattr(backend, "_DATASETS", 1000)
    np.testing.assert_array_equal(found, backend.run(chain, released, chains=2, seed=4)["x"])
    assert found.shape == (count, 2, 3)
