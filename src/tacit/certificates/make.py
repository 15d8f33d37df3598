"""Make the certificates: run what is missing, one row at a time, and write the table anew after every row.

    python -m tacit.certificates [--out docs/certificates] [--trials 500] [--only linear] [--seconds 3600] [--short]
                                 [--processes 2] [--parts 2]

A row that is there already, made by this version with these settings, is not made again: an interrupted run goes on
where it stopped. Every row runs in a process of its own, so that one that fails or takes too long costs no other.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock
from typing import Any

from tacit._support.files import write_atomically
from tacit.certificates.cases import ROWS, Case, audited, calibrated
from tacit.certificates.measurements import read_measurements
from tacit.errors import InputError, RefusedError, expected
from tacit.runtime.processes import Worker
from tacit.version import __version__

SEED = 1905
FILE, PAGE = "certificates.json", "certificates.md"


@dataclass(frozen=True)
class CertificateSettings:
    """How much is run for a row: ``runs`` of a mechanism, ``trials`` of a posterior on ``rows`` rows."""

    runs: int
    trials: int
    rows: int
    seconds: float
    """The most that one row may take."""
    parts: int = 1
    """Processes that share the trials of a row; every part has seeds of its own."""

    def __post_init__(self) -> None:
        if not 1 <= self.parts <= self.trials // 2:
            raise expected("parts", self.parts, f"to be a whole number from 1 to {self.trials // 2}")


FULL = CertificateSettings(runs=4000, trials=500, rows=ROWS, seconds=1800)
SHORT = CertificateSettings(runs=1000, trials=100, rows=ROWS, seconds=120)


def audit_row(case: Case, settings: CertificateSettings) -> dict[str, Any]:
    """The figures of one mechanism."""
    from tacit.audit.audit import audit

    started = time.perf_counter()
    found = audit(case.plan, runs=settings.runs, seed=SEED)
    attack = next((check.figures for check in found.checks if check.name == "attack"), {})
    return {
        "budget": case.plan.promise.symbols,
        "verdict": found.verdict,
        "violated": found.violated,
        "share": found.share,
        "attacked_epsilon": attack.get("epsilon_at_95_percent"),
        "attacked_delta": attack.get("delta"),
        "checks": len(found.checks),
        "runs": settings.runs,
        "level": found.level,
        "seconds": round(time.perf_counter() - started, 1),
    }


def calibration_row(case: Case, settings: CertificateSettings) -> dict[str, Any]:
    """The figures of one posterior."""
    from tacit.calibration.study import study

    started = time.perf_counter()
    found = study(
        case.plan,
        n=settings.rows,
        trials=settings.trials,
        seed=SEED,
        method=case.method,
        prior=case.prior,
        processes=settings.parts,
    )
    rows = found.rows(found.found)
    worst = min(rows, key=lambda row: row["p"])
    widths = [row["width"] for row in rows if row["width"] is not None]
    return {
        "budget": case.plan.promise.symbols,
        "verdict": found.verdict,
        "calibrated": found.calibrated,
        "p": worst["p"],
        "number": worst["number"],
        "numbers": len(rows),
        "covers_95": [min(row["covers_95"] for row in rows), max(row["covers_95"] for row in rows)],
        "learnt": max(row["contraction"] for row in rows),
        "width": max(widths) if widths else None,
        "mmd_squared": found.mmd,
        "n": settings.rows,
        "trials": settings.trials,
        "failed": int(found.found.failed.sum()),
        "seed": SEED,
        "parts": settings.parts,
        "seconds": round(time.perf_counter() - started, 1),
    }


def make(
    folder: Path,
    settings: CertificateSettings,
    *,
    only: str = "",
    seconds: float | None = None,
    processes: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run all rows that are missing, or those whose name holds ``only``, until ``seconds`` have passed."""
    started = time.monotonic()
    state = load(folder)
    everything = list(work())
    missing = [
        (kind, case) for kind, case in everything if only in case.key and not _known(state[kind], case, settings)
    ]
    writing, stopped, live = Lock(), Event(), set[Worker]()

    def run(kind: str, case: Case) -> bool:
        if stopped.is_set() or (seconds is not None and time.monotonic() - started > seconds):
            return False
        say(f"{kind}: {case.key}")
        figures = _apart(kind, case, settings, live)
        if stopped.is_set():
            return False
        with writing:
            known = state[kind].get(case.key)
            if "error" in figures and known is not None and "error" not in known:
                say(f"{kind}: {case.key}: {figures['error']}; the earlier row is kept")
                return True
            names = {"family": case.family, "mechanism": case.mechanism, "method": case.method}
            state[kind][case.key] = {**names, **figures, "version": __version__}
            state["made_with"] = versions()
            _write(folder, state, everything)
        return True

    with ThreadPoolExecutor(processes) as threads:  # each waits for a process
        waiting = [threads.submit(run, *row) for row in missing]
        try:
            finished = [one.result() for one in waiting]
            if not all(finished):
                say("Out of time: the rest is left to the next run.")
        except BaseException:
            stopped.set()
            for worker in [*live]:
                worker.kill()
            threads.shutdown(cancel_futures=True)
            raise
    _write(folder, state, everything)
    return state


def _known(rows: dict[str, Any], case: Case, settings: CertificateSettings) -> bool:
    """Whether a row was made by this version with these settings, or larger ones, under the promise of its plan."""
    from tacit.certificates.table import outdated

    known = rows.get(case.key)
    if known is None or outdated(known, case):
        return False
    return known.get("version") == __version__ and not _smaller(known, settings)


def _write(folder: Path, state: dict[str, Any], everything: list[tuple[str, Case]]) -> None:
    """The figures and the page; the page also names what has not been run yet."""
    from tacit.certificates.table import page

    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, _text(state), name="certificates", overwrite=True)
    write_atomically(folder / PAGE, page(state, everything).encode(), name="certificates", overwrite=True)


def load(folder: Path) -> dict[str, Any]:
    """What has been made so far."""
    empty: dict[str, Any] = {"audits": {}, "calibrations": {}, "made_with": versions()}
    path = folder / FILE
    return read_measurements(path) if path.exists() else empty


def work() -> Iterable[tuple[str, Case]]:
    """All rows in order: mechanisms, as they are quick, then default methods, then the others."""
    seen: set[tuple[str, str]] = set()
    defaults: list[Case] = []
    others: list[Case] = []
    first = audited()
    for case in calibrated(first):
        place = case.family, case.mechanism
        (others if place in seen else defaults).append(case)
        seen.add(place)
    for kind, cases in (("audits", first), ("calibrations", [*defaults, *others])):
        for case in cases:
            yield kind, case


def versions() -> dict[str, str]:
    """What the figures were made with."""
    return {
        "tacit": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in ("numpy", "scipy", "jax", "numpyro")},
    }


def _smaller(known: dict[str, Any], settings: CertificateSettings) -> bool:
    """Whether a row was made with less than what is asked for, or failed in less time."""
    if "error" in known:
        return known.get("seconds", 0) * known.get("parts", 1) < settings.seconds * settings.parts
    return known.get("runs", settings.runs) < settings.runs or known.get("trials", settings.trials) < settings.trials


def _made(kind: str, case: Case, settings: CertificateSettings) -> dict[str, Any]:
    """The figures of one row; a refusal or a failure is what the row says then."""
    try:
        return (audit_row if kind == "audits" else calibration_row)(case, settings)
    except InputError as error:  # the method says that it is not for such a plan
        return {"refused": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:200]}", "seconds": 0}


def _apart(kind: str, case: Case, settings: CertificateSettings, live: set[Worker]) -> dict[str, Any]:
    """One row in a process of its own, ended when its time is over."""
    worker = Worker(_made, (kind, case, settings))
    live.add(worker)
    try:
        return worker.result(settings.seconds)
    except TimeoutError:
        words = f"not done within {settings.seconds:g} seconds"
        return {"error": words, "seconds": settings.seconds, "parts": settings.parts}
    except RefusedError as error:
        return {"error": str(error), "seconds": 0}
    finally:
        live.discard(worker)
        worker.end()


def _text(state: dict[str, Any]) -> bytes:
    return (json.dumps(state, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()
