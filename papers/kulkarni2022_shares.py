"""Figures 2, 3 and 9 of Kulkarni et al. 2022: shares of a population from local reports; called by kulkarni2022.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import matplotlib
import numpy as np
from common import BLUE, DARK, GREY, ORANGE, Claim, plain_ticks
from matplotlib.figure import Figure

import tacit
from comparisons.point_estimates import nearest_shares, unbiased_shares
from tacit import studies

TRUTH = (0.7, 0.2, 0.1)
KOSARAK_RECORDS = (10_500, 11_500)
SEED = 2022


def simulated(plan: tacit.Plan, repeats: int, n: int, parameters: Any, seed: int) -> list[tacit.Simulation]:
    """Reports of made-up people, the same parameters every time."""
    return [tacit.simulate(plan, n=n, seed=seed + i, parameters=parameters) for i in range(repeats)]


# ---------------------------------------------------------------------------------------------------------------------
# Figure 2: private and non-private posteriors of shares


def kosarak(folder: Path) -> Any:
    """The clicks on 10 random items, as many as in the paper: one item's place (0 to 9) a record."""
    import pyarrow.parquet as pq

    items = pq.read_table(folder / "kosarak_5_25.parquet", columns=["items"])["items"].combine_chunks()
    clicks = np.asarray(items.flatten())
    counts = np.bincount(clicks)
    known = np.flatnonzero(counts)
    rng = np.random.default_rng(SEED)
    while True:
        chosen = np.sort(rng.choice(known, 10, replace=False))
        if KOSARAK_RECORDS[0] <= counts[chosen].sum() <= KOSARAK_RECORDS[1]:
            break
    kept = clicks[np.isin(clicks, chosen)]
    order = chosen[np.argsort(-counts[chosen])]
    return np.argsort(order)[np.searchsorted(np.sort(order), kept)]


def gap(a: Any, b: Any) -> float:
    """The mean over [0, 1] of the absolute difference of two empirical distribution functions."""
    both = np.sort(np.concatenate([[0.0, 1.0], a, b]))
    left = both[:-1]
    f = np.searchsorted(np.sort(a), left, "right") / len(a) - np.searchsorted(np.sort(b), left, "right") / len(b)
    return float(np.abs(f) @ np.diff(both))


def kosarak_gaps(folder: str, epsilon: float, protocol: str, repeats: int, sizes: dict[str, int]) -> dict[str, Any]:
    """The gap to the non-private posterior of every share, averaged over fresh reports of the same records."""
    records = kosarak(Path(folder))
    levels = [f"item {i}" for i in range(1, 11)]
    exact = np.random.default_rng(SEED).dirichlet(1 + np.bincount(records, minlength=10), 4000)
    rows = {"item": [levels[i] for i in records]}
    schema = tacit.Schema(item=levels)
    plan = tacit.Plan(tacit.Categorical("item"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
    surveys = [tacit.randomize_rows(rows, plan, dataset=f"kosarak-{i}") for i in range(repeats)]
    theta = studies.posteriors(surveys, method="shares", seed=SEED, **sizes)[0]["theta"]
    gaps = np.array([[gap(own[:, j], exact[:, j]) for j in range(10)] for own in theta])
    return {
        "protocol": protocol,
        "epsilon": epsilon,
        "records": len(records),
        "gap": gaps.mean(axis=0).tolist(),
        "gap error": float(gaps.mean(axis=1).std(ddof=1) / math.sqrt(repeats)),
        "wider": float(np.median(theta.std(axis=1) / exact.std(axis=0))),
    }


def gaps_figure(cells: list[dict[str, Any]]) -> Figure:
    """A panel a protocol, a line an item, the mean in bold."""
    protocols = list(dict.fromkeys(cell["protocol"] for cell in cells))
    drawn = Figure(figsize=(10.5, 4.2), layout="constrained", facecolor="white")
    panels = drawn.subplots(1, len(protocols), squeeze=False, sharey=True)[0]
    for panel, protocol in zip(panels, protocols, strict=True):
        own = [cell for cell in cells if cell["protocol"] == protocol]
        at = [cell["epsilon"] for cell in own]
        for j in range(10):
            label = "each item" if j == 0 else None
            panel.plot(at, [cell["gap"][j] for cell in own], color=GREY, linewidth=0.8, label=label)
        means, bars = [np.mean(cell["gap"]) for cell in own], [2 * cell["gap error"] for cell in own]
        panel.errorbar(at, means, bars, fmt="o-", color=BLUE, linewidth=1.8, label="mean of 10 items")
        top = 1.05 * max(value for cell in cells for value in cell["gap"])
        panel.set(xscale="log", xlabel="epsilon", ylim=(0, top))
        panel.set_title(protocol, fontsize=10, loc="left")
        plain_ticks(panel, at)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("mean difference of distribution functions")
    panels[-1].legend(frameon=False)
    title = f"Kosarak, {cells[0]['records']:,} records: private against non-private posteriors of the shares"
    drawn.suptitle(title, fontsize=11, x=0.01, ha="left")
    return drawn


# ---------------------------------------------------------------------------------------------------------------------
# Figures 3 and 9: posterior means against projected point estimates


def unusable(shares: Any) -> tuple[float, float]:
    """How often one level has everything, and how often the order is not that of the truth."""
    trivial = shares.max(axis=1) > 1 - 1e-9
    unordered = np.any(np.argsort(-shares, axis=1, kind="stable") != np.argsort(-np.array(TRUTH)), axis=1)
    return float(np.mean(trivial)), float(np.mean(unordered | trivial))


def shares_errors(epsilon: float, protocol: str, people: int, repeats: int, sizes: dict[str, int]) -> dict[str, Any]:
    """Root mean squared errors of the shares, run by run, and unusable solutions."""
    truth = np.array(TRUTH)
    schema = tacit.Schema(x=["a", "b", "c"])
    plan = tacit.Plan(tacit.Categorical("x"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
    surveys = [one.release for one in simulated(plan, repeats, people, {"theta": truth}, SEED + 10_000 * people)]
    means = studies.posteriors(surveys, method="shares", seed=SEED, **sizes)[0]["theta"].mean(axis=1)
    groups = [one.groups[0] for one in surveys]
    points = nearest_shares([unbiased_shares(group.protocol, group.values) for group in groups])
    errors = {
        name: np.sqrt(np.mean((found - truth) ** 2, axis=1))
        for name, found in (("posterior", means), ("point", points))
    }
    difference = errors["posterior"] - errors["point"]
    return {
        "protocol": protocol,
        "epsilon": epsilon,
        "n": people,
        "repeats": repeats,
        "posterior": float(errors["posterior"].mean()),
        "posterior error": float(errors["posterior"].std(ddof=1) / math.sqrt(repeats)),
        "point": float(errors["point"].mean()),
        "point error": float(errors["point"].std(ddof=1) / math.sqrt(repeats)),
        "difference": float(difference.mean()),
        "difference error": float(difference.std(ddof=1) / math.sqrt(repeats)),
        "posterior unusable": unusable(means),
        "point unusable": unusable(points),
    }


def shares_figure(cells: list[dict[str, Any]]) -> Figure:
    """Errors above, unusable solutions below, with bars of two standard errors.

    With one epsilon a column for each protocol, else a column for each epsilon and two rows for each protocol.
    """
    kinds = list(dict.fromkeys((cell["protocol"], cell["epsilon"]) for cell in cells))
    protocols, epsilons = ([*dict.fromkeys(kind[i] for kind in kinds)] for i in (0, 1))
    rows, columns = (2, len(protocols)) if len(epsilons) == 1 else (2 * len(protocols), len(epsilons))
    drawn = Figure(figsize=(3.4 * columns + 1.0, 2.7 * rows + 0.6), layout="constrained", facecolor="white")
    panels = drawn.subplots(rows, columns, squeeze=False, sharex=True)
    for protocol, epsilon in kinds:
        top, column = protocols.index(protocol), epsilons.index(epsilon)
        top, column = (0, top) if len(epsilons) == 1 else (2 * top, column)
        own = [cell for cell in cells if (cell["protocol"], cell["epsilon"]) == (protocol, epsilon)]
        at = [cell["n"] for cell in own]
        above, below = panels[top][column], panels[top + 1][column]
        for name, label, colour in (
            ("posterior", "posterior mean", BLUE),
            ("point", "point estimate, projected", ORANGE),
        ):
            bars = [2 * c[f"{name} error"] for c in own]
            style = {"color": colour, "markersize": 4, "elinewidth": 0.8}
            above.errorbar(at, [c[name] for c in own], bars, fmt="o-", linewidth=1.4, label=label, **style)
            for place, line in ((1, "o-"), (0, "s--")):
                worse = np.array([c[f"{name} unusable"][place] for c in own])
                bars = 2 * np.sqrt(worse * (1 - worse) / own[0]["repeats"])
                below.errorbar(at, worse, bars, fmt=line, linewidth=1.2, **style)
        above.set_title(f"{protocol}, epsilon = {epsilon:g}", fontsize=10, loc="left")
        above.set(xscale="log", ylim=(0, None), ylabel="" if column else "RMSE of the shares")
        below.set(xscale="log", ylim=(-0.03, 1), xlabel="people" if top + 2 == rows else "")
        below.set_ylabel("" if column else "unusable, share of runs")
        below.set_xlim(min(at) / 1.4, max(at) * 1.4)
        plain_ticks(below, at)
        below.tick_params(axis="x", labelsize=8)
        for panel in (above, below):
            panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0][0].get_legend_handles_labels()
    line = matplotlib.lines.Line2D
    handles += [line([], [], color=DARK, marker="o"), line([], [], color=DARK, marker="s", linestyle="--")]
    labels += ["below: unordered or trivial", "below: trivial"]
    drawn.legend(handles, labels, loc="outside lower center", ncols=2 if columns < 3 else 4, frameon=False)
    return drawn


def shares_table(cells: list[dict[str, Any]]) -> str:
    """Figure 3 as Markdown."""
    headings = ("protocol", "people", "posterior mean", "projected point estimate", "difference")
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for c in cells:
        numbers = (
            f"{c['posterior']:.4f}",
            f"{c['point']:.4f}",
            f"{c['difference']:+.4f} ± {c['difference error']:.4f}",
        )
        lines.append("| " + " | ".join((c["protocol"], f"{c['n']:,}", *numbers)) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------------


def claims(found: dict[str, Any]) -> list[Claim]:
    """What the paper says of these figures, beside the same numbers here. Two standard errors make a difference."""
    claims: list[Claim] = []
    if found.get("2"):
        parts, near = [], []
        for protocol in dict.fromkeys(c["protocol"] for c in found["2"]):
            own = sorted((c for c in found["2"] if c["protocol"] == protocol), key=lambda c: c["epsilon"])
            said = ", ".join(f"{np.mean(c['gap']):.4f} (se {c['gap error']:.4f}) at {c['epsilon']:g}" for c in own)
            parts.append(f"{protocol}: {said}")
            near.append(np.mean(own[-1]["gap"]) < 0.01)
            near.append(len(own) == 1 or np.mean(own[-1]["gap"]) < np.mean(own[0]["gap"]) / 2)
        says = "close to the non-private posterior also at small epsilon, and converging to it"
        claims.append(
            Claim("Figure 2", says, "mean gap of distribution functions " + "; ".join(parts), common.verdict(*near))
        )
    for number in ("3", "9"):
        cells = found.get(number, [])
        for protocol in dict.fromkeys(c["protocol"] for c in cells):
            own = sorted((c for c in cells if c["protocol"] == protocol), key=lambda c: (c["epsilon"], c["n"]))
            said = "; ".join(
                f"epsilon {c['epsilon']:g}, n = {c['n']}: {c['posterior']:.4f} against {c['point']:.4f} "
                f"({c['posterior'] / c['point'] - 1:+.0%}, "
                f"difference {c['difference']:+.4f} ± {c['difference error']:.4f})"
                for c in own
            )
            few = [c for c in own if c["n"] == min(c["n"] for c in own)]
            lower = [c["difference"] < -2 * c["difference error"] for c in few]
            never = not any(c["difference"] > 2 * c["difference error"] for c in own)
            usable = [c["posterior unusable"][0] <= c["point unusable"][0] for c in own]
            says = "the posterior's RMSE is 10-30% lower, mostly with few people; fewer unusable solutions"
            claims.append(Claim(f"Figure {number}, {protocol}", says, said, common.verdict(*lower, never, *usable)))
    return claims
