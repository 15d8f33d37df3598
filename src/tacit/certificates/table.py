"""The certificates as a page: one table of mechanisms, one of posteriors, and what they were made with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tacit.certificates.cases import Case
from tacit.models.registry import DRAWN, FAMILIES, SCORED

_INTRODUCTION = """# Certificates

A row for every family, mechanism and method that is shipped. {done:,} of {total:,} rows have been run to their end:
{audits} on mechanisms, {calibrations} on posteriors. The others say so, and claim nothing. `make certify` makes this
page; what the columns mean is said in [Audit and calibration](../audit.md). Do not edit it by hand.
"""

_AUDITS = """## Mechanisms

Each row with a verdict was attacked by `tacit audit`: the exact privacy curve of the worst pair of records that was
found, on the lattice as implemented; the outcomes of real runs with fresh entropy against the stated distribution; a
likelihood-ratio attack. **uses** is how much of the promise the worst pair uses. **attack** is the epsilon that the
attack shows at 95% confidence, for comparison. One audit accuses a right mechanism with a probability of at most 1e-6.
**basis** is `proved`, or `assumed` where draws come from a Markov chain that nobody bounds: there a verdict is about
the tables that were tried, and no proof stands behind the promise. A row that was measured under another promise than
its plan makes now says so, and has to be run again.
"""

_CALIBRATIONS = """## Posteriors

Each row with a verdict was checked by simulation-based calibration through the whole path. **least p** is the smallest
p-value over all numbers, of the Kolmogorov-Smirnov test that ranks are uniform and of how often intervals hold the
truth, after Bonferroni; below 0.001 a posterior is called not calibrated. **95% covers** goes from the worst number to
the best, in percent. **learnt** is the largest contraction over the numbers, 0 for the prior. **width** says how many
times wider than without noise the widest interval is. The methods called naive take noisy numbers for exact ones: they
are there to be caught.
"""


def page(state: Mapping[str, Any], everything: Iterable[tuple[str, Case]]) -> str:
    """The page as Markdown: a row for each case, those that have not been run yet included."""
    rows: dict[str, list[list[str]]] = {"audits": [], "calibrations": []}
    done = {"audits": 0, "calibrations": 0}
    for kind, case in sorted(everything, key=lambda one: one[0]):
        pending = {"family": case.family, "mechanism": case.mechanism, "method": case.method, "error": "not run yet"}
        found = state[kind].get(case.key, pending)
        if outdated(found, case):
            found = {**pending, "error": f"not run again yet since its promise was {found['budget']}"}
        done[kind] += "error" not in found  # a row that says "does not apply" was run, too
        rows[kind].append(_audit(found, case) if kind == "audits" else _calibration(found))
    shares = {kind: f"{done[kind]:,} of {len(rows[kind]):,}" for kind in rows}
    total = sum(len(found) for found in rows.values())
    lines = [_INTRODUCTION.format(done=sum(done.values()), total=total, **shares), _AUDITS]
    lines += _table(("family", "mechanism", "promise", "verdict", "uses", "attack", "runs", "basis"), rows["audits"])
    lines += ["", _CALIBRATIONS]
    lines += _table(
        (
            "family",
            "mechanism",
            "method",
            "verdict",
            "least p",
            "95% covers",
            "learnt",
            "width",
            "n",
            "trials",
            "seconds",
        ),
        sorted(rows["calibrations"], key=lambda row: [*FAMILIES, *SCORED, *DRAWN].index(row[0])),
    )
    made = ", ".join(f"{name} {number}" for name, number in sorted(state["made_with"].items()))
    lines += ["", f"Made with {made}. Seeds and all figures are in `certificates.json` beside this page's source.", ""]
    return "\n".join(lines)


def outdated(row: Mapping[str, Any], case: Case) -> bool:
    """Whether a row was measured under another promise than its plan makes now."""
    return "budget" in row and row["budget"] != case.plan.promise.symbols


def _audit(row: Mapping[str, Any], case: Case) -> list[str]:
    first = [row["family"], row["mechanism"]]
    basis = case.plan.promise.basis.value
    if "error" in row:
        return [*first, case.plan.promise.symbols, row["error"], "–", "–", "–", basis]
    share = "–" if row["share"] is None else f"{math.floor(1e4 * min(row['share'], 9.99)) / 100:g}%"
    attack = "–" if row["attacked_epsilon"] is None else f"{row['attacked_epsilon']:.2f}"
    verdict = _strong(row["verdict"], row["violated"])
    return [*first, row["budget"], verdict, share, attack, f"{row['runs']:,}", basis]


def _calibration(row: Mapping[str, Any]) -> list[str]:
    first = [row["family"], row["mechanism"], row["method"]]
    if "error" in row or "refused" in row:
        said = row.get("error") or f"does not apply: {row['refused']}"
        return [*first, said, *["–"] * 7]
    low, high = row["covers_95"]
    return [
        *first,
        _strong(row["verdict"], not row["calibrated"]),
        f"{row['p']:.2g}",
        f"{100 * low:.1f} to {100 * high:.1f}",
        f"{row['learnt']:.2f}",
        "–" if row["width"] is None else f"{row['width']:.2f}",
        f"{row['n']:,}",
        f"{row['trials']:,}",
        f"{row['seconds']:.0f}",
    ]


def _strong(text: str, bad: bool) -> str:
    return f"**{text}**" if bad else text


def _table(headings: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
