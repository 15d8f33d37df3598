"""Dates that somebody wrote for the bounds of a column."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import date

from tacit.errors import expected


def refuse_dates(bounds: Iterable[object]) -> None:
    """Say how a date is written where somebody wrote dates for bounds."""
    for bound in bounds:
        day = bound if isinstance(bound, date) else None
        if isinstance(bound, str):
            with suppress(ValueError):
                day = date.fromisoformat(bound)
        if day is not None:
            days = day.toordinal() - date(1970, 1, 1).toordinal()
            raise expected(
                "bounds",
                day.isoformat()[:10],
                f"to be the number of days since 1970-01-01, here {days}: so dates are read from files with types "
                "(Parquet, Arrow, DuckDB); in a text file they are text",
            )
