"""Compiled programs by what they were made for, kept from one process to the next.

JAX keeps what its compiler made, but finds it by the program's text, and the text takes Python seconds to write: it
traces the sampler, its gradients and its batches. Here a program is found by what it is for: the problem, the method
and its settings, the shapes of what it is given, and everything else that could change it: the source of tacit, the
versions of what it stands on, JAX's settings and the processor. Then nothing is traced, lowered or compiled.

A program is native code, so a file with one is as good as an order to run it. It is read from a folder that nobody else
can write to, if it is a plain file of ours whose checksum fits: damage is found before anything is loaded. Whoever
could forge the file could as well change the user's programs.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.runtime.cache_folder import cache_folder, drop_oldest, read_ours
from tacit.runtime.stages import Outline

_MOST_BYTES = 2**30  # of all files together
_FORMAT = b"tacit-program 1\n"
_CHECKSUM = hashlib.sha256(b"").digest_size
_STANDS_ON = ("jax", "jaxlib", "numpy", "scipy", "numpyro")


def name_of(purpose: Any, inputs: Sequence[Any]) -> str | None:
    """What a program for ``purpose`` is called, with inputs of these shapes; None where none can be kept.

    ``purpose`` is told apart by its pickled bytes, so it says all that the program depends on beside its inputs.
    """
    if purpose is None or jax.default_backend() != "cpu" or len(jax.devices()) > 1:
        return None
    try:
        said = pickle.dumps(purpose, protocol=5)
    except Exception:  # a likelihood may hold a function that cannot be pickled
        return None
    shapes = [(one.shape, str(one.dtype)) for one in inputs]
    settings = sorted((name, repr(value)) for name, value in jax.config.values.items() if "cache" not in name)
    whole = hashlib.sha256(said)
    whole.update(repr((shapes, settings, jax.config.jax_enable_x64, _surroundings())).encode())  # pyright: ignore[reportAttributeAccessIssue]
    return whole.hexdigest()


@lru_cache(maxsize=1)
def _surroundings() -> tuple[object, ...]:
    """What else a compiled program depends on: our source, other packages, the processor, the environment."""
    root = Path(__file__).resolve().parent.parent
    source = [
        (os.path.relpath(os.path.join(folder, name), root), found.st_mtime_ns, found.st_size)
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py")
        for found in (os.stat(os.path.join(folder, name)),)
    ]
    said = sorted((k, v) for k, v in os.environ.items() if k.startswith(("XLA_", "NPROC", "OMP_NUM")))
    versions: list[str] = []
    for name in _STANDS_ON:
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    processor = [platform.machine(), platform.processor(), os.cpu_count()]
    with suppress(OSError):  # the instructions that it knows
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
        processor += [line for line in dict.fromkeys(lines) if line.startswith(("flags", "Features", "model name"))]
    return sorted(source), said, versions, sys.version, tuple(processor)


@dataclass(frozen=True)
class Program:
    """Compiled stages, and how they make one program."""

    outline: Outline
    stages: Sequence[Any]

    def __call__(self, inputs: Sequence[Any]) -> Any:
        return self.outline.call(self.stages, inputs)


def recalled(name: str | None) -> Program | None:
    """A kept program; None where there is none, or it cannot be used."""
    folder = cache_folder("programs") if name is not None else None
    if folder is None:
        return None
    path = folder / f"{name}.program"
    content = read_ours(path)
    if content is None:
        return None
    try:
        body = content[len(_FORMAT) + _CHECKSUM :]
        if content[: len(_FORMAT) + _CHECKSUM] != _FORMAT + hashlib.sha256(body).digest():
            raise ValueError("the file is damaged")
        from jax.experimental.serialize_executable import deserialize_and_load

        outline, written = pickle.loads(zlib.decompress(body))
        _start_linear_algebra()
        found = Program(_with_arrays(outline, jnp.asarray), [deserialize_and_load(*one) for one in written])
        os.utime(path)
        return found
    except Exception:  # made by a JAX that this one does not understand, or cut off: made anew
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return None


def _with_arrays(outline: Outline, kind: Any) -> Outline:
    return replace(outline, known={place: kind(value) for place, value in outline.known.items()})


@lru_cache(maxsize=1)
def _start_linear_algebra() -> None:
    """Let compiled code call scipy's: JAX hands it the addresses when it first writes a program that needs them."""
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), jnp.float64))


def keep(name: str | None, program: Program) -> None:
    """Keep a compiled program; not where that fails."""
    folder = cache_folder("programs") if name is not None else None
    if folder is None:
        return
    half = folder / f"{name}.{os.getpid()}.half"
    try:
        from jax.experimental.serialize_executable import serialize

        content = _with_arrays(program.outline, np.asarray), [serialize(one) for one in program.stages]
        body = zlib.compress(pickle.dumps(content, protocol=5), 1)
        half.write_bytes(_FORMAT + hashlib.sha256(body).digest() + body)
        half.replace(folder / f"{name}.program")
    except Exception:  # a full disk, or a program that JAX cannot write down
        with suppress(OSError):
            half.unlink(missing_ok=True)
        return
    drop_oldest(folder, _MOST_BYTES)
