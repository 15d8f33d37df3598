"""Figures 3 and 9 and the network parts of 6 and 10 of Jewson, Ghalebikesabi and Holmes 2023; called by jewson2023.py.

One-hidden-layer networks with ten units: a draw of the beta-divergence posterior against DP-SGD, over n, epsilon and
the number of features, on simulated and UCI data. Repeats run side by side in one program. Every cell is a mean over
repeats with its standard error, and the file is written again after each of them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import matplotlib
import numpy as np
from common import Cell, Claim, area
from jewson2023_data import DATA
from matplotlib.figure import Figure
from scipy.special import expit

from comparisons.network_methods import Descent, network_descents, network_draws
from tacit import ApproxDP
from tacit.studies import (
    NetworkBernoulli,
    NetworkNormal,
    TemperingSchedule,
    beta_for,
    calibrated_steps,
    default_beta,
    network_output,
    threshold_below,
    weight_for,
    weight_names,
)

FIGURES = ("3", "9", "10n")
REPEATS = 24  # at most: of data sets in a cell, side by side in one program; half as many splits of a table
SEED, HIDDEN, DELTA = 2023, 10, 1e-5
EPSILONS, ROWS, SIZES = (0.2, 1.0, 5.0), (100, 300, 1000, 3000), (1, 2, 4, 8, 12)
UCI_EPSILONS, UCI_ROWS = (0.5, 5.0), (300, 3000)
COOLING = TemperingSchedule(particles=4, rungs=120, settling=20, num_leapfrog_steps=12)
BRIEF = TemperingSchedule(particles=2, rungs=10, settling=5, num_leapfrog_steps=4)
RATES = (1e-2, 1e-1, 1.0)  # learning rates that the paper's DP-SGD is tuned over
TRUE_SD, HALF, SIGMA = 3.0, 30.0, 3.0  # of simulated weights; of the response's bounds; of its scatter
TESTED = 2000
SHOWN = {
    "beta-divergence": ("#2f6690", "beta-divergence draw, default weight (assumed)"),
    "beta-divergence, weight 1": ("#7fb2d9", "beta-divergence draw, weight 1 (paper, assumed)"),
    "DP-SGD, paper": ("#c0562f", "DP-SGD, the paper's settings, delta = 1e-5"),
    "DP-SGD": ("#e8a87c", "DP-SGD, large batches, delta = 1e-5"),
}
NOTES = f"""\
Networks: where this differs from the paper, and why
* Normal responses: the smallest standard deviation is declared in the units of the response and the weight is the
  largest that epsilon allows. The paper's calibration takes another bound than its model has (docs/errata.md, J2), so
  that its nominal epsilon of 0.2 is at least 7.5; ours is kept.
* Features are normal, mapped from (-4, 4) to (-1, 1) and clamped. Simulated weights have a standard deviation of
  {TRUE_SD:g} for mapped features, which makes smoother curves than the same weights for unmapped ones. Responses
  lie within (-{HALF:g}, {HALF:g}) and scatter with {SIGMA:g}, the declared smallest. For labels the weights of features
  are 4 times that, as for unmapped ones, and there is no constant, or nearly all labels of a data set would be one.
* DP-SGD has Poisson batches and is priced for replace-one neighbours, for which its noise is about twice what it is
  for the paper's add-or-remove. Its learning rate is tuned on other data sets of the same law, free of charge.
* Draws come from {COOLING.particles} particles that are cooled together, not from 1,000 steps of Stan. Their epsilon is
  assumed, not proved: it is that of an exact draw, and nobody bounds how far particles are from one.
"""


# ---------------------------------------------------------------------------------------------------------------------
# Data: x with a constant, y mapped to [-1, 1] or -1 and 1, for fitting and for testing


def simulated(kind: str, repeats: int, n: int, d: int, rng: Any) -> tuple[Any, Any, Any, Any]:
    """A network of its own for every data set."""
    total = n + TESTED
    x = np.clip(rng.standard_normal((repeats, total, d)) / 4, -1, 1)
    x = np.concatenate([np.ones((repeats, total, 1)), x], axis=2)
    into = TRUE_SD * rng.standard_normal((repeats, HIDDEN, d + 1))
    out, constant = TRUE_SD * rng.standard_normal((repeats, HIDDEN)), TRUE_SD * rng.standard_normal((repeats, 1))
    if kind == "classification":  # steeper, and no constant, or nearly all labels of a data set would be one
        into[..., 1:], constant = 4 * into[..., 1:], 0.0
    mean = np.einsum("rnh,rh->rn", np.tanh(np.einsum("rnd,rhd->rnh", x, into)), out) + constant
    if kind == "classification":
        y = np.where(rng.random(mean.shape) < expit(mean), 1.0, -1.0)
    else:
        y = np.clip((mean + SIGMA * rng.standard_normal(mean.shape)) / HALF, -1, 1)
    return x[:, :n], y[:, :n], x[:, n:], y[:, n:]


def _mapped(values: Any, low: float, high: float) -> Any:
    return np.clip((2 * np.asarray(values, float) - low - high) / (high - low), -1, 1)


REGRESSIONS: dict[str, tuple[str, str, tuple[float, float], float, dict[str, tuple[float, float]]]] = {
    "kin8nm": (
        "kin8nm.parquet",
        "y",
        (0, 1.5),
        0.1,
        {f"theta{j}": (-math.pi / 2, math.pi / 2) for j in range(1, 9)},
    ),
    "boston": (
        "boston_housing.parquet",
        "medv",
        (0, 50),
        2.5,
        {
            "crim": (0, 100),
            "zn": (0, 100),
            "indus": (0, 30),
            "chas": (0, 1),
            "nox": (0.3, 1),
            "rm": (3, 9),
            "age": (0, 100),
            "dis": (1, 13),
            "rad": (1, 24),
            "tax": (150, 750),
            "ptratio": (12, 23),
            "lstat": (0, 40),
        },
    ),
    "naval": (
        "naval_propulsion.parquet",
        "gt_turbine_decay",
        (0.97, 1.005),
        0.002,
        {
            "lever_position": (0, 10),
            "ship_speed_knots": (0, 30),
            "gt_shaft_torque_knm": (0, 75_000),
            "gt_rpm": (1000, 4000),
            "gg_rpm": (6000, 10_000),
            "starboard_propeller_torque_kn": (0, 700),
            "hp_turbine_exit_temp_c": (400, 1200),
            "gt_compressor_outlet_temp_c": (500, 850),
            "hp_turbine_exit_pressure_bar": (1, 5),
            "gt_compressor_outlet_pressure_bar": (5, 25),
            "gt_exhaust_pressure_bar": (1, 1.1),
            "turbine_injection_control_pct": (0, 100),
            "fuel_flow_kgs": (0, 2),
            "gt_compressor_decay": (0.94, 1.01),
        },
    ),
    "wine": (
        "wine_quality.parquet",
        "quality",
        (0, 10),
        0.6,
        {
            "fixed_acidity": (3, 16),
            "volatile_acidity": (0, 2),
            "citric_acid": (0, 2),
            "residual_sugar": (0, 70),
            "chlorides": (0, 0.7),
            "free_sulfur_dioxide": (0, 300),
            "total_sulfur_dioxide": (0, 450),
            "density": (0.98, 1.04),
            "ph": (2.5, 4.2),
            "sulphates": (0, 2.5),
            "alcohol": (8, 15),
        },
    ),
}


def regression_data(name: str, folder: Path) -> tuple[Any, Any, float]:
    """x, y and the smallest standard deviation in mapped units. Bounds are written down here, not taken from rows."""
    import pyarrow.parquet as pq

    file, response, bounds, sigma_min, columns = REGRESSIONS[name]
    table = pq.read_table(folder / file, columns=[response, *columns])
    made = [_mapped(table[column].to_numpy(), *ends) for column, ends in columns.items()]
    x = np.stack([np.ones(table.num_rows), *made], axis=1)
    return x, _mapped(table[response].to_numpy(), *bounds), 2 * sigma_min / (bounds[1] - bounds[0])


def splits(x: Any, y: Any, n: int, repeats: int, rng: Any) -> tuple[Any, Any, Any, Any]:
    """n rows to fit and a tenth of all to test, anew for every repeat."""
    held = max(30, len(y) // 10)
    orders = [rng.permutation(len(y)) for _ in range(repeats)]
    fitted, tested = [o[held : held + n] for o in orders], [o[:held] for o in orders]
    return x[fitted], y[fitted], x[tested], y[tested]


# ---------------------------------------------------------------------------------------------------------------------
# One cell: every method on the same data sets


def density_of(kind: str, columns: int, sigma_min: float) -> Any:
    """The paper's network and prior: standard normal weights; a sigma^2 with a prior around (2 sigma_min)^2."""
    names = weight_names([str(j) for j in range(columns)], HIDDEN)
    if kind == "classification":
        return NetworkBernoulli(names, 1.0, HIDDEN)
    return NetworkNormal(names, 1.0, sigma_min, 1.0, 4 * sigma_min**2, 1.0, HIDDEN)


def outputs(theta: Any, x: Any) -> Any:
    """Those of one network."""
    size = HIDDEN * (x.shape[1] + 1) + 1
    return network_output(np.asarray(theta)[:size], x, HIDDEN, np.tanh)


def _errors(kind: str, found: Any, y: Any) -> Any:
    """The log RMSE, or the area under the curve, of every repeat; ``found`` (repeats, tested)."""
    if kind == "classification":
        return np.array([area(f, t > 0) for f, t in zip(found, y, strict=True)])
    return np.log(np.sqrt(np.mean(np.square(found - y), axis=1)))


def descents(kind: str, density: Any, data: Any, held: Any, epsilon: float, seed: int) -> dict[str, tuple[Any, float]]:
    """The last points of DP-SGD, of both settings and of the first without privacy, with the learning rates."""
    n = data[1].shape[1]
    found: dict[str, tuple[Any, float]] = {}
    budget = ApproxDP(epsilon, DELTA)
    for name, batch, epochs in (("DP-SGD, paper", 100, 14 + math.floor(epsilon)), ("DP-SGD", max(1, n // 4), 30)):
        rate = min(1.0, batch / n)
        steps = math.ceil(epochs / rate)
        multiplier = float(calibrated_steps(budget, threshold_below(rate), steps).multiplier)
        best: tuple[float, float] | None = None
        for learning_rate in RATES:
            tried = Descent(steps, rate, learning_rate, multiplier, 1.0)
            points = network_descents(density, *held[:2], tried, seed=seed + 1)
            value = _value(kind, points, held)
            if best is None or value < best[0]:
                best = value, learning_rate
        assert best is not None
        chosen = Descent(steps, rate, best[1], multiplier, 1.0)
        found[name] = network_descents(density, *data[:2], chosen, seed=seed), best[1]
        if name == "DP-SGD, paper":
            plain = Descent(steps, rate, best[1])
            found["SGD"] = network_descents(density, *data[:2], plain, seed=seed), best[1]
    return found


def _value(kind: str, points: Any, data: Any) -> float:
    """What tuning makes small."""
    scores = _errors(kind, np.stack([outputs(t, x) for t, x in zip(points, data[2], strict=True)]), data[3])
    scores = np.where(np.isfinite(scores), scores, 0.5 if kind == "classification" else 10.0)
    return float(-scores.mean() if kind == "classification" else scores.mean())


def cell(
    kind: str,
    data: Any,
    held: Any,
    sigma_min: float,
    epsilon: float,
    cooling: TemperingSchedule,
    **where: Any,
) -> list[dict[str, Any]]:
    """Every method on data sets ``data`` = (x, y, x to test, y to test); ``held`` are others, for tuning."""
    density = density_of(kind, data[0].shape[2], sigma_min)
    seed = SEED + data[1].shape[1]
    found: dict[tuple[str, str], tuple[Any, dict[str, float]]] = {}
    weights: dict[str, float | None] = {"beta-divergence": None}
    if kind == "classification":
        weights["beta-divergence, weight 1"] = 1.0
    for name, asked in weights.items():
        beta = default_beta(epsilon) if asked is None else beta_for(density.loss_range, epsilon, asked)
        weight = weight_for(density.loss_range, beta, epsilon)
        drawn = network_draws(density, *data[:2], weight=weight, beta=beta, cooling=cooling, seed=seed)
        chances = np.exp(np.asarray(drawn.log_weights))
        mean = [
            sum(w * _shown(kind, outputs(t, x)) for w, t in zip(ws, ts, strict=True))
            for ws, ts, x in zip(chances, np.asarray(drawn.points), data[2], strict=True)
        ]
        one = [outputs(t, x) for t, x in zip(np.asarray(drawn.chosen), data[2], strict=True)]
        acceptance = float(np.asarray(drawn.acceptance)[:, -cooling.settling :].mean())
        used = {"beta": beta, "weight": weight, "acceptance": acceptance}
        found[name, "private"], found[name, "plain"] = (np.stack(one), used), (np.stack(mean), used)
    for name, (points, rate) in descents(kind, density, data, held, epsilon, seed).items():
        shown = np.stack([outputs(t, x) for t, x in zip(points, data[2], strict=True)])
        key = ("DP-SGD, paper", "plain") if name == "SGD" else (name, "private")
        found[key] = shown, {"learning rate": rate}
    cells = []
    for (name, which), (shown, used) in found.items():
        scores = _errors(kind, shown, data[3])
        scores = np.where(np.isfinite(scores), scores, 0.5 if kind == "classification" else 10.0)
        error = float(scores.std(ddof=1) / math.sqrt(len(scores)))
        cells.append({**where, "epsilon": epsilon, "method": name, "kind": which, "score": float(scores.mean())})
        cells[-1] |= {"error": error, "repeats": len(scores), "scores": scores.tolist(), **used}
    return cells


def _shown(kind: str, values: Any) -> Any:
    return expit(values) if kind == "classification" else values


# ---------------------------------------------------------------------------------------------------------------------
# The figures


def on_simulated(kind: str, n: int, d: int, epsilon: float, repeats: int, brief: bool) -> list[dict[str, Any]]:
    """Networks drawn from the prior; tuning has other ones."""
    data = simulated(kind, repeats, n, d, np.random.default_rng([SEED, n, d]))
    held = simulated(kind, repeats, n, d, np.random.default_rng([SEED, n, d, 1]))
    return cell(kind, data, held, SIGMA / HALF, epsilon, BRIEF if brief else COOLING, n=n, d=d)


def on_uci(
    kind: str, name: str, folder: str, n: int, epsilon: float, repeats: int, brief: bool
) -> list[dict[str, Any]]:
    """Random splits of one table; tuning has splits of its own, as if somebody had given the table away for it."""
    x, y, sigma_min = table(kind, name, Path(folder))
    data = splits(x, y, n, repeats, np.random.default_rng([SEED, n]))
    held = splits(x, y, n, repeats, np.random.default_rng([SEED, n, 1]))
    return cell(kind, data, held, sigma_min, epsilon, BRIEF if brief else COOLING, n=n, d=x.shape[1] - 1)


def table(kind: str, name: str, folder: Path) -> tuple[Any, Any, float]:
    """x, y and the smallest standard deviation, in mapped units."""
    if kind == "regression":
        return regression_data(name, folder)
    design, positive = DATA[name][1](folder)
    x = np.concatenate([design[:, :1], 2 * design[:, 1:] - 1], axis=1)
    return x, np.where(positive, 1.0, -1.0), 0.0


def cells(figures: list[str], repeats: int, *, quick: bool, folder: str | None) -> list[Cell]:
    """What Figures 3, 9 and 10 are made of."""
    made: list[Cell] = []
    rows, epsilons, sizes = (ROWS[:1], (5.0,), SIZES[:1]) if quick else (ROWS, EPSILONS, SIZES)
    for number, kind in (("3", "regression"), ("9", "classification")):
        said = {"kind": kind, "repeats": repeats, "brief": quick}
        if number in figures and not (quick and number == "9"):
            for n in rows:
                made += [
                    Cell(on_simulated, {**said, "n": n, "d": 2, "epsilon": e}, 100 + n * repeats / 50) for e in epsilons
                ]
            files = {k: v[0] for k, v in (REGRESSIONS if kind == "regression" else DATA).items()}
            for name, file in files.items():
                why = common.missing(None if folder is None else Path(folder), file)
                if why is not None:
                    common.left_out(f"The network panel of {name}", why)
                elif not quick:
                    few = max(2, repeats // 2)
                    total = len(table(kind, name, Path(str(folder)))[1])
                    most = min(total - max(30, total // 10), max(UCI_ROWS))
                    for n in [*(n for n in UCI_ROWS if n < 0.7 * most), most]:
                        for e in UCI_EPSILONS:
                            given = {**said, "name": name, "folder": folder, "n": n, "epsilon": e, "repeats": few}
                            made.append(Cell(on_uci, given, 100 + n * few / 50))
        if "10n" in figures and not quick:
            for d in sizes:
                made += [Cell(on_simulated, {**said, "n": 1000, "d": d, "epsilon": e}, 100 + d * 5) for e in epsilons]
    return made


def name_of(row: dict[str, Any]) -> str:
    """Which list of results a cell belongs to; that of n = 1,000 and two features serves Figures 3 and 10."""
    given = row["given"]
    return f"networks, {given['kind']}" + (f", {given['name']}" if row["function"] == "on_uci" else "")


def draw(results: dict[str, Any], figures: list[str], out: Path) -> None:
    """The figures of what is there; dashed lines of Figure 6 are in the same panels."""
    for number, kind in (("3", "regression"), ("9", "classification")):
        label = "ROC-AUC" if kind == "classification" else "log RMSE"
        own = results.get(f"networks, {kind}", [])
        against_n, against_d = [c for c in own if c["d"] == 2], [c for c in own if c["n"] == 1000]
        if number in figures and against_n:
            common.save(panels({"simulated": against_n}, "n", label, plain=True), out, f"jewson2023-figure{number}")
        prefix = f"networks, {kind}, "
        uci = {name.removeprefix(prefix): v for name, v in results.items() if name.startswith(prefix)}
        if number in figures and uci:
            common.save(panels(uci, "n", label, plain=True), out, f"jewson2023-figure{number}-uci")
        if "10n" in figures and len({c["d"] for c in against_d}) > 1:
            common.save(panels({"n = 1,000": against_d}, "d", label, plain=False), out, f"jewson2023-figure10-{kind}")


def panels(results: dict[str, list[dict[str, Any]]], across: str, label: str, *, plain: bool) -> Figure:
    """One row of panels a data set, one column an epsilon; lines are methods, bars are one standard error."""
    epsilons = sorted({c["epsilon"] for cells in results.values() for c in cells})
    drawn = Figure(figsize=(3.1 * len(epsilons), 2.5 * len(results) + 0.8), layout="constrained", facecolor="white")
    axes = drawn.subplots(len(results), len(epsilons), squeeze=False, sharex="row", sharey="row")
    for row, (data, cells) in enumerate(results.items()):
        for column, epsilon in enumerate(epsilons):
            panel = axes[row][column]
            for name, (colour, _) in SHOWN.items():
                for kind, line in (("private", "o-"), ("plain", "--")):
                    own = [c for c in cells if (c["method"], c["kind"], c["epsilon"]) == (name, kind, epsilon)]
                    own.sort(key=lambda c: c[across])
                    if own and (kind == "private" or plain):
                        at, bars = [c[across] for c in own], [c["error"] for c in own]
                        values = [c["score"] for c in own]
                        panel.errorbar(at, values, bars, fmt=line, color=colour, markersize=3.5, linewidth=1.2)
            panel.set_xscale("log")
            places = sorted({c[across] for c in cells})
            panel.set_xticks(places, [f"{at:,}" for at in places], fontsize=7)
            panel.set_xticks([], minor=True)
            panel.set_xlim(places[0] / 1.3, places[-1] * 1.3)
            panel.set_title(f"{data}, epsilon = {epsilon:g}", fontsize=9, loc="left")
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_xlabel(across if row == len(results) - 1 else "")
        axes[row][0].set_ylabel(label)
    used = [name for name in SHOWN if any(c["method"] == name for cells in results.values() for c in cells)]
    handles = [matplotlib.lines.Line2D([], [], color=SHOWN[name][0]) for name in used]
    drawn.legend(handles, [SHOWN[n][1] for n in used], loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return drawn


def compared(cells: list[dict[str, Any]], sign: int, across: str) -> tuple[list[str], list[tuple[Any, float, str]]]:
    """The better method in every cell by paired data sets, in words, and as (place, epsilon, who)."""
    lines: list[str] = []
    found: list[tuple[Any, float, str]] = []
    for epsilon in sorted({c["epsilon"] for c in cells}):
        own = {(c["method"], c[across]): c for c in cells if c["epsilon"] == epsilon and c["kind"] == "private"}
        parts = []
        for at in sorted({at for _, at in own}):
            ours = max((sign * c["score"], m) for (m, a), c in own.items() if a == at and m.startswith("beta"))[1]
            rival = max((sign * c["score"], m) for (m, a), c in own.items() if a == at and m.startswith("DP"))[1]
            a, b = own[ours, at], own[rival, at]
            apart = sign * (np.array(a["scores"]) - np.array(b["scores"]))  # on the same data sets
            gap = apart.mean() / max(1e-12, apart.std(ddof=1) / math.sqrt(len(apart)))
            better = "beta" if gap > 2 else "DP-SGD" if gap < -2 else "even"
            found.append((at, epsilon, better))
            parts.append(
                f"{across} = {at}: {better} ({a['score']:.2f} ± {a['error']:.2f}, {b['score']:.2f} ± {b['error']:.2f})"
            )
        lines.append(f"epsilon = {epsilon:g}: {', '.join(parts)}")
    return lines, found


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the paper says of networks, beside the same numbers here: which method is the better one, by n and d."""
    made: list[Claim] = []
    for name, cells in results.items():
        if not name.startswith("networks, "):
            continue
        kind, _, data = name.removeprefix("networks, ").partition(", ")
        sign, number = (1, "9") if kind == "classification" else (-1, "3")
        what = "ROC-AUC" if kind == "classification" else "log RMSE"
        by_n = [c for c in cells if c["d"] == 2] if not data else cells
        if len({c["n"] for c in by_n}) > 0:
            lines, who = compared(by_n, sign, "n")
            most = max(n for n, _, _ in who)
            large = [w for n, e, w in who if n == most and (data or e > 0.2)]
            held = [w == "beta" for w in large]
            if number == "3" and not data:
                says = "DP-SGD has the smaller error for small n, the beta-divergence for large n"
                held += [w == "DP-SGD" for n, _, w in who if n == min(n for n, _, _ in who)]
            elif not data:
                says = "for epsilon > 0.2 the beta-divergence has the larger area for all n"
                held += [w == "beta" for n, e, w in who if e > 0.2]
            else:
                says = "as n increases the beta-divergence outperforms DP-SGD"
            title = f"Figure {number}, networks, {data or 'simulated'}"
            made.append(Claim(title, says, f"{what}: " + "; ".join(lines), common.verdict(*held)))
        by_d = [] if data else [c for c in cells if c["n"] == 1000]
        if len({c["d"] for c in by_d}) > 1:
            lines, who = compared(by_d, sign, "d")
            held = [w == "beta" for _, e, w in who if e > 0.2]
            held.append(any(w == "beta" for d, e, w in who if e > 0.2 and d == max(d for d, _, _ in who)))
            says = "the beta-divergence is better than DP-SGD, the more so the more features"
            made.append(
                Claim(f"Figure 10, networks, {kind}", says, f"{what}: " + "; ".join(lines), common.verdict(*held))
            )
    return made
