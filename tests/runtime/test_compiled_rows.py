"""JAX keeps compiled programs on disk. Rows are given to a program and are never a part of it."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.optimised  # constants are folded as in what a user runs
ROWS = np.random.default_rng(3).uniform(-0.95, 0.95, 64)

PRIVATIZE = """
import sys
import numpy as np
import tacit

rows = np.random.default_rng(3).uniform(-0.95, 0.95, 64)
sampler, loss, gamma = sys.argv[1], sys.argv[2], None if sys.argv[1] == "rejection" else 0.1
assume = "converged" if sampler == "mcmc" else None
plan = tacit.Plan(
    tacit.LogisticRegression("ill ~ x", radius=1.0 if loss == "log-likelihood" else None),
    tacit.Schema(ill=["no", "yes"], x=(-1, 1)),
    tacit.ApproxDP(1.0, 0.6),
    tacit.PosteriorSample(n=64, loss=loss, sampler=sampler, gamma=gamma, assume=assume),
)
tacit.privatize({"x": rows, "ill": ["no", "yes"] * 32}, plan, ledger=None, dataset="made up")
"""

HOLD_ON = """
import jax, jax.numpy as jnp, numpy as np
from tacit.runtime.backend import float64

with float64():
    rows = jnp.asarray(np.random.default_rng(3).uniform(-0.95, 0.95, 64))
    jax.jit(lambda theta: jnp.sum(jnp.tanh(theta * rows)))(0.5).block_until_ready()
"""


def decompressed(path):
    raw = path.read_bytes()
    try:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(raw, max_output_size=10**9)
    except Exception:
        pass
    try:
        return zlib.decompress(raw)
    except zlib.error:
        return raw


def rows_on_disk(program, folder, *words):
    """How many of the rows some file of the cache holds, at any offset, up to the lattice; and how many files."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(folder)
    done = subprocess.run([sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    most, files = 0, [path for path in Path(folder).rglob("*-cache") if path.is_file()]
    for path in files:
        content = decompressed(path)
        for start in range(8):
            numbers = np.frombuffer(content[start : start + (len(content) - start) // 8 * 8], "<f8")
            numbers = np.sort(numbers[np.abs(numbers) <= 1])
            if len(numbers):
                place = (
                    np.searchsorted(numbers, ROWS).clip(1, len(numbers) - 1) if len(numbers) > 1 else np.zeros(64, int)
                )
                near = np.minimum(np.abs(numbers[place] - ROWS), np.abs(numbers[place - 1] - ROWS))
                most = max(most, int((near < 1e-4).sum()))
    return most, len(files)


WAYS = [(sampler, "log-likelihood") for sampler in ("rejection", "langevin", "mcmc")] + [("mcmc", "beta-divergence")]


@pytest.mark.parametrize(("sampler", "loss"), WAYS)
def test_no_compiled_program_holds_rows(sampler, loss, tmp_path):
    """Rows from seed 3. A program may hold numbers of its own. That 16 of 64 rows lie within 1e-4 of one by chance
    takes about 2,500 numbers between -1 and 1 in one file; the programs are small and always the same.
    """
    found, files = rows_on_disk(PRIVATIZE, tmp_path, sampler, loss)
    assert files > 0, "the cache is in use"
    assert found < 16


def test_a_program_that_holds_on_to_rows_is_caught(tmp_path):
    """The planted fault: rows that a compiled function takes from around it."""
    found, _ = rows_on_disk(HOLD_ON, tmp_path)
    assert found == len(ROWS)
