"""A program in stages gives what the same function gives as one program, and listens to nothing that JAX may rename."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tacit.runtime.backend import float64
from tacit.runtime.stages import _of_one_rank, outlined

LENGTH = 250  # of loops that are cut


def chain(numbers, start):
    """A loop between two pieces, each with a constant, an argument and a random key of its own."""
    fixed, given = np.arange(3.0) + 0.25, jnp.asarray([2.0, 3.0, 5.0])
    key = jax.random.wrap_key_data(numbers)
    rows = jax.random.normal(key, (LENGTH, 3)) * fixed + given

    def step(carried, row):
        key, state = carried
        key, now = jax.random.split(key)
        state = jnp.tanh(state * fixed + given * row) + jax.random.normal(now, (3,))
        return (key, state), (state.sum(), state * fixed)

    (key, state), (sums, states) = lax.scan(step, (key, start), rows)
    return {"last": state * fixed + given, "sums": sums, "states": states, "key": jax.random.key_data(key)}


def only_rows(_numbers, start):
    """A loop that carries nothing of what it returns, and closes over nothing."""
    return lax.scan(lambda carried, row: (carried, row * 2.0), start, jnp.arange(3.0 * LENGTH).reshape(LENGTH, 3))[1]


def no_rows(_numbers, start):
    """A loop that reads and returns nothing in each step."""
    return lax.scan(lambda carried, _: (carried * 0.5 + 1.0, None), start, None, length=LENGTH)[0]


@pytest.mark.parametrize("in_stages", [False, True])
@pytest.mark.parametrize("function", [chain, only_rows, no_rows])
def test_stages_give_what_one_program_gives(function, in_stages):
    """A constant that goes missing, or a carried value taken for a constant, changes the numbers or stops it."""
    with float64():
        inputs = [jax.random.key_data(jax.random.key(3)), jnp.asarray([0.5, -1.0, 2.0])]
        outline, lowered = outlined(function, inputs, in_stages=in_stages)
        found = outline.call([one.compile() for one in lowered], inputs)
        wanted = jax.jit(function)(*inputs)
    assert sum(stage.loop is not None for stage in outline.stages) == in_stages
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-12), found, wanted)


def test_what_a_loop_carries_is_told_by_its_shapes():
    """Each step sees constants and carried values as they are, and one entry of all else."""

    def looped(constant, start, rows):
        def step(carried, row):
            return carried + row.sum() * constant.sum(), carried.sum()

        return lax.scan(step, start, rows)

    (loop,) = jax.make_jaxpr(looped)(jnp.ones((LENGTH, 2)), jnp.ones(LENGTH), jnp.ones((LENGTH, LENGTH))).jaxpr.eqns
    inside = loop.params["jaxpr"].jaxpr
    assert len(loop.invars) - _of_one_rank(loop.invars, inside.invars) == 1
    assert _of_one_rank(loop.outvars, inside.outvars) == 1
