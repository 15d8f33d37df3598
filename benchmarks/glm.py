"""Logistic regression: how long to 1,000 effective draws, from a fresh process, and how much memory.

    python benchmarks/glm.py [--covariates 3 5 10] [--page docs/glm.md]

Effective draws: the least bulk effective sample size over theta. Both methods get the same release (20,000 rows,
epsilon = 1, delta = 1e-5, covariates in the ball of radius 1) and the same prior, and sample the same density:

    tacit gaussian-covariates       the default method, through tacit.infer, 4 chains
    PyMC + nutpie        the model z ~ N(n mu_s, n Sigma_s + diag(sigma^2)) written in PyMC, where both are installed

Each runs twice in a new process: with an empty compilation cache, and with the cache that the first run left. Times
count from before the process starts, so imports and compilation are in them. A run has a fixed length; its time is
scaled to 1,000 effective draws: what comes before the first kept draw counts once, the rest in proportion. Memory is
the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fresh import effective, memory, missing, sampled, tacit_times, timed

COVARIATES = (3, 5, 10)
ROWS = 20_000
LIMIT = 1200  # seconds a process may take
WARMUP, DRAWS, CHAINS = 500, 500, 4
if os.environ.get("TACIT_BENCH_QUICK"):  # does it run?
    WARMUP, DRAWS, CHAINS = 30, 30, 2
METHODS = ("tacit gaussian-covariates", "PyMC + nutpie")
NODES, REACH, SWITCH = 121, 9.0, 0.5  # of the quadrature in PyMC
COLUMNS = ("seconds", "ratio", "effective", "draws", "measured", "memory")


def rows(covariates: tuple[int, ...] = COVARIATES, limit: float = LIMIT) -> list[dict[str, Any]]:
    """One row a number of covariates, method and state of the compilation cache."""
    table: list[dict[str, Any]] = []
    for d in covariates:
        ours: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as folder:
            write_problem(Path(folder), d, ROWS)
            for method in METHODS:
                with tempfile.TemporaryDirectory() as cache:
                    for state in ("empty", "warm"):
                        found = _measure(method, Path(folder), cache, limit)
                        if found["seconds"] is not None:
                            first = ours.setdefault(state, found["seconds"])
                            found["ratio"] = round(found["seconds"] / first, 1)
                        table.append({"covariates": d, "method": method, "cache": state, **found})
                        print(json.dumps(table[-1]), file=sys.stderr, flush=True)
                        if found["seconds"] is None:
                            break  # nothing was left in the cache
    return table


def write_problem(folder: Path, d: int, n: int) -> None:
    """A simulated release, and the same numbers as plain arrays for methods that do not know tacit."""
    import numpy as np

    import tacit

    names = [f"x{i + 1}" for i in range(d)]
    schema = tacit.Schema(y=["no", "yes"], **dict.fromkeys(names, (-1, 1)))
    model = tacit.LogisticRegression(f"y ~ {' + '.join(names)}", radius=1.0)
    plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-5), tacit.AddNoise())
    size = 0.25 / math.sqrt(d)  # of a covariate, so that rows fit into the ball
    parameters = {
        "theta": np.array([-0.5, *(2.0 * (-1) ** i / math.sqrt(d) for i in range(d))]),
        "mu_x": np.full(d, 0.2 * size),
        "Sigma_x": size**2 * (0.8 * np.eye(d) + 0.2),
    }
    release = tacit.simulate(plan, n=n, seed=1, parameters=parameters).release
    release.save(folder / "release.json")
    if release.noise.limit != "normal":
        raise SystemExit("Expected the noise to be normal: the PyMC model is written for it.")
    prior = model.default_prior(schema)
    first, second, power = np.array(model.places(schema)).T  # of (1, x); -1 stands for no factor, as 0 does here
    np.savez(
        folder / "problem.npz",
        n=n,
        released=np.array([v / release.unit for v in release.values]),
        sds=np.array(release.noise.sd) / release.unit,
        first=np.maximum(first, 0),
        second=np.maximum(second, 0),
        power=power,
        **{name: float(getattr(prior, name)) for name in ("theta_sd", "mean_sd", "scale", "shape")},
    )


def _measure(method: str, folder: Path, cache: str, limit: float) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(COLUMNS)
    why = missing("pymc", "nutpie") if method.startswith("PyMC") else None
    found = {"note": why} if why else timed(__file__, method, str(folder), limit=limit, cache=cache)
    return {**empty, **{name: found[name] for name in (*COLUMNS, "note") if name in found}}


# ---------------------------------------------------------------------------------------------------------------------
# What runs in the fresh process


def _time_pymc(folder: Path, sampler: str) -> dict[str, Any]:
    import numpy as np

    draws, seconds = pymc_marginal(dict(np.load(folder / "problem.npz")), sampler)
    until, peak = time.time() - float(sys.argv[-1]), memory()
    found = {"until": until, "sampling": seconds, "effective": effective(draws), "memory": peak}
    return {**found, "draws": CHAINS * DRAWS}


def logistic_moments(xp: Any, problem: dict[str, Any], theta: Any, mu: Any, sigma: Any) -> tuple[Any, Any]:
    """Mean and covariance of what one row adds to the released sums, for x ~ N(mu, sigma).

    ``xp`` is numpy or pytensor.tensor. Entries are v_i v_j y^r with v = (1, x) and y in {-1, 1}. As in
    `tacit.likelihoods.design_moments`: Stein's identity reduces each moment to F_k = E[f^(k)(u)], f(u) = tanh(u/2) for
    odd powers of y and 1 for even ones. F_k by the trapezoid rule: derivatives where the sd of u is below `SWITCH`,
    elsewhere from f and Hermite polynomials, because derivatives are too narrow for the nodes when u spreads widely.
    """
    import numpy as np

    first, second, power = problem["first"], problem["second"], problem["power"]
    d = int(second.max())
    nodes = np.linspace(-REACH, REACH, NODES)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    across = xp.dot(sigma, theta[1:])
    centre, s = theta[0] + xp.dot(mu, theta[1:]), xp.sqrt(xp.dot(across, theta[1:]))
    t = xp.tanh((centre + xp.minimum(s, SWITCH) * nodes) / 2)
    slope = (1 - t**2) / 2
    derivatives = (t, slope, -t * slope, -(1 - 3 * t**2) * slope / 2, (2 * t - 3 * t**3) * slope)
    large = xp.maximum(s, SWITCH)
    values = xp.tanh((centre + large * nodes) / 2)
    hermite = [np.polynomial.hermite_e.hermeval(nodes, np.eye(5)[k]) for k in range(5)]
    odd = [  # F_0 .. F_4 of y
        xp.where(s < SWITCH, xp.sum(weights * derivatives[k]), xp.sum(weights * hermite[k] * values) / large**k)
        for k in range(5)
    ]
    even = [1.0, 0.0, 0.0, 0.0, 0.0]  # of 1 and of y^2
    m = xp.concatenate([np.ones(1), mu])
    q = xp.concatenate([np.zeros(1), across])
    pad = np.eye(d + 1)[:, 1:]
    v = xp.dot(xp.dot(pad, sigma), pad.T)
    m_1, m_2, q_1, q_2 = m[first], m[second], q[first], q[second]
    parts = (m_1 * m_2 + v[first, second], m_1 * q_2 + q_1 * m_2, q_1 * q_2)  # alpha, beta, gamma
    is_odd = power.astype(float)
    own = [is_odd * odd[a] + (1 - is_odd) * even[a] for a in range(3)]
    mean = sum(part * f for part, f in zip(parts, own, strict=True))
    mixed = np.not_equal.outer(power, power).astype(float)  # the power of y in the product of two entries is odd
    both = [mixed * odd[k] + (1 - mixed) * even[k] for k in range(5)]
    total = 0.0
    for a in range(3):
        for b in range(3):
            total = total + xp.outer(parts[a], parts[b]) * (both[a + b] - xp.outer(own[a], own[b]))

    def n(m_i: Any, q_i: Any, m_k: Any, q_k: Any) -> Any:
        ones = xp.outer(m_i, q_k) + xp.outer(q_i, m_k)
        return xp.outer(m_i, m_k) * both[0] + ones * both[1] + xp.outer(q_i, q_k) * both[2]

    v_11, v_12 = v[first[:, None], first], v[first[:, None], second]
    v_21, v_22 = v[second[:, None], first], v[second[:, None], second]
    total = total + v_11 * n(m_2, q_2, m_2, q_2) + v_22 * n(m_1, q_1, m_1, q_1)
    total = total + v_12 * n(m_2, q_2, m_1, q_1) + v_21 * n(m_1, q_1, m_2, q_2)
    return mean, total + both[0] * (v_11 * v_22 + v_12 * v_21)


def pymc_marginal(problem: dict[str, Any], sampler: str) -> tuple[Any, float]:
    """Draws of theta from `pymc_model`, and the seconds that they took."""
    trace, seconds = sampled(pymc_model(problem), sampler, WARMUP, DRAWS, CHAINS)
    return trace.posterior["theta"].values, seconds


def pymc_model(problem: dict[str, Any], *, swapped: bool = False) -> Any:
    """z ~ N(n mu_s, n Sigma_s + diag(sigma^2)), the priors as in tacit; ``swapped``: the release is swapped later."""
    import pymc as pm
    import pytensor.tensor as pt

    n = float(problem["n"])
    d = int(problem["second"].max())
    with pm.Model() as model:
        theta = pm.Normal("theta", 0.0, float(problem["theta_sd"]), shape=d + 1)
        mu = pm.Normal("mu", 0.0, float(problem["mean_sd"]), shape=d)
        scales = pm.HalfNormal.dist(float(problem["scale"]), shape=d)
        root, _, _ = pm.LKJCholeskyCov("law", n=d, eta=float(problem["shape"]), sd_dist=scales, compute_corr=True)
        mean, covariance = logistic_moments(pt, problem, theta, mu, pt.dot(root, root.T))
        whole = pt.linalg.cholesky(n * covariance + pt.diag(problem["sds"] ** 2))
        released = pm.Data("released", problem["released"]) if swapped else problem["released"]
        pm.MvNormal("z", mu=n * mean, chol=whole, observed=released)
    return model


# ---------------------------------------------------------------------------------------------------------------------


def markdown(table: list[dict[str, Any]]) -> str:
    """The rows for a page."""
    headings = (
        "covariates",
        "method",
        "cache",
        "s to 1,000",
        "times tacit",
        "effective",
        "draws",
        "run, s",
        "peak memory, MiB",
        "",
    )
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for row in table:
        shown = ["" if row[name] is None else str(row[name]) for name in COLUMNS]
        cells = (str(row["covariates"]), row["method"], row["cache"], *shown, row["note"])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    if "--time" in sys.argv:
        method, folder = sys.argv[-3], Path(sys.argv[-2])
        if method.startswith("tacit "):
            sizes = {"warmup": WARMUP, "draws": DRAWS, "chains": CHAINS}
            path, started = folder / "release.json", float(sys.argv[-1])
            found = tacit_times(path, method.removeprefix("tacit "), sizes, started, "theta")
        else:
            sampler = {"PyMC": "pymc", "nutpie, JAX": "nutpie-jax"}.get(method, "nutpie")
            found = _time_pymc(folder, sampler)
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--covariates", type=int, nargs="+", default=list(COVARIATES))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a process may take")
    parser.add_argument("--page", type=Path, help="Markdown page to put the table into, between its two marks")
    said = parser.parse_args()
    table = rows(tuple(said.covariates), said.limit)
    names = ("s to 1,000", "ratio", "effective", "draws", "run, s", "MiB")
    print(f"{'d':>3} {'method':<16} {'cache':<6} " + " ".join(f"{name:>10}" for name in names) + "  note")
    for row in table:
        shown = " ".join(f"{'-' if row[name] is None else row[name]:>10}" for name in COLUMNS)
        print(f"{row['covariates']:>3} {row['method']:<16} {row['cache']:<6} {shown}  {row['note']}")
    if said.page is not None:
        begin, end = "<!-- begin timing -->", "<!-- end timing -->"
        before, rest = said.page.read_text("utf-8").split(begin)
        said.page.write_text(f"{before}{begin}\n\n{markdown(table)}\n\n{end}{rest.split(end)[1]}", "utf-8")


if __name__ == "__main__":
    main()
