"""The last page of a print: what somebody signs who answers for the data."""

from __future__ import annotations

from tacit.posterior import Posterior
from tacit.report.answer import promise_in_short


def officer_rows(posterior: Posterior) -> list[tuple[str, str]]:
    """What was promised, at which price, on what assumptions, and which ledger says so; two cells a line."""
    several = len(posterior.evidence) > 1
    rows: list[tuple[str, str]] = []
    for one in posterior.releases:
        of = f" of release {one.id}" if several else ""
        rows.append(
            (f"Data{of}", f"{one.dataset}, {one.size}; release {one.id}{' (simulated)' if one.simulated else ''}")
        )
        rows.append((f"Promise{of}", promise_in_short(one.plan, one.guarantee)))
        rows.append((f"Price{of}", one.guarantee.symbols))
        receipt = (
            "none: nothing keeps count of what else is released about these rows"
            if one.ledger is None
            else f"entry {one.ledger['entry']} of ledger {one.ledger['ledger']}, hash {one.ledger['head']}"
        )
        rows.append((f"Ledger receipt{of}", receipt))
    for survey in posterior.surveys:
        rows.append(("Data", f"{survey.dataset}, {survey.n:,} reports that people randomised themselves"))
        for plan in survey.plans:
            rows.append(("Promise", promise_in_short(plan, plan.budget)))
            rows.append(("Price", plan.budget.symbols))
    rows.append(("Assumptions", "; ".join((*posterior.assumes, "the program is right, and its noise is the system's"))))
    return rows
