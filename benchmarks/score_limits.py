"""How wide an interval from scores in rounds must be at the least: information known, and the whole budget in scores.

    python benchmarks/score_limits.py --data DATA

For each logistic regression of `table_cases` and each epsilon (delta 1e-6), in closed form and to first order: with J
the rows' information at their estimate and s the sd of Gaussian noise on their score there, if nothing else were
released, the covariance is J^-1 + s^2 J^-2. Printed are the median and the largest of its sds over the rows' own.
`--scores` is the share of the budget (of mu^2) that scores have.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from real_tables import DELTA
from score_mechanism import row_values, sensitivity
from table_cases import CASES

from tacit.privacy.gaussian import mu_for


def information(x: Any, y: Any) -> tuple[Any, Any]:
    """The maximum-likelihood estimate of a logistic regression, and the information there."""
    theta, found = np.zeros(x.shape[1]), np.eye(x.shape[1])
    for _ in range(60):
        u, w = row_values("logistic", 1.0, x @ theta, y)
        found = (x * w[:, None]).T @ x
        step = np.linalg.solve(found + 1e-9 * np.eye(len(theta)), u @ x)
        theta = theta + step * min(1.0, 1.0 / max(np.abs(x @ step).max(), 1e-12))
    return theta, found


def ratios(x: Any, y: Any, epsilon: float, share: float) -> Any:
    """The sds of all coefficients over the rows' own."""
    theta, found = information(x, y)
    noise = sensitivity("logistic", 1.0, theta, 1.0, 0.0) / mu_for(epsilon, DELTA) / np.sqrt(share)
    own = np.linalg.inv(found)
    return np.sqrt(np.diag(own + noise**2 * own @ own) / np.diag(own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--scores", type=float, default=1.0)
    said = parser.parse_args()
    print("| regression | n | covariates | epsilon 1: median, worst | 4 |\n|---|---|---|---|---|")
    for case in CASES:
        if case.family == "logistic":
            x, y = case.rows(said.data)
            pairs = [ratios(x, y, epsilon, said.scores) for epsilon in (1.0, 4.0)]
            shown = " | ".join(f"{np.median(one):.2f}, {one.max():.2f}" for one in pairs)
            print(f"| {case.name} | {len(x):,} | {x.shape[1] - 1} | {shown} |")


if __name__ == "__main__":
    main()
