"""What answers the plan's question, from the draws: estimates, intervals and sentences in units that people use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tacit._support.printable import in_prose
from tacit.models.effects import EffectDraws
from tacit.posterior.rows import central_interval

if TYPE_CHECKING:
    from tacit.posterior.posterior import Posterior


_MOST_GROUPS = 20  # that have an answer each
_ENDS = 5  # groups at either end, where there are more


@dataclass(frozen=True)
class Effect:
    """One answer. Of a ratio, all numbers are the ratio itself, and the estimate is its geometric mean."""

    name: str
    scale: str
    estimate: float
    low: float
    high: float
    sentence: str


def effects_of(posterior: Posterior, probability: float) -> tuple[Effect, ...]:
    """The answers with equal-tailed intervals of that ``probability``."""
    import numpy as np

    found: list[Effect] = []
    for one in effect_draws(posterior, posterior.joined()):
        estimate = float(one.values.mean())
        low, high = (float(end) for end in central_interval(one.values, probability))
        with np.errstate(over="ignore"):
            numbers = [float(np.exp(v)) if one.is_ratio else v for v in (estimate, low, high)]
        found.append(Effect(one.name, one.scale, numbers[0], numbers[1], numbers[2], one.sentence(estimate, low, high)))
    return tuple(found)


def effect_draws(posterior: Posterior, draws: dict[str, Any]) -> list[EffectDraws]:
    """The answers from ``draws`` (draws, ...) of the posterior, or of anything else that has its parameters.

    A parameter that each of several sites has for itself answers once for each site.
    """
    plan = posterior.plan
    own = [name for name in plan.model.site_parameters if name in draws]
    sites = posterior.parts.coords["site"] if "site" in posterior.parts.axes else []
    answering = next(iter(plan.model.dims(plan.schema)))
    if answering not in own or len(sites) < 2 or draws[answering].shape[1:2] != (len(sites),):
        return _ends(posterior, plan.model.effects(draws, plan.schema))
    found: list[EffectDraws] = []
    for place, site in enumerate(sites):
        there = {name: values[:, place] if name in own else values for name, values in draws.items()}
        found += [
            replace(one, name=f"{site}: {one.name}", before=f"{in_prose(site)}: {one.before}")
            for one in plan.model.effects(there, plan.schema)
        ]
    return found


def groups_left_out(posterior: Posterior, found: Sequence[EffectDraws]) -> int:
    """How many of the groups that inform each other have no answer of their own (`_ends`)."""
    if not getattr(posterior.plan.model, "varies", False):
        return 0
    groups = set(posterior.parts.coords["group"])
    answered = sum(one.name in groups for one in found)
    return len(groups) - answered if answered else 0


def _ends(posterior: Posterior, found: list[EffectDraws]) -> list[EffectDraws]:
    """Of many groups that inform each other those at both ends, by the posterior's means, whatever the draws are of."""
    import numpy as np

    groups = posterior.parts.coords["group"] if getattr(posterior.plan.model, "varies", False) else []
    answers = {one.name: one for one in found if one.name in set(groups)}
    if len(answers) <= _MOST_GROUPS:
        return found
    draws = posterior.joined()
    means = draws["group_mean" if "group_mean" in draws else "group_share"].mean(axis=0)
    order = [groups[i] for i in np.argsort(means)]
    others = [one for one in found if one.name not in answers]
    return [*others, *(answers[name] for name in (*order[:_ENDS], *order[-_ENDS:]))]
