"""How JAX is started."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

SCRIPT = """
import os, tacit
plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["no", "yes"]), tacit.PureDP(1.0))
tacit.infer(tacit.simulate(plan, n=100, seed=0).release, draws=10, anyway=True)
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


def blas_threads() -> set[int]:
    from threadpoolctl import threadpool_info

    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    """Linear algebra with two threads, which nobody holds on to."""
    from tacit.runtime import backend

    before = [library.get_num_threads() for library in backend._libraries()]
    backend._set_threads([2] * len(before))
    yield
    backend._set_threads(before)


def test_linear_algebra_has_one_thread_while_a_program_runs_and_what_was_set_before_afterwards(two_threads):
    from tacit.runtime.backend import float64

    with float64(), float64():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_threads_that_overlap_leave_linear_algebra_as_it_was(two_threads):
    """The first to come is the first to go, and lives on: whoever goes last must be able to set back what was."""
    from tacit.runtime.backend import float64

    here, gone, seen = threading.Event(), threading.Event(), []

    def second():
        with float64():
            here.set()
            gone.wait(30)
            seen.append(blas_threads())

    thread = threading.Thread(target=second)
    with float64():
        thread.start()
        here.wait(30)
    gone.set()
    thread.join()
    assert seen == [{1}]
    assert blas_threads() == {2}


@pytest.mark.parametrize("count", [33, 64, 70])
def test_many_datasets_in_blocks_get_the_draws_that_each_would_get_alone(count, monkeypatch):
    import jax
    import numpy as np

    from tacit.runtime import backend

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


def test_every_dataset_of_a_batch_gets_the_chain_that_suits_it():
    import jax
    import numpy as np

    from tacit.runtime.backend import run
    from tacit.runtime.chain import Either

    def quick(key, released):
        return {"x": released[0] + jax.random.uniform(key, (3,))}, {"rate": released, "own": released}

    def sure(key, released):
        return {"x": 1000 + released[0] + jax.random.uniform(key, (3,))}, {"rate": -released}

    chain = Either(lambda released: released[:, 0] % 2 == 0, quick, sure)
    released = np.arange(5.0)[:, None]
    draws, diagnostics = run(chain, released, chains=2, seed=4)
    np.testing.assert_array_equal(np.floor(draws["x"][:, 0, 0]), [0, 1001, 2, 1003, 4])
    assert list(diagnostics) == ["rate"]
    np.testing.assert_array_equal(diagnostics["rate"][:, 0, 0], [0, -1, 2, -3, 4])
    for one, places in ((quick, [0, 2, 4]), (sure, [1, 3])):
        alone, own = run(one, released, chains=2, seed=4)
        np.testing.assert_array_equal(np.asarray(alone["x"])[places], draws["x"][places])
        assert set(own) == set(one(jax.random.key(0), released[0])[1])


CACHED = """
import os, stat, sys
os.umask(0)
from pathlib import Path
from tacit.runtime.backend import _use_cache
if sys.argv[1] == "open":
    (Path(os.environ["XDG_CACHE_HOME"]) / "tacit" / "jax").mkdir(parents=True)
    os.chmod(Path(os.environ["XDG_CACHE_HOME"]) / "tacit" / "jax", 0o755)
_use_cache()
root = Path(os.environ["XDG_CACHE_HOME"])
print([oct(stat.S_IMODE(one.stat().st_mode)) for one in (root, root / "tacit", root / "tacit" / "jax")])
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("before", ["absent", "open"])
def test_the_cache_is_its_owner_s_alone_whatever_the_umask(tmp_path, before):
    """Every folder that tacit makes, and one that an earlier tacit left open to readers."""
    own = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    words = [sys.executable, "-c", CACHED, before]
    own |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(words, env=own, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(["0o700"] * 3 if before == "absent" else ["0o777", "0o777", "0o700"])


def test_the_compiler_is_quiet_unless_the_user_says_otherwise():
    script = "import os, tacit.runtime.quiet as q; q.quiet_compiler(); print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    own = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    for said, level in (({}, "3"), ({"TF_CPP_MIN_LOG_LEVEL": "0"}, "0")):
        words = [sys.executable, "-c", script]
        done = subprocess.run(words, env=own | said, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == level
