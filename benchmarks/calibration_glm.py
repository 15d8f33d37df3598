"""Are logistic and Poisson regression calibrated, and do large effects break them?

    python benchmarks/calibration_glm.py --list
    python benchmarks/calibration_glm.py --cells 0,4-7 --out results.jsonl [--trials 500] [--processes 2]
    python benchmarks/calibration_glm.py --table results.jsonl [--page docs/glm.md] [--figure FILE.svg]

Three studies. The grid is simulation-based calibration: parameters from the prior, rows from the model, a release, a
posterior, the rank of the truth. The study of large effects holds theta still at lengths where the Taylor polynomials
of Kulkarni et al. 2021 fail, and counts how often 95% intervals hold it, for exact moments (``gaussian-covariates``)
and for theirs (``taylor``). The study of limits is the grid's with covariates that are not normal within a cell. Every
cell writes one line of JSON, as in calibration_linear.py.

Covariates lie in the ball of radius 1, and in the box where there are levels. The priors send fewer than one row in
1,000 outside, and the covariates of the second study about one in 450; every cell measures its share and writes it
down.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# As in calibration_linear.py: XLA's thread pool can wait for itself where it has two threads.
os.environ.setdefault("NPROC", "1")

import numpy as np

import tacit

sys.path.insert(0, str(Path(__file__).parent))
from calibration_linear import _numbers, _rmse, measured, run_cells

from tacit.calibration.in_processes import joined
from tacit.calibration.misspecification import SHAPES, as_misspecification
from tacit.infer import check_settings, posterior_arrays, prior_for, problem_for

TRIALS, REPLICATES, DRAWS, WARMUP, SEED, DELTA = 500, 200, 99, 500, 2105, 1e-5
GRID_WARMUP = 250  # the chain starts at the peak with its curvature as metric
LEAPS = 16  # of every trajectory where there are many covariates; elsewhere NUTS decides
ROWS, EPSILONS, COVARIATES, FAMILIES = (500, 5_000), (0.1, 1.0), (2, 5), ("logistic", "poisson")
SIZE = {1: 0.12, 2: 0.12, 5: 0.1}  # mean_sd and scale of the grid's priors, by the number of covariates
THETA_SD = {"logistic": 1.0, "poisson": 0.7}
MOST = 8  # the largest count that is told apart
LARGE = {"d": 3, "n": 20_000, "epsilon": 1.0}
NORMS = (1.5, 3.0, 6.0)
DIRECTION = np.array([2.0, -2.0, 1.0]) / 3
SIGMA_X = 0.0475 * np.eye(3) + 0.015
COLOURS = {"gaussian-covariates": "#2f6690", "taylor": "#c0562f"}
LABELS = {"gaussian-covariates": "gaussian-covariates (exact moments)", "taylor": "taylor (the paper's moments)"}


@dataclass(frozen=True)
class Cell:
    """What is simulated and how it is inferred.

    ``norm`` is the length of theta where it is held still, else 0. ``shape`` is the distribution of covariates within
    a cell; with ``levels`` there is a factor of so many beside them.
    """

    table: str
    family: str
    d: int
    n: int
    epsilon: float
    method: str
    norm: float = 0.0
    shape: str = "normal"
    levels: int = 0

    def setting(self) -> tuple[tacit.Plan, dict[str, Any]]:
        """The plan, and the changes to the default prior."""
        names = [f"x{i + 1}" for i in range(self.d)]
        logistic = self.family == "logistic"
        columns: dict[str, Any] = {"y": ["no", "yes"] if logistic else (0, MOST), **dict.fromkeys(names, (-1, 1))}
        if self.levels:
            names.append("g")
            columns["g"] = [f"level {i + 1}" for i in range(self.levels)]
        schema = tacit.Schema(**columns)
        family = tacit.LogisticRegression if logistic else tacit.PoissonRegression
        model = family(f"y ~ {' + '.join(names)}", radius=None if self.levels else 1.0)
        plan = tacit.Plan(model, schema, tacit.ApproxDP(self.epsilon, DELTA), tacit.AddNoise())
        if self.norm:
            return plan, {"theta_sd": 5.0}
        return plan, {"theta_sd": THETA_SD[self.family], "mean_sd": SIZE[self.d], "scale": SIZE[self.d]}

    def fixed(self) -> dict[str, Any]:
        """The parameters of a study of large effects: no intercept, theta of length ``norm``."""
        theta = np.concatenate([[0.0], self.norm * DIRECTION])
        return {"theta": theta, "mu_x": np.zeros(3), "Sigma_x": SIGMA_X}

    def __str__(self) -> str:
        held = f", |theta| = {self.norm:g}" if self.norm else ""
        held += f", {self.levels} levels" if self.levels else ""
        held += f", {self.shape}" if self.shape != "normal" else ""
        return f"{self.family}, {self.d} covariates, n = {self.n}, epsilon = {self.epsilon:g}, {self.method}{held}"


CELLS = [
    *(
        Cell("grid", family, d, n, epsilon, method)
        for family in FAMILIES
        for d in COVARIATES
        for n in ROWS
        for epsilon in EPSILONS
        for method in ("gaussian-covariates", "naive")
    ),
    *(
        Cell("large", "logistic", method=method, norm=norm, **LARGE)
        for norm in NORMS
        for method in ("gaussian-covariates", "taylor")
    ),
    *(
        Cell("limits", "logistic", 2, n, 1.0, "gaussian-covariates", shape=shape)
        for n in (ROWS[1], 100_000)
        for shape in ("normal", *SHAPES)
    ),
    *(
        Cell("limits", "logistic", 1, ROWS[1], 1.0, "gaussian-covariates", shape=shape, levels=3)
        for shape in ("normal", "skewed")
    ),
]


# ---------------------------------------------------------------------------------------------------------------------
# The grid


def study(cell: Cell, trials: int, part: int = 0) -> tacit.Calibration:
    """One batched call; parts have seeds of their own.

    What the exact sums give is drawn beside ``gaussian-covariates`` only, as it is the same for every method, and only
    for few covariates, as it doubles the time.
    """
    plan, prior = cell.setting()
    return tacit.calibrate(
        plan,
        n=cell.n,
        trials=trials,
        seed=SEED + part,
        method=cell.method,
        prior=prior,
        draws=DRAWS,
        warmup=GRID_WARMUP,
        non_private=cell.table == "grid" and cell.method == "gaussian-covariates" and cell.d == min(COVARIATES),
        misspecification=None if cell.shape == "normal" else cell.shape,
        num_leapfrog_steps=LEAPS if cell.d == max(COVARIATES) else None,
    )


def summary(cell: Cell, found: tacit.Calibration) -> dict[str, Any]:
    """What a study says, as plain numbers."""
    p_values = {name: p for name, p in found.p_values().items() if _once(name, cell.d)}
    worst = min(p_values, key=lambda name: p_values[name])
    theta = [name for name in found.truths if name.startswith("theta")]
    truth = np.stack([found.truths[name] for name in theta], axis=1)
    exact = found.non_private
    estimates = {"posterior mean": found, "non-private": exact}
    return {
        "numbers": len(p_values),
        "least_p": p_values[worst],
        "bonferroni": min(1.0, p_values[worst] * len(p_values)),
        "worst": worst,
        "ks": max(found.ks()[name] for name in p_values),
        "p_values": p_values,
        "coverage": {name: found.coverage(0.95)[name] for name in p_values},
        "contraction": found.contraction(),
        "width_ratio": None if exact is None else found.width_ratio(),
        "non_private_bonferroni": None
        if exact is None
        else min(1.0, min(exact.p_values()[name] for name in p_values) * len(p_values)),
        "rmse": {
            name: _rmse(np.stack([one.means[number] for number in theta], axis=1), truth)
            for name, one in estimates.items()
            if one is not None
        }
        | {"prior mean": _rmse(truth.mean(axis=0), truth)},
        **_health(found.diagnostics),
    }


def _once(name: str, d: int) -> bool:
    """Whether a number is the first of its name: Sigma_x is symmetric."""
    if not name.startswith("Sigma_x["):
        return True
    place = int(name[8:-1])
    return place // d <= place % d


def _health(diagnostics: Any) -> dict[str, Any]:
    """How the sampler did: the share of draws that diverged, and leapfrog steps a draw."""
    return {
        "diverging": float(np.mean(diagnostics["diverging"])),
        "steps": float(np.mean(diagnostics["n_steps"])),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Large effects


def replicates(cell: Cell, count: int, part: int = 0) -> dict[str, Any]:
    """``count`` releases with the same theta, inferred in one batched call: arrays (count, coefficients)."""
    plan, prior = cell.setting()
    seeds = [int(seed) for seed in np.random.SeedSequence([SEED, part]).generate_state(count, np.uint32)]
    made = [tacit.simulate(plan, n=cell.n, seed=seed, parameters=cell.fixed()).release.values for seed in seeds]
    problem = problem_for(plan.model, plan.schema, prior, cell.n, plan.noise())
    settings = check_settings(warmup=WARMUP, draws=4 * (DRAWS + 1), chains=1, seed=SEED + part)
    arrays, diagnostics = posterior_arrays(problem, cell.method, settings, made, chains=1, seed=SEED + part)
    theta = arrays["theta"][:, 0]
    low, high = np.quantile(theta, [0.025, 0.975], axis=1)
    return {
        "low": low,
        "high": high,
        "means": theta.mean(axis=1),
        "sds": theta.std(axis=1, ddof=1),
        "diverging": np.mean(diagnostics["diverging"], axis=(1, 2)),
        "n_steps": np.mean(diagnostics["n_steps"], axis=(1, 2)),
    }


def held(cell: Cell, found: dict[str, Any]) -> dict[str, Any]:
    """Coverage, bias and width, coefficient by coefficient, as plain numbers."""
    truth = cell.fixed()["theta"]
    inside = (found["low"] <= truth) & (truth <= found["high"])
    names = [f"theta[{i}]" for i in range(len(truth))]

    def named(values: Any) -> dict[str, float]:
        return dict(zip(names, map(float, values), strict=True))

    lengths = found["means"][:, 1:] @ DIRECTION / cell.norm
    return {
        "coverage": named(inside.mean(axis=0)),
        "bias": named((found["means"] - truth).mean(axis=0)),
        "sd": named(found["sds"].mean(axis=0)),
        "rmse": {"posterior mean": _rmse(found["means"][:, 1:], truth[1:])},
        "ratio": [float(np.quantile(lengths, q)) for q in (0.05, 0.5, 0.95)],  # estimated over true effect
        "sd_of_predictor": float(math.sqrt(truth[1:] @ SIGMA_X @ truth[1:])),
        **_health(found),
    }


# ---------------------------------------------------------------------------------------------------------------------


def part_of(cell: Cell, trials: int, part: int) -> Any:
    """One batch of a cell of any study."""
    return (replicates if cell.table == "large" else study)(cell, trials, part)


def measure(cell: Cell, trials: int, done: list[Any]) -> dict[str, Any]:
    """Everything that is written down about a cell, as plain numbers."""
    join, summed = (_joined, held) if cell.table == "large" else (joined, summary)
    return {**cell.__dict__, "trials": trials, **summed(cell, join(done)), "outside": outside(cell)}


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def outside(cell: Cell, data_sets: int = 4_000, n: int = 50) -> float:
    """The share of rows whose covariates lie outside the ball and are moved onto it, over the prior."""
    plan, changes = cell.setting()
    prior, rng = prior_for(plan.model, plan.schema, changes), np.random.default_rng(SEED)
    departure = None if cell.shape == "normal" else as_misspecification(cell.shape)
    count = 0
    for _ in range(data_sets):
        parameters = cell.fixed() if cell.norm else plan.model.draw_parameters(prior, plan.schema, rng)
        rows = plan.model.draw_rows(parameters, plan.schema, n, rng)
        if departure is not None:
            rows = departure.applied(rows, parameters, plan.model, plan.schema, rng)
        count += int(np.sum(sum(np.square(rows[f"x{i + 1}"]) for i in range(cell.d)) > 1))
    return count / (data_sets * n)


# ---------------------------------------------------------------------------------------------------------------------
# Tables and the figure


def known(lines: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The lines about the cells of a table, in their order; of two about one cell the later one counts."""
    plain = CELLS[0].__dict__
    names = list(plain)
    found = {tuple(line.get(name, plain[name]) for name in names): line for line in lines}
    cells = [tuple(cell.__dict__.values()) for cell in CELLS if cell.table == table]
    return [found[key] for key in cells if key in found]


def grid_tables(lines: list[dict[str, Any]]) -> str:
    """The grid as Markdown."""
    ordered = known(lines, "grid")
    parts: list[str] = []
    for family in FAMILIES:
        for d in COVARIATES:
            rows = [r for r in ordered if (r["family"], r["d"]) == (family, d)]
            parts += _table(f"{family.capitalize()} regression, {d} covariates", rows)
    if ordered:
        counts = " or ".join(sorted({str(r["trials"]) for r in ordered}))
        most = max(r["outside"] for r in ordered)
        parts += [f"Trials: {counts}. Largest share of rows outside the ball: {most:.1e}."]
    return "\n".join(parts)


def _table(title: str, rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    headings = ("n", "epsilon", "method", "least p", "number", "95% covers", "learnt", "width", "RMSE", "exact")
    headings = (*headings, "diverging")
    lines = [f"### {title}", "", "| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for r in rows:
        slopes = [name for name in r["contraction"] if name.startswith("theta") and name != "theta[0]"]
        covers = [100 * share for share in r["coverage"].values()]
        p = f"{r['bonferroni']:.3f}" if r["bonferroni"] >= 0.001 else f"{r['bonferroni']:.0e}"
        width = "" if r["width_ratio"] is None else f"{np.mean([r['width_ratio'][name] for name in slopes]):.2f}"
        exact = r["rmse"].get("non-private")
        cells = [
            f"{r['n']:,}",
            f"{r['epsilon']:g}",
            r["method"],
            f"**{p}**" if r["bonferroni"] < 0.01 else p,
            r["worst"],
            f"{min(covers):.1f} to {max(covers):.1f}",
            f"{np.mean([r['contraction'][name] for name in slopes]):.2f}",
            width,
            f"{r['rmse']['posterior mean']:.3f}",
            "" if exact is None else f"{exact:.3f}",
            f"{r['diverging']:.1%}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def limits_table(lines: list[dict[str, Any]]) -> str:
    """The study of limits as Markdown."""
    rows = known(lines, "limits")
    headings = ("formula", "n", "law of x", "least p, theta", "theta: 95% covers", "least p, others", "RMSE", "trials")
    made = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for r in rows:
        theta = [name for name in r["p_values"] if name.startswith("theta")]
        others = [name for name in r["p_values"] if name not in theta]
        covers = [100 * r["coverage"][name] for name in theta]
        least = [min(1.0, len(r["p_values"]) * min(r["p_values"][name] for name in kind)) for kind in (theta, others)]
        p_theta, p_others = (f"{p:.3f}" if p >= 0.001 else f"{p:.0e}" for p in least)
        cells = [
            f"{r['d']} number{'s' * (r['d'] > 1)}" + (f", {r['levels']} levels" if r["levels"] else ""),
            f"{r['n']:,}",
            r["shape"],
            p_theta,
            f"{min(covers):.1f} to {max(covers):.1f}",
            p_others,
            f"{r['rmse']['posterior mean']:.3f}",
            str(r["trials"]),
        ]
        made.append("| " + " | ".join(cells) + " |")
    return "\n".join(made) if rows else ""


def large_table(lines: list[dict[str, Any]]) -> str:
    """The study of large effects as Markdown."""
    rows = known(lines, "large")
    headings = ("length of theta", "sd of theta'x", "method", "95% covers", "estimate / truth", "RMSE", "replicates")
    made = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for r in rows:
        covers = [100 * share for name, share in r["coverage"].items() if name != "theta[0]"]
        cells = [
            f"{r['norm']:g}",
            f"{r['sd_of_predictor']:.2f}",
            r["method"],
            f"{min(covers):.1f} to {max(covers):.1f}",
            f"{r['ratio'][1]:.2f}",
            f"{r['rmse']['posterior mean']:.3f}",
            str(r["trials"]),
        ]
        made.append("| " + " | ".join(cells) + " |")
    return "\n".join(made) if rows else ""


def figure(lines: list[dict[str, Any]]) -> Any:
    """Coverage, the estimated over the true effect, and why: the mean factor of y x and its Taylor form."""
    from matplotlib.figure import Figure

    rows = known(lines, "large")
    drawn = Figure(figsize=(10.2, 3.4), layout="constrained", facecolor="white")
    coverage, ratio, why = (drawn.add_subplot(1, 3, place) for place in (1, 2, 3))
    coverage.axhline(0.95, color="#5b6673", linewidth=0.8, zorder=0)
    ratio.axhline(1.0, color="#5b6673", linewidth=0.8, zorder=0)
    for method, colour in COLOURS.items():
        own = [r for r in rows if r["method"] == method]
        at = np.array([r["norm"] for r in own]) + (0.08 if method == "taylor" else -0.08)
        shares = np.array([[r["coverage"][f"theta[{i}]"] for i in (1, 2, 3)] for r in own]).reshape(-1, 3)
        coverage.plot(at, shares.mean(axis=1), "-", color=colour, linewidth=1.3, label=LABELS[method])
        for place in range(3):
            coverage.plot(at, shares[:, place], "o", color=colour, markersize=4, alpha=0.8)
        low, middle, high = np.array([r["ratio"] for r in own]).reshape(-1, 3).T
        ratio.errorbar(at, middle, [middle - low, high - middle], fmt="o", color=colour, markersize=4, capsize=3)
    coverage.set(ylim=(-0.03, 1.03), xlabel="length of theta", ylabel="95% intervals that held the truth")
    coverage.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 0.12))
    ratio.set(ylim=(0, None), xlabel="length of theta", ylabel="estimated / true effect")
    for axes in (coverage, ratio):
        axes.set_xticks(list(NORMS), [f"{norm:g}" for norm in NORMS])
    s = np.linspace(1e-3, 3.2, 200)
    why.plot(s, mean_factor(s), color=COLOURS["gaussian-covariates"], linewidth=1.5)
    why.plot(s, 1 / 2 - s**2 / 8, color=COLOURS["taylor"], linewidth=1.5)
    why.set(ylim=(-0.3, 0.55), xlabel="sd of theta'x (grey: length of theta)", ylabel="E[y x] / (Cov(x) theta)")
    why.axhline(0, color="#5b6673", linewidth=0.6, zorder=0)
    for norm in NORMS:
        sd = norm * math.sqrt(DIRECTION @ SIGMA_X @ DIRECTION)
        why.axvline(sd, color="#d7dde3", linewidth=1, zorder=0)
        why.annotate(f"{norm:g}", (sd, -0.28), ha="center", fontsize=8, color="#5b6673")
    titles = ("Coverage", "Estimate: median, 5% and 95%", "Why: the mean of y x")
    for axes, title in zip((coverage, ratio, why), titles, strict=True):
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    return drawn


def mean_factor(s: Any) -> Any:
    """E[u tanh(u/2)] / s^2 for u ~ N(0, s^2): by Stein's identity E[1 - tanh(u/2)^2] / 2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return ((1 - np.tanh(np.multiply.outer(s, nodes) / 2) ** 2) / 2) @ weights / math.sqrt(2 * math.pi)


def filled(page: str, mark: str, made: str) -> str:
    """A page with ``made`` between its marks."""
    begin, end = f"<!-- begin {mark} -->", f"<!-- end {mark} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{made}\n\n{end}{rest.split(end)[1]}"


def rows() -> list[dict[str, Any]]:
    """A short version for the table of all benchmarks: logistic, two covariates, 100 trials."""
    wanted = ("grid", "logistic", 2, 5_000, 1.0)
    cells = [cell for cell in CELLS if (cell.table, cell.family, cell.d, cell.n, cell.epsilon) == wanted]
    return [
        {
            "method": r["method"],
            "n": r["n"],
            "epsilon": r["epsilon"],
            "least p, Bonferroni": f"{r['bonferroni']:.2g}",
            "least 95% coverage": f"{min(r['coverage'].values()):.2f}",
            "seconds": f"{r['seconds']:.1f}",
        }
        for r in (measured(part_of, measure, cell, 100) for cell in cells)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="number and name every cell")
    parser.add_argument("--cells", type=_numbers, help="which to run, such as 0,4-7")
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"), help="lines of JSON, added to")
    parser.add_argument("--trials", type=int, help=f"{TRIALS} for the grid and {REPLICATES} for large effects")
    parser.add_argument("--parts", type=int, default=20, help="batches that the trials of a cell are run in")
    parser.add_argument("--processes", type=int, default=1, help="batches at a time")
    parser.add_argument("--first", type=int, default=0, help="number of the first batch: others have other seeds")
    parser.add_argument("--table", type=Path, nargs="+", help="files of results to make tables of")
    parser.add_argument("--page", type=Path, help="Markdown page to put the tables into, between its marks")
    parser.add_argument("--figure", type=Path, help="file for the figure about large effects, from --table")
    said = parser.parse_args()
    if said.list:
        print("\n".join(f"{i:>3}  {cell}" for i, cell in enumerate(CELLS)))
    if said.cells:
        trials = [said.trials or (REPLICATES if CELLS[i].table == "large" else TRIALS) for i in said.cells]
        work = [(i, CELLS[i], n) for i, n in zip(said.cells, trials, strict=True)]
        run_cells(part_of, measure, work, said.parts, said.processes, said.out, said.first)
    if said.table:
        lines = [json.loads(line) for path in said.table for line in path.read_text("utf-8").splitlines() if line]
        grid, large, limits = grid_tables(lines), large_table(lines), limits_table(lines)
        if said.figure is not None:
            import matplotlib

            with matplotlib.rc_context({"svg.hashsalt": "tacit", "font.size": 9}):
                figure(lines).savefig(said.figure, metadata={"Date": None} if said.figure.suffix == ".svg" else None)
        if said.page is None:
            print(f"{large}\n\n{limits}\n\n{grid}")
        else:
            page = said.page.read_text("utf-8")
            for mark, made in (("large effects", large), ("limits", limits), ("tables", grid)):
                page = filled(page, mark, made) if made else page
            said.page.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
