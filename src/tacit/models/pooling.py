"""What can be pooled by which method."""

from __future__ import annotations

from tacit.errors import expected
from tacit.models.model import Problem


def check_pools(problem: Problem, name: str) -> None:
    """Refuse releases and reports that the method ``name`` cannot take together."""
    methods = problem.methods
    if problem.surveys and any(site.rounds is not None for site in problem.sites):
        raise expected("reports", len(problem.surveys), "to be left out: scores in rounds are pooled with each other")
    if len(problem.sites) + len(problem.surveys) > 1 and any(site.sample is not None for site in problem.sites):
        raise expected("release", len(problem.sites), "to be one alone: posterior draws are not pooled")
    for field, needed, what in (
        ("sites", len(problem.sites) > 1, "several datasets"),
        ("releases", any(len(site.noises) > 1 for site in problem.sites), "several releases of the same rows"),
    ):
        able = [other for other, method in methods.items() if getattr(method, field)]
        if needed and name not in able:
            raise expected("method", name, f"to be one that pools {what}: {', '.join(able) or 'this family has none'}")
