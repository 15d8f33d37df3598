"""The order in which commands are listed: the path that a newcomer takes first, then trials, then surveys."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

ORDER = (
    "demo",
    "init",
    "check",
    "design",
    "bounds",
    "ledger",
    "screen",
    "privatize",
    "release",
    "key",
    "infer",
    "draws",
    "effects",
    "predict",
    "report",
    "cite",
    "migrate",
    "simulate",
    "audit",
    "calibrate",
    "partial",
    "randomize",
    "survey",
    "collect",
    "reports",
    "cohort",
)


class InOrder(TyperGroup):
    """Commands in `ORDER`; any other comes after them, as registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        known = [name for name in ORDER if name in self.commands]
        return [*known, *(name for name in self.commands if name not in ORDER)]
