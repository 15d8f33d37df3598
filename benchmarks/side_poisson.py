"""Poisson regression: tacit beside the same model in PyMC and nutpie.

    python benchmarks/side_poisson.py --time METHOD FOLDER START      (what `side.compare` runs)

y | x ~ Poisson(log(1 + e^u)) clamped at `MOST`, u = theta'(1, x), x ~ N(mu, Sigma). Released: the sums of x, xx', yx,
yxx' and y plus normal noise. Both score them by a normal distribution with the same first two moments.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fresh import effective, memory, sampled, tacit_times
from side import Way, compare

COVARIATES, ROWS, MOST = 3, 20_000, 10
WARMUP, DRAWS, CHAINS = 500, 500, 4
if os.environ.get("TACIT_BENCH_QUICK"):  # does it run?
    WARMUP, DRAWS, CHAINS = 30, 30, 2
NODES, REACH, NARROW = 121, 9.0, 0.05  # of the quadrature in PyMC, and the least sd of u that it tells apart


def measure(quick: bool) -> list[dict[str, Any]]:
    ways = [
        Way("tacit", "tacit gaussian-covariates", limit=400),
        Way("nutpie, same model", "nutpie", packages=("pymc", "nutpie")),
        Way("PyMC, same model", "pymc", packages=("pymc",)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_problem(Path(folder), COVARIATES, ROWS)
        job = f"Poisson, {COVARIATES} covariates, n = {ROWS:,}"
        return compare(job, __file__, Path(folder), ways, quick=quick, targets=(1.0, 1.0, 1.0), whys=("", "", ""))


def write_problem(folder: Path, d: int, n: int) -> None:
    """A simulated release, and the same numbers as plain arrays for methods that do not know tacit."""
    import numpy as np

    import tacit

    names = [f"x{i + 1}" for i in range(d)]
    schema = tacit.Schema(y=(0, MOST), **dict.fromkeys(names, (-1, 1)))
    model = tacit.PoissonRegression(f"y ~ {' + '.join(names)}", radius=1.0)
    plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-5), tacit.AddNoise())
    size = 0.25 / math.sqrt(d)
    parameters = {
        "theta": np.array([1.0, *(1.5 * (-1) ** i / math.sqrt(d) for i in range(d))]),
        "mu_x": np.full(d, 0.2 * size),
        "Sigma_x": size**2 * (0.8 * np.eye(d) + 0.2),
    }
    release = tacit.simulate(plan, n=n, seed=1, parameters=parameters).release
    release.save(folder / "release.json")
    prior: Any = model.default_prior(schema)
    first, second, power = np.array(model.places(schema)).T
    np.savez(
        folder / "problem.npz",
        n=n,
        released=np.array([v / release.unit for v in release.values]),
        sds=np.array(release.noise.sd) / release.unit,
        first=np.maximum(first, 0),
        second=np.maximum(second, 0),
        power=power,
        theta_sd=prior.theta_sd,
        mean_sd=prior.mean_sd,
        scale=prior.scale,
        shape=prior.shape,
    )


def clamped_counts(xp: Any, u: Any) -> tuple[Any, Any]:
    """E[y | u] and E[y^2 | u] of y = min(Y, MOST) / MOST, Y ~ Poisson(log(1 + e^u))."""
    rate = xp.log1p(xp.exp(u))
    chance, below, first, second = xp.exp(-rate), 0.0, 0.0, 0.0
    for k in range(MOST):
        first, second, below = first + k * chance, second + k**2 * chance, below + chance
        chance = chance * rate / (k + 1)
    return (first + MOST * (1 - below)) / MOST, (second + MOST**2 * (1 - below)) / MOST**2


def row_moments(xp: Any, problem: dict[str, Any], theta: Any, mu: Any, sigma: Any) -> tuple[Any, Any]:
    """Mean and covariance of what one row adds: v_i v_j y^r, v = (1, x), as `glm.logistic_moments` finds them.

    F_k of f_r(u) = E[y^r | u] by the trapezoid rule with Hermite polynomials, for r = 0, 1, 2.
    """
    import numpy as np

    first, second, power = problem["first"], problem["second"], problem["power"]
    d = int(second.max())
    nodes = np.linspace(-REACH, REACH, NODES)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    across = xp.dot(sigma, theta[1:])
    s = xp.maximum(xp.sqrt(xp.dot(across, theta[1:])), NARROW)
    once, twice = clamped_counts(xp, theta[0] + xp.dot(mu, theta[1:]) + s * nodes)
    hermite = [np.polynomial.hermite_e.hermeval(nodes, np.eye(5)[k]) for k in range(5)]
    smooth = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [xp.sum(weights * hermite[k] * once) / s**k for k in range(5)],
        [xp.sum(weights * hermite[k] * twice) / s**k for k in range(5)],
    ]
    m, q = xp.concatenate([np.ones(1), mu]), xp.concatenate([np.zeros(1), across])
    pad = np.eye(d + 1)[:, 1:]
    v = xp.dot(xp.dot(pad, sigma), pad.T)
    m_1, m_2, q_1, q_2 = m[first], m[second], q[first], q[second]
    parts = (m_1 * m_2 + v[first, second], m_1 * q_2 + q_1 * m_2, q_1 * q_2)
    own = [sum((power == r).astype(float) * smooth[r][a] for r in range(2)) for a in range(3)]
    mean = sum(part * f for part, f in zip(parts, own, strict=True))
    powers = np.add.outer(power, power)
    both = [sum((powers == r).astype(float) * smooth[r][k] for r in range(3)) for k in range(5)]
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


def pymc_model(problem: dict[str, Any]) -> Any:
    """z ~ N(n mu_s, n Sigma_s + diag(sigma^2)), the priors as in tacit."""
    import pymc as pm
    import pytensor.tensor as pt

    n, d = float(problem["n"]), int(problem["second"].max())
    with pm.Model() as model:
        theta = pm.Normal("theta", 0.0, float(problem["theta_sd"]), shape=d + 1)
        mu = pm.Normal("mu", 0.0, float(problem["mean_sd"]), shape=d)
        scales = pm.HalfNormal.dist(float(problem["scale"]), shape=d)
        root, _, _ = pm.LKJCholeskyCov("law", n=d, eta=float(problem["shape"]), sd_dist=scales, compute_corr=True)
        mean, covariance = row_moments(pt, problem, theta, mu, pt.dot(root, root.T))
        whole = pt.linalg.cholesky(n * covariance + pt.diag(problem["sds"] ** 2))
        pm.MvNormal("z", mu=n * mean, chol=whole, observed=problem["released"])
    return model


def main() -> None:
    """What runs in the fresh process."""
    method, folder, started = sys.argv[-3], Path(sys.argv[-2]), float(sys.argv[-1])
    if method.startswith("tacit "):
        sizes = {"warmup": WARMUP, "draws": DRAWS, "chains": CHAINS}
        found = tacit_times(folder / "release.json", method.removeprefix("tacit "), sizes, started, "theta")
    else:
        import numpy as np

        model = pymc_model(dict(np.load(folder / "problem.npz")))
        trace, seconds = sampled(model, method, WARMUP, DRAWS, CHAINS)
        until, peak = time.time() - started, memory()
        found = {"until": until, "sampling": seconds, "effective": effective(trace.posterior["theta"].values)}
        found |= {"memory": peak, "draws": CHAINS * DRAWS}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
