"""The boundary: the only code that reads rows, and the only place where noise is drawn for real.

The order of things is the promise: everything that can be refused is refused, then the price is recorded, then the
first row is read, and from there on nothing that a row holds can raise, print or change anything but the noisy sum.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError
from tacit.mechanisms.entropy import OSEntropy
from tacit.plan import Plan, as_plan
from tacit.release import Release

if TYPE_CHECKING:
    from tacit.sources.base import Source

Progress = Callable[[int], None]


def privatize(
    data: Any,
    plan: Plan | str | Path,
    *,
    ledger: None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Spend the plan's budget on ``data`` and return the release.

    ``data`` is a path (CSV, Parquet, Arrow), a data frame or a mapping of columns. ``ledger=None`` releases without a
    ledger; the release says so. ``dataset`` names the rows; the file's name unless said otherwise. ``progress`` is
    called with the number of rows of each batch.
    """
    from tacit.sources.open import open_source

    plan = as_plan(plan)
    source = open_source(data, plan.statistic().columns, plan.schema)
    name = dataset if dataset is not None else _name_of(data)
    n, sums = exact_sums(source, plan, progress)
    noise = plan.noise().sample(1, OSEntropy())[0]
    return Release(
        plan=plan,
        n=n,
        values=tuple(s + int(e) for s, e in zip(sums, noise, strict=True)),
        dataset=name,
        id=secrets.token_hex(16),
    )


def exact_sums(source: Source, plan: Plan, progress: Progress | None = None) -> tuple[int, list[int]]:
    """n and the exact integer statistic. Secret: only noise makes it fit to leave this module."""
    statistic = plan.statistic()
    n, sums = 0, [0] * len(statistic.entries)
    for batch in source.batches(plan.schema, statistic.columns, statistic.batch_rows):
        n += batch.rows
        if batch.rows:
            sums = [a + b for a, b in zip(sums, statistic.batch_sum(batch.columns), strict=True)]
        if progress is not None:
            progress(batch.rows)
    if n == 0:
        raise InputError("Expected the data to have at least one row.")
    return n, sums


def _name_of(data: Any) -> str:
    return Path(data).stem if isinstance(data, str | Path) else "unnamed"
