"""The certificate of random plans: `tacit.calibration.random_plans`, some hundred of them, all judged together.

    python -m tacit.certificates --plans 300 [--out docs/certificates] [--trials 100] [--only linear]

A plan that is there already is not run again, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit._support.files import write_atomically
from tacit.calibration.random_plans import PLAN_GROUPS, PLAN_KINDS, random_plan, rejected_plans, try_plan
from tacit.version import __version__

_SEED, _LEVEL, _TRIALS = 27, 0.01, 100
PLANS_FILE, PLANS_PAGE = "random-plans.jsonl", "random-plans.md"


def make_plans(
    folder: Path, plans: int, *, trials: int = _TRIALS, only: str = "", say: Callable[[str], None] = print
) -> list[dict[str, Any]]:
    """Run what is missing of the first ``plans`` plans, or those of them whose family or kind is ``only``."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = load_plans(folder)
    known = {line["plan_number"] for line in lines}
    for number in range(plans):
        chosen = random_plan(_SEED, number)
        if number in known or (only and only not in (chosen.group, chosen.plan.mechanism.kind)):
            continue
        say(f"plan {number}: {chosen}")
        started = time.process_time()
        found = try_plan(chosen, trials=trials, seed=number)
        lines.append({"plan_number": number, **found, "seconds": round(time.process_time() - started, 1)})
        text = "".join(json.dumps(line) + "\n" for line in sorted(lines, key=lambda line: line["plan_number"]))
        write_atomically(folder / PLANS_FILE, text.encode(), name="certificates", overwrite=True)
        write_atomically(folder / PLANS_PAGE, plans_page(lines).encode(), name="certificates", overwrite=True)
    return lines


def load_plans(folder: Path) -> list[dict[str, Any]]:
    """What has been run so far."""
    path = folder / PLANS_FILE
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def plans_page(lines: Sequence[dict[str, Any]]) -> str:
    """How many plans of each family and kind were rejected, and which."""
    worse = rejected_plans(lines, _LEVEL)
    places = {line["plan_number"] for line in worse}
    made = [
        "# Random plans",
        "",
        f"{len(lines)} plans drawn at random (seed {_SEED}: family, formula, bounds, budget, n from 100 to 20,000,",
        f"prior), each calibrated as `tacit calibrate` does; version {__version__}. A plan is rejected at the level",
        f"{_LEVEL}, after Bonferroni over all plans and numbers: with right posteriors none is, in {1 - _LEVEL:.0%} of",
        f"such runs. Here {len(worse)} are.",
        "",
        "| family | kind | plans | rejected | least p | 95% intervals held, on average |",
        "|---|---|---|---|---|---|",
    ]
    for group in PLAN_GROUPS:
        for kind in PLAN_KINDS:
            own = [line for line in lines if (line["group"], line["kind"]) == (group, kind)]
            if own:
                count = sum(line["plan_number"] in places for line in own)
                held = sum(line["covers_95"] for line in own) / len(own)
                made.append(
                    f"| {group} | {kind} | {len(own)} | {count} | {min(x['p'] for x in own):.2g} | {held:.3f} |"
                )
    if worse:
        made += ["", "Rejected:", ""]
        made += [f"* {line['plan']}: p = {line['p']:.1g} for {line['number']}" for line in worse]
    return "\n".join([*made, ""])
