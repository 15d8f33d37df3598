"""Where the numbers of a release by group stand in the vectors that the sampler works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.models.gram_layout import site_noises
from tacit.models.model import Problem
from tacit.statistics.design import product_of
from tacit.statistics.group_gram import GroupGram

if TYPE_CHECKING:
    from tacit.samplers.group_sums import GroupSums


def group_sums(problem: Problem) -> GroupSums:
    """The layout of a release of `GroupGram`, and its noise."""
    from tacit.samplers.group_sums import GroupSums

    statistic, (site,) = problem.statistic, problem.sites
    assert isinstance(statistic, GroupGram)
    select, fixed = _over_all(statistic)
    return GroupSums(
        n=None if site.n is None else float(site.n),
        groups=statistic.by.size,
        rest=len(statistic.rest),
        slope=bool(statistic.slopes),
        select=select,
        fixed=fixed,
        # `site_noises` adds the last one by itself where n is not public.
        noises=site_noises(site, statistic.unit, len(statistic.entries) - (site.n is None)),
    )


def _over_all(statistic: GroupGram) -> tuple[Any, int]:
    """What each sum over all rows is made of, among the products of (1, rest, y); and how many are 0 for every table:
    two levels of one column exclude each other, an indicator is its own square.
    """
    import numpy as np

    rest, last = statistic.rest, len(statistic.design)
    place = {j: 1 + i for i, j in enumerate(rest)} | {last: 1 + len(rest)}
    columns = {product_of(statistic.design[0], statistic.design[j]): (0, place[j]) for j in rest}
    made = {product_of(statistic.vector[j], statistic.vector[k]): (place[j], place[k]) for j, k in statistic.pooled}
    rows: list[Any] = []

    def row(*entries: tuple[tuple[int, int], float]) -> None:
        found = np.zeros((len(rest) + 2, len(rest) + 2))
        for pair, value in entries:
            found[pair] += value
        rows.append(found.reshape(-1))

    for j, k in statistic.pooled:
        row(((place[j], place[k]), 1.0))
    for i, j in enumerate(rest):
        for k in rest[i:]:
            product, pair = product_of(statistic.design[j], statistic.design[k]), (place[j], place[k])
            if product is None:
                row((pair, 1.0))
            elif made.get(product) != pair:
                row((pair, 1.0), (columns[product] if product in columns else made[product], -1.0))
    return np.array(rows), len(rows) - len(statistic.pooled)
