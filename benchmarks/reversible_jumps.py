"""Linear regression whose n is not public: every row sampled by reversible jumps, beside tacit's posterior.

    python benchmarks/reversible_jumps.py --rows 300 1000 --sweeps 4000

The sampler is that of Awan, Barrientos and Ju (2024) as its description says: the records are latent, each is proposed
anew from the model and taken or not by the density of the noise (Ju, Awan, Gong and Rao 2022); then records are added
and taken away, each time by the density of the noise alone, as a new record comes from the model and the one that goes
is any of them; then the parameters are drawn given all records. It is our program, compiled, not theirs, and the
plan, rows and prior are ours: `unknown_n.plan_of("linear")`, two numbers that explain a third, epsilon = 1.

Printed are processor seconds without those of compiling, effective draws of the number that has fewest, and what
1,000 of these take; then both posteriors' means and standard deviations.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from arviz_stats.base import array_stats
from unknown_n import CASES, plan_of, rows

import tacit
from tacit.infer import problem_of
from tacit.likelihoods.conjugate_gram import Centred, draw_parameters
from tacit.models.gram_layout import noisy_grams
from tacit.runtime.backend import float64
from tacit.samplers.gram_records import draw_record, record_entries

JUMPS = 20
"""Records that are proposed to come or go after a sweep."""


def sampler(release: tacit.Release, sweeps: int) -> Any:
    """Draws of theta and n, by a compiled program that takes a key."""
    plan = release.plan
    problem = problem_of(plan, CASES["linear"][3], 1)
    (layout,) = noisy_grams(problem)
    prior = problem.prior.numbers(plan.model.design(plan.schema))  # type: ignore[attr-defined]
    z = jnp.array([value / release.unit for value in release.values])
    room, scales = int(1.5 * float(z[-1])) + 200, jnp.asarray(layout.scales)

    def entries(record: Any) -> Any:
        return jnp.append(record_entries(layout, record), 1.0)

    def log_noise(residual: Any) -> Any:
        return jnp.sum(layout.log_noise(residual / scales))

    def centred(records: Any, n: Any) -> Centred:
        live = (jnp.arange(room) < n)[:, None]
        total = jnp.sum(records * live, axis=0)
        apart = (records - total / n) * live
        return Centred(total, jnp.linalg.cholesky(apart.T @ apart))

    def visit(n: Any, state: tuple[Any, Any], step: tuple[Any, ...]) -> tuple[tuple[Any, Any], Any]:
        residual, weight = state
        place, change, coin = step
        moved = residual - change
        new = log_noise(moved)
        taken = (coin < new - weight) & (place < n)
        return (jnp.where(taken, moved, residual), jnp.where(taken, new, weight)), taken

    def jump(state: tuple[Any, Any, Any], step: tuple[Any, Any, Any]) -> tuple[tuple[Any, Any, Any], None]:
        records, n, residual = state
        new, coins, coin = step
        grows, which = coins[0] < 0.5, jnp.floor(coins[1] * n).astype(int)
        gone = records[which]
        moved = jnp.where(grows, residual - entries(new), residual + entries(gone))
        able = jnp.where(grows, n < room, n > layout.size + 2)
        taken = able & (coin < log_noise(moved) - log_noise(residual))
        last = records[n - 1]
        after = jnp.where(grows, records.at[n].set(new), records.at[which].set(last))
        size = jnp.where(grows, n + 1, n - 1)
        return (jnp.where(taken, after, records), jnp.where(taken, size, n), jnp.where(taken, moved, residual)), None

    def sweep(state: tuple[Any, Any], key: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        records, n = state
        keys = jax.random.split(key, 6)
        parameters = draw_parameters(keys[0], centred(records, n), n, prior)
        proposed = jax.vmap(draw_record, (0, None))(jax.random.split(keys[1], room), parameters)
        live = (jnp.arange(room) < n)[:, None]
        now = jax.vmap(entries)(records)
        residual = z - jnp.sum(now * live, axis=0)
        coins = -jax.random.exponential(keys[2], (room,))
        steps = (jnp.arange(room), jax.vmap(entries)(proposed) - now, coins)
        (residual, _), taken = jax.lax.scan(lambda s, x: visit(n, s, x), (residual, log_noise(residual)), steps)
        records = jnp.where(taken[:, None], proposed, records)
        new = jax.vmap(draw_record, (0, None))(jax.random.split(keys[3], JUMPS), parameters)
        coins, coin = jax.random.uniform(keys[4], (JUMPS, 2)), -jax.random.exponential(keys[5], (JUMPS,))
        (records, n, _), _ = jax.lax.scan(jump, (records, n, residual), (new, coins, coin))
        return (records, n), (parameters["theta"], n)

    def chain(key: Any, records: Any, n: Any) -> Any:
        _, kept = jax.lax.scan(sweep, (records, n), jax.random.split(key, sweeps))
        return kept

    program = jax.jit(chain)

    def run(seed: int, table: Any) -> Any:
        """From made-up rows near the true ones, which nobody has: its best case."""
        start = np.zeros((room, layout.size))
        start[: len(table)] = table
        return jax.block_until_ready(program(jax.random.key(seed), jnp.array(start), jnp.array(len(table))))

    return run


def least_effective(draws: Any) -> float:
    """Of numbers (draws, numbers)."""
    return min(float(array_stats.ess(draws[None, :, i], chain_axis=0, draw_axis=1)) for i in range(draws.shape[1]))


def main() -> None:
    """Print a few lines for each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--sweeps", type=int, default=4000)
    said = parser.parse_args()
    plan, prior = plan_of("linear", "add-remove"), CASES["linear"][3]
    for n in said.rows:
        table = rows(n, seed=1)
        release = tacit.privatize(table, plan, ledger=None)
        mapped = np.stack([table["a"], table["b"], table["y"] / 10], axis=1)
        with float64():
            run = sampler(release, said.sweeps)
            run(0, mapped)  # compiles
            start = time.process_time()
            theta, size = run(1, mapped)
            spent = time.process_time() - start
        theirs = np.concatenate([np.asarray(theta), np.asarray(size)[:, None]], axis=1)[said.sweeps // 4 :]
        tacit.infer(release, method="wishart", prior=prior, seed=0)  # compiles
        start = time.process_time()
        posterior = tacit.infer(release, method="wishart", prior=prior, seed=1, chains=1, draws=4000)
        first = time.process_time() - start
        start = time.process_time()
        posterior = tacit.infer(release, method="wishart", prior=prior, seed=2, chains=1, draws=4000)
        ours_spent = min(first, time.process_time() - start)
        ours = np.concatenate([posterior.draws("theta"), posterior.draws("n")[:, None]], axis=1)
        for name, draws, seconds in (("reversible jumps", theirs, spent), ("tacit", ours, ours_spent)):
            effective = least_effective(draws)
            print(
                f"| {n} | {name} | {seconds:.3g} | {effective:.0f} | {1000 * seconds / effective:.3g} |"
                f" means {np.round(draws.mean(axis=0), 3)} sds {np.round(draws.std(axis=0), 3)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
