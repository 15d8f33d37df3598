"""The report page: how long it takes to make, how large it is, and how long a browser takes to open it."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import tacit


def rows():
    found = []
    schema = tacit.Schema(
        smoker=["no", "yes"], drinks=["never", "monthly", "weekly", "daily"], cost=(0, 1000), age=(20, 80)
    )
    plans = {
        "bernoulli": tacit.Plan(tacit.Bernoulli("smoker"), schema, tacit.PureDP(0.5)),
        "categorical": tacit.Plan(tacit.Categorical("drinks"), schema, tacit.PureDP(0.5)),
        "linear": tacit.Plan(tacit.LinearRegression("cost ~ age"), schema, tacit.PureDP(2.0)),
    }
    for name, plan in plans.items():
        posterior = tacit.infer(tacit.simulate(plan, n=2000, seed=1).release)
        tacit.report(posterior)  # compiled, and imports done
        start = time.perf_counter()
        page = tacit.report(posterior)
        made = time.perf_counter() - start
        found.append({"page": name, "made, s": f"{made:.2f}", "size, kB": len(page) // 1000, "opens, ms": opens(page)})
    return found


def opens(page):
    """Until the load event, the median of five, in a headless Chromium from the disk; None where there is none."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page)
        times = []
        for _ in range(5):
            driver.get(path.as_uri())
            time.sleep(0.2)
            times.append(driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
    driver.quit()
    return round(sorted(times)[2])
