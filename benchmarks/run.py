"""Run every benchmark and print one table. A module with a function ``rows`` measures side by side."""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    sys.path.insert(0, str(HERE))
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")
    print(f"Python {platform.python_version()}, {platform.machine()}, {__import__('os').cpu_count()} cores")
    for name in names:
        module = importlib.import_module(name)
        if not hasattr(module, "rows"):  # what several of them share
            continue
        print(f"\n## {name}")
        rows = module.rows()
        headings = list(rows[0])
        print("| " + " | ".join(headings) + " |")
        print("|" + "---|" * len(headings))
        for row in rows:
            print("| " + " | ".join("" if row[h] is None else str(row[h]) for h in headings) + " |")


if __name__ == "__main__":
    main()
