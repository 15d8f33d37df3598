"""How long a person waits before anything happens: importing tacit, asking for help, the first posterior."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOOL = str(Path(sys.executable).parent / "tacit")
# Peers and the bare interpreter, measured in the same run.
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import jax": [sys.executable, "-c", "import jax"],
    "import opendp": [sys.executable, "-c", "import opendp.prelude"],
    "import tacit": [sys.executable, "-c", "import tacit"],
    "tacit --help": [TOOL, "--help"],
}
TARGETS = {"import tacit": 0.5, "tacit --help": 0.4}


def rows() -> list[dict[str, object]]:
    found = []
    for name, command in COMMANDS.items():
        subprocess.run(command, capture_output=True, check=True)  # warm the file cache
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times.append(time.perf_counter() - start)
        found.append(_row(name, times))
    found.extend(_first_posterior())
    return found


def _first_posterior() -> list[dict[str, object]]:
    """`tacit infer` from process start to a saved posterior, with an empty compilation cache and with a full one."""
    import os

    import tacit

    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        tacit.simulate(plan, n=1000, seed=0).release.save(f"{folder}/release.json")
        cold, warm = [], []
        for repeat in range(3):
            environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache{repeat}"}
            for times in (cold, warm):
                start = time.perf_counter()
                command = [TOOL, "infer", f"{folder}/release.json", "-o", f"{folder}/p.nc", "--overwrite"]
                subprocess.run(command, capture_output=True, check=True, env=environment)
                times.append(time.perf_counter() - start)
        found.append(_row("tacit infer, cold cache", cold))
        found.append(_row("tacit infer, warm cache", warm))
    return found


def _row(name: str, times: list[float]) -> dict[str, object]:
    return {
        "job": name,
        "seconds": round(statistics.median(times), 3),
        "spread": f"{min(times):.3f}-{max(times):.3f}",
        "target": TARGETS.get(name),
    }


if __name__ == "__main__":
    for row in rows():
        print(row)
