"""JAX as tacit uses it: float64, a compilation cache on disk, and one compiled call for many chains and datasets.

Programs that are compiled once for all releases of one shape.

A chain closes over numbers. Some are the same whatever was released, as the points of a quadrature, and are best
compiled in as constants. Others differ from one release to the next: the number of rows, the scales of the noise. With
these compiled in, every release would be compiled anew. Here the kind of array tells the two apart: a numpy array that
a function closes over is a constant, and a JAX array (`argument` makes them) is handed to the
program from outside. Its text is then the same for every such release, and the cache on disk has it.

This counts on `jax.make_jaxpr` to list the JAX arrays that a function closes over, as it does unless the flag
jax_use_simplified_jaxpr_constants is set. Otherwise they are constants: draws stay the same, and compile anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import copy_context
from functools import lru_cache
from importlib import import_module
from itertools import repeat
from threading import Event, Lock, Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import ThreadpoolController

from tacit.runtime.cache_folder import cache_folder
from tacit.runtime.chain import Either, Shaped
from tacit.runtime.forks import check_not_forked
from tacit.runtime.programs import Program, keep_program, loaded, name_of, recalled, remember, text_of, watched
from tacit.runtime.progress import share, tell, until
from tacit.runtime.stages import outlined

_Options = dict[str, bool | int]
_DATASETS = 32  # of a block on a processor
# Compiling the default logistic regression took 19.6 s and 1,310 MiB with the emitters and 16.8 s and 700 MiB without;
# its draws took as long. In one part instead of 32 its loop took 5.3 s of processor time instead of 5.7, and no longer.
_OPTIONS: _Options = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
# What stands before and after a long loop runs once, and compiling it took longer than anything else of a first
# inference: 7.3 + 0.7 s of the logistic regression's two such pieces, and 2.7 + 0.3 s without the optimiser of LLVM,
# while they ran for 0.11 and 0.13 s. The loop itself would take twice as long without.
_RUN_ONCE: _Options = {**_OPTIONS, "xla_backend_optimization_level": 0}
_ALONE = 8  # chains of one dataset that run one by one
_AT_ONCE = 2  # stages that are compiled, and chains that run, side by side


@contextmanager
def float64() -> Generator[None]:
    """Compute in float64 here, without changing what JAX does elsewhere in the process.

    Linear algebra of the whole process has one thread meanwhile, and then what it had before.
    """
    check_not_forked()
    _use_one_thread()
    _use_cache()
    with jax.enable_x64(True), _BLAS:
        yield


def on_processor() -> Any:
    """Compute on the processor here, also where there is an accelerator: many small steps, or rows one by one."""
    return jax.default_device(jax.local_devices(backend="cpu")[0])


def on_accelerator() -> bool:
    """Whether what is traced here will run on an accelerator: there is one, and `on_processor` does not rule it out."""
    settings: Any = jax.config
    chosen = settings.jax_default_device
    return getattr(chosen, "platform", chosen or jax.default_backend()) != "cpu"


class _OneThreadOfBlas:
    """The BLAS that XLA borrows from scipy for factors and triangular solves, held to one thread while anybody asks.

    It shares matrices of more than about 32 rows out over its threads, which wait for each other by spinning. Where
    another program holds a core, every call then waits for the scheduler: a triangular solve of size 41 was measured
    at 8 ms instead of 0.02 ms. Several of our threads may ask at once: the first sets it, and the last sets it back.
    """

    def __init__(self) -> None:
        self._lock, self._asking, self._before = Lock(), 0, [0]

    def __enter__(self) -> None:
        with self._lock:
            self._asking += 1
            if self._asking == 1:
                self._before = [library.get_num_threads() for library in _libraries()]
                _set_threads([1] * len(self._before))

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0:
                _set_threads(self._before)


def _set_threads(counts: list[int]) -> None:
    """In a thread of its own: threadpoolctl hears only the thread that spoke last, for as long as that one lives."""

    def work() -> None:
        for library, count in zip(_libraries(), counts, strict=True):
            library.set_num_threads(count)

    thread = Thread(target=work)
    thread.start()
    thread.join()


_BLAS = _OneThreadOfBlas()


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    import_module("scipy.linalg")  # a library is held only if it is loaded
    return ThreadpoolController().select(user_api="blas").lib_controllers


@lru_cache(maxsize=1)
def _use_one_thread() -> None:
    """Give XLA one thread for the parts of an operation, where nobody has started or configured it yet.

    In jaxlib 0.10 a batch of Cholesky factors or triangular solves shares itself out over the threads of this pool and
    waits for them. If each of the threads is itself in such a wait, they wait for ever, as was seen with two threads.
    Our programs are many small operations in a row, which threads hardly speed up.
    """
    said = os.environ.get("NPROC")
    if said is None:
        os.environ["NPROC"] = "1"
    jax.devices("cpu")
    if said is None:
        del os.environ["NPROC"]


@lru_cache(maxsize=1)
def _use_cache() -> None:
    said = getattr(jax.config, "jax_compilation_cache_dir", None)  # the user's own, or JAX_COMPILATION_CACHE_DIR
    folder = cache_folder("jax") if said is None else None
    if folder is None:
        return
    with suppress(OSError):
        for entry in folder.glob("*-cache"):
            if entry.stat().st_size == 0:  # a run was stopped just here; JAX would complain about it for ever
                entry.unlink()
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def argument(numbers: Any) -> Any:
    """Numbers that differ between releases of one model, such as n: a program of `run` is compiled once for all.

    An array with at least one axis, in float64. See the top of this module.
    """
    with float64():
        return jax.device_put(np.atleast_1d(np.asarray(numbers, np.float64)))


def run(chain: Callable[[Any, Any], Any], released: Any, *, chains: int, seed: int, purpose: Any = None) -> Any:
    """Run ``chain`` for every dataset and chain with one compiled program.

    ``released`` has shape (datasets, entries). Each array that ``chain`` returns gains the leading axes (datasets,
    chains). Compiled code is kept for as long as ``chain`` is the same object, and on disk where ``purpose`` says all
    that tells this chain from others (`tacit.runtime.programs`), or a `Shaped` one says so itself.

    An accelerator takes all datasets at once. A processor gets them in blocks, with the same random numbers: within a
    call every trajectory waits for the longest, and what it works on should fit its caches. Of a chain that is `Either`
    every dataset gets the one that suits it; diagnostics are then those that both have.
    """
    data = np.asarray(released, np.float64)
    with float64():
        keys = np.asarray(_keys(len(data) * chains)(jax.device_put(np.asarray(seed)))).reshape(len(data), chains, -1)
        if not isinstance(chain, Either):
            return _run(chain, keys, data, purpose)
        quick = np.asarray(chain.suits(data), bool)
        both = ((chain.quick, quick, "quick"), (chain.sure, ~quick, "sure"))
        parts: list[Any] = []
        for one, rows, which in both:
            if rows.any():
                with share(float(rows.mean())):
                    parts.append(_run(one, keys[rows], data[rows], None if purpose is None else (purpose, which)))
        if len(parts) == 1:
            return parts[0]
    places = np.argsort(np.concatenate([np.flatnonzero(quick), np.flatnonzero(~quick)]))
    return tuple(
        {name: np.concatenate([one[name], other[name]])[places] for name in one if name in other}
        for one, other in zip(*parts, strict=True)
    )


@lru_cache(maxsize=64)
def _keys(count: int) -> Callable[[Any], Any]:
    """The numbers of so many random keys, made of a seed by one program."""
    return with_arguments(
        lambda seed: jax.random.key_data(jax.random.split(jax.random.key(seed), count)), purpose=("keys", count)
    )


def _run(chain: Callable[[Any, Any], Any], keys: Any, data: Any, purpose: Any) -> Any:
    # Wait for each: what float64() sets must last for as long as the program runs.
    if len(data) == 1 and jax.default_backend() == "cpu" and keys.shape[1] <= _ALONE:
        return _one_by_one(chain, keys[0], data[0], purpose)
    if len(data) == 1:
        return jax.block_until_ready(_batched(chain, purpose, True)(*jax.device_put((keys, data))))
    blocks = _blocks(len(data)) if jax.default_backend() == "cpu" else [np.arange(len(data))]
    parts: list[Any] = []
    for rows in blocks:
        found = _batched(chain, purpose, False)(*jax.device_put((keys[rows], data[rows])))
        parts.append(jax.block_until_ready(found))
        tell(1 / len(blocks))
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *all_of: np.concatenate(all_of)[: len(data)], *parts)


def _one_by_one(chain: Callable[[Any, Any], Any], keys: Any, data: Any, purpose: Any) -> Any:
    """The few chains of one dataset, each by itself and two at a time.

    A program of one chain is traced and compiled in half the time of one of a batch, whose steps also wait for the
    longest trajectory and whose small matrices are multiplied by loops instead of by a library.
    """
    given, program_of = _alone(chain, purpose)
    placed, numbers = jax.device_put(data), jax.device_put(list(keys))
    program, new = program_of(*given, numbers[0], placed)
    stopped = Event()

    def found(key: Any) -> Any:
        with float64(), until(stopped):
            return jax.block_until_ready(program((*given, key, placed)))

    with share((0.5 if new else 1.0) / len(keys)), ThreadPoolExecutor(_AT_ONCE) as pool:
        parts = [pool.submit(copy_context().run, found, key) for key in numbers]
        try:
            several = [part.result() for part in parts]
        except BaseException:  # a person who does not want to wait for the rest
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return jax.tree.map(lambda *all_of: np.stack(all_of)[None], *several)


@lru_cache(maxsize=64)
def _alone(chain: Callable[[Any, Any], Any], purpose: Any) -> tuple[list[Any], Callable[..., tuple[Program, bool]]]:
    """What a program of one chain is given before its key and its data, and what finds it or makes it."""
    shaped = chain if isinstance(chain, Shaped) else None
    given, tree = jax.tree.flatten(shaped.given if shaped is not None else ())

    def whole(*inputs: Any) -> Any:
        *own, numbers, data = inputs
        chained = chain if shaped is None else shaped.made(jax.tree.unflatten(tree, own))
        return chained(jax.random.wrap_key_data(numbers), data)

    purpose = purpose if shaped is None else shaped.purpose
    purpose = None if purpose is None else (purpose, "one chain")
    return given, _programs(whole, purpose, in_stages=True)


def _blocks(count: int) -> list[Any]:
    """The places of ``count`` datasets in blocks of one size; the last is filled up with the last dataset."""
    size = -(-count // -(-count // _DATASETS))
    return [np.minimum(np.arange(first, first + size), count - 1) for first in range(0, count, size)]


@lru_cache(maxsize=64)
def _batched(chain: Callable[[Any, Any], Any], purpose: Any, in_stages: bool) -> Callable[[Any, Any], Any]:
    shaped = chain if isinstance(chain, Shaped) else None
    given, tree = jax.tree.flatten(shaped.given if shaped is not None else ())

    def whole(*inputs: Any) -> Any:
        *own, numbers, data = inputs
        chained = chain if shaped is None else shaped.made(jax.tree.unflatten(tree, own))
        # One axis for datasets and chains together: a batch of batches would trace every loop of a sampler twice over.
        shape, keys = numbers.shape[:2], jax.random.wrap_key_data(numbers.reshape(-1, numbers.shape[2]))
        found = jax.vmap(chained)(keys, jnp.repeat(data, shape[1], axis=0))
        return jax.tree.map(lambda array: array.reshape(*shape, *array.shape[1:]), found)

    call = with_arguments(whole, purpose=purpose if shaped is None else shaped.purpose, in_stages=in_stages)
    return lambda numbers, data: call(*given, numbers, data)


def with_arguments(function: Callable[..., Any], *, purpose: Any = None, in_stages: bool = False) -> Callable[..., Any]:
    """``function`` of arrays, compiled for each shape, with the JAX arrays that it closes over as arguments.

    Scalars are constants whatever made them, so what is to be an argument has at least one axis. ``purpose``, if given,
    says all that the function depends on, so that its program is found again by another process. ``in_stages`` runs
    long loops in parts, and tells how far they are (`stages`).
    """
    program_of = _programs(function, purpose, in_stages=in_stages)

    def call(*inputs: Any) -> Any:
        program, new = program_of(*inputs)
        with share(0.5 if new else 1.0):
            return program(inputs)

    return call


def _programs(function: Callable[..., Any], purpose: Any, *, in_stages: bool) -> Callable[..., tuple[Program, bool]]:
    """What finds the program for inputs of some shapes, or makes it; and whether it is new, which is half the work."""
    known: dict[Any, Program] = {}

    def program_of(*inputs: Any) -> tuple[Program, bool]:
        shapes = tuple((one.shape, one.dtype) for one in inputs)
        if shapes in known:
            return known[shapes], False
        name = name_of(None if purpose is None else (purpose, in_stages), inputs)
        found = recalled(name)
        if found is None:
            with share(0.5):
                known[shapes] = _made(name, function, inputs, in_stages)
            return known[shapes], True
        known[shapes] = found
        return found, False

    return program_of


def _made(name: str | None, function: Callable[..., Any], inputs: tuple[Any, ...], in_stages: bool) -> Program:
    """The program, compiled and kept by its name."""
    outline, lowered = outlined(function, inputs, in_stages=in_stages)
    loops = [stage.loop is not None for stage in outline.stages]
    options = [_OPTIONS if loop or not any(loops) else _RUN_ONCE for loop in loops]
    # Here, as other threads have settings of their own.
    texts = [None if name is None else text_of(one, said) for one, said in zip(lowered, options, strict=True)]
    compiled: list[Any] = []
    kept: list[str] = []
    with nullcontext([]) if name is None else watched() as from_elsewhere, ThreadPoolExecutor(_AT_ONCE) as pool:
        made = pool.map(_stage, lowered, texts, options, repeat(from_elsewhere))
        for stage, (program, text) in zip(outline.stages, made, strict=True):
            compiled.append(program)
            if text is not None:
                kept.append(text)
            if in_stages:
                tell(stage.work)
    if name is not None and len(kept) == len(compiled):
        remember(name, outline, kept)
    return Program(outline, compiled)


def _stage(lowered: Any, text: str | None, options: _Options, from_elsewhere: list[str]) -> tuple[Any, str | None]:
    """A compiled stage, and under what text it is kept, if it is."""
    if text is not None and (found := loaded(text)) is not None:
        return found, text
    compiled = _compiled(lowered, options)
    return compiled, None if text is None or from_elsewhere or not keep_program(text, compiled) else text


def _compiled(lowered: Any, options: _Options) -> Any:
    try:
        return lowered.compile(compiler_options=options if jax.default_backend() == "cpu" else None)
    except jax.errors.JaxRuntimeError:  # a compiler that does not know the options
        return lowered.compile()
