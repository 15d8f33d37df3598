"""Programs that are compiled once for all releases of one shape.

A chain closes over numbers. Some are the same whatever was released, as the points of a quadrature, and are best
compiled in as constants. Others differ from one release to the next: the number of rows, the scales of the noise. With
these compiled in, every release would be compiled anew. Here the kind of array tells the two apart: a numpy array that
a function closes over is a constant, and a JAX array (`tacit.runtime.backend.argument` makes them) is handed to the
program from outside. Its text is then the same for every such release, and the cache on disk has it.

This counts on `jax.make_jaxpr` to list the JAX arrays that a function closes over, as it does unless the flag
jax_use_simplified_jaxpr_constants is set. Otherwise they are constants: draws stay the same, and compile anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.core import eval_jaxpr


def with_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of arrays, compiled for each shape, with the JAX arrays that it closes over as arguments.

    Scalars are constants whatever made them, so what is to be an argument has at least one axis.
    """
    known: dict[Any, tuple[Any, list[Any], Any]] = {}

    def call(*inputs: Any) -> Any:
        shapes = tuple((one.shape, one.dtype) for one in inputs)
        if shapes not in known:
            known[shapes] = _program(function, inputs)
        program, given, tree = known[shapes]
        return jax.tree.unflatten(tree, program(given, *inputs))

    return call


def _program(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Any, list[Any], Any]:
    """The program, compiled at its first call, what it is given before its inputs, and the tree of its results."""
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*inputs)
    given = [one for one in closed.consts if isinstance(one, jax.Array)]

    def whole(given: list[Any], *inputs: Any) -> list[Any]:
        rest = iter(given)
        constants = [next(rest) if isinstance(one, jax.Array) else one for one in closed.consts]
        return eval_jaxpr(closed.jaxpr, constants, *inputs)

    return jax.jit(whole), given, jax.tree.structure(shape)
