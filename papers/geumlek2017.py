"""Figures 1 to 4 of the appendix of Geumlek, Song and Chaudhuri 2017, "Renyi Differential Privacy Mechanisms for
Posterior Sampling".

    python papers/geumlek2017.py --out FOLDER [--data FOLDER] [--figures beta,abalone,adult,mnist] [--quick]
                                 [--processes 4] [--stop-after 3600]

Writes the figures as .svg, geumlek2017.jsonl and geumlek2017-claims.json, and prints what the paper says beside what
comes out here. "beta" is Figures 1 and 2; the others are the three tables of Figures 3 and 4, which need
abalone.parquet, adult.parquet and mnist_3vs8.parquet in the data folder. Without mnist_3vs8.parquet the digits that
scikit-learn ships stand in, if it is there; the other two are left out. Data are released by `tacit.privatize`, with
fresh randomness: numbers differ a little from run to run, by design.

Settings of the paper (appendix A.5, A.8): 100 rows and 100 held-out rows, order 15, priors (6, 18) and (1, 2) in the
paper's coordinates, which are Beta(6, 12) and Beta(1, 1); test error at orders 1 and 10, negative log-likelihood at
orders 1, 10 and 100 against epsilon. The main paper is not at hand. Where tacit has to differ, `NOTES` says why.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast here.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy import stats
from scipy.special import expit

import tacit
from tacit.studies import epsilon_for

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
from common import Cell, Claim

matplotlib.use("Agg")

FIGURES = ("beta", "abalone", "adult", "mnist")
ROWS, ORDER = 100, 15
PANELS = (((6, 12), 1 / 3), ((6, 12), 1 / 2), ((6, 12), 2 / 3), ((1, 1), 0.2))
BETA_EPSILONS = tuple(float(e) for e in np.geomspace(0.01, 10, 13))
REPETITIONS = 4000
DELTA = 1e-5
CHAIN = {"sampler": "mcmc", "gamma": 1e-300, "assume": "converged"}
PROVED = {"sampler": "rejection", "gamma": None, "assume": None}
GLM_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = (1, 10, 100)
TIGHT_EPSILONS = (0.1, 1.0, 5.0)
DRAWS = {"abalone": (10, 40), "adult": (10, 40), "mnist": (4, 4)}  # for the curves, for the tighter calibration
PRIOR_SD = {"abalone": 5.0, "adult": 5.0, "mnist": 20.0}
ADULT_ROWS = 10_000
SEED = 2017
COLOURS = {
    "non-private": "#1d2733",
    "diffused": "#2f6690",
    "concentrated": "#3a8f5c",
    "bounded": "#c0562f",
    "direct": "#8a5a9e",
}
NOTES = """\
Where this differs from the paper, and why
* Exact draws and prices. Worst cases are those of docs/posterior-sampling.md, in both directions; a clamped number
  moves by twice its bound (docs/errata.md).
* The bounded baseline of the Beta figures keeps the share in [a, 1 - a], with the log ratio of a record in
  [-L, L], L = log((1 - a)/a), so that 2 L = epsilon; its weight is 1. That of the regressions keeps |logit| <= 5.
* Features and their bounds are declared, not read off the data; the prior is N(0, sd^2) for every mapped coefficient.
* Abalone: rings > 10. Adult: 10,000 rows of the training file, the test file held out, seven features. MNIST: pixels
  averaged over 4 x 4 squares (49 numbers), every row divided by its norm, no intercept.
* Draws of regressions come from Hamiltonian chains, so that their guarantee is assumed, not proved: nobody bounds how
  far a chain is from its posterior. The plans say assume = "converged" with a gamma of 1e-300, as these are trials on
  public data. The bounded baseline's draws are exact, and proved. Non-private draws are those of the normal
  approximation. Several draws of one density are one release with as many times the price.
"""


# ---------------------------------------------------------------------------------------------------------------------
# Shares


def beta_plan(prior: tuple[int, int], budget: Any, tempering: str) -> tacit.Plan:
    said = {"prior": {"a": prior[0], "b": prior[1]}, "n": ROWS, "tempering": tempering}
    return tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), budget, tacit.PosteriorSample(**said))


def losses(shares: Any, held_out: Any) -> Any:
    """The mean negative log-likelihood of a held-out row under each drawn share."""
    shares = np.clip(shares, 1e-12, 1 - 1e-12)
    return -held_out * np.log(shares) - (1 - held_out) * np.log1p(-shares)


def beta_panel(place: int, epsilons: list[float], repetitions: int) -> dict[str, Any]:
    """Mean held-out loss by method and epsilon, with standard errors."""
    prior, truth = PANELS[place]
    rng = np.random.default_rng([SEED, place])
    ones = rng.binomial(ROWS, truth, repetitions)
    held_out = rng.binomial(ROWS, truth, repetitions) / ROWS
    a, b = prior
    curves: dict[str, list[float]] = {"diffused": [], "concentrated": [], "bounded": []}
    errors: dict[str, list[float]] = {name: [] for name in curves}
    exact = losses(rng.beta(a + ones, b + ROWS - ones), held_out)
    for epsilon in epsilons:
        found = {}
        for method in ("diffused", "concentrated"):
            law = beta_plan(prior, tacit.RenyiDP(order=ORDER, epsilon=epsilon), method).calibrated_mechanism()
            r, m = law.noise_parameters.number("weight"), law.noise_parameters.number("scale")
            found[method] = losses(rng.beta(a / m + r * ones, b / m + r * (ROWS - ones)), held_out)
        least = 1 / (1 + math.exp(epsilon / 2))
        law = stats.beta(a + ones, b + ROWS - ones)
        low, high = law.cdf(least), law.cdf(1 - least)
        inside = law.ppf(low + (high - low) * rng.uniform(size=repetitions))
        inside = np.where(np.isfinite(inside), inside, np.where(2 * ones > ROWS, 1 - least, least))
        found["bounded"] = losses(np.clip(inside, least, 1 - least), held_out)
        for name, own in found.items():
            curves[name].append(float(own.mean()))
            errors[name].append(float(own.std(ddof=1) / math.sqrt(repetitions)))
    return {
        "prior": list(prior),
        "truth": truth,
        "non-private": float(exact.mean()),
        "epsilons": epsilons,
        "curves": curves,
        "errors": errors,
    }


def beta_weights() -> list[dict[str, float]]:
    """How much the data may weigh at (epsilon, 1e-5): exact profile, best Renyi order, and order 15 alone."""
    rows = []
    for epsilon in TIGHT_EPSILONS:
        exact = (
            beta_plan((6, 12), tacit.ApproxDP(epsilon, DELTA), "diffused")
            .calibrated_mechanism()
            .noise_parameters.number("weight")
        )
        said = tacit.PosteriorSample(prior={"a": 6, "b": 12})
        whole = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.ApproxDP(epsilon, DELTA), said)
        renyi = epsilon - math.log(1 / DELTA) / (ORDER - 1)
        classic = (
            beta_plan((6, 12), tacit.RenyiDP(order=ORDER, epsilon=renyi), "diffused")
            .calibrated_mechanism()
            .noise_parameters.number("weight")
            if renyi > 0
            else 0.0
        )
        row = {
            "epsilon": epsilon,
            "exact": exact,
            "renyi": whole.calibrated_mechanism().noise_parameters.number("weight"),
            "order 15": classic,
        }
        rows.append(row)
    return rows


def draw_beta(panels: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(2, 2, place)
        for method, values in panel["curves"].items():
            label = {"bounded": "bounded likelihood"}.get(method, method)
            bars = [2 * e for e in panel["errors"][method]]
            axes.errorbar(panel["epsilons"], values, bars, color=COLOURS[method], marker="o", markersize=3, label=label)
        axes.axhline(
            panel["non-private"], color=COLOURS["non-private"], linestyle="--", linewidth=1, label="non-private"
        )
        axes.set_xscale("log")
        axes.set_title(f"Beta{tuple(panel['prior'])}, share {panel['truth']:.3g}", fontsize=10)
        axes.set_xlabel(f"epsilon at order {ORDER}")
        axes.set_ylabel("held-out loss")
        if place == 1:
            axes.legend(fontsize=8)
    return figure


# ---------------------------------------------------------------------------------------------------------------------
# Regressions


def abalone(folder: Path) -> tuple[Any, Any, Any, Any]:
    table = _read(folder, "abalone")
    bounds = {
        "length": (0, 1),
        "diameter": (0, 1),
        "height": (0, 0.5),
        "whole_weight": (0, 3),
        "shucked_weight": (0, 1.5),
        "viscera_weight": (0, 1),
        "shell_weight": (0, 1),
    }
    table["old"] = ["yes" if rings > 10 else "no" for rings in table["rings"]]
    schema = tacit.Schema(old=["no", "yes"], sex=["M", "F", "I"], **bounds)
    order = np.random.default_rng(SEED).permutation(len(table["rings"]))
    test = order[: len(order) // 10]
    train = order[len(order) // 10 :]
    model = tacit.LogisticRegression("old ~ sex + " + " + ".join(bounds))
    return model, schema, pick(table, train, schema), pick(table, test, schema)


def adult(folder: Path) -> tuple[Any, Any, Any, Any]:
    table = _read(folder, "adult")
    married = {"Married-civ-spouse": "married", "Married-AF-spouse": "married", "Never-married": "never"}
    table["marital"] = [married.get(value, "apart") for value in table["marital_status"]]
    schema = tacit.Schema(
        income=["<=50K", ">50K"],
        age=(17, 90),
        education_num=(1, 16),
        hours_per_week=(1, 99),
        capital_gain=(0, 20_000),
        capital_loss=(0, 3_000),
        sex=["Male", "Female"],
        marital=["married", "never", "apart"],
    )
    split = np.array(table["split"])
    parts = [np.flatnonzero(split == name) for name in sorted(set(split), key=lambda s: -np.sum(split == s))]
    parts[0] = np.random.default_rng(SEED).permutation(parts[0])[:ADULT_ROWS]
    formula = "income ~ age + education_num + hours_per_week + capital_gain + capital_loss + sex + marital"
    return tacit.LogisticRegression(formula), schema, pick(table, parts[0], schema), pick(table, parts[1], schema)


def mnist(folder: Path | None) -> tuple[Any, Any, Any, Any]:
    """Threes and eights: 28 x 28 pixels averaged to 7 x 7, or the digits of scikit-learn, 8 x 8."""
    if folder is not None and (folder / "mnist_3vs8.parquet").is_file():
        table = _read(folder, "mnist_3vs8")
        pixels = np.array(table["pixels"], np.float64)
        if pixels.shape[1] == 784:  # or they are averaged in the table
            pixels = pixels.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
        eight = np.array(table["label"]) == 8
        split = np.array(table["split"]) == "train"
    else:
        from sklearn.datasets import load_digits

        digits = load_digits()
        chosen = np.isin(digits.target, (3, 8))
        pixels, eight = digits.data[chosen], digits.target[chosen] == 8
        split = np.random.default_rng(SEED).random(len(eight)) < 0.8
    pixels = pixels / np.maximum(np.linalg.norm(pixels, axis=1), 1e-9)[:, None]
    names = [f"p{i}" for i in range(pixels.shape[1])]
    columns: dict[str, Any] = dict(zip(names, pixels.T, strict=True))
    columns["digit"] = np.where(eight, "eight", "three")
    schema = tacit.Schema(digit=["three", "eight"], **dict.fromkeys(names, (-1, 1)))
    model = tacit.LogisticRegression("digit ~ 0 + " + " + ".join(names), radius=1.0)
    train, test = (np.flatnonzero(split == kind) for kind in (True, False))
    return model, schema, pick(columns, train, schema), pick(columns, test, schema)


def _read(folder: Path, name: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    return pq.read_table(folder / f"{name}.parquet").to_pydict()


def pick(table: dict[str, Any], chosen: Any, schema: tacit.Schema) -> dict[str, Any]:
    return {name: [table[name][i] for i in chosen] for name in schema}


TABLES = {"abalone": abalone, "adult": adult, "mnist": mnist}
FILES = {"abalone": "abalone.parquet", "adult": "adult.parquet", "mnist": "mnist_3vs8.parquet"}


class Trial:
    """One table: releases of several draws at the price of one each, and how they predict held-out rows."""

    def __init__(self, folder: str | None, name: str, draws: int) -> None:
        self.model, self.schema, self.train, self.test = TABLES[name](None if folder is None else Path(folder))
        self.sd, self.draws = PRIOR_SD[name], draws
        self.response = next(iter(self.schema))
        self.truth = self._second(self.test)

    def _second(self, rows: dict[str, Any]) -> Any:
        second = self.schema.category(self.response).levels[1]
        return np.array([value == second for value in rows[self.response]])

    def plan(self, budget: Any, draws: int = 1, **said: Any) -> tacit.Plan:
        said = {**CHAIN, "prior": {"sd": self.sd}, "draws": draws, **said}
        return tacit.Plan(self.model, self.schema, budget, tacit.PosteriorSample(**said))

    def score(self, mu: float, **said: Any) -> dict[str, float]:
        """Test error and mean negative log-likelihood of draws that cost ``mu`` each, if their chains converged."""
        price = mu * math.sqrt(self.draws) * (1 + 1e-9)
        budget = tacit.ApproxDP(epsilon_for(price, DELTA), DELTA)
        return self.measured(self.plan(budget, self.draws, **said))

    def measured(self, plan: tacit.Plan) -> dict[str, float]:
        release = tacit.privatize(self.train, plan, ledger=None)
        law = release.noise_parameters
        scores = self.scored(tacit.released_draws(release).predict(self.test).draws)
        return {**scores, "weight": law.number("weight"), "precision": law.number("precision")}

    def scored(self, chances: Any) -> dict[str, float]:
        chances = np.clip(chances, 1e-12, 1 - 1e-12)
        losses = np.where(self.truth, -np.log(chances), -np.log1p(-chances)).mean(axis=1)
        errors = ((chances > 0.5) != self.truth).mean(axis=1)
        return {
            "error": float(errors.mean()),
            "error se": float(errors.std(ddof=1) / math.sqrt(len(errors))),
            "loss": float(losses.mean()),
            "loss se": float(losses.std(ddof=1) / math.sqrt(len(losses))),
        }

    def _design(self, rows: dict[str, Any]) -> Any:
        """Rows in mapped units, clamped as in a release."""
        design, cells = self.model.design(self.schema), {}
        for name in design.cells:
            column = self.schema[name]
            number = isinstance(column, tacit.Number)
            cells[name] = np.clip(rows[name], column.low, column.high) if number else np.array(rows[name], object)
        return design.matrix(design.parse(cells))

    def non_private(self) -> dict[str, float]:
        """The scores of draws from the normal approximation to the plain posterior, on rows mapped as releases are."""
        x, y, new = self._design(self.train), self._second(self.train), self._design(self.test)
        theta = np.zeros(x.shape[1])
        for _ in range(50):
            chance = expit(x @ theta)
            hessian = (x.T * (chance * (1 - chance))) @ x + np.eye(len(theta)) / self.sd**2
            theta = theta - np.linalg.solve(hessian, x.T @ (chance - y) + theta / self.sd**2)
        drawn = np.random.default_rng(SEED).multivariate_normal(theta, np.linalg.inv(hessian), max(self.draws, 10))
        return self.scored(expit(drawn @ new.T))


def plain_scores(folder: str | None, table: str) -> dict[str, Any]:
    """Without privacy."""
    return {"table": table, **Trial(folder, table, 40).non_private()}


def tempered_scores(folder: str | None, table: str, order: int, epsilon: float, draws: int) -> list[dict[str, Any]]:
    """Both of the paper's algorithms at one order and epsilon."""
    trial = Trial(folder, table, draws)
    mu = math.sqrt(2 * epsilon / order)  # D_order = order mu^2 / 2 (geumlek2017, section A.7)
    where = {"table": table, "order": order, "epsilon": epsilon}
    return [
        {**where, "method": tempering, **trial.score(mu, tempering=tempering)}
        for tempering in ("diffused", "concentrated")
    ]


def bounded_scores(folder: str | None, table: str, epsilon: float, draws: int) -> dict[str, Any]:
    """The paper's baseline, one posterior sample of a bounded likelihood: pure, proved."""
    trial = Trial(folder, table, draws)
    said = {"loss": "bounded-log-likelihood", "options": {"bound": 5.0}, **PROVED}
    plan = trial.plan(tacit.PureDP(epsilon * draws), draws, **said)
    return {"table": table, "order": None, "epsilon": epsilon, "method": "bounded", **trial.measured(plan)}


def calibrated_scores(folder: str | None, table: str, epsilon: float, draws: int) -> list[dict[str, Any]]:
    """What tighter calibrations buy at (epsilon, 1e-5)."""
    trial = Trial(folder, table, draws)
    ours = trial.plan(tacit.ApproxDP(epsilon, DELTA)).event().event.mu()
    minami = epsilon / math.sqrt(1 + 2 * math.log(1 / DELTA))
    rows = []
    for label, mu, said in (
        ("ours", ours, {}),
        ("Minami", minami, {}),
        ("order 10", paper_mu(epsilon, 10), {}),
        ("order 100", paper_mu(epsilon, 100), {}),
        ("ours, responses alone", ours, {"private": "response"}),
    ):
        if mu > 0:
            rows.append({"table": table, "epsilon": epsilon, "method": label, "mu": mu, **trial.score(mu, **said)})
    return rows


def paper_mu(epsilon: float, order: int) -> float:
    """The mu that order alone allows by the conversion epsilon = D + log(1/delta) / (order - 1); 0 if none."""
    return math.sqrt(max(0.0, 2 * (epsilon - math.log(1 / DELTA) / (order - 1)) / order))


def draw_glm(name: str, found: dict[str, Any], orders: tuple[int, ...]) -> Figure:
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    for line, (field, words) in enumerate((("error", "test error"), ("loss", "test loss"))):
        for place, order in enumerate(orders):
            axes = figure.add_subplot(2, len(orders), line * len(orders) + place + 1)
            for method in ("diffused", "concentrated", "bounded"):
                wanted = [c for c in found["cells"] if c["method"] == method and c["order"] in (order, None)]
                axes.errorbar(
                    [c["epsilon"] for c in wanted],
                    [c[field] for c in wanted],
                    yerr=[2 * c[f"{field} se"] for c in wanted],
                    color=COLOURS[method],
                    marker="o",
                    markersize=3,
                    linestyle=":" if method == "bounded" else "-",
                    label="bounded likelihood (pure, proved)" if method == "bounded" else f"{method} (assumed)",
                )
            axes.axhline(found["non-private"][field], color=COLOURS["non-private"], linestyle="--", linewidth=1)
            axes.set_xscale("log")
            axes.set_xlabel(f"epsilon at order {order}")
            axes.set_ylabel(words)
            if line == 0:
                axes.set_title(f"{name}, order {order}", fontsize=10)
            if line == place == 0:
                axes.legend(fontsize=8)
    return figure


def claims(panels: list[dict[str, Any]], weights: list[dict[str, float]], tables: dict[str, Any]) -> list[Claim]:
    """What the paper says, and what came out. A difference counts from two standard errors of it on."""
    found: list[Claim] = []

    def line(panel: dict[str, Any], place: int) -> str:
        own = ", ".join(
            f"{name} {panel['curves'][name][place]:.4f}" for name in ("diffused", "concentrated", "bounded")
        )
        return f"{own} at epsilon {panel['epsilons'][place]:g}"

    for place, panel in enumerate(panels):
        best, curves, errors = panel["non-private"], panel["curves"], panel["errors"]
        number = "1" + "abc"[place] if place < 3 else "2"
        title = f"Figure {number}, Beta{tuple(panel['prior'])}, share {panel['truth']:.2g}"
        here = f"held-out loss: non-private {best:.4f}; {line(panel, 0)}; {line(panel, -1)}"
        if place == 0:
            paper = "a prior that fits keeps its utility however small epsilon is"
            held = [curves[m][0] < best + 0.02 for m in ("diffused", "concentrated")]
        elif place < 3:
            paper = "with a misleading prior the algorithms act conservatively: far from the data at small epsilon"
            held = [curves[m][0] > best + 0.02 for m in ("diffused", "concentrated")]
        else:
            paper = "a uniform prior is the difficult case: draws stay near one half at small epsilon (lambda* = 2)"
            held = [curves["concentrated"][0] > best + 0.05]
        beats = [
            curves[m][0] + 2 * (errors[m][0] + errors["bounded"][0]) < curves["bounded"][0]
            for m in ("diffused", "concentrated")
        ]
        held += beats if place == 0 else []
        found.append(Claim(title, paper, here, common.verdict(*held)))
    if weights:
        here = "; ".join(
            f"epsilon {row['epsilon']:g}: " + ", ".join(f"{k} {v:.3g}" for k, v in row.items() if k != "epsilon")
            for row in weights
        )
        held = [row["exact"] >= row["renyi"] >= row["order 15"] for row in weights]
        paper = "not in the paper: the weight of 100 rows by exact profile, all orders and order 15 at delta = 1e-5"
        found.append(Claim("Weights", paper, here, common.verdict(*held)))
    for name, own in tables.items():
        cells = {(c["order"], c["epsilon"], c["method"]): c for c in own["cells"]}
        places = sorted({(c["order"], c["epsilon"]) for c in own["cells"] if c["order"]})
        for figure, field, orders in (("Figure 3", "error", (1, 10)), ("Figure 4", "loss", (1, 10, 100))):
            inside = [
                p for p in places if p[0] in orders and (*p, "diffused") in cells and (None, p[1], "bounded") in cells
            ]
            if not inside:
                continue

            def apart(a: Any, b: Any, field: str = field) -> float:
                sd = math.hypot(a[f"{field} se"], b[f"{field} se"])
                return (a[field] - b[field]) / max(sd, 1e-12)

            against = [
                apart(cells[*p, m], cells[None, p[1], "bounded"]) for p in inside for m in ("diffused", "concentrated")
            ]
            pairs = [apart(cells[*p, "diffused"], cells[*p, "concentrated"]) for p in inside]
            some = [p for p in inside if p[1] in (min(e for _, e in inside), 1.0)]
            said = "; ".join(
                f"order {o}, epsilon {e:g}: "
                + ", ".join(
                    f"{label} {cells[at][field]:.3f} (se {cells[at][f'{field} se']:.3f})"
                    for label, at in (
                        ("diffused", (o, e, "diffused")),
                        ("concentrated", (o, e, "concentrated")),
                        ("OPS", (None, e, "bounded")),
                    )
                )
                for o, e in some
            )
            better, worse = sum(g < -2 for g in against), sum(g > 2 for g in against)
            counts = f"better in {better}, worse in {worse} of {len(against)} cells"
            here = f"{counts}; non-private {own['non-private'][field]:.3f}; {said}"
            what = {"error": "test error", "loss": "negative log-likelihood"}[field]
            found.append(
                Claim(
                    f"{figure}, {name}: against OPS",
                    f"both algorithms have a smaller {what} than OPS",
                    here,
                    common.verdict(not any(g > 2 for g in against), sum(g < -2 for g in against) > len(against) / 2),
                )
            )
            found.append(
                Claim(
                    f"{figure}, {name}: diffused or concentrated",
                    f"the diffused algorithm is always better ({what})",
                    f"diffused better in {sum(g < -2 for g in pairs)}, concentrated in {sum(g > 2 for g in pairs)}, "
                    f"even in {sum(abs(g) <= 2 for g in pairs)} of {len(pairs)} cells",
                    common.verdict(not any(g > 2 for g in pairs), sum(g < -2 for g in pairs) > len(pairs) / 2),
                )
            )
    return found


def main() -> None:
    said = common.parser("Figures 1 to 4 of Geumlek, Song and Chaudhuri 2017.", FIGURES).parse_args()
    wanted = common.chosen(said, FIGURES)
    folder = None if said.data is None else str(said.data)
    cells: list[Cell] = []
    if "beta" in wanted:
        given = {"epsilons": list(BETA_EPSILONS[::6] if said.quick else BETA_EPSILONS)}
        given["repetitions"] = 200 if said.quick else REPETITIONS
        cells += [Cell(beta_panel, {"place": place, **given}, 0) for place in range(len(PANELS))]
        cells.append(Cell(beta_weights, {}, 0))
    orders = ORDERS[1:2] if said.quick else ORDERS
    names = []
    for name in (n for n in FIGURES[1:] if n in wanted):
        why = common.missing(said.data, FILES[name])
        if why is not None and name == "mnist" and _digits():
            print("mnist_3vs8.parquet is not there: the digits of scikit-learn, 8 x 8 pixels, stand in.", flush=True)
        elif why is not None:
            common.left_out(name, why)
            continue
        names.append(name)
        few, many = (2, 2) if said.quick else DRAWS[name]
        slow = {"abalone": 1.0, "adult": 4.0, "mnist": 20.0}[name]
        where = {"folder": folder, "table": name}
        cells.append(Cell(plain_scores, where, 0))
        for epsilon in GLM_EPSILONS[2:3] if said.quick else GLM_EPSILONS:
            cells.append(Cell(bounded_scores, {**where, "epsilon": epsilon, "draws": few}, slow * few))
            for order in orders:
                cells.append(
                    Cell(tempered_scores, {**where, "order": order, "epsilon": epsilon, "draws": few}, slow * few)
                )
        for epsilon in TIGHT_EPSILONS[:0] if said.quick else TIGHT_EPSILONS:
            cells.append(Cell(calibrated_scores, {**where, "epsilon": epsilon, "draws": many}, slow * many / 4))
    done = common.measured(cells, said.out, "geumlek2017", processes=said.processes, stop_after=said.stop_after)
    panels = [r["found"] for r in done if r["function"] == "beta_panel"]
    weights = next((r["found"] for r in done if r["function"] == "beta_weights"), [])
    if panels:
        common.save(draw_beta(panels), said.out, "geumlek2017-figures1-2")
    tables: dict[str, Any] = {}
    for name in names:
        own = [r for r in done if r["given"].get("table") == name]
        plain = [r["found"] for r in own if r["function"] == "plain_scores"]
        curves = [c for r in own if r["function"] == "tempered_scores" for c in r["found"]]
        curves += [r["found"] for r in own if r["function"] == "bounded_scores"]
        tight = [c for r in own if r["function"] == "calibrated_scores" for c in r["found"]]
        if plain and curves:
            tables[name] = {"non-private": plain[0], "cells": curves, "tight": tight}
            shown = tuple(o for o in orders if any(c["order"] == o for c in curves))
            if shown:
                common.save(draw_glm(name, tables[name], shown), said.out, f"geumlek2017-figures3-4-{name}")
    for name, own in tables.items():
        for row in own["tight"]:
            print(
                f"{name}, epsilon {row['epsilon']:g}, {row['method']}: weight {row['weight']:.4f}, test error "
                f"{row['error']:.4f} (se {row['error se']:.4f}), loss {row['loss']:.4f} (se {row['loss se']:.4f})"
            )
    common.show(claims(panels, weights, tables), said.out, "geumlek2017", quick=said.quick)
    print("\n" + NOTES)


def _digits() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


if __name__ == "__main__":
    main()
