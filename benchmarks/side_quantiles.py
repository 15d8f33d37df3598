"""The error of other libraries' private medians, for the columns of `simple_questions.py` at the same budget.

    pip install diffprivlib opendp pandas pyarrow        in an environment of its own, without tacit
    python benchmarks/side_quantiles.py --data DATA --out results/simple --releases 200

diffprivlib (0.6.6 needs scikit-learn below 1.7) has `tools.median`, which draws from the intervals between the rows by the exponential mechanism. OpenDP scores the
candidates that it is given, here the same edges and bounds that tacit is given, and reports the noisy best. The error is
the root-mean-square distance from the rows' own median over the width of the bounds, as there.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import ast
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

EPSILONS = (0.1, 1.0, 10.0)


def bounds() -> dict[str, dict[str, tuple[float, float]]]:
    """The bounds of the study, read from its text: tacit need not be there."""
    text = (Path(__file__).parent / "simple_questions.py").read_text()
    start = text.index("BOUNDS: dict")
    body = text[text.index("{", start) : text.index("}  # fmt: skip", start) + 1].replace("SHARES", "(0, 1)")
    return ast.literal_eval(body)


def edges_of(cells: Any, low: float, high: float, bins: int = 32) -> list[float]:
    """As `simple_questions.edges_of` has them."""
    whole = low == int(low) and high == int(high) and high - low < bins and np.all(cells == np.rint(cells))
    return [k + 0.5 for k in range(int(low), int(high))] if whole else list(np.linspace(low, high, bins + 1)[1:-1])


def diffprivlib_errors(cells: Any, low: float, high: float, epsilon: float, count: int) -> list[float]:
    """Signed errors of diffprivlib's median."""
    from diffprivlib import tools

    own = float(np.quantile(cells, 0.5, method="inverted_cdf"))
    return [float(tools.median(cells, epsilon=epsilon, bounds=(low, high))) - own for _ in range(count)]


def opendp_errors(cells: Any, low: float, high: float, epsilon: float, count: int) -> list[float]:
    """Signed errors of OpenDP's median over candidates: edges, and the bounds; n is public, as in tacit."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = [float(low), *edges_of(cells, low, high), float(high)]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(cells)), dp.symmetric_distance()
    scores = dp.t.make_quantile_score_candidates(*space, candidates, alpha=0.5)

    def measure(scale: float) -> Any:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

    scale = dp.binary_search_param(measure, d_in=2, d_out=epsilon)
    made = measure(scale)
    own = float(np.quantile(cells, 0.5, method="inverted_cdf"))
    data = cells.tolist()
    return [candidates[made(data)] - own for _ in range(count)]


def main() -> None:
    """Run all columns that have no file yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=200)
    said = parser.parse_args()
    for table, own in bounds().items():
        for column, (low, high) in own.items():
            cells = pd.read_parquet(said.data / f"{table}.parquet", columns=[column])[column].dropna().to_numpy(float)
            cells = np.clip(cells, low, high)
            for epsilon in EPSILONS:
                path = said.out / f"side-{table}-{column}-{epsilon:g}.json"
                if path.exists():
                    continue
                found: dict[str, Any] = {"cell": f"side {table} {column} {epsilon:g}"}
                for name, run in (("diffprivlib", diffprivlib_errors), ("opendp", opendp_errors)):
                    try:
                        errors = np.array(run(cells, low, high, epsilon, said.releases))
                        found[name] = math.sqrt(float(np.mean(errors**2))) / (high - low)
                    except Exception as error:  # a library that refuses a column has no figure
                        found[name] = f"{type(error).__name__}: {error}"[:200]
                path.write_text(json.dumps(found))
                print(found, flush=True)


if __name__ == "__main__":
    main()
