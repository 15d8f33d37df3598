"""How far one private estimate of a logistic regression is from the truth, method by method.

    python benchmarks/one_posterior_rmse.py [--repeats 200] [--page docs/one-posterior.md]

n = 1,000 rows, two coefficients theta ~ N(0, 3^2), epsilon 0.5, 1 and 5, delta = 1e-5 for the methods that need one.
Two designs. "unit box": covariates in [0, 1], as in jewson2023, mapped there from normal ones by public bounds (-4, 4),
not by the data's own minimum and maximum. "unbounded": standard normal covariates, for which the methods that need
a bound have the public one |x| <= 3. A number is the mean over repeats of |estimate - theta|, with its standard error.
A draw from the prior, which knows nothing, scores 5.3; always saying 0 scores 3.8.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))  # for `comparisons`

EPSILONS = (0.5, 1.0, 5.0)
ROWS, SIZE, SD, DELTA, SEED = 1000, 2, 3.0, 1e-5, 2023
REPEATS = 200
DESIGNS = ("unit box", "unbounded")
BEGIN, END = "<!-- begin rmse -->", "<!-- end rmse -->"


def problems(design: str, repeats: int) -> tuple[Any, Any, Any, Any]:
    """theta, x, y and what is public."""
    import numpy as np

    from comparisons.logistic_methods import Bounds

    rng = np.random.default_rng(SEED)
    theta = SD * rng.standard_normal((repeats, SIZE))
    x = rng.standard_normal((repeats, ROWS, SIZE))
    bounds = Bounds(norm=3.0)
    if design == "unit box":
        x = np.clip((x + 4) / 8, 0, 1)
        bounds = Bounds(norm=SIZE**0.5, entry=1.0)
    chances = 1 / (1 + np.exp(-np.einsum("mnd,md->mn", x, theta)))
    return theta, x, np.where(rng.random(chances.shape) < chances, 1.0, -1.0), bounds


def rows(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """One row a design and method."""
    import numpy as np

    from comparisons.logistic_methods import METHODS, NOT_PRIVATE, Problem

    table: list[dict[str, Any]] = []
    for design in DESIGNS:
        theta, x, y, bounds = problems(design, repeats)
        for name, method in {**METHODS, **NOT_PRIVATE}.items():
            if bounds.entry is None and name in ("output, coordinates", "output, sphere"):
                continue  # without a bound on each entry they are worse forms of "ball"
            row: dict[str, Any] = {"design": design, "method": name, "pure": name in METHODS and method.pure}
            row["assumed"] = name in METHODS and method.assumed
            for epsilon in EPSILONS:
                given = Problem(x, y, epsilon, DELTA, SD, bounds, SEED)
                off = np.linalg.norm(method.estimate(given) - theta, axis=1)
                row[f"epsilon {epsilon:g}"] = f"{off.mean():.2f} ± {off.std(ddof=1) / len(off) ** 0.5:.2f}"
            table.append(row)
            print(row, flush=True)
    return table


def page(table: list[dict[str, Any]], repeats: int) -> str:
    """The table as Markdown."""
    lines = [f"{repeats} repeats, mean distance from the truth and its standard error.", ""]
    for design in DESIGNS:
        lines += [f"**Covariates: {design}**", "", "| method | guarantee | epsilon 0.5 | epsilon 1 | epsilon 5 |"]
        lines += ["|---|---|---|---|---|"]
        for row in table:
            if row["design"] == design:
                kind = "none" if "not private" in row["method"] else "pure" if row["pure"] else "delta = 1e-5"
                kind = f"{kind}, assumed" if row["assumed"] else kind
                lines.append(
                    f"| {row['method']} | {kind} | " + " | ".join(row[f"epsilon {e:g}"] for e in EPSILONS) + " |"
                )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and put it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    text = page(rows(asked.repeats), asked.repeats)
    print(text)
    if asked.page is not None:
        whole = asked.page.read_text()
        before, rest = whole.split(BEGIN)
        asked.page.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
