"""``python -m tacit.certificates``: make the certificates, or go on making them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tacit.certificates.make import FULL, SHORT, make
from tacit.certificates.plans import make_plans


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Audit and calibrate everything that is shipped.")
    parser.add_argument("--out", type=Path, default=Path("docs/certificates"), help="where the table goes")
    parser.add_argument("--short", action="store_true", help="few runs and trials: minutes, not hours")
    parser.add_argument("--trials", type=int, help="trials of each posterior")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--seconds", type=float, help="stop before the first row that starts later than this")
    parser.add_argument("--processes", type=int, default=1, help="rows at a time")
    parser.add_argument("--parts", type=int, default=1, help="processes that share the trials of a row")
    parser.add_argument("--plans", type=int, help="instead, calibrate so many plans drawn at random")
    options = parser.parse_args()
    settings = SHORT if options.short else FULL
    settings = replace(settings, parts=options.parts)
    if options.trials is not None:
        settings = replace(settings, trials=options.trials)
    try:
        if options.plans is not None:
            make_plans(options.out, options.plans, trials=options.trials or 100, only=options.only)
            return
        make(options.out, settings, only=options.only, seconds=options.seconds, processes=options.processes)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
