"""Linear regression: how long to 1,000 effective draws, from a fresh process, compilation included.

    python benchmarks/linear.py [--wide] [--covariates 1 5] [--rows 1000 100000]

Effective draws: the least bulk effective sample size over theta and sigma. All methods get the same release (epsilon =
1, the default prior) and run one after the other, each in a new process with an empty compilation cache:

    tacit wishart        the default method, through tacit.infer, 4 chains
    tacit gibbs-update   the paper's Gibbs sampler as tacit has it, 4 chains
    numpy Gibbs          the same sampler in plain numpy, written in this file from the paper's equations, 1 chain
    PyMC + nutpie        NUTS on the marginal normal distribution of the release, where both packages are installed, 4
    chains

A run has a fixed length, which need not give 1,000 effective draws. The time is then scaled: what comes before the
first kept draw counts once, the rest in proportion. Such a row says how many effective draws it was scaled from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fresh import effective, missing, sampled, tacit_times, timed

COLUMNS = ("seconds", "effective", "draws", "measured")
COVARIATES = (1, 5, 10)
WIDE = (20,)
ROWS = (1_000, 100_000)
MOST_ROWS = 10**6  # that are made up; more are copies of them
LIMIT = 600  # seconds a process may take
NUMPY_SECONDS = 15  # of sweeps, after which the numpy sampler stops
WARMUP, DRAWS, CHAINS = 500, 500, 4
if os.environ.get("TACIT_BENCH_QUICK"):  # does it run?
    NUMPY_SECONDS, WARMUP, DRAWS, CHAINS = 2, 30, 30, 2


def rows(covariates: tuple[int, ...] = COVARIATES, sizes: tuple[int, ...] = ROWS) -> list[dict[str, Any]]:
    """One row a method, number of covariates and number of rows."""
    table: list[dict[str, Any]] = []
    for d in covariates:
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                _write_problem(Path(folder), d, n)
                for method in ("tacit wishart", "tacit gibbs-update", "numpy Gibbs", "PyMC + nutpie"):
                    table.append({"covariates": d, "rows": n, "method": method, **_measure(method, Path(folder))})
    return table


def _write_problem(folder: Path, d: int, n: int) -> None:
    """A simulated release, and the same numbers as plain arrays for methods that do not know tacit."""
    import numpy as np

    import tacit

    names = [f"x{i + 1}" for i in range(d)]
    schema = tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1)))
    plan = tacit.Plan(tacit.LinearRegression(f"y ~ {' + '.join(names)}"), schema, tacit.PureDP(1.0))
    parameters = {
        "theta": np.array([0.1, *(0.4 / np.sqrt(d) * (-1) ** i for i in range(d))]),
        "sigma": 0.15,
        "mu_x": np.full(d, 0.1),
        "Sigma_x": 0.05 * np.eye(d) + 0.01,
    }
    made = min(n, MOST_ROWS)
    release = tacit.simulate(plan, n=made, seed=1, parameters=parameters).release
    if n > made:  # the sums of so many copies of these rows
        release = replace(release, n=n, values=tuple(value * (n // made) for value in release.values))
    release.save(folder / "release.json")
    statistic = plan.statistic()
    prior = plan.model.default_prior(schema).numbers(plan.model.design(schema))
    np.savez(
        folder / "problem.npz",
        n=n,
        released=np.array([v / statistic.unit for v in release.values]),
        places=np.array([(place.j, place.k) for place in statistic.layout[0].values()]),
        scales=np.array(release.noise.scales) / statistic.unit,
        **{name: np.asarray(value, float) for name, value in prior._asdict().items()},
    )


def _measure(method: str, folder: Path) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(COLUMNS)
    why = missing("pymc", "nutpie") if method.startswith("PyMC") else None
    found = {"note": why} if why else timed(__file__, method, str(folder), limit=LIMIT)
    return {**empty, **{name: found[name] for name in (*COLUMNS, "note") if name in found}}


# What runs in the fresh process. Each returns draws (chains, draws, numbers) and the seconds that the kept draws took.


def _time_numpy(folder: Path) -> dict[str, Any]:
    import numpy as np

    started = float(sys.argv[-1])
    draws, seconds = numpy_gibbs(dict(np.load(folder / "problem.npz")), NUMPY_SECONDS, np.random.default_rng(1))
    until = time.time() - started
    return {"until": until, "sampling": seconds, "effective": effective(draws[None]), "draws": len(draws)}


def _time_pymc(folder: Path, sampler: str) -> dict[str, Any]:
    import numpy as np

    started = float(sys.argv[-1])
    draws, seconds = pymc_marginal(dict(np.load(folder / "problem.npz")), sampler)
    until = time.time() - started
    return {"until": until, "sampling": seconds, "effective": effective(draws), "draws": CHAINS * DRAWS}


def numpy_gibbs(problem: dict[str, Any], limit: float, rng: Any) -> tuple[Any, float]:
    """Gibbs-SS-Update of bernstein2019, Algorithm 1, for ``limit`` seconds; the first tenth of the sweeps is dropped.

    Equations (2) and (3) as einsums over the tensor of fourth moments, NormProduct with three inverses, projection to
    positive definite matrices. Corrections without which it does not run: the index order of the appendix, distinct
    entries without the constant one, and a projection that keeps n.
    """
    import numpy as np

    n, z, b = float(problem["n"]), problem["released"], problem["scales"]
    j, k = problem["places"].T
    p = len(problem["mu0"])
    kinds = [((j < p) & (k < p)), ((j < p) & (k == p)), (j == p)]
    xx, xy, yy = (np.flatnonzero(kind) for kind in kinds)
    theta, variance = np.zeros(p), 0.05
    mu_x, sigma_x = problem["m0"], 0.1 * np.eye(p - 1)
    omega2 = 2 * b**2
    kept: list[Any] = []
    begin = time.time()
    while time.time() - begin < limit:
        m, v = np.append(1.0, mu_x), np.zeros((p, p))
        v[1:, 1:] = sigma_x
        mm = np.outer(m, m)
        eta = v + mm
        eta4 = np.einsum("ij,kl->ijkl", mm, mm)
        for order in ("ij,kl", "ik,jl", "il,jk"):
            first, second = order.split(",")
            eta4 += np.einsum(f"{order}->ijkl", v, v)
            eta4 += np.einsum(f"{first},{second}->ijkl", v, mm) + np.einsum(f"{first},{second}->ijkl", mm, v)
        xi = eta4 - np.einsum("ij,kl->ijkl", eta, eta)
        one = np.einsum("ijkl,l->ijk", xi, theta)
        two = np.einsum("ijk,k->ij", one, theta)
        mean = np.empty(len(z))
        mean[xx], mean[xy], mean[yy] = eta[j[xx], k[xx]], (eta @ theta)[j[xy]], variance + theta @ eta @ theta
        cov = np.empty((len(z), len(z)))
        cov[np.ix_(xx, xx)] = xi[j[xx][:, None], k[xx][:, None], j[xx], k[xx]]
        cov[np.ix_(xx, xy)] = one[j[xx][:, None], k[xx][:, None], j[xy]]
        cov[np.ix_(xy, xx)] = cov[np.ix_(xx, xy)].T
        cov[np.ix_(xx, yy)] = two[j[xx], k[xx]][:, None]
        cov[np.ix_(yy, xx)] = cov[np.ix_(xx, yy)].T
        within = variance * eta + np.einsum("ijk,j->ik", one, theta)
        cov[np.ix_(xy, xy)] = within[j[xy][:, None], j[xy]]
        cov[np.ix_(xy, yy)] = (two @ theta + 2 * variance * eta @ theta)[j[xy]][:, None]
        cov[np.ix_(yy, xy)] = cov[np.ix_(xy, yy)].T
        cov[np.ix_(yy, yy)] = 2 * variance**2 + theta @ two @ theta + 4 * variance * theta @ eta @ theta
        # NormProduct
        inverse = np.linalg.inv(n * cov)
        product = np.linalg.inv(inverse + np.diag(1 / omega2))
        s = rng.multivariate_normal(product @ (inverse @ (n * mean) + z / omega2), product, method="cholesky")
        gram = np.zeros((p + 1, p + 1))
        gram[0, 0] = n
        gram[j, k] = gram[k, j] = s
        sums = gram[1:, 0]
        values, vectors = np.linalg.eigh(gram[1:, 1:] - np.outer(sums, sums) / n)
        if values[0] <= 0:
            centred = (vectors * np.maximum(values, 1e-9)) @ vectors.T
            gram[1:, 1:] = centred + np.outer(sums, sums) / n
        # theta, sigma^2 by equation (1)
        precision = gram[:p, :p] + problem["lambda0"]
        prior_part = problem["lambda0"] @ problem["mu0"]
        centre = np.linalg.solve(precision, gram[:p, p] + prior_part)
        spread = gram[p, p] + problem["mu0"] @ prior_part - centre @ precision @ centre
        variance = (problem["b0"] + spread / 2) / rng.gamma(problem["a0"] + n / 2)
        theta = rng.multivariate_normal(centre, variance * np.linalg.inv(precision), method="cholesky")
        # mu_x, tau^2 by the normal-inverse-Wishart update
        kappa, m0 = problem["kappa0"] + n, problem["m0"]
        m_n = (problem["kappa0"] * m0 + gram[0, 1:p]) / kappa
        psi = problem["psi0"] + gram[1:p, 1:p] + problem["kappa0"] * np.outer(m0, m0) - kappa * np.outer(m_n, m_n)
        degrees = problem["nu0"] + n - np.arange(p - 1)
        a = np.tril(rng.standard_normal((p - 1, p - 1)), -1) + np.diag(np.sqrt(rng.chisquare(degrees)))
        half = np.linalg.solve(a, np.linalg.cholesky(psi).T).T
        sigma_x = half @ half.T
        mu_x = m_n + half @ rng.standard_normal(p - 1) / np.sqrt(kappa)
        omega2 = 1 / rng.wald(1 / (b * np.maximum(np.abs(z - gram[j, k]), 1e-12)), 1 / b**2)
        kept.append(np.append(theta, np.sqrt(variance)))
    start = len(kept) // 10
    return np.array(kept[start:]), limit * (len(kept) - start) / len(kept)


def pymc_marginal(problem: dict[str, Any], sampler: str) -> tuple[Any, float]:
    """z ~ N(n E[t], n Cov(t) + diag(omega^2)) with omega^2 exponential, the priors as in tacit."""
    import numpy as np
    import pymc as pm
    import pytensor.tensor as pt

    n, b = float(problem["n"]), problem["scales"]
    j, k = problem["places"].T
    p, d = len(problem["mu0"]), len(problem["m0"])
    with pm.Model() as model:
        variance = pm.InverseGamma("variance", float(problem["a0"]), float(problem["b0"]))
        sigma = pt.sqrt(variance)
        raw = pm.Normal("raw", shape=p)
        theta = pm.Deterministic("theta", problem["mu0"] + sigma * raw / np.sqrt(np.diagonal(problem["lambda0"])))
        # Bartlett's decomposition of the inverse Wishart distribution.
        squares = pm.ChiSquared("squares", problem["nu0"] - np.arange(d), shape=d)
        below = pm.Normal("below", shape=max(d * (d - 1) // 2, 1))
        a = pt.diag(pt.sqrt(squares))
        if d > 1:
            a = pt.set_subtensor(a[np.tril_indices(d, -1)], below)
        half = pt.linalg.solve_triangular(a, np.sqrt(problem["psi0"]), lower=True).T
        mu_x = problem["m0"] + half @ pm.Normal("place", shape=d) / np.sqrt(problem["kappa0"])
        # (x, y) is normal, so the covariance of its products follows from its mean and covariance (Isserlis).
        sigma_x = half @ half.T
        slopes = theta[1:]
        mean = pt.concatenate([pt.ones(1), mu_x, (theta[0] + slopes @ mu_x)[None]])
        across = sigma_x @ slopes
        top = pt.concatenate([sigma_x, across[:, None]], axis=1)
        bottom = pt.concatenate([across, (slopes @ across + variance)[None]])
        v = pt.set_subtensor(pt.zeros((p + 1, p + 1))[1:, 1:], pt.concatenate([top, bottom[None, :]]))
        v_jj, v_jk, v_kk = v[j[:, None], j], v[j[:, None], k], v[k[:, None], k]
        m_j, m_k = mean[j], mean[k]
        cov = v_jj * v_kk + v_jk * v_jk.T + pt.outer(m_j, m_j) * v_kk + pt.outer(m_k, m_k) * v_jj
        cov = cov + pt.outer(m_j, m_k) * v_jk.T + pt.outer(m_k, m_j) * v_jk
        omega2 = pm.Exponential("omega2", scale=2 * b**2, shape=len(b))
        root = pt.linalg.cholesky(n * cov + pt.diag(omega2))
        pm.MvNormal("z", mu=n * (m_j * m_k + v[j, k]), chol=root, observed=problem["released"])
    trace, seconds = sampled(model, sampler, WARMUP, DRAWS, CHAINS)
    theta_draws = trace.posterior["theta"].values
    sigma_draws = np.sqrt(trace.posterior["variance"].values)[..., None]
    return np.concatenate([theta_draws, sigma_draws], axis=2), seconds


def main() -> None:
    if "--time" in sys.argv:
        method, folder = sys.argv[-3], Path(sys.argv[-2])
        if method.startswith("tacit "):
            name, _, leaps = method.removeprefix("tacit ").partition(", leaps=")
            sizes = {
                "warmup": WARMUP,
                "draws": DRAWS,
                "chains": CHAINS,
                **({"num_leapfrog_steps": int(leaps)} if leaps else {}),
            }
            path, started = folder / "release.json", float(sys.argv[-1])
            found = tacit_times(path, name, sizes, started, ("theta", "sigma"))
        else:
            sampler = "pymc" if method == "PyMC" else "nutpie"
            found = _time_numpy(folder) if method.startswith("numpy") else _time_pymc(folder, sampler)
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--wide", action="store_true", help="20 covariates as well")
    parser.add_argument("--covariates", type=int, nargs="+", default=list(COVARIATES))
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    said = parser.parse_args()
    table = rows((*said.covariates, *(WIDE if said.wide else ())), tuple(said.rows))
    print(f"{'d':>3} {'n':>8} {'method':<20} {'s to 1,000':>10} {'effective':>10} {'draws':>8} {'run, s':>8}  note")
    for row in table:
        shown = ["-" if row[name] is None else row[name] for name in COLUMNS]
        print(
            f"{row['covariates']:>3} {row['rows']:>8} {row['method']:<20} "
            f"{shown[0]:>10} {shown[1]:>10} {shown[2]:>8} {shown[3]:>8}  {row['note']}"
        )


if __name__ == "__main__":
    main()
