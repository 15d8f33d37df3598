"""How long a study before spending takes, from process start to the table: it must be seconds, without JAX."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOOL = str(Path(sys.executable).parent / "tacit")
PLANS = {
    "yes/no share": '[model]\nfamily = "bernoulli"\ncolumn = "smoker"\n',
    "linear, 3 covariates": '[model]\nfamily = "linear"\nformula = "charges ~ age + bmi + smoker"\n',
    "logistic, 3 covariates": '[model]\nfamily = "logistic"\nformula = "smoker ~ age + bmi + charges"\n',
}
REST = """[schema]
charges = [0, 65000]
age = [18, 65]
bmi = [15, 55]
smoker = ["no", "yes"]
[budget]
epsilon = 1.0
"""


def rows() -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in PLANS.items():
            plan = Path(folder) / "plan.toml"
            plan.write_text(model + REST)
            start = time.perf_counter()
            subprocess.run(
                [TOOL, "design", plan, "--n", "1000,10000", "--epsilon", "0.1,0.5,1,2"],
                capture_output=True,
                check=True,
            )
            found.append({"what": f"tacit design, {name}, 8 cells", "seconds": round(time.perf_counter() - start, 1)})
    return found
