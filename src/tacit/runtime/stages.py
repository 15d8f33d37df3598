"""A program in stages: its long loops run in parts, so that somebody who waits can be told how far they are.

A compiled program says nothing before its end, and calls out of a program keep it from the cache on disk. So the list
of operations that JAX traces is cut where a loop of many steps stands: what comes before, between and after is compiled
as it is, and the loop as a program of a few of its steps, which is called again and again. The draws of a seed are
those of these programs whether anybody listens or not.

Values that go from one stage to the next are known by their places, so that a program can be kept without what was
traced (`tacit.runtime.programs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import eval_jaxpr
from jax.extend.core import Literal

from tacit.runtime.progress import tell

_LONG = 200  # steps of a loop that is worth cutting
_PARTS = 25  # of a loop, or a few more


@dataclass(frozen=True)
class Loop:
    """A loop of ``length`` steps, ``at_once`` of them in a program; constants and carried values end at ``ends``."""

    length: int
    at_once: int
    ends: tuple[int, int]


@dataclass(frozen=True)
class Stage:
    """One compiled program: the places of what it reads and writes, its share of the work, and the loop it is of."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    work: float
    loop: Loop | None = None


@dataclass(frozen=True)
class Outline:
    """How stages make a program: where inputs go, what is known from the start, and where the results are found."""

    stages: tuple[Stage, ...]
    known: dict[int, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tree: Any

    def call(self, programs: Sequence[Callable[..., Any]], inputs: Sequence[Any]) -> Any:
        """The results for these inputs. ``programs`` are those of the stages, in their order."""
        known = {**self.known, **dict(zip(self.inputs, map(_plain, inputs), strict=True))}
        for stage, program in zip(self.stages, programs, strict=True):
            given = [known[place] for place in stage.reads]
            if stage.loop is not None:
                found = _in_parts(stage.loop, program, given, stage.work)
            elif len(self.stages) == 1:
                found = program(*given)
            else:
                found = jax.block_until_ready(program(*given))
                tell(stage.work)
            known |= zip(stage.writes, found, strict=True)
        return jax.tree.unflatten(self.tree, [known[place] for place in self.outputs])


def outlined(function: Callable[..., Any], inputs: Sequence[Any], *, in_stages: bool) -> tuple[Outline, list[Any]]:
    """How ``function`` is computed, and for each stage the program, lowered and not yet compiled.

    Of what it closes over, JAX arrays are read by the stages and numpy arrays are compiled in. Without ``in_stages``
    all of it is one stage.
    """
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*inputs)
    jaxpr, places = closed.jaxpr, _Places()
    for var in (*jaxpr.constvars, *jaxpr.invars, *(one for equation in jaxpr.eqns for one in equation.outvars)):
        places.of(var)  # in the order of the trace: sets have one of their own, which differs between processes
    values = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    fixed = {var: const for var, const in values.items() if not isinstance(const, jax.Array)}
    wanted = _variables(jaxpr.outvars)
    stages: list[Stage] = []
    lowered: list[Any] = []
    for group in reversed(_groups(jaxpr.eqns, in_stages)):
        made = _variables(var for equation in group for var in equation.outvars)
        read = _variables(var for equation in group for var in equation.invars) - made
        if in_stages and len(group) == 1 and _is_long(group[0]):
            stage, program = _of_loop(group[0], places)
        elif made & wanted:
            given = sorted(read - fixed.keys(), key=places.of)
            part = jaxpr.replace(
                constvars=[],  # some versions of JAX take these for inputs, and some keep their values themselves
                invars=[*fixed, *given],
                outvars=sorted(made & wanted, key=places.of),
                eqns=group,
            )
            stage, program = _of_piece(part, [*fixed.values()], places)
        else:
            continue
        stages.append(stage)
        lowered.append(program)
        wanted |= read
    work = sum(one.work for one in stages) or 1.0
    shares = [Stage(one.reads, one.writes, one.work / work, one.loop) for one in reversed(stages)]
    inward, outward = tuple(map(places.of, jaxpr.invars)), tuple(map(places.of, jaxpr.outvars))
    used = {*outward}.union(*(one.reads for one in shares))
    known = places.literals | {places.of(var): _plain(const) for var, const in values.items()}
    known = {place: value for place, value in known.items() if place in used}
    return Outline(tuple(shares), known, inward, outward, jax.tree.structure(shape)), lowered[::-1]


class _Places:
    """A whole number for each variable of a trace, and for each literal, whose values are kept."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self.literals: dict[int, Any] = {}

    def of(self, var: Any) -> int:
        """The place of a variable or literal."""
        if isinstance(var, Literal):
            place = -1 - len(self.literals)
            self.literals[place] = np.asarray(var.val, _shape(var).dtype)
            return place
        return self._known.setdefault(var, len(self._known))


def _groups(equations: Iterable[Any], in_stages: bool) -> list[list[Any]]:
    """Operations in runs, each long loop alone."""
    groups: list[list[Any]] = [[]]
    for equation in equations:
        if in_stages and _is_long(equation):
            groups += [[equation], []]
        else:
            groups[-1].append(equation)
    return groups


def _of_piece(jaxpr: Any, consts: list[Any], places: _Places) -> tuple[Stage, Any]:
    """Operations that are compiled as one program. Its first inputs are ``consts``, which are compiled in."""
    inputs = jaxpr.invars[len(consts) :]

    def piece(*given: Any) -> list[Any]:
        return [_plain(one) for one in eval_jaxpr(jaxpr, (), *consts, *map(_typed, given, inputs))]

    reads, writes = tuple(map(places.of, inputs)), tuple(map(places.of, jaxpr.outvars))
    program = jax.jit(piece).lower(*map(_shape, inputs))
    return Stage(reads, writes, float(_operations(jaxpr))), program


def _of_loop(equation: Any, places: _Places) -> tuple[Stage, Any]:
    """A loop, as a program of some of its steps."""
    params, step, length = equation.params, equation.params["jaxpr"], equation.params["length"]
    at_once = next(size for size in range(-(-length // _PARTS), 0, -1) if length % size == 0)
    carry = _of_one_rank(equation.outvars, step.jaxpr.outvars)
    inward = _of_one_rank(equation.invars, step.jaxpr.invars)
    ends = inward - carry, inward

    def some(first: Any, *given: Any) -> tuple[list[Any], list[Any]]:
        def body(carried: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
            found = eval_jaxpr(step.jaxpr, step.consts, *outside, *carried, *now)
            return found[:carry], found[carry:]

        typed = [_typed(one, var) for one, var in zip(given, equation.invars, strict=True)]
        outside, carried, inputs = typed[: ends[0]], typed[slice(*ends)], typed[ends[1] :]
        now = [lax.dynamic_slice_in_dim(one, first, at_once) for one in inputs]
        carried, found = lax.scan(body, carried, now, length=at_once, unroll=params["unroll"])
        return [_plain(one) for one in carried], [_plain(one) for one in found]

    program = jax.jit(some).lower(jnp.asarray(0), *map(_shape, equation.invars))
    reads, writes = tuple(map(places.of, equation.invars)), tuple(map(places.of, equation.outvars))
    return Stage(reads, writes, float(_operations(step.jaxpr)), Loop(length, at_once, ends)), program


def _of_one_rank(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """How many variables, from the first, are in each step what they are outside: the others have one entry a step.

    JAX writes down how many these are in one way in some versions, and in another in others.
    """
    return sum(len(one.aval.shape) == len(other.aval.shape) for one, other in zip(outside, inside, strict=True))


def _in_parts(loop: Loop, program: Callable[..., Any], given: Sequence[Any], work: float) -> list[Any]:
    """All steps of a loop."""
    outside, carried, inputs = given[: loop.ends[0]], given[slice(*loop.ends)], given[loop.ends[1] :]
    parts: list[Sequence[Any]] = []
    for first in range(0, loop.length, loop.at_once):
        carried, found = jax.block_until_ready(program(jax.device_put(np.asarray(first)), *outside, *carried, *inputs))
        parts.append(found)
        tell(work * loop.at_once / loop.length)
    return [*carried, *(np.concatenate(of_all) for of_all in zip(*parts, strict=True))]


def _typed(value: Any, var: Any) -> Any:
    """A value of the type that a variable has: numbers of a random key as a key."""
    return jax.random.wrap_key_data(value) if jnp.issubdtype(var.aval.dtype, jax.dtypes.extended) else value


def _plain(value: Any) -> Any:
    """A value as numbers, which one compiled program can hand to another."""
    return jax.random.key_data(value) if jnp.issubdtype(value.dtype, jax.dtypes.extended) else value


def _shape(var: Any) -> Any:
    aval: Any = var.aval
    if jnp.issubdtype(aval.dtype, jax.dtypes.extended):
        aval = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _is_long(equation: Any) -> bool:
    return equation.primitive.name == "scan" and equation.params["length"] >= _LONG and not equation.params["reverse"]


def _operations(jaxpr: Any) -> int:
    """How many operations there are, those of loops and branches included."""
    inner = [
        one for equation in jaxpr.eqns for one in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_inner)
    ]
    return len(jaxpr.eqns) + sum(_operations(getattr(one, "jaxpr", one)) for one in inner if _is_inner(one))


def _is_inner(value: Any) -> bool:
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def _variables(several: Iterable[Any]) -> set[Any]:
    return {one for one in several if not isinstance(one, Literal)}
