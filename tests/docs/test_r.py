"""The R snippets of the documentation, run by R where it is installed (`make system-deps`)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tacit

PAGE = Path(__file__).parents[2] / "docs" / "other-languages.md"
NEEDED = "quit(status = !all(sapply(c('jsonlite', 'ncdf4'), requireNamespace, quietly = TRUE)))"


def installed() -> bool:
    rscript = shutil.which("Rscript")
    return (
        rscript is not None
        and subprocess.run([rscript, "-e", NEEDED], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
def test_r_reads_a_release_and_a_posterior(tmp_path):
    if not installed():
        pytest.skip("the packages jsonlite and ncdf4 are not installed")
    plan = tacit.Plan(tacit.Categorical("drinks"), tacit.Schema(drinks=["never", "weekly", "daily"]), tacit.PureDP(0.5))
    release = tacit.simulate(plan, n=1000, seed=1).release
    release.save(tmp_path / "release.json")
    schema = tacit.Schema(charges=(0, 65_000), age=(18, 65), smoker=["no", "yes"])
    regression = tacit.Plan(tacit.LinearRegression("charges ~ age + smoker"), schema, tacit.PureDP(1e4))
    made_up = tacit.simulate(regression, n=2000, seed=1, prior={"lambda0": (20.0, 5.0, 20.0), "a0": 20.0, "b0": 0.5})
    posterior = tacit.infer(made_up.release, method="naive", draws=100)
    posterior.save(tmp_path / "posterior.nc")
    blocks = re.findall(r"```r\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert len(blocks) == 2
    checks = 'cat("\\nvalue", value, "\\n"); cat("middle", median(10 * age - smoker), "\\n")\n'
    checks += 'cat("axes", dim(theta), "\\n")\n'
    script = tmp_path / "script.R"
    script.write_text("options(digits = 15)\n" + "\n".join(blocks) + checks)
    done = subprocess.run(
        ["Rscript", script.name], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("value", "middle", "axes")))
    unit = plan.statistic().unit
    np.testing.assert_allclose([float(v) for v in said["value"].split()], np.array(release.values) / unit, rtol=1e-6)
    np.testing.assert_allclose(float(said["middle"]), np.median(posterior.draws("10*age - smoker[yes]")), rtol=1e-6)
    assert said["axes"].split() == ["3", "100", "4"]
