"""What posteriors of varying effects should hold in the same trials: those that know nearly everything, exactly.

    python benchmarks/varying.py ranks "cost ~ age + sex + (1 | clinic)" --groups 20 --rows 4000 --epsilon 1 --out ranks
    python benchmarks/varying_known.py "cost ~ age + sex + (1 | clinic)" --trials 150 --against ranks.0.npz

In a few trials 90% intervals hold 80% or 95% by chance, as all levels of one trial share its intercept and its spread.
Here sizes, covariates and sigma are those of the rows; only coefficients, effects and spreads are unknown. Then all
released sums of y are normal (the noise is taken for normal), and the posterior is a formula at each spread of a grid.
It is calibrated, so what it holds in the very trials of a study says how much of what the study held was chance.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from varying import PRIOR, given, parsed, plan_of, released

DRAWS, GRID = 1000, np.linspace(0.004, 0.5, 40)


def known_posterior(plan: Any, truth: Any, rows: Any, z: Any, rng: Any) -> dict[str, Any]:
    """Draws by name, from ``z``, the released sums in real units, and from what else is known of the rows."""
    statistic, scales = plan.statistic(), np.array(plan.noise().scales) / plan.statistic().unit
    cells, groups, last = parsed(plan, rows), statistic.by.size, len(statistic.design)
    x = np.stack([column.values(cells, statistic.steps) / statistic.steps for column in statistic.design])
    member = np.eye(groups)[:, cells[statistic.by.columns[0]]]
    ends = statistic.width * groups
    blocks, wide = (one[:ends].reshape(groups, -1) for one in (z, scales))
    # Given the size both parts of y say what its sum is, with the same noise.
    sums, seen, noise = [member], [blocks[:, 1] - blocks[:, 0]], [4 * wide[:, 0] ** 2]
    for i, (j, k) in enumerate(statistic.block):
        if k == last:
            place = 2 + len(statistic.single) + i
            sums, seen = [*sums, member * x[j]], [*seen, blocks[:, place]]
            noise.append(2 * wide[:, place] ** 2)
    for i, (j, k) in enumerate(statistic.pooled):
        if k == last and j != last:
            sums, seen = [*sums, x[j][None]], [*seen, z[ends + i : ends + i + 1]]
            noise.append(2 * scales[ends + i : ends + i + 1] ** 2)
    rows_of, observed = np.concatenate(sums), np.concatenate(seen)
    loads = rows_of @ np.concatenate([x, member, *(member * x[j] for j in statistic.slopes)]).T
    own = rows_of @ rows_of.T * float(truth["sigma"]) ** 2 + np.diag(np.concatenate(noise))
    fixed = np.array([PRIOR["level"], *[PRIOR["slope"]] * (last - 1)])
    kinds = 1 + len(statistic.slopes)
    spreads = np.stack(np.meshgrid(*[GRID] * kinds), axis=-1).reshape(-1, kinds)
    logs, means, roots = [], [], []
    for spread in spreads:
        prior = np.diag(np.concatenate([fixed, np.repeat(spread, groups)]) ** 2)
        total = loads @ prior @ loads.T + own
        gain = np.linalg.solve(total, loads @ prior).T
        logs.append(-(observed @ np.linalg.solve(total, observed) + np.linalg.slogdet(total)[1]) / 2)
        logs[-1] -= np.sum((spread / PRIOR["spread"]) ** 2) / 2
        means.append(gain @ observed)
        roots.append(prior - gain @ loads @ prior)
    weights = np.exp(np.array(logs) - max(logs))
    found, places = [], rng.choice(len(spreads), size=DRAWS, p=weights / weights.sum())
    for i in places:
        values, vectors = np.linalg.eigh(roots[i])
        found.append(means[i] + vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(values))))
    drawn = np.array(found)
    effects = drawn[:, last : last + groups]
    made = {"theta": drawn[:, :last], "effect": effects, "group_mean": drawn[:, :1] + effects}
    made["spread"] = spreads[places, 0]
    if kinds > 1:
        made |= {"slope_effect": drawn[:, last + groups :], "slope_spread": spreads[places, 1]}
        made["group_slope"] = drawn[:, list(statistic.slopes)] + made["slope_effect"]
    return made


def rows_posterior(plan: Any, rows: Any, rng: Any) -> dict[str, Any]:
    """Draws by name from the rows themselves under the default prior, with sigma known, for a study of real tables."""
    model, schema, statistic = plan.model, plan.schema, plan.statistic()
    prior, cells, groups = model.default_prior(schema), parsed(plan, rows), statistic.by.size
    v = [column.values(cells, statistic.steps) / statistic.steps for column in statistic.vector]
    x, y, member = np.stack(v[:-1]), v[-1], np.eye(groups)[:, cells[statistic.by.columns[0]]]
    whole = np.concatenate([x, member, *(member * x[j] for j in statistic.slopes)])
    gram, pull, last, kinds = whole @ whole.T, whole @ y, len(x), 1 + len(statistic.slopes)
    left = y @ y - pull @ np.linalg.pinv(gram) @ pull
    variance = left / (len(y) - np.linalg.matrix_rank(gram))
    spreads = np.stack(np.meshgrid(*[np.geomspace(0.003, 0.6, 60)] * kinds), axis=-1).reshape(-1, kinds)
    logs, roots = [], []
    for spread in spreads:
        sd = np.concatenate([[prior.level], np.full(last - 1, prior.slope), np.repeat(spread, groups)])
        root = np.linalg.cholesky(gram / variance + np.diag(sd**-2))
        half = np.linalg.solve(root, pull / variance)
        logs.append(half @ half / 2 - np.sum(np.log(np.diagonal(root))) - np.sum(np.log(sd)))
        logs[-1] += np.sum(np.log(spread)) - np.sum((spread / prior.spread) ** 2) / 2
        roots.append((root, half))
    weights = np.exp(np.array(logs) - max(logs))
    places = rng.choice(len(spreads), size=DRAWS, p=weights / weights.sum())
    drawn = np.array(
        [np.linalg.solve(root.T, half + rng.standard_normal(len(half))) for root, half in (roots[i] for i in places)]
    )
    made = {"theta": drawn[:, :last], "sigma": np.full(DRAWS, np.sqrt(variance))}
    for i, before in enumerate(("", "slope_")[:kinds]):
        own = drawn[:, last + i * groups : last + (i + 1) * groups]
        made |= {f"{before}spread": spreads[places, i], f"{before}effect": own}
    return {**made, **model.by_level(made, schema)}


def main(said: Any) -> None:
    """What 90% intervals hold in each trial, and beside it what the study's held."""
    plan, held = plan_of(said), dict[str, list[Any]]()
    study = np.load(said.against) if said.against else {}
    for trial in range(said.trials):
        rng = np.random.default_rng([said.seed, trial])
        truth, rows = given(plan, said, rng)
        made = known_posterior(plan, truth, rows, released(plan, rows, rng, clamped=False), rng)
        for name in set(made) & set(truth):
            low, high = np.quantile(made[name], [0.05, 0.95], axis=0)
            held.setdefault(name, []).append(np.mean((low <= truth[name]) & (truth[name] <= high)))
    for name in sorted(held):
        shares = np.array(held[name])
        print(f"{name}: {shares.mean():.3f} +- {shares.std() / np.sqrt(len(shares)):.3f} of {len(shares)} trials")
        if f"held {name}" in study:
            own = study[f"held {name}"]
            own, same = own.reshape(len(own), -1).mean(axis=1)[: len(shares)], shares[: len(own)]
            error = np.std(own - same) / np.sqrt(len(own))
            print(f"  in {len(own)}: {same.mean():.3f}, the study {own.mean():.3f}, apart {error:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formula")
    for option, default in (("groups", 20), ("rows", 4000), ("trials", 150), ("seed", 0)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--against", default="")
    parser.set_defaults(what="ranks")
    main(parser.parse_args())
