"""Compiled programs by what they were made for, kept from one process to the next.

JAX keeps what its compiler made, but finds it by the program's text, and the text takes Python seconds to write: it
traces the sampler, its gradients and its batches. Here a program is found by what it is for: the problem, the method
and its settings, the shapes of what it is given, and everything else that could change it: the source of tacit, the
versions of what it stands on, JAX's settings and the processor. Then nothing is traced, lowered or compiled.

Two files: the purpose leads to an outline (`stages`), with the numbers that programs are given beside their inputs, and
to the checksums of their texts; a text leads to the compiled code. So what has the text of something else costs the
tracing, but not the compiling.

A program is native code, so a file with one is as good as an order to run it. It is read from a folder that nobody else
can write to, if it is a plain file of ours whose checksum fits: damage is found before anything is loaded. Whoever
could forge the file could as well change the user's programs.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import sys
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType
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
_KNOWN_CODE = {"tacit", "numpy", "scipy", *sys.stdlib_module_names} - {"__main__"}
_FROM_ELSEWHERE = "/jax/compilation_cache/cache_hits"


def name_of(purpose: Any, inputs: Sequence[Any]) -> str | None:
    """What a program for ``purpose`` is called, with inputs of these shapes; None where none can be kept.

    ``purpose`` is told apart by its pickled bytes, so it says all that the program depends on beside its inputs. Code
    is pickled by its name alone, so there is none for code that is not ours, as that of a likelihood.
    """
    if purpose is None or jax.default_backend() != "cpu" or len(jax.devices()) > 1:
        return None
    try:
        content = io.BytesIO()
        _Purpose(content, protocol=5).dump(purpose)
    except Exception:  # code of somebody else's, or what cannot be pickled
        return None
    shapes = [(one.shape, str(one.dtype)) for one in inputs]
    return _digest(content.getvalue(), repr((shapes, _settings(), _source(), _surroundings())).encode())


class _Purpose(pickle.Pickler):
    """Refuses code that can change while its name stays: all but ours, whose source is a part of the name, and others'
    of known versions.
    """

    def persistent_id(self, obj: Any) -> None:
        if isinstance(obj, type | FunctionType) and obj.__module__.partition(".")[0] not in _KNOWN_CODE:
            raise pickle.PicklingError("the code of a program that is kept must be known")


def text_of(written: Any, options: Mapping[str, bool | int]) -> str:
    """What a program with this text is called, which is lowered and will be compiled with these options."""
    return _digest(written.as_text().encode(), repr((sorted(options.items()), _settings(), _surroundings())).encode())


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _settings() -> list[tuple[str, str]]:
    values = sorted((name, repr(value)) for name, value in jax.config.values.items() if "cache" not in name)
    return [*values, ("x64 here", repr(_config().jax_enable_x64))]


def _config() -> Any:
    """JAX's settings, which have no declared types."""
    return jax.config


@lru_cache(maxsize=1)
def _source() -> list[tuple[str, int, int]]:
    """Our own files, by time and size."""
    root = Path(__file__).resolve().parent.parent
    return sorted(
        (os.path.relpath(os.path.join(folder, name), root), found.st_mtime_ns, found.st_size)
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py")
        for found in (os.stat(os.path.join(folder, name)),)
    )


@lru_cache(maxsize=1)
def _surroundings() -> tuple[object, ...]:
    """What else a compiled program depends on: other packages, the processor, the environment."""
    said = sorted((k, v) for k, v in os.environ.items() if k.startswith(("XLA_", "NPROC", "OMP_NUM")))
    versions: list[str] = []
    for name in _STANDS_ON:
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    processor = [platform.machine(), platform.processor(), os.cpu_count()]
    with suppress(OSError):  # the instructions that it knows
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
        processor += [line for line in dict.fromkeys(lines) if line.startswith(("flags", "Features", "model name"))]
    return said, versions, sys.version, tuple(processor)


@dataclass(frozen=True)
class Program:
    """Compiled stages, and how they make one program."""

    outline: Outline
    stages: Sequence[Any]

    def __call__(self, inputs: Sequence[Any]) -> Any:
        return self.outline.call(self.stages, inputs)


def recalled(name: str | None) -> Program | None:
    """The program kept for a purpose; None where there is none, or a part of it is missing."""
    found = _read(name, "purpose")
    if found is None:
        return None
    outline, texts = found
    stages = [loaded(text) for text in texts]
    return None if None in stages else Program(_with_arrays(outline, jax.device_put), stages)


def _with_arrays(outline: Outline, kind: Any) -> Outline:
    return replace(outline, known={place: kind(value) for place, value in outline.known.items()})


def loaded(text: str) -> Any:
    """The compiled program with this text; None where there is none."""

    def load(found: Any) -> Any:
        from jax.experimental.serialize_executable import deserialize_and_load

        _start_linear_algebra()
        return deserialize_and_load(*found)

    return _read(text, "program", load)


def _read(name: str | None, kind: str, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``use`` makes of a kept file; None where there is none, and where it is of no use, which deletes it."""
    folder = cache_folder("programs") if name is not None else None
    path = None if folder is None else folder / f"{name}.{kind}"
    content = None if path is None else read_ours(path)
    if path is None or content is None:
        return None
    try:
        body = content[len(_FORMAT) + _CHECKSUM :]
        if content[: len(_FORMAT) + _CHECKSUM] != _FORMAT + hashlib.sha256(body).digest():
            raise ValueError("the file is damaged")
        found = use(pickle.loads(zlib.decompress(body)))
        os.utime(path)
        return found
    except Exception:  # made by a JAX that this one does not understand, or cut off: made anew
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return None


@lru_cache(maxsize=1)
def _start_linear_algebra() -> None:
    """Let compiled code call scipy's: JAX hands it the addresses when it first writes a program that needs them."""
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), jnp.float64))


@contextmanager
def watched() -> Generator[list[str]]:
    """Whether what is compiled here comes from JAX's own cache: such code is incomplete when it is written again.

    JAX's cache gets no copy of what is kept here.
    """
    seen: list[str] = []
    least = _config().jax_persistent_cache_min_compile_time_secs

    def listen(event: str, **_more: Any) -> None:
        if event == _FROM_ELSEWHERE:
            seen.append(event)

    jax.monitoring.register_event_listener(listen)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)
    try:
        yield seen
    finally:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", least)
        jax.monitoring.unregister_event_listener(listen)


def keep_program(text: str, program: Any) -> bool:
    """Keep a compiled program by its text; whether that went well."""
    folder = cache_folder("programs")
    if folder is None:
        return False
    try:
        from jax.experimental.serialize_executable import serialize

        _write(folder / f"{text}.program", serialize(program))
    except Exception:  # a full disk, or a program that JAX cannot write down
        return False
    return True


def remember(name: str, outline: Outline, texts: Sequence[str]) -> None:
    """Keep what a purpose leads to: an outline, and the texts of its stages."""
    folder = cache_folder("programs")
    if folder is None:
        return
    with suppress(Exception):  # a full disk
        _write(folder / f"{name}.purpose", (_with_arrays(outline, np.asarray), list(texts)))
        drop_oldest(folder, _MOST_BYTES)


def _write(path: Path, content: Any) -> None:
    half = path.with_suffix(f".{os.getpid()}.half")
    body = zlib.compress(pickle.dumps(content, protocol=5), 1)
    try:
        half.write_bytes(_FORMAT + hashlib.sha256(body).digest() + body)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
