"""Is the posterior of a plan calibrated, and where does that end? A study with a verdict that a person understands."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.calibration.calibrate import PROBABILITIES, Calibration
from tacit.calibration.in_processes import calibrate_in_parts
from tacit.calibration.misspecification import MISSPECIFICATIONS
from tacit.errors import InputError, expected
from tacit.mechanisms.add_noise import NoisySums
from tacit.mechanisms.local import Local
from tacit.plan import Plan, as_plan
from tacit.runtime.progress import Asked, percent, share
from tacit.version import __version__

LEVEL = 1e-3
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Study:
    """The trials of a plan and what they say. ``robust`` holds the same study with rows outside the model, by name.

    ``refused`` says which departures do not apply to the plan, and why. ``level`` is the most that a calibrated
    posterior is called uncalibrated with, over all of its numbers together.
    """

    plan: Plan
    method: str
    n: int
    trials: int
    seed: int
    level: float
    found: Calibration
    robust: Mapping[str, Calibration] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The verdict, not the arrays."""
        return f"Study({self.plan.model.family}, n = {self.n}, {self.trials} trials: {self.verdict})"

    @property
    def calibrated(self) -> bool:
        """Whether no trial failed, and neither ranks nor coverage of any number contradict what is claimed."""
        return self._fine(self.found)

    @property
    def verdict(self) -> str:
        """``calibrated`` or ``not calibrated``."""
        return "calibrated" if self.calibrated else "not calibrated"

    def sentence(self) -> str:
        """The verdict in plain words."""
        rows = self.rows(self.found)
        covers = [row["covers_95"] for row in rows]
        low, high = f"{100 * min(covers):.1f}", f"{100 * max(covers):.1f}"
        refused = int(self.found.refused.sum())
        lost = f" (in {refused:,} of them `tacit infer` would refuse the posterior)" if refused else ""
        held = f"95% intervals held the truth {low if low == high else f'{low} to {high}'} times in 100"
        if self.calibrated:
            return f"In {self.trials:,} simulated releases of {self.n:,} rows{lost} nothing speaks against it: {held}."
        failed = int(self.found.failed.sum())
        if failed:
            return f"{failed} of {self.trials:,} trials had draws that are not numbers."
        worst = min(rows, key=lambda row: row["p"])
        return (
            f"In {self.trials:,} simulated releases of {self.n:,} rows{lost} {worst['number']} is off "
            f"(p = {worst['p']:.2g} after Bonferroni over {len(rows)} numbers); {held}."
        )

    def rows(self, found: Calibration) -> list[dict[str, Any]]:
        """One line a number: its p-value (`Calibration.least_p`), coverage, contraction, and width against no noise."""
        p_values, contraction = found.least_p(), found.contraction()
        covers = {probability: found.coverage(probability) for probability in PROBABILITIES}
        widths = found.width_ratio() if found.non_private is not None else {}
        distances = found.ks()
        return [
            {
                "number": name,
                "p": p,
                "ks": distances[name],
                **{f"covers_{100 * q:.0f}": covers[q][name] for q in PROBABILITIES},
                "contraction": contraction[name],
                "width": widths.get(name),
            }
            for name, p in p_values.items()
        ]

    def robustness(self) -> list[dict[str, Any]]:
        """One line a departure: what becomes of the worst number, beside the model's own rows."""
        lines: list[dict[str, Any]] = []
        for name, found in {"none": self.found, **self.robust}.items():
            rows = self.rows(found)
            worst = min(rows, key=lambda row: row["p"])
            lines.append(
                {
                    "departure": name,
                    "p": worst["p"],
                    "number": worst["number"],
                    "least_95": min(row["covers_95"] for row in rows),
                    "most_95": max(row["covers_95"] for row in rows),
                    "calibrated": self._fine(found),
                }
            )
        return lines

    def _fine(self, found: Calibration) -> bool:
        return found.calibrated(self.level)

    def refusals(self) -> dict[str, list[str]]:
        """Departures that do not apply, by their reason."""
        found: dict[str, list[str]] = {}
        for name, reason in self.refused.items():
            _, _, wanted = reason.partition(f"={name.split(' ')[0]!r} ")
            found.setdefault(f"Expected {wanted}" if wanted else reason, []).append(name)
        return found

    @property
    def mmd(self) -> float | None:
        """The squared maximum mean discrepancy to the non-private posterior; None where there is none."""
        return None if self.found.non_private is None else self.found.mmd()

    def to_plain(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "calibrated": self.calibrated,
            "sentence": self.sentence(),
            "method": self.method,
            "n": self.n,
            "trials": self.trials,
            "draws": self.found.draws,
            "seed": self.seed,
            "level": self.level,
            "failed": int(self.found.failed.sum()),
            "refused": int(self.found.refused.sum()),
            "numbers": _finite(self.rows(self.found)),
            "mmd_squared": _finite(self.mmd),
            "robustness": _finite(self.robustness()) if self.robust else [],
            "not_applicable": dict(self.refused),
            "plan": self.plan.to_plain(),
            "tacit": __version__,
        }

    def to_json(self) -> str:
        """`to_plain` as text."""
        return json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False)

    def page(self) -> str:
        """One self-contained HTML page."""
        from tacit.calibration.page import study_page

        return study_page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page, or the JSON text where the name ends in ``.json``."""
        from tacit._support.files import write_atomically

        text = self.to_json() if Path(path).suffix == ".json" else self.page()
        return write_atomically(path, text.encode(), name="study", overwrite=overwrite)


def study(
    plan: Plan | str | Path,
    *,
    n: int,
    trials: int,
    seed: int = 0,
    method: str | None = None,
    prior: Any = None,
    draws: int = 99,
    level: float = LEVEL,
    robust: bool = False,
    processes: int = 1,
    progress: Asked = None,
) -> Study:
    """`calibrate` with a verdict; beside the non-private posterior where there is one.

    ``robust`` repeats it for every named departure from the model (`tacit.calibration.misspecification`). Those that do
    not apply to the family are named with their reason. ``processes`` share the trials among them.
    """
    plan = as_plan(plan)
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise expected("level", level, "to be a number between 0 and 1")
    shared: dict[str, Any] = {
        "n": n,
        "trials": trials,
        "seed": seed,
        "method": method,
        "prior": prior,
        "draws": draws,
        "processes": processes,
    }
    calibrated = None if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
    compare = isinstance(calibrated, NoisySums) and calibrated.public_n
    departed: dict[str, Calibration] = {}
    refused: dict[str, str] = {}
    departures = tuple(MISSPECIFICATIONS) if robust else ()
    _log.info("calibrate: %s at n = %d, %d releases", plan.model.family, n, trials)
    with percent(progress, "Simulating, compiling and sampling"), share(1 / (1 + len(departures))):
        found = calibrate_in_parts(plan, **shared, non_private=compare)
        for name in departures:
            try:
                departed[name] = calibrate_in_parts(plan, **shared, misspecification=name)
            except InputError as error:
                refused[name] = str(error)
    return Study(plan, _method(plan, method, prior, n), n, trials, seed, level, found, departed, refused)


def _method(plan: Plan, method: str | None, prior: Any, n: int) -> str:
    from tacit.infer import method_for, problem_of

    return method_for(problem_of(plan, prior, n), method)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, bool | str | int) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
