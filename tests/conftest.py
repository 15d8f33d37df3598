"""What holds for all tests."""

from __future__ import annotations

import compileall
import gc
import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

# Before anything starts JAX: with more than one thread jaxlib can wait for itself for ever (`tacit.runtime.backend`).
os.environ.setdefault("NPROC", "1")

MOST_MAPPINGS = 20_000
"""Of a process's memory. Every compiled program has some, the kernel allows 65,530, and beyond JAX crashes."""


QUICKLY = "JAX_DISABLE_MOST_OPTIMIZATIONS"
"""Most programs of the tests run for a moment, and compiling them would take most of the time of the suite. With few
optimisations that takes two fifths of it, and what they do twice as long. Modules marked `optimised` do without."""

KNOWN, FLAGS = "0.10.", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
"""Compiling a sampler took 7.0 seconds without these, 3.6 with the first, 3.3 with both. What tacit keeps has the first
in any case; they serve programs of the tests' own and for private samplers. XLA stops where it does not know a flag."""


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C as in a terminal: what is started in the background of a script inherits that it is ignored.

    The long runs of the slow suite are worth every optimisation.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr != "slow":
        os.environ.setdefault(QUICKLY, "1")
        if version("jaxlib").startswith(KNOWN):
            os.environ.setdefault("XLA_FLAGS", FLAGS)
    # Tracing makes millions of small objects, and hardly any of them are garbage: looking for it took a tenth of it.
    gc.set_threshold(100_000, 50, 50)
    if not hasattr(config, "workerinput"):
        # Hundreds of tests start a process. Where Python may not write bytecode, each would compile all of it anew.
        compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=2)


@pytest.fixture(autouse=True, scope="session")
def programs_are_made_of_the_code_as_it_is():
    """Programs are kept by what they are for, and tests change the code that makes them, to plant faults.

    What is compiled is still shared by all processes: JAX keeps it by its text.
    """
    from tacit.runtime import backend

    named, backend.name_of = backend.name_of, lambda _purpose, _inputs: None
    yield
    backend.name_of = named


@pytest.fixture(autouse=True, scope="module")
def programs_are_compiled_as_the_module_needs_them(request: pytest.FixtureRequest):
    """In the processes that it starts as well."""
    if request.node.get_closest_marker("optimised") is None or os.environ.get(QUICKLY) != "1":
        yield
        return
    _compile_quickly(False)
    yield
    _compile_quickly(True)


def _compile_quickly(quickly: bool) -> None:
    os.environ[QUICKLY] = "1" if quickly else "0"
    if "jax" in sys.modules:
        import jax

        jax.config.update("jax_disable_most_optimizations", quickly)
        _drop_programs()


@pytest.fixture(autouse=True, scope="module")
def programs_are_dropped_before_there_are_too_many():
    yield
    mappings = Path("/proc/self/maps")
    if "jax" not in sys.modules or not mappings.exists() or mappings.read_bytes().count(b"\n") < MOST_MAPPINGS:
        return
    _drop_programs()


def _drop_programs() -> None:
    import jax

    from tacit.runtime.backend import _alone, _batched

    _alone.cache_clear()
    _batched.cache_clear()
    jax.clear_caches()
