"""Differences between groups, with the uncertainty of both."""

from __future__ import annotations

from itertools import product
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.posterior.parts import PosteriorParts


def differences_of(parts: PosteriorParts, name: str, to: str | None) -> dict[str, Any]:
    """Draws (chains, draws) of each group less the group ``to``, the first one unless said, by the text of both.

    The first axis of the parameter ``name`` behind chains and draws is the group.
    """
    labelled = parts.labels(name)
    if "group" not in dict(labelled):
        raise expected("parameter", name, "to be about groups: one of a model with `by`")
    groups = dict(labelled)["group"]
    reference = groups[0] if to is None else to
    if reference not in groups:
        raise expected("to", to, f"to be a group: {', '.join(groups[:20])}{did_you_mean(str(to), groups)}")
    values = parts.draws[name]
    axes = [labels for _, labels in labelled[1:]]
    base = groups.index(reference)
    found: dict[str, Any] = {}
    for g, group in enumerate(groups):
        if g == base:
            continue
        for place in product(*(range(len(labels)) for labels in axes)):
            more = [labels[i] for labels, i in zip(axes, place, strict=True)]
            ours, theirs = (f"{name}[{', '.join([label, *more])}]" for label in (group, reference))
            found[f"{ours} - {theirs}"] = values[(..., g, *place)] - values[(..., base, *place)]
    return found
