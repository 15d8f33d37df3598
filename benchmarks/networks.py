"""One draw of a network from its beta-divergence posterior: how long from rows to draw, compilation included.

    python benchmarks/networks.py [--hidden 10] [--rows 8192] [--epsilon 5] [--times 2]

Data of the shape of kin8nm: eight angles, and the distance of the end of an arm of eight links from a point, with
noise. The draw goes through the code that a release runs (`BetaLoss.draw`). It runs on whatever device JAX finds; from
a checkout ``PYTHONPATH=src`` and numpy, jax and numpyro are enough. Slopes are computed in float32 and energies in
float64, which leaves the density of the draw as it is (`tacit.private_samplers.smc` proves it).

The first time is with an empty cache of compiled programs. ``error`` is the root mean square error of the draw at 2,000
further rows against the curve without noise; ``prior`` that of a network of the prior, to compare.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

SCATTER = 0.1


def arm(angles: Any) -> Any:
    """The distance from (0.1, 0.1) of the end of an arm whose links, an eighth each, turn by the angles."""
    import numpy as np

    turned = np.cumsum(angles, axis=1)
    return np.hypot(np.cos(turned).sum(axis=1) / 8 - 0.1, np.sin(turned).sum(axis=1) / 8 - 0.1)


def rows(hidden: int = 10, count: int = 8192, epsilon: float = 5.0, times: int = 2) -> list[dict[str, Any]]:
    """One row a time."""
    import jax
    import numpy as np

    import tacit
    from tacit.noise.entropy import OSEntropy

    rng = np.random.default_rng(1)
    names = [f"angle{j}" for j in range(1, 9)]
    angles = rng.uniform(-np.pi / 2, np.pi / 2, (count + 2000, 8))
    curve = arm(angles)
    bounds = dict.fromkeys(names, (-np.pi / 2, np.pi / 2))
    plan = tacit.Plan(
        tacit.Network(f"distance ~ {' + '.join(names)}", hidden=hidden),
        tacit.Schema(distance=(0, 1.5), **bounds),
        tacit.ApproxDP(epsilon, 1e-6),
        tacit.PosteriorSample(loss="beta-divergence", gamma=1e-12, assume="converged", options={"sigma_min": SCATTER}),
    )
    crossing = plan.crossing()
    collected = crossing.collector()
    seen = {name: angles[:count, j] for j, name in enumerate(names)}
    collected.add({**seen, "distance": curve[:count] + SCATTER * rng.standard_normal(count)})
    new = {name: angles[count:, j] for j, name in enumerate(names)}
    size = len(plan.model.weights(plan.schema))  # type: ignore[attr-defined]

    def error(theta: Any) -> float:
        found = plan.model.predict({"theta": theta[None, :size]}, plan.schema, new, None)[0]  # type: ignore[attr-defined]
        return float(np.sqrt(np.mean(np.square(found - curve[count:]))))

    table: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        for k in range(times):
            begin, busy = time.perf_counter(), time.process_time()
            values = crossing.cross(collected, count, OSEntropy())
            seconds, used = time.perf_counter() - begin, time.process_time() - busy
            found = error(np.array(values, float) / crossing.unit)
            row = {"device": jax.devices()[0].device_kind, "units": hidden, "rows": count, "epsilon": epsilon}
            row |= {"time": "first" if k == 0 else "again", "seconds": f"{seconds:.1f}"}
            row |= {"processor seconds": f"{used:.1f}", "error": f"{found:.4f}"}
            table.append({**row, "prior": f"{error(rng.standard_normal(size)):.3f}"})
            print(table[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hidden", type=int, default=10)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--epsilon", type=float, default=5.0)
    parser.add_argument("--times", type=int, default=2)
    said = parser.parse_args()
    rows(said.hidden, said.rows, said.epsilon, said.times)


if __name__ == "__main__":
    main()
