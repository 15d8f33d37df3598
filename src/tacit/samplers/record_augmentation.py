"""Exact data augmentation: the records themselves are latent (Ju, Awan, Gong and Rao 2022).

State: the parameters and n records r_1..r_n. Target, up to a constant,

    p(parameters)  *  prod_i p(r_i | parameters)  *  noise(z - T),     T = sum_i t(r_i)

with z the released entries, t(r) the entries of one record and noise the density of what privacy added. A sweep visits
every record, proposes a fresh one from p(r | parameters), and takes it with probability

    min(1, noise(z - T') / noise(z - T)),     T' = T - t(r_i) + t(r_i'),

which costs O(K) for K entries; between sweeps the parameters move given the records.

Why that leaves the target unchanged: the proposal does not look at the state of its record, so in the ratio of
Metropolis and Hastings p(r_i' | parameters) and p(r_i | parameters) cancel, and only the noise is left. Nothing is
approximated: neither the law of the noise nor that of T. Under pure epsilon-DP a swap of two records inside the bounds
is taken with probability at least exp(-epsilon) (the same paper), because that is what privacy says; here records
are not clamped, and one far outside is taken less often.

The price is mixing. Records hold far more information on the parameters than the release does, so one sweep moves T by
about sqrt(n) times the spread of t, and crossing noise of width b takes (b / that)^2 sweeps. Where the release says
little, a family helps with moves of parameters and records `Together`: the records, which would hold the parameters to
where they are, come along, and only the release and the prior hold them back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from tacit.runtime.chain import Arrays, Chain, Settings


@dataclass(frozen=True, eq=False)
class Together:
    """Moves of parameters and records at once.

    ``propose``: (key, parameters, records) -> (parameters, records, log ratio), the ratio of the ways back and there,
    with the stretch of space. ``log_density``: (parameters, records) -> log p(parameters) p(records | parameters); what
    the moves change by their ratio alone may be left out of both.
    """

    propose: Callable[[Any, Arrays, Any], tuple[Arrays, Any, Any]]
    log_density: Callable[[Arrays, Any], Any]


@dataclass(frozen=True, eq=False)
class Records:
    """What the kernel must know of a family. Records are rows of an array, parameters are arrays by name.

    ``entries``: record -> its share of the released entries. ``draw_record``: (key, parameters) -> record, from the
    model. ``move_parameters``: (key, parameters, records) -> parameters, any step that leaves p(parameters | records)
    unchanged; a conjugate family draws afresh and ignores where it stood. ``start``: (key, released) -> (parameters,
    records). ``together``: moves of both, if there are any.
    """

    entries: Callable[[Any], Any]
    draw_record: Callable[[Any, Arrays], Any]
    move_parameters: Callable[[Any, Arrays, Any], Arrays]
    start: Callable[[Any, Any], tuple[Arrays, Any]]
    together: Together | None = None


TOGETHER = 6
"""Moves of parameters and records together after a sweep: all records at once, they cost little beside it."""


def augmented_chain(family: Records, log_noise: Callable[[Any], Any], settings: Settings) -> Chain:
    """Sweeps over the records; ``log_noise`` is the log density of the noise of all entries together."""

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        for_start, for_sweeps = jax.random.split(key)

        def sweep(state: tuple[Arrays, Any], keys: Any) -> tuple[tuple[Arrays, Any], tuple[Arrays, Any]]:
            parameters = family.move_parameters(keys[0], *state)
            records, accepted = sweep_records(keys[1], parameters, state[1], released, family, log_noise)
            moved = move_together(keys[2], parameters, records, released, family, log_noise)
            return moved, (moved[0], jnp.mean(accepted))

        # One scan, warm-up included, because its body is most of what there is to compile.
        keys = jax.random.split(for_sweeps, (settings.warmup + settings.draws, 3))
        _, kept = jax.lax.scan(sweep, family.start(for_start, released), keys)
        parameters, rate = jax.tree.map(lambda array: array[settings.warmup :], kept)
        return parameters, {"acceptance_rate": rate}

    return chain


def sweep_records(
    key: Any, parameters: Arrays, records: Any, released: Any, family: Records, log_noise: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """One visit to every record: the records afterwards, and which of them were replaced.

    The parameters stand still meanwhile, so all proposals and what each would change are computed at once; only the
    decisions depend on each other. T is summed afresh from the records in every sweep: rounding cannot pile up.
    """
    n = records.shape[0]
    keys = jax.random.split(key, n + 1)
    proposals = jax.vmap(family.draw_record, (0, None))(keys[:n], parameters)
    entries = jax.vmap(family.entries)(records)
    changes = jax.vmap(family.entries)(proposals) - entries
    coins = -jax.random.exponential(keys[n], (n,))  # logs of uniform numbers

    def visit(state: tuple[Any, Any], step: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        residual, log_weight = state
        change, coin = step
        moved = residual - change
        log_moved = log_noise(moved)
        accepted = coin < log_moved - log_weight
        return (jnp.where(accepted, moved, residual), jnp.where(accepted, log_moved, log_weight)), accepted

    residual = released - jnp.sum(entries, axis=0)
    _, accepted = jax.lax.scan(visit, (residual, log_noise(residual)), (changes, coins))
    return jnp.where(accepted[:, None], proposals, records), accepted


def move_together(
    key: Any, parameters: Arrays, records: Any, released: Any, family: Records, log_noise: Callable[[Any], Any]
) -> tuple[Arrays, Any]:
    """`TOGETHER` proposals for parameters and records, each taken or not."""
    if family.together is None:
        return parameters, records
    together = family.together

    def log_target(parameters: Arrays, records: Any) -> Any:
        total = jnp.sum(jax.vmap(family.entries)(records), axis=0)
        return together.log_density(parameters, records) + log_noise(released - total)

    def step(state: tuple[Arrays, Any, Any], key: Any) -> tuple[tuple[Arrays, Any, Any], None]:
        for_proposal, for_choice = jax.random.split(key)
        *proposed, log_ratio = together.propose(for_proposal, *state[:2])
        moved = (*proposed, log_target(*proposed))
        accepted = -jax.random.exponential(for_choice) < log_ratio + moved[2] - state[2]
        return jax.tree.map(lambda new, old: jnp.where(accepted, new, old), moved, state), None

    start = (parameters, records, log_target(parameters, records))
    (parameters, records, _), _ = jax.lax.scan(step, start, jax.random.split(key, TOGETHER))
    return parameters, records
