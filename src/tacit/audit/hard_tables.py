"""The real sampler on pairs of neighbouring tables: do its draws follow the density, and do they tell too much?

All tables of one call share two tests of the audit's level: one of the draws' distribution, one of attacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.audit.adversarial import Pair
from tacit.audit.cells import Floats
from tacit.audit.check import Check
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, drawn
from tacit.audit.real_draws import Draws, draw_tests, real_draws, reference
from tacit.audit.row_laws import record_terms
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.plan import Plan
from tacit.privacy.basis import Basis

_LEAST = 20  # draws of a table, however few runs are asked for


def draw_checks(
    some: Sequence[Pair], crossing: PosteriorDraws, plan: Plan, effort: Effort, *, seconds: float
) -> list[Check]:
    """Two checks of all pairs together: real draws against their density, and a likelihood-ratio attack."""
    loss = crossing.loss
    assert isinstance(loss, RowLoss)
    p_values: dict[str, float] = {}
    attacks: list[tuple[str, Check]] = []
    against: dict[str, None] = {}
    count = 0
    for i, pair in enumerate(some):
        named = pair.kind if len(some) <= 4 else f"{pair.kind} {i}"
        draws, records, found, how = _pair_tests(pair, crossing, loss, plan, effort, seconds)
        count += sum(len(one.table) for one in draws)
        against |= how
        p_values |= {f"{named}, {name}": p for name, p in found.items()}
        first, second = (_scores(crossing, loss, records, one) for one in draws)
        each = replace(effort, level=effort.level / len(some))
        attacks.append((named, attacked(first, second, plan.budget, each, pair.records, "a likelihood-ratio attack")))
    together = {name: min(1.0, p * len(p_values)) for name, p in p_values.items()}
    outcomes = drawn(together, effort, count)
    named, worst = max(attacks, key=lambda one: (one[1].violated, one[1].figures["epsilon_at_95_percent"]))
    hard = some[0].kind != "worst"
    words = f"{outcomes.words} Compared with {'; on some tables with '.join(against)}."
    if loss.basis is Basis.ASSUMED:
        words += " That the chain reaches this density is assumed, and a few tables prove nothing about others."
    names = ", ".join(dict.fromkeys(pair.kind for pair in some))
    if not hard:
        return [replace(outcomes, words=words), worst]
    return [
        replace(outcomes, name="hard tables", words=f"On tables made to be hard ({names}): {words}"),
        replace(
            worst,
            name="attack on hard tables",
            words=f"Of {len(some)} hard tables the worst is {named}. {worst.words}",
            figures={name: one.figures for name, one in attacks},
        ),
    ]


def _pair_tests(
    pair: Pair, crossing: PosteriorDraws, loss: RowLoss, plan: Plan, effort: Effort, seconds: float
) -> tuple[list[Draws], Any, dict[str, float], dict[str, None]]:
    """The draws of both tables, the two differing rows, the p-values, and what draws were compared with."""
    numbers = dict(crossing.drawn.numbers)
    tables = pair.collected(plan)
    rows = [one.arrays() for one in tables]  # pyright: ignore[reportAttributeAccessIssue]
    records = tuple(np.concatenate([one[i][-1:] for one in rows]) for i in (0, 1))
    found: dict[str, float] = {}
    draws: list[Draws] = []
    how = dict[str, None]()
    for name, table, one in zip(("first", "second"), tables, rows, strict=True):
        made = real_draws(crossing, table, pair.n, max(effort.runs, _LEAST), seconds=seconds)
        law = reference(loss, numbers, one, made, effort.seed)
        tests = draw_tests(loss, numbers, made, law, records)
        found |= {f"{name}: {test}": p for test, p in tests.items()}
        draws.append(made)
        how[law.words if law.law is None or "fit" in tests else "nothing, as quadrature did not settle"] = None
    return draws, records, found, how


def _scores(crossing: PosteriorDraws, loss: RowLoss, records: Any, draws: Draws) -> Floats:
    """The log ratio of the two records at each release of as many draws as the plan makes; failures count as 0."""
    k = crossing.drawn.draws
    thetas = loss.theta_of(np.nan_to_num(draws.table))
    mine, theirs = record_terms(loss, dict(crossing.drawn.numbers), records, thetas)
    single = np.where(np.isnan(draws.table).any(axis=1), 0.0, mine - theirs)
    whole = single[: len(single) // k * k].reshape(-1, k).sum(axis=1)
    return whole if len(whole) >= 2 else single
