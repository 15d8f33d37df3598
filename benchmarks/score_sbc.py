"""Simulation-based calibration of noisy scores: large effects, and covariates that are not normal.

    python benchmarks/score_sbc.py --out results/score_sbc --replicates 200 --processes 16

theta ~ N(0, sd^2), sd 2 and 3 in mapped units; one column of five skewed points and one U-shaped; logistic; n 500,
5,000 and 50,000; epsilon 1 and 4 (delta 1e-6). Each cell prints how often the central 95% interval held the true
coefficient, overall and where it is beyond 3, and the p-value of a chi-square test of ten bins of its rank. A right
posterior need not hold 95% of the truths beyond 3, which the prior draws inwards: beside it stands how many of its own
draws beyond 3 it holds. Replicates come in chunks that are kept as they end; a table of all chunks comes last.
"""

from __future__ import annotations

import argparse
import json
import os
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from score_mechanism import release

from tacit.models.score_model import ScoreLink


def rows(n: int, rng: Any) -> Any:
    """A design of an intercept, a five-point column and a U-shaped one that depends on it a little."""
    five = rng.choice(np.linspace(-1, 1, 5), n, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    u_shaped = np.clip(2 * rng.beta(0.4, 0.4, n) - 1 + 0.2 * (five - 0.5), -1, 1)
    return np.column_stack([np.ones(n), five, u_shaped])


def cell(n: int, epsilon: float, sd: float, chunk: int, said: Any) -> str:
    """Run one chunk of a cell and write its file."""
    from tacit.models.score_data import layout, pack
    from tacit.models.score_steps import default_schedule
    from tacit.privacy.gaussian import mu_for
    from tacit.runtime.backend import run
    from tacit.runtime.chain import SamplerSettings
    from tacit.samplers.score_chain import score_chain
    from tacit.samplers.score_curve import LINEAR, curve_of

    name = f"{n}-{epsilon:g}-{sd:g}{'-pooled' if said.pooled else ''}"
    path = said.out / f"{name}.{chunk}.json"
    if path.exists():
        return f"{path.name}: there"
    rng = np.random.default_rng(zlib.crc32(f"{name} {chunk} {said.seed}".encode()))
    link, mu = ScoreLink(kind="logistic", clamp=None), mu_for(epsilon, 1e-6)
    prior = (np.zeros(3), np.full(3, sd))
    truths, packed, rounds = [], [], []
    for _ in range(said.chunk):
        theta, x = sd * rng.standard_normal(3), rows(n, rng)
        y = (rng.random(n) < 1 / (1 + np.exp(-x @ theta))).astype(float)
        rounds, values = release(x, y, link, mu, default_schedule(3, n, mu), rng)
        packed.append(pack([(rounds, values, n)], link, prior, pooled=said.pooled))
        truths.append(theta)
    curve = LINEAR if said.pooled else curve_of("logistic")
    chain = score_chain((layout(rounds),), curve, SamplerSettings(said.warmup, said.draws))
    draws, info = run(chain, np.array(packed), chains=1, seed=1 + chunk)
    theta, truth = np.asarray(draws["theta"])[:, 0], np.array(truths)
    low, high = np.quantile(theta, [0.025, 0.975], axis=1)
    far = np.abs(theta) > 3
    found = {
        "n": n, "epsilon": epsilon, "sd": sd, "truth": truth.tolist(),
        "ranks": np.mean(theta < truth[:, None], 1).tolist(),
        "z": ((theta.mean(1) - truth) / theta.std(1)).tolist(),
        "far": [int(far.sum()), int((far & (theta > low[:, None]) & (theta < high[:, None])).sum())],
        "diverging": float(np.mean(info["diverging"])),
    }  # fmt: skip
    path.write_text(json.dumps(found))
    return path.name


def table(out: Path) -> list[str]:
    """A row for each cell, from the chunks that are there."""
    from scipy.stats import chisquare

    lines = [
        "n-epsilon-sd | replicates | coverage | by coefficient | beyond 3 (expected) | sd of z | least p | diverging"
    ]
    for name in sorted({path.name.rsplit(".", 2)[0] for path in out.glob("*.*.json")}):
        chunks = [json.loads(path.read_text()) for path in sorted(out.glob(f"{name}.*.json"))]
        ranks, truth, z = (np.concatenate([c[key] for c in chunks]) for key in ("ranks", "truth", "z"))
        inside, large = (ranks > 0.025) & (ranks < 0.975), np.abs(truth) > 3
        far, held = np.sum([c["far"] for c in chunks], 0)
        p = min(chisquare(np.histogram(column, np.linspace(0, 1 + 1e-9, 11))[0]).pvalue for column in ranks.T)
        lines.append(
            f"{name} | {len(ranks)} | {inside.mean():.3f} | {' '.join(f'{c:.3f}' for c in inside.mean(0))} | "
            f"{inside[large].mean():.3f} ({held / max(far, 1):.3f}) | {z.std():.2f} | {p:.2g} | "
            f"{np.mean([c['diverging'] for c in chunks]):.4f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--chunk", type=int, default=50, help="replicates that are run together")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cells as n-epsilon-sd, by commas")
    parser.add_argument("--pooled", action="store_true", help="a planted fault: rounds pooled without discount")
    parser.add_argument("--table", action="store_true", help="print what is there, and run nothing")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    only = [one for one in said.only.split(",") if one]
    cells = [(n, e, sd) for n in (500, 5_000, 50_000) for e in (1.0, 4.0) for sd in (2.0, 3.0)]
    cells = [one for one in cells if not only or f"{one[0]}-{one[1]:g}-{one[2]:g}" in only]
    jobs = [] if said.table else [(*one, k) for k in range(-(-said.replicates // said.chunk)) for one in cells]
    if said.processes == 1:
        for one in jobs:
            print(cell(*one, said), flush=True)
    else:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
        with ProcessPoolExecutor(said.processes, mp_context=get_context("spawn")) as pool:
            for one in as_completed([pool.submit(cell, *each, said) for each in jobs]):
                print(one.result(), flush=True)
    print("\n".join(table(said.out)))


if __name__ == "__main__":
    main()
