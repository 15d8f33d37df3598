"""The study of real tables: does the posterior from a release agree with what the rows themselves say?

    python benchmarks/real_tables.py --data DATA --out results/real_tables --releases 100 --processes 16
    python benchmarks/real_tables.py --out results/real_tables --table        the cells that are there, as Markdown

A cell is a regression of `table_cases` and an epsilon (delta 1e-6). For each the rows' own posterior under the default
prior is drawn by ordinary MCMC, and compared, coefficient by coefficient, with the posteriors of many releases:

    coverage   of the rows' own posterior mean by the central 95% interval; a cell fails below 361 of 400, or the
               same quantile of fewer: a false alarm in 1% of studies of 240 cells
    spread     of (mean - own mean) / sqrt(sd^2 - own sd^2): 0.8 to 1.2 if noise is accounted for, and not just wide
    ratio      median sd over the own sd
    error      root-mean-square of mean - own mean, in own sds, beside objective perturbation's and averaged noisy
               gradient descent's with the whole budget (best of six settings, chosen with hindsight)

At epsilon = 1e4 the distance of the means is to be below 0.1 sd, and the ratio 0.95 to 1.05. Two planted faults must
fail: ``--fault normal`` (covariates assumed normal: `marginal` on kind noise) and ``--fault pooled`` (all rounds taken
as measurements of one score and one information). Cells that have a file in ``--out`` are not run again.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
import os
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from score_mechanism import release, row_values, sensitivity
from table_cases import CASES, Case

DELTA = 1e-6
EPSILONS = (0.3, 1.0, 4.0, 1e4)


def link_of(case: Case) -> Any:
    """What steps and inference need to know of the response."""
    response = case.formula.split("~")[0].strip()
    return SimpleNamespace(kind=case.family, clamp=None if case.family == "logistic" else int(case.schema[response][1]))


def own_posterior(x: Any, y: Any, link: Any, prior: tuple[Any, Any], rng: Any, draws: int = 20_000) -> tuple[Any, Any]:
    """Mean and sd of the rows' own posterior: Metropolis-Hastings with proposals from a t around the mode."""
    mean, sd = prior
    clamp = float(link.clamp or 1)
    theta = np.zeros(x.shape[1])
    for _ in range(200):  # damped Fisher scoring
        u, w = row_values(link.kind, clamp, x @ theta, y)
        gradient = u @ x - (theta - mean) / sd**2
        information = (x * w[:, None]).T @ x + np.diag(sd**-2.0)
        step = np.linalg.solve(information, gradient)
        theta = theta + step * min(1.0, 2.0 / max(np.abs(x @ step).max(), 1e-12))
    numeric = _hessian(theta, x, y, link, clamp) + np.diag(sd**-2.0)
    root = np.linalg.inv(np.linalg.cholesky(numeric)).T
    normal, chi = rng.standard_normal((draws, len(theta))), rng.chisquare(8, draws) / 8
    proposed = theta + (normal / np.sqrt(chi)[:, None]) @ root.T
    # rows with the same design and response count together: real tables repeat themselves
    rows, counts = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    value = np.concatenate([_log_likelihood(part, rows, counts, link) for part in np.array_split(proposed, 200)])
    value = value - np.sum(((proposed - mean) / sd) ** 2, 1) / 2
    value = value + (8 + len(theta)) / 2 * np.log1p(np.sum((normal**2), 1) / chi / 8)  # less the proposal's density
    kept, here = np.zeros(draws, int), 0
    for i, threshold in enumerate(np.log(rng.random(draws))):
        here = i if value[i] - value[here] > threshold else here
        kept[i] = here
    found = proposed[kept[draws // 20 :]]
    return found.mean(0), found.std(0)


def _hessian(theta: Any, x: Any, y: Any, link: Any, clamp: float) -> Any:
    out = np.zeros((len(theta), len(theta)))
    for j in range(len(theta)):
        step = np.eye(len(theta))[j] * 1e-5
        up, down = (row_values(link.kind, clamp, x @ (theta + s), y)[0] @ x for s in (step, -step))
        out[j] = (down - up) / 2e-5
    return (out + out.T) / 2


def _log_likelihood(thetas: Any, rows: Any, counts: Any, link: Any) -> Any:
    eta, y = thetas @ rows[:, :-1].T, rows[:, -1]
    if link.kind == "logistic":
        return (y * eta - np.logaddexp(0, eta)) @ counts
    from scipy.special import gammainc

    mu = np.exp(np.minimum(eta, 20)) if link.kind == "log" else np.logaddexp(0, eta)
    top = np.log(np.maximum(gammainc(float(link.clamp), mu), 1e-300))  # P(count >= clamp)
    return np.where(y >= link.clamp, top, y * np.log(np.maximum(mu, 1e-300)) - mu) @ counts


def objective_perturbation(x: Any, y: Any, epsilon: float, rng: Any, size: int) -> Any:
    """Minimisers of the loss plus a random linear term, for |x|^2 <= p; a tenth of epsilon pays for the determinant."""
    from tacit.privacy.gaussian import mu_for

    p = x.shape[1]
    ridge = p / 4 / np.expm1(0.1 * epsilon) if epsilon < 500 else 0.0
    sd = 2 * np.sqrt(p) / mu_for(0.9 * epsilon, DELTA)
    found = []
    for _ in range(size):
        tilt, theta = sd * rng.standard_normal(p), np.zeros(p)
        for _ in range(60):
            u, w = row_values("logistic", 1.0, x @ theta, y)
            step = np.linalg.solve((x * w[:, None]).T @ x + (ridge + 1e-9) * np.eye(p), u @ x - tilt - ridge * theta)
            theta = theta + step * min(1.0, 2.0 / max(np.abs(x @ step).max(), 1e-12))
            if np.abs(step).max() < 1e-8:
                break
        found.append(theta)
    return np.array(found)


def gradient_descent(x: Any, y: Any, link: Any, mu: float, rng: Any, size: int, own: Any) -> Any:
    """Averages of the second half of noisy gradient descent; the best of six settings with hindsight."""
    n, p = x.shape
    clamp, best = float(link.clamp or 1), None
    curvature = float(np.max(row_values(link.kind, clamp, x @ own, y)[1])) * n
    for steps, speed in ((10, 1.0), (10, 3.0), (40, 1.0), (40, 3.0), (120, 1.0), (120, 3.0)):
        found = []
        for _ in range(size):
            theta, path = np.zeros(p), []
            for _ in range(steps):
                noise = sensitivity(link.kind, clamp, theta, 1.0, 0.0) * np.sqrt(steps) / mu
                score = row_values(link.kind, clamp, x @ theta, y)[0] @ x + noise * rng.standard_normal(p)
                theta = np.clip(theta + speed * score / curvature, -20, 20)
                path.append(theta)
            found.append(np.mean(path[steps // 2 :], 0))
        error = float(np.mean((np.array(found) - own) ** 2))
        best = (error, found) if best is None or error < best[0] else best
    assert best is not None
    return np.array(best[1])


def score_posteriors(case: Case, x: Any, y: Any, epsilon: float, said: Any, rng: Any) -> tuple[Any, Any, Any, float]:
    """Mean, sd and central 95% interval (releases, p) from noisy scores; how many draws diverged."""
    from tacit.models.score_data import layout, pack
    from tacit.models.score_steps import default_schedule
    from tacit.privacy.gaussian import mu_for
    from tacit.runtime.backend import run
    from tacit.runtime.chain import SamplerSettings
    from tacit.samplers.score_chain import score_chain
    from tacit.samplers.score_curve import LINEAR, curve_of

    link, mu = link_of(case), mu_for(epsilon, DELTA)
    schedule = default_schedule(x.shape[1], len(x), mu)
    packed, rounds = [], []
    for _ in range(said.releases):
        rounds, values = release(x, y, link, mu, schedule, rng)
        packed.append(pack([(rounds, values, len(x))], link, pooled=said.fault == "pooled"))
    curve = LINEAR if said.fault == "pooled" else curve_of(link.kind, link.clamp)
    chain = score_chain((layout(rounds),), curve, SamplerSettings(said.warmup, said.draws, said.num_leapfrog_steps))
    draws, info = run(chain, np.array(packed), chains=2, seed=1)
    return *_summary(np.asarray(draws["theta"])), float(np.mean(info["diverging"]))


def tacit_posteriors(case: Case, folder: Path, epsilon: float, said: Any) -> tuple[Any, Any, Any, float]:
    """The same from today's releases of sums, by the family's default method for them; linear ones in data units."""
    import tacit
    from tacit.infer import check_settings, posterior_arrays, problem_of

    plan = tacit.Plan(case.model(), tacit.Schema(**case.schema), tacit.ApproxDP(epsilon=epsilon, delta=DELTA))
    frame = case.frame(folder)
    values = [tacit.privatize(frame, plan, ledger=None).values for _ in range(said.releases)]
    settings = check_settings(
        warmup=said.warmup, draws=said.draws, chains=2, seed=1, num_leapfrog_steps=said.num_leapfrog_steps
    )
    problem = problem_of(plan, None, len(frame))
    method = plan.model.default_method(plan.schema)
    arrays, info = posterior_arrays(problem, method, settings, values, chains=2, seed=1)
    named = plan.model.coefficients(arrays, plan.schema) if case.family == "linear" else None
    theta = arrays["theta"] if named is None else np.stack([v for k, v in named.items() if k != "sigma"], -1)
    diverging = info.get("diverging", np.zeros(1))
    return *_summary(np.asarray(theta)), float(np.mean(diverging))


def _summary(theta: Any) -> tuple[Any, Any, Any]:
    flat = theta.reshape(len(theta), -1, theta.shape[-1])
    return flat.mean(1), flat.std(1), np.quantile(flat, [0.025, 0.975], axis=1)


def own_of(case: Case, folder: Path, out: Path) -> tuple[Any, Any]:
    """The rows' own posterior, computed once for each case."""
    from tacit.models.score_steps import StandIn, default_prior
    from tacit.samplers.score_curve import LINEAR

    path = out / f"own-{case.name}.json"
    if path.exists():
        found = json.loads(path.read_text())
        return np.array(found["mean"]), np.array(found["sd"])
    x, y = case.rows(folder)
    if case.family == "linear":  # least squares in the units of the data
        raw = np.column_stack(
            [
                np.ones(len(y)),
                *(np.clip(case.frame(folder)[name], *case.schema[name]) for name in list(case.schema)[1:]),
            ]
        )
        inverse = np.linalg.inv(raw.T @ raw)
        mean = inverse @ raw.T @ y
        rest = y - raw @ mean
        sd = np.sqrt(np.diag(inverse) * (rest @ rest) / (len(y) - raw.shape[1]))
    else:
        covariance = np.zeros((x.shape[1],) * 2)
        covariance[1:, 1:] = np.cov(x[:, 1:].T)
        prior = default_prior(StandIn(len(x), x.mean(0), covariance, LINEAR))
        mean, sd = own_posterior(x, y, link_of(case), prior, np.random.default_rng(7))
    path.write_text(json.dumps({"n": len(x), "p": x.shape[1], "mean": mean.tolist(), "sd": sd.tolist()}))
    return mean, sd


def cell(case: Case, epsilon: float, said: Any) -> str:
    """Run one cell and write its file."""
    path = said.out / f"{case.name}-{epsilon:g}{'-' + said.fault if said.fault else ''}.json"
    if path.exists():
        return f"{path.name}: there"
    own, own_sd = own_of(case, said.data, said.out)
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {epsilon:g} {said.seed}".encode()))
    x, y = case.rows(said.data)
    if case.family == "linear" or said.fault == "normal":
        mean, sd, interval, diverging = tacit_posteriors(case, said.data, epsilon, said)
    else:
        mean, sd, interval, diverging = score_posteriors(case, x, y, epsilon, said, rng)
    inside = (interval[0] <= own) & (own <= interval[1])
    beyond = np.sqrt(np.maximum(sd**2 - own_sd**2, (0.1 * own_sd) ** 2))
    found: dict[str, Any] = {
        "case": case.name, "family": case.family, "epsilon": epsilon, "n": len(x), "releases": said.releases,
        "fault": said.fault, "diverging": diverging,
        "coverage": inside.mean(0).tolist(),
        "spread": np.sqrt(np.mean(((mean - own) / beyond) ** 2, 0)).tolist(),
        "ratio": np.median(sd / own_sd, 0).tolist(),
        "error": np.sqrt(np.mean(((mean - own) / own_sd) ** 2, 0)).tolist(),
        "distance": np.median(np.abs(mean - own) / own_sd, 0).tolist(),
    }  # fmt: skip
    if not said.fault and case.family != "linear" and epsilon < 100 and len(x) <= 20_000:
        from tacit.privacy.gaussian import mu_for

        few = min(said.releases, 20)
        rivals = {"gradient descent": gradient_descent(x, y, link_of(case), mu_for(epsilon, DELTA), rng, few, own)}
        if case.family == "logistic":
            rivals["objective perturbation"] = objective_perturbation(x, y, epsilon, rng, few)
        found |= {name: np.sqrt(np.mean(((v - own) / own_sd) ** 2, 0)).tolist() for name, v in rivals.items()}
    path.write_text(json.dumps(found, indent=1))
    return f"{path.name}: coverage {min(found['coverage']):.2f} ratio {np.median(found['ratio']):.2f}"


def least_covered(releases: int) -> int:
    """The least number of covering intervals that passes: 361 of 400."""
    from scipy.stats import binom

    return int(binom.ppf(4e-5, releases, 0.95))


def table(out: Path) -> list[str]:
    """A row for each cell."""
    lines = ["| regression | epsilon | n | coverage, worst | spread | sd ratio, median, worst | error, median, worst | objective perturbation | gradient descent | fails |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for path in sorted(out.glob("*-*.json")):
        if path.name.startswith("own-"):
            continue
        c = json.loads(path.read_text())
        fails = []
        if min(c["coverage"]) * c["releases"] < least_covered(c["releases"]):
            fails.append("coverage")
        if c["epsilon"] >= 1e4:
            fails += ["distance"] * (max(c["distance"]) > 0.1)
            fails += ["ratio"] * (min(c["ratio"]) < 0.95 or max(c["ratio"]) > 1.05)
        elif max(c["spread"]) > 1.2 + 2 / np.sqrt(c["releases"]):
            fails.append("spread")
        pair = lambda v: f"{np.median(v):.2f}, {max(v):.2f}" if v else ""  # noqa: E731
        name = c["case"] + (f" ({c['fault']})" if c["fault"] else "")
        lines.append(f"| {name}, {c['family']} | {c['epsilon']:g} | {c['n']:,} | {np.median(c['coverage']):.2f}, {min(c['coverage']):.2f} | {min(c['spread']):.2f} to {max(c['spread']):.2f} | {pair(c['ratio'])} | {pair(c['error'])} | {pair(c.get('objective perturbation'))} | {pair(c.get('gradient descent'))} | {', '.join(fails)} |")  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="names of cases, or case-epsilon, by commas")
    parser.add_argument("--fault", choices=("normal", "pooled"))
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--num-leapfrog-steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the cells that are there, and run none")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    if said.table:
        print("\n".join(table(said.out)))
        return
    only = [one for one in said.only.split(",") if one]
    jobs = [
        (case, epsilon)
        for epsilon in EPSILONS
        for case in CASES
        if (not only or case.name in only or f"{case.name}-{epsilon:g}" in only)
        and not (said.fault and case.family == "linear")
        and not (said.fault == "normal" and case.family in ("log", "softplus") and "sex" in case.formula)
    ]
    jobs.sort(key=lambda job: -len(job[0].schema))  # the longest first
    if said.processes == 1:
        for case, epsilon in jobs:
            print(cell(case, epsilon, said), flush=True)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(said.processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(cell, case, epsilon, said) for case, epsilon in jobs]
        for one in as_completed(waiting):
            failed = one.exception()  # the other cells go on
            print(f"failed: {failed!r}" if failed else one.result(), flush=True)
    print("\n".join(table(said.out)))


if __name__ == "__main__":
    main()
