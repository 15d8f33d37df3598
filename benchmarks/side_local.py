"""Local reports: tacit beside a NumPyro model that scores every report.

    python benchmarks/side_local.py --time CASE FULL PATH START      (what `measure` runs, each in a fresh process)

The NumPyro model has the same prior and the same density of one report, with the person's answer summed or integrated
out in closed form, so it is the best that a model with one term a report can be. It runs in full at `FULL` reports
(`FULL_OF` and `LENGTH_OF` for a slow case). At more the time of a gradient is measured, and the rest follows: as many
gradients for 1,000 effective draws as there, because the kernel adapts to the width of the posterior. Its sampling
alone counts gradients and nothing else, in its favour. tacit runs in full at every size; `local.py` runs it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import local
from fresh import TARGET, timed
from side import sizes

EPSILON, FULL = 1.0, 10_000
FULL_OF = {"logistic inputs": 1_000}  # where a term for each report takes longer than the limit at ten times as many
WARMUP, DRAWS, CHAINS = 300, 500, 4
LENGTH_OF = {"logistic inputs": (100, 100, 1)}
# Reports of unary encoding on 50 items do not group: no target, and fewer of them, which fill the memory otherwise.
# Those of a logistic regression's inputs are summed on a grid; they have no target either.
CASES = {
    "normal": ((10_000, 100_000, 1_000_000), 50.0),
    "response 16": ((10_000, 100_000, 1_000_000), 50.0),
    "unary 50": ((10_000, 100_000), None),
    "logistic inputs": ((1_000, 10_000, 100_000, 1_000_000), None),
}
LIMIT, REPEATS = 300.0, 3
NOTES = {"unary 50": "scores 127,600 numbers of an expansion, as many for any number of reports"}


def measure(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with sizes(quick):
        for case, (counts, target) in CASES.items():
            whole: dict[str, Any] = {}
            for n in (1000, 2000) if quick else counts:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "reports.parquet"
                    local._write_reports(path, case, n, EPSILON)
                    rows += _compare(case, n, path, whole, target if n == counts[-1] else None, quick=quick)
    return rows


def _compare(
    case: str, n: int, path: Path, whole: dict[str, Any], target: float | None, *, quick: bool
) -> list[dict[str, Any]]:
    full = n <= (1000 if quick else FULL_OF.get(case, FULL))
    once = quick or (full and case in LENGTH_OF)  # a run of minutes
    ours = [timed(local.__file__, str(path), limit=LIMIT) for _ in range(1 if quick else REPEATS)]
    peers = [timed(__file__, case, str(full), str(path), limit=LIMIT) for _ in range(1 if once else REPEATS)]
    who = "NumPyro, a term for each report"
    if full and "gradients" in peers[0]:
        whole.update(peers[0])
    rows: list[dict[str, Any]] = []
    bad = next((one["note"] for one in ours if "until" not in one), None)
    for alone, state in enumerate(("from process start", "sampling alone")):
        name = f"{case}, {n:,} reports, {state}"
        row: dict[str, Any] = {"job": name, "who": "tacit", "target": target, "note": bad or NOTES.get(case)}
        if not bad:
            row["seconds"] = [_alone(one) if alone else one["seconds"] for one in ours]
            row["effective"], row["rate"] = ours[0]["effective"], ours[0]["effective"] / ours[0]["sampling"]
        rows.append(row)
        failed = next((one["note"] for one in peers if "until" not in one), None)
        if failed or not whole:
            rows.append({"job": name, "who": who, "note": failed or "the small run failed"})
            continue
        gradient = statistics.median(one["gradient_seconds"] for one in peers)
        said = f"{1e3 * gradient:.2f} ms a gradient" + ("" if full else ", extrapolated from it")
        if case in LENGTH_OF:
            said += f"; rough, from a run with {whole['effective']:.0f} effective draws"
        seconds = [_peer_seconds(one if full else whole, one["gradient_seconds"], alone=bool(alone)) for one in peers]
        row = {"job": name, "who": who, "seconds": seconds, "note": said}
        rows.append({**row, "effective": whole["effective"] if full else None})
    return rows


def _peer_seconds(whole: dict[str, Any], gradient: float, *, alone: bool) -> float:
    """What a whole run costs for the effective draws that are wanted, at ``gradient`` seconds a gradient."""
    sampling = whole["gradients"] * TARGET / whole["effective"] * gradient
    start = whole["until"] - (whole["gradients"] + whole["adapting"]) * whole["gradient_seconds"]
    return sampling if alone else max(start, 0.0) + whole["adapting"] * gradient + sampling


def _alone(run: dict[str, Any]) -> float:
    return run["sampling"] * TARGET / run["effective"]


# ---------------------------------------------------------------------------------------------------------------------
# What runs in the fresh process


def numpyro_model(reports: Any) -> Any:
    """The model of one group of reports, a term each."""
    import jax.numpy as jnp
    import numpy as np
    import numpyro
    import numpyro.distributions as dist

    (group,) = reports.groups
    plan, protocol = reports.plan, group.client.protocol
    model: Any = plan.model
    prior = model.default_prior(plan.schema)
    values = np.asarray(group.values)
    if plan.model.family == "normal":
        steps = model.coding(plan.schema).steps
        law, z, scale = (
            model.law(prior, plan.schema),
            jnp.asarray(values[:, 0] / steps),
            protocol.noise.scales[0] / steps,
        )

        def number() -> None:
            phi = numpyro.sample("phi", dist.Normal(0, 1).expand([2]).to_event(1))
            numpyro.factor("reports", jnp.sum(law.log_report(phi, z, scale)))

        return number
    if plan.model.family == "logistic":
        return _logistic_inputs(plan, group)
    levels = len(plan.schema.category(model.column).levels)
    grow = float(np.exp(EPSILON))
    response = values.shape[1] == 1
    given = jnp.asarray(values[:, 0]) if response else jnp.asarray(values, jnp.float64)

    def category() -> None:
        theta = numpyro.sample("theta", dist.Dirichlet(jnp.full(levels, 1.0 * prior.concentration)))
        chance = (1 + (grow - 1) * theta)[given] if response else 1 / grow + (1 - 1 / grow) * (given @ theta)
        numpyro.factor("reports", jnp.sum(jnp.log(chance)))

    return category


def _logistic_inputs(plan: Any, group: Any) -> Any:
    """Logistic regression from reports of x and y: each report by its own one-dimensional integral."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    from tacit.likelihoods.report_densities import logistic_report
    from tacit.models.input_reports import in_mapped_units, noise_variances

    prior = plan.model.default_prior(plan.schema).numbers(plan.model.cells(plan.schema))
    values = in_mapped_units(group.client, group.values)
    label, x = jnp.asarray(values[:, 0]), jnp.asarray(values[:, 1:])
    noise = jnp.diag(jnp.asarray(noise_variances(group.client)))
    epsilon = float(group.client.protocol.epsilon_label)
    d = x.shape[1]

    def inputs() -> None:
        theta = numpyro.sample("theta", dist.Normal(0, prior.theta_sd).to_event(1))
        mean = numpyro.sample("mean", dist.Normal(prior.mean[0], prior.mean_sd[0]).to_event(1))
        scale = numpyro.sample("scale", dist.HalfNormal(prior.scale).to_event(1))
        root = scale[:, None] * numpyro.sample("root", dist.LKJCholesky(d, prior.shape))
        terms = logistic_report(x, label, theta[1:], theta[0], mean, root @ root.T, noise, epsilon)
        numpyro.factor("reports", jnp.sum(terms))

    return inputs


def _peer(case: str, full: bool, path: Path, started: float) -> dict[str, Any]:
    import jax
    import numpy as np
    from fresh import effective, memory
    from numpyro.infer import MCMC, NUTS
    from numpyro.infer.util import initialize_model

    from tacit.reports import as_reports

    jax.config.update("jax_enable_x64", True)
    model = numpyro_model(as_reports(path))
    information = initialize_model(jax.random.key(0), model)
    slope = jax.jit(jax.value_and_grad(information.potential_fn))
    at = information.param_info.z
    jax.block_until_ready(slope(at))
    until, times = time.time() - started, []
    for _ in range(5):
        begin = time.perf_counter()
        jax.block_until_ready(slope(at))
        times.append(time.perf_counter() - begin)
    # "until", "sampling" and "effective" are what `fresh.timed` asks for; without a run they stand for nothing.
    found: dict[str, Any] = {"gradient_seconds": sorted(times)[2], "until": until, "sampling": 0.0, "effective": 1.0}
    if not full:
        return found
    quick = "TACIT_BENCH_QUICK" in os.environ
    warmup, draws, chains = (20, 20, 2) if quick else LENGTH_OF.get(case, (WARMUP, DRAWS, CHAINS))
    mcmc = MCMC(NUTS(model), num_warmup=warmup, num_samples=draws, num_chains=chains, chain_method="vectorized",
                progress_bar=False)  # fmt: skip
    mcmc.run(jax.random.key(1), extra_fields=("num_steps",))
    until = time.time() - started
    sample = mcmc.get_samples(group_by_chain=True)
    numbers = np.concatenate([np.asarray(v).reshape(chains, draws, -1) for v in sample.values()], axis=2)
    gradients = int(np.sum(mcmc.get_extra_fields()["num_steps"]))
    found |= {"until": until, "effective": effective(numbers), "memory": memory()}
    found["sampling"] = gradients * found["gradient_seconds"]
    # `MCMC.run` does not tell what its adapting steps cost: as much as the others, which is too little.
    return {**found, "gradients": gradients, "adapting": gradients * warmup // draws}


def main() -> None:
    print(json.dumps(_peer(sys.argv[-4], sys.argv[-3] == "True", Path(sys.argv[-2]), float(sys.argv[-1]))))


if __name__ == "__main__":
    main()
