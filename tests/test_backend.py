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
