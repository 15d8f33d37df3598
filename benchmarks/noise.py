"""How fast exact noise is drawn: 100,000 integers at scale 2^32, beside OpenDP, in the same run.

    python benchmarks/noise.py

Both draw exactly from the same distribution with randomness from the operating system, without a seed. OpenDP gets
64-bit integers (its default of 32 bits would saturate at this scale) and a ready list; its list conversion, a few
milliseconds, is part of its time. Repeats alternate between the two, so that a busy machine slows both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

DRAWS = 100_000
SCALE = 2**32
REPEATS = 3


def rows() -> list[dict[str, Any]]:
    """One row a distribution: median seconds of tacit and of OpenDP, the least and most of each, and the ratio of
    medians.
    """
    import opendp.prelude as dp

    from tacit.noise.discrete_gaussian import DiscreteGaussian
    from tacit.noise.discrete_laplace import DiscreteLaplace
    from tacit.noise.entropy import OSEntropy
    from tacit.noise.rounded_gaussian import RoundedGaussian

    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace = dp.m.make_laplace(integers, dp.l1_distance(T="i64"), scale=float(SCALE))
    gaussian = dp.m.make_gaussian(integers, dp.l2_distance(T="f64"), scale=float(SCALE))
    zeros = [0] * DRAWS
    entropy = OSEntropy()
    pairs: list[tuple[Any, Callable[[], Any]]] = [
        (DiscreteLaplace((SCALE,)), lambda: laplace(zeros)),
        (DiscreteGaussian((SCALE,)), lambda: gaussian(zeros)),
        # OpenDP has no rounded Gaussian: its discrete one stands beside it.
        (RoundedGaussian((SCALE,)), lambda: gaussian(zeros)),
    ]
    table: list[dict[str, Any]] = []
    for noise, peer in pairs:
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(REPEATS):
            ours.append(_seconds(lambda noise=noise: noise.sample(DRAWS, entropy)))
            theirs.append(_seconds(peer))
        table.append(
            {
                "law": noise.kind,
                "draws": DRAWS,
                "scale": SCALE,
                "tacit_seconds": statistics.median(ours),
                "tacit_range": (min(ours), max(ours)),
                "opendp_seconds": statistics.median(theirs),
                "opendp_range": (min(theirs), max(theirs)),
                "tacit_all": ours,
                "opendp_all": theirs,
                "ratio": statistics.median(theirs) / statistics.median(ours),
                "opendp": version("opendp"),
            }
        )
    return table


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    table = rows()
    print(f"{DRAWS} draws at scale {SCALE}, median (least - most) of {REPEATS}, OpenDP {table[0]['opendp']}")
    print(f"{'law':<18} {'tacit, ms':>22} {'OpenDP, ms':>26} {'ratio':>7}")
    for row in table:
        ours, theirs = ([1e3 * t for t in (row[f"{who}_seconds"], *row[f"{who}_range"])] for who in ("tacit", "opendp"))
        print(
            f"{row['law']:<18} {'{:.0f} ({:.0f} - {:.0f})'.format(*ours):>22} "
            f"{'{:.0f} ({:.0f} - {:.0f})'.format(*theirs):>26} {row['ratio']:>6.1f}x"
        )


if __name__ == "__main__":
    main()
