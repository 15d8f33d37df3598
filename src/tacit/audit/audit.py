"""Attack a mechanism: does it keep the promise of its plan? No data is needed, and none is read.

Three kinds of evidence, the strongest that there is for each mechanism:

    exact        the privacy curve of the worst pair of records that a search through the real code found, on the
                 lattice as implemented, both ways
    outcomes     the mechanism run thousands of times: does what comes out follow the distribution that the curve is
    about? attack       guesses which data set made an outcome; their errors bound epsilon from below, with confidence
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.audit.check import Check
from tacit.mechanisms.local import Local
from tacit.plan import Plan, as_plan
from tacit.runtime.progress import Asked, percent
from tacit.version import __version__

_log = logging.getLogger(__name__)
_TIGHT = 0.9  # from this share of the promise on, a verdict says how tight it is


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found. ``level`` is the most that a mechanism without fault is accused with, by chance."""

    plan: Plan
    checks: tuple[Check, ...]
    runs: int
    n: int
    level: float
    seed: int

    def __repr__(self) -> str:
        """The verdict, not the figures."""
        return f"Audit({self.plan.model.family}, {self.plan.promise.symbols}: {self.verdict})"

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import audit_card

        return audit_card(self)

    @property
    def violated(self) -> bool:
        """Whether the promise is broken."""
        return any(check.violated for check in self.checks)

    @property
    def share(self) -> float | None:
        """The largest part of the promise that a pair of records was seen to use; None where nothing measured it."""
        return max((check.share for check in self.checks if check.share is not None), default=None)

    @property
    def verdict(self) -> str:
        """``violated``, ``tight to within x%``, or ``consistent``."""
        if self.violated:
            return "violated"
        if self.share is None or self.share < _TIGHT:
            return "consistent"
        # Rounded up to two digits, so that "within" stays true.
        gap = max(0.0, 100 * (1 - self.share))
        if gap < 0.01:
            return "tight to within 0.01%"
        digits = 1 - math.floor(math.log10(gap))
        return f"tight to within {math.ceil(gap * 10.0**digits) / 10.0**digits:g}%"

    @property
    def witness(self) -> tuple[Any, Any] | None:
        """The pair of records that breaks the promise, or comes closest to it."""
        broken = [check.witness for check in self.checks if check.violated and check.witness is not None]
        closest = [check for check in self.checks if check.share is not None and check.witness is not None]
        if broken:
            return broken[0]
        return max(closest, key=lambda check: check.share or 0.0).witness if closest else None

    def sentence(self) -> str:
        """The verdict in plain words."""
        promise = self.plan.promise.symbols
        if self.violated:
            return f"The promise ({promise}) is broken. {' '.join(c.words for c in self.checks if c.violated)}"
        if self.share is None:
            return f"No attack contradicts the promise ({promise}). How much of it is used was not measured."
        return (
            f"No attack contradicts the promise ({promise}). The worst pair of records that was found uses "
            f"{math.floor(1e4 * min(self.share, 1.0)) / 100:g}% of it."
        )

    def to_plain(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        from tacit.audit.check import plain

        return {
            "verdict": self.verdict,
            "violated": self.violated,
            "sentence": self.sentence(),
            "share": plain(self.share),
            "witness": None if self.witness is None else [plain(one) for one in self.witness],
            "checks": [check.to_plain() for check in self.checks],
            "runs": self.runs,
            "n": self.n,
            "level": self.level,
            "seed": self.seed,
            "plan": self.plan.to_plain(),
            "tacit": __version__,
        }

    def to_json(self) -> str:
        """`to_plain` as text."""
        return json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False)

    def page(self) -> str:
        """One self-contained HTML page."""
        from tacit.audit.page import audit_page

        return audit_page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page, or the JSON text where the name ends in ``.json``."""
        from tacit._support.files import write_atomically

        text = self.to_json() if Path(path).suffix == ".json" else self.page()
        return write_atomically(path, text.encode(), name="audit", overwrite=overwrite)


def audit(
    plan: Plan | str | Path,
    *,
    runs: int = 2000,
    n: int = 10,
    level: float = 1e-6,
    seed: int = 0,
    progress: Asked = None,
) -> Audit:
    """Attack the mechanism of ``plan`` with made-up records, and say whether its promise holds.

    The mechanism runs ``runs`` times on each of two neighbouring data sets of ``n`` units, with fresh entropy from the
    operating system; 0 leaves that part out. Derived columns get any cells within their bounds, and every row counts,
    which is more than a table can bring about. A mechanism without fault is accused with a probability of at most
    ``level``. ``seed`` is that of the search for the worst pair of records. ``progress`` is told how far it is, in
    percent, as in `tacit.infer`.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> tacit.audit(plan, runs=0).violated
    False

    ```
    """
    from tacit.audit.audit_registry import checks_of
    from tacit.audit.effort import Effort

    asked = as_plan(plan)
    rows = None if asked.where is None else _any_row(asked)
    plan = replace(asked, schema=asked.schema.flat, derive={}, where=rows)  # any cells of derived columns, any rows
    effort = Effort(runs, n, level, seed)
    subject = plan.local_randomizer() if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
    _log.info("audit: %s, %d runs on each of two data sets", plan.promise.symbols, runs)
    with percent(progress, "Attacking"):
        return Audit(asked, tuple(checks_of(subject, plan, effort)), runs, n, level, seed)


def _any_row(plan: Plan) -> str | None:
    """A condition that every row meets: what is released stays that of a plan with a filter."""
    names = [name for name in plan.columns if "`" not in name]
    return f"is_missing(`{names[0]}`) or not is_missing(`{names[0]}`)" if names else None
