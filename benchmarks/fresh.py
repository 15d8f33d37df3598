"""Time to a number of effective draws, measured in a fresh process that says what it found as one line of JSON.

The process says ``until``, the seconds from before it started to its last draw; ``sampling``, those that the kept draws
took; and ``effective``, how many independent draws they are worth. What comes before the first kept draw counts once,
the rest in proportion to the draws that are wanted.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TARGET = 1000


def prepare() -> None:
    """Give everybody the same start: what is installed has been read once, and tacit is compiled as pip would.

    Otherwise whoever runs first reads the packages from the disk for all, and a checkout is parsed by every process.
    """
    compileall.compile_dir(Path(__file__).resolve().parent.parent / "src", quiet=2)
    for path in Path(sysconfig.get_paths()["purelib"]).rglob("*"):
        with suppress(OSError):
            path.read_bytes()


def missing(*packages: str) -> str | None:
    """Why a peer cannot be timed, or None if it can."""
    absent = [name for name in packages if find_spec(name) is None]
    return f"skipped: {' and '.join(absent)} not installed" if absent else None


def timed(script: str, *said: str, limit: float, cache: str | None = None) -> dict[str, Any]:
    """What ``script --time SAID... START`` found; ``note`` alone if it failed or took too long.

    Compilation caches are in the folder ``cache``; left out, in a new and empty one.
    """
    with tempfile.TemporaryDirectory() as empty:
        place = cache or empty
        os.makedirs(place, exist_ok=True)
        places = {"XDG_CACHE_HOME": place, "PYTENSOR_FLAGS": f"base_compiledir={place}", "NUMBA_CACHE_DIR": place}
        command = [sys.executable, script, "--time", *said, str(time.time())]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env={**os.environ, **places}, check=False
            )
        except subprocess.TimeoutExpired:
            return {"note": f"stopped after {limit:g} s"}
    if done.returncode:
        return {"note": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:200]}"}
    found = json.loads(done.stdout.splitlines()[-1])
    seconds = found["until"] + max(found["sampling"], 0.0) * (TARGET / found["effective"] - 1)
    return {
        **found,
        "seconds": round(seconds, 1),
        "measured": round(found["until"], 1),
        "effective": round(found["effective"]),
        "note": f"{'extrapolated' if found['effective'] < TARGET else 'scaled'} from {found['effective']:.0f}",
    }


def tacit_times(path: Any, method: str | None, sizes: dict[str, int], started: float, names: Any) -> dict[str, Any]:
    """What the fresh process says about `tacit.infer`; effective draws are the least over parameters in ``names``."""
    import tacit

    posterior = tacit.infer(path, method=method, seed=1, **sizes)
    until, peak = time.time() - started, memory()
    again = time.time()
    tacit.infer(path, method=method, seed=2, **sizes)  # compiled by now: the sampling alone
    share = sizes["draws"] / (sizes["warmup"] + sizes["draws"])
    summary = [row for row in posterior.summary() if row.name.startswith(names)]
    return {
        "until": until,
        "sampling": share * (time.time() - again),
        "effective": min(row.ess_bulk for row in summary),
        "rhat": max(row.r_hat for row in summary),
        "draws": sizes["chains"] * sizes["draws"],
        "memory": peak,
    }


def sampled(model: Any, sampler: str, warmup: int, draws: int, chains: int) -> tuple[Any, float]:
    """Draws of a PyMC model, and the seconds that the kept ones took.

    ``sampler`` is "pymc", its own; "nutpie", which compiles by numba; or "nutpie-jax", which compiles by JAX.
    """
    share = draws / (warmup + draws)
    if sampler.startswith("nutpie"):
        import nutpie

        said = {"backend": "jax", "gradient_backend": "jax"} if sampler == "nutpie-jax" else {}
        compiled = nutpie.compile_pymc_model(model, **said)
        begin = time.time()
        trace = nutpie.sample(compiled, draws=draws, tune=warmup, chains=chains, seed=1, progress_bar=False)
        return trace, share * (time.time() - begin)
    import pymc as pm

    said: dict[str, Any] = {"progressbar": False, "random_seed": 1, "compute_convergence_checks": False}
    with model:
        trace = pm.sample(draws=draws, tune=warmup, chains=chains, nuts_sampler="pymc", **said)
    return trace, share * float(trace.sample_stats.attrs["sampling_time"])


def effective(draws: Any) -> float:
    """The least bulk effective sample size over numbers, of an array (chains, draws, numbers)."""
    from arviz_stats.base import array_stats

    return float(min(array_stats.ess(draws[:, :, i], method="bulk") for i in range(draws.shape[2])))


def memory() -> int:
    """The largest resident set of this process so far, in MiB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))
