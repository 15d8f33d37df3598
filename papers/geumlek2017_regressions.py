"""Figures 3 and 4 of the appendix of Geumlek, Song and Chaudhuri 2017: regressions; called by geumlek2017.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Claim
from matplotlib.figure import Figure
from scipy.special import expit

import tacit
from tacit.studies import epsilon_for

CHAIN = {"sampler": "mcmc", "gamma": 1e-300, "assume": "converged"}
PROVED = {"sampler": "rejection", "gamma": None, "assume": None}
ORDERS = (1, 10, 100)
TIGHT_EPSILONS = (0.1, 1.0, 5.0)
GLM_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DRAWS = {"abalone": (10, 40), "adult": (10, 40), "mnist": (4, 4)}  # for the curves, for the tighter calibration
PRIOR_SD = {"abalone": 5.0, "adult": 5.0, "mnist": 20.0}
ADULT_ROWS = 10_000
DELTA = 1e-5
SEED = 2017
COLOURS = {
    "non-private": "#1d2733",
    "diffused": "#2f6690",
    "concentrated": "#3a8f5c",
    "bounded": "#c0562f",
    "direct": "#8a5a9e",
}


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


def claims(tables: dict[str, Any]) -> list[Claim]:
    """What the paper says, and what came out. A difference counts from two standard errors of it on."""
    found: list[Claim] = []
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
