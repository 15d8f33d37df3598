"""One draw from a beta-divergence posterior: tacit's release beside NumPyro's NUTS on the same density.

Logistic regression with two coefficients. NumPyro gets the same potential, the same starting scale and as many steps
(200 that adapt and 50 more) and one chain; it compiles anew in every run, as `MCMC.run` does. tacit also looks for
modes and picks its start among 256 points, which guards against a second mode. Both in one process: the first call
compiles, the next ones are timed.
"""

from __future__ import annotations

import time
from typing import Any

STEPS, WARMUP, REPEATS = 50, 200, 3
SEARCHING = "the chain is the same; the search for modes and the 256 points go through all rows as well"


def measure(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for n in (500,) if quick else (1_000, 50_000):
        rows += _compare(n, 1 if quick else REPEATS)
    return rows


def _compare(n: int, repeats: int) -> list[dict[str, Any]]:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from numpyro.infer import MCMC, NUTS

    import tacit
    from tacit.boundary import collect
    from tacit.noise.entropy import OSEntropy
    from tacit.runtime.backend import float64
    from tacit.sources.open import open_source

    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, n))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(2 * b - a)), "yes", "no")
    free: dict[str, Any] = {"bounds": [-1, 1], "clamp": False}
    schema = tacit.Schema(y=["no", "yes"], a=free, b=free)
    mechanism = tacit.PosteriorSample(loss="beta-divergence", gamma=1e-9, assume="converged")
    plan = tacit.Plan(tacit.LogisticRegression("y ~ a + b - 1"), schema, tacit.ApproxDP(1.0, 1e-6), mechanism)
    crossing: Any = plan.crossing()
    _, collected = collect(open_source({"y": y, "a": a, "b": b}, crossing.columns, schema), plan)

    def ours() -> Any:
        return np.array(crossing.cross(collected, n, OSEntropy())) / crossing.unit

    numbers = dict(crossing.drawn.numbers)
    loss = crossing.loss
    x_rows, y_rows = (np.asarray(part, np.float64) for part in collected.arrays())

    def theirs() -> Any:
        with float64():
            given = {name: jnp.asarray(value) for name, value in numbers.items()}
            x, y = jnp.asarray(x_rows), jnp.asarray(y_rows)
            kernel = NUTS(
                potential_fn=lambda theta: loss.potential(theta, x, y, given), dense_mass=True, target_accept_prob=0.85
            )
            mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=STEPS, progress_bar=False)
            mcmc.run(jax.random.key(int(rng.integers(2**31))), init_params=jnp.zeros(2))
            return np.asarray(mcmc.get_samples())[-1]

    rows: list[dict[str, Any]] = []
    for who, call in (("tacit", ours), ("NumPyro NUTS, same density", theirs)):
        begin = time.perf_counter()
        draws = [call()]
        first = time.perf_counter() - begin
        seconds: list[float] = []
        for _ in range(repeats):
            begin = time.perf_counter()
            draws.append(call())
            seconds.append(time.perf_counter() - begin)
        shown = ", ".join(f"{value:.2f}" for value in np.mean(draws, axis=0))
        quality = f"mean of {len(draws)} draws {shown}; rows were made with 1, -2"
        job, note = f"one draw, logistic, {n:,} rows", f"first call {first:.1f} s"
        rows.append({"job": job, "who": who, "seconds": seconds, "quality": quality, "note": note})
    rows[0] |= {"target": 1.0, "why": SEARCHING}
    return rows
