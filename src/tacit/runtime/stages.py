"""A program in stages: its long loops run in parts, so that somebody who waits can be told how far they are.

A compiled program says nothing before its end, and calls out of a program keep it from the cache on disk. So the list
of operations that JAX traces is cut where a loop of many steps stands: what comes before, between and after is compiled
as it is, and the loop as a program of a few of its steps, which is called again and again. The draws of a seed are
those of these programs whether anybody listens or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


def staged(closed: Any, consts: Sequence[Any]) -> Callable[..., list[Any]]:
    """The program of a traced function, to be called with its inputs.

    ``closed`` is what `jax.make_jaxpr` gives. Of its ``consts``, numpy arrays are compiled in and JAX arrays are
    arguments, as in `tacit.runtime.backend`.
    """
    jaxpr = closed.jaxpr
    groups: list[list[Any]] = [[]]
    for equation in jaxpr.eqns:
        if _is_long(equation):
            groups += [[equation], []]
        else:
            groups[-1].append(equation)
    values = dict(zip(jaxpr.constvars, consts, strict=True))
    fixed = {var: const for var, const in values.items() if not isinstance(const, jax.Array)}
    wanted = _variables(jaxpr.outvars)
    stages: list[_Piece | _Loop] = []
    for group in reversed(groups):
        made = _variables(var for equation in group for var in equation.outvars)
        read = _variables(var for equation in group for var in equation.invars) - made
        if len(group) == 1 and _is_long(group[0]):
            stages.append(_Loop(group[0]))
        elif made & wanted:
            stages.append(
                _Piece(
                    jaxpr.replace(
                        constvars=[*fixed], invars=[*(read - fixed.keys())], outvars=[*(made & wanted)], eqns=group
                    ),
                    [*fixed.values()],
                )
            )
        wanted |= read
    stages.reverse()
    work = sum(one.work for one in stages)

    def call(*inputs: Any) -> list[Any]:
        known: dict[Any, Any] = {**values, **dict(zip(jaxpr.invars, inputs, strict=True))}
        for stage in stages:
            stage(known, lambda done: tell(done / work))
        return _read(jaxpr.outvars, known)

    return call


class _Piece:
    """Operations that are compiled as one program."""

    def __init__(self, jaxpr: Any, consts: list[Any]) -> None:
        self._jaxpr = jaxpr
        self._program = jax.jit(lambda *given: eval_jaxpr(jaxpr, consts, *given))
        self.work = float(_operations(jaxpr))

    def __call__(self, known: dict[Any, Any], done: Callable[[float], None]) -> None:
        """Add what this piece computes to what is known."""
        found = jax.block_until_ready(self._program(*_read(self._jaxpr.invars, known)))
        known |= zip(self._jaxpr.outvars, found, strict=True)
        done(self.work)


class _Loop:
    """A loop, as a program of some of its steps that is called until all are done."""

    def __init__(self, equation: Any) -> None:
        params, step = equation.params, equation.params["jaxpr"]
        self._equation, self._length = equation, params["length"]
        self._at_once = next(size for size in range(-(-self._length // _PARTS), 0, -1) if self._length % size == 0)
        consts, carry = params["num_consts"], params["num_carry"]

        def some(outside: list[Any], carried: list[Any], inputs: list[Any], first: Any) -> tuple[list[Any], list[Any]]:
            def body(carried: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
                found = eval_jaxpr(step.jaxpr, step.consts, *outside, *carried, *now)
                return found[:carry], found[carry:]

            now = [lax.dynamic_slice_in_dim(one, first, self._at_once) for one in inputs]
            return lax.scan(body, carried, now, length=self._at_once, unroll=params["unroll"])

        self._program, self._ends = jax.jit(some), (consts, consts + carry)
        self._compiling = float(_operations(step.jaxpr))
        self.work = 2 * self._compiling

    def __call__(self, known: dict[Any, Any], done: Callable[[float], None]) -> None:
        """Add what this loop computes to what is known. Half of its work is compiling it, before the first steps."""
        given = _read(self._equation.invars, known)
        outside, inputs = given[: self._ends[0]], given[self._ends[1] :]
        carried = [jnp.asarray(one) for one in given[slice(*self._ends)]]
        parts: list[list[Any]] = []
        for first in range(0, self._length, self._at_once):
            carried, found = jax.block_until_ready(self._program(outside, carried, inputs, first))
            parts.append(found)
            done(self._compiling * (self._at_once / self._length + (first == 0)))
        known |= zip(self._equation.outvars, [*carried, *map(_joined, zip(*parts, strict=True))], strict=True)


def _is_long(equation: Any) -> bool:
    return equation.primitive.name == "scan" and equation.params["length"] >= _LONG and not equation.params["reverse"]


def _operations(jaxpr: Any) -> int:
    """How many operations there are to compile, those of loops and branches included."""
    inner = [
        one for equation in jaxpr.eqns for one in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_inner)
    ]
    return len(jaxpr.eqns) + sum(_operations(getattr(one, "jaxpr", one)) for one in inner if _is_inner(one))


def _is_inner(value: Any) -> bool:
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def _variables(several: Iterable[Any]) -> set[Any]:
    return {one for one in several if not isinstance(one, Literal)}


def _read(several: Sequence[Any], known: dict[Any, Any]) -> list[Any]:
    return [one.val if isinstance(one, Literal) else known[one] for one in several]


def _joined(parts: Sequence[Any]) -> Any:
    keys = jnp.issubdtype(parts[0].dtype, jax.dtypes.extended)
    return jnp.concatenate(parts) if keys else np.concatenate(parts)
