"""Simulation-based calibration of noisy scores: large effects, and covariates that are not normal.

    python benchmarks/score_sbc.py --out results/score_sbc --replicates 200 --processes 16

theta ~ N(0, sd^2), sd 2 and 3 in mapped units; one column of five skewed points and one U-shaped; logistic; n 500,
5,000 and 50,000; epsilon 1 and 4 (delta 1e-6). Each cell prints how often the central 95% interval held the true
coefficient, overall and where it is beyond 3, and the p-value of a chi-square test of ten bins of its rank.
"""

from __future__ import annotations

import argparse
import json
import zlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from score_mechanism import release


def rows(n: int, rng: Any) -> Any:
    """A design of an intercept, a five-point column and a U-shaped one that depends on it a little."""
    five = rng.choice(np.linspace(-1, 1, 5), n, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    u_shaped = np.clip(2 * rng.beta(0.4, 0.4, n) - 1 + 0.2 * (five - 0.5), -1, 1)
    return np.column_stack([np.ones(n), five, u_shaped])


def cell(n: int, epsilon: float, sd: float, said: Any) -> str:
    """Run one cell and write its file."""
    from scipy.stats import chisquare

    from tacit.models.score_data import layout, pack
    from tacit.models.score_steps import default_schedule
    from tacit.privacy.gaussian import mu_for
    from tacit.runtime.backend import run
    from tacit.runtime.chain import Settings
    from tacit.samplers.score_chain import score_chain
    from tacit.samplers.score_curve import LINEAR, curve_of

    name = f"{n}-{epsilon:g}-{sd:g}{'-pooled' if said.pooled else ''}"
    path = said.out / f"{name}.json"
    if path.exists():
        return f"{name}: there"
    rng = np.random.default_rng(zlib.crc32(f"{name} {said.seed}".encode()))
    link, mu = SimpleNamespace(kind="logistic", clamp=None), mu_for(epsilon, 1e-6)
    prior = (np.zeros(3), np.full(3, sd))
    truths, packed, rounds = [], [], []
    for _ in range(said.replicates):
        theta, x = sd * rng.standard_normal(3), rows(n, rng)
        y = (rng.random(n) < 1 / (1 + np.exp(-x @ theta))).astype(float)
        rounds, values = release(x, y, link, mu, default_schedule(3, n, mu), rng)
        packed.append(pack([(rounds, values, n)], link, prior, pooled=said.pooled))
        truths.append(theta)
    curve = LINEAR if said.pooled else curve_of("logistic")
    chain = score_chain((layout(rounds),), curve, Settings(said.warmup, said.draws))
    draws, info = run(chain, np.array(packed), chains=1, seed=1)
    theta, truth = np.asarray(draws["theta"])[:, 0], np.array(truths)
    ranks = np.mean(theta < truth[:, None], 1)
    inside = (ranks > 0.025) & (ranks < 0.975)
    large = np.abs(truth) > 3
    counts = [np.histogram(column, np.linspace(0, 1 + 1e-9, 11))[0] for column in ranks.T]
    found = {
        "n": n, "epsilon": epsilon, "sd": sd, "replicates": said.replicates,
        "coverage": inside.mean(0).tolist(), "coverage_all": float(inside.mean()),
        "coverage_large": float(inside[large].mean()) if large.any() else None,
        "p_values": [float(chisquare(count).pvalue) for count in counts],
        "diverging": float(np.mean(info["diverging"])),
    }  # fmt: skip
    path.write_text(json.dumps(found, indent=1))
    said_of = f"coverage {found['coverage_all']:.3f} (large {found['coverage_large']})"
    return f"{name}: {said_of}, p {min(found['p_values']):.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cells as n-epsilon-sd, by commas")
    parser.add_argument("--pooled", action="store_true", help="a planted fault: rounds pooled without discount")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    only = [one for one in said.only.split(",") if one]
    cells = [(n, e, sd) for n in (50_000, 5_000, 500) for e in (1.0, 4.0) for sd in (2.0, 3.0)]
    cells = [one for one in cells if not only or f"{one[0]}-{one[1]:g}-{one[2]:g}" in only]
    if said.processes == 1:
        for one in cells:
            print(cell(*one, said), flush=True)
        return
    with ProcessPoolExecutor(said.processes, mp_context=get_context("spawn")) as pool:
        for one in [pool.submit(cell, *each, said) for each in cells]:
            print(one.result(), flush=True)


if __name__ == "__main__":
    main()
