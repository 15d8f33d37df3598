"""The long run: ``python -m tests.neighbours --pairs 100000 --seed 7``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from .check import ViolationError
from .media import MEDIA
from .pairs import CHANGES
from .run import attack, small_pieces


def main() -> int:
    """Attack every medium in turn, print what was done to each, and every violation in full."""
    parser = argparse.ArgumentParser(prog="python -m tests.neighbours", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="how many pairs, over all media")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--medium", choices=list(MEDIA), help="this one alone")
    parser.add_argument("--only", type=int, help="the pair with this number alone, as a violation names it")
    parser.add_argument("--change", choices=list(CHANGES), default="replaced", help="how the two tables differ")
    parser.add_argument("--most", type=int, default=3, help="how many violations of a medium are shown")
    options = parser.parse_args()
    media = [MEDIA[options.medium]] if options.medium else list(MEDIA.values())
    shares = sum(medium.share for medium in media)
    broken = 0
    with small_pieces():
        for medium in media:
            count = max(1, options.pairs * medium.share // shares)
            found: Counter[str] = Counter()
            start = time.perf_counter()
            for index in range(count) if options.only is None else [options.only]:
                try:
                    small = found["VIOLATION"] < options.most
                    found[attack(medium, options.seed, index, small=small, change=options.change)] += 1
                except ViolationError as violation:
                    found["VIOLATION"] += 1
                    if found["VIOLATION"] <= options.most:
                        print(violation, "\n", flush=True)
            broken += found["VIOLATION"]
            spent = (time.perf_counter() - start) / count * 1e3
            print(f"{medium.name:32} {dict(found)}  ({spent:.1f} ms a pair)", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
