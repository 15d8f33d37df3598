"""Run every benchmark, keep its rows, and make the page docs/benchmarks.md of all that is kept.

    python benchmarks/run.py                    all of them, the most important first, about two and a half hours
    python benchmarks/run.py --only local       one, or several
    python benchmarks/run.py --missing          those that have no rows yet: goes on where it was stopped
    python benchmarks/run.py --quick            minimal sizes into files and a page of their own: does every row work?
    python benchmarks/run.py --page             the page alone, from what is kept

Rows are in benchmarks/results. A benchmark is a module with a function ``measure(quick)`` that gives its rows, see
`kept`. Modules with a function ``rows`` print tables of their own for other pages of the documentation; they run with
``--only`` as well, and keep nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fresh
import kept
import page

# The most important first; what each compares is in the page's own words.
TABLES = {
    "side_small": "Calibrating and drawing noise",
    "side_logistic": "Logistic regression from a noisy release",
    "side_local": "Local reports",
    "side_linear": "Linear regression from a noisy release",
    "side_batch": "Many datasets at once",
    "side_startup": "How long a person waits",
    "side_rows": "Adding up rows",
    "side_draws": "One draw from a posterior",
    "side_growth": "How cost grows",
    "side_study": "A whole figure of calibration",
    "side_poisson": "Poisson regression from a noisy release",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--page", action="store_true")
    said = parser.parse_args()
    names = [name if name in TABLES or f"side_{name}" not in TABLES else f"side_{name}" for name in said.only or TABLES]
    if said.missing:
        names = [name for name in names if kept.load(name, quick=said.quick) is None]
    failed = False
    if not said.page:
        fresh.prepare()
    for name in () if said.page else names:
        module = importlib.import_module(name)
        print(f"\n## {name}", flush=True)
        if not hasattr(module, "measure"):
            for row in module.rows():
                print(json.dumps(row, default=str), flush=True)
            continue
        load, began = kept.busy(), time.perf_counter()
        if load > kept.BUSY:
            print(f"Other programs use {load:.0%} of each core: the rows will say so.", flush=True)
        try:
            rows = module.measure(quick=said.quick)
        except Exception:  # the others still run
            traceback.print_exc()
            failed = True
            continue
        seconds = time.perf_counter() - began
        kept.keep(name, rows, load=load, seconds=seconds, quick=said.quick)
        print("\n".join(page.table(rows)))
        print(f"({seconds:.0f} s, load by others {load:.2f})", flush=True)
    print(f"\nPage: {page.write(TABLES, quick=said.quick)}")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
