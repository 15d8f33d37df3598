"""The commands that make a posterior again from what a page holds."""

from __future__ import annotations

import shlex

from tacit.infer import prior_of
from tacit.posterior import Posterior


def files(posterior: Posterior) -> list[str]:
    """A file name for each piece of evidence, in order."""
    several = len(posterior.releases) > 1
    names = [f"release-{i + 1}.json" if several else "release.json" for i in range(len(posterior.releases))]
    many = len(posterior.surveys) > 1
    return names + [f"reports-{i + 1}.parquet" if many else "reports.parquet" for i in range(len(posterior.surveys))]


def screen_files(posterior: Posterior) -> list[str]:
    """A file name for each screen, in order."""
    several = len(posterior.screens) > 1
    return [f"screen-{i + 1}.json" if several else "screen.json" for i in range(len(posterior.screens))]


def commands(posterior: Posterior) -> list[str]:
    """One command a line: the posterior, the same to the last digit, and this page."""
    chains, draws = next(iter(posterior.arrays().values())).shape[:2]
    words = ["tacit", "infer", *files(posterior), "-o", "posterior.nc", "--method", posterior.method]
    words += ["--seed", posterior.parts.attributes.get("seed", "0"), "--chains", str(chains), "--draws", str(draws)]
    words += ["--warmup", posterior.parts.attributes.get("warmup", "500")]
    if len({one.dataset for one in posterior.releases}) < len(posterior.releases):
        words.append("--same-rows")
    for name in screen_files(posterior):
        words += ["--screen", name]
    default = prior_of(posterior.plan, None).to_plain()
    for name, mean, sd in posterior.prior.get("coefficients", ()):
        words += ["--prior", f"{name}={mean!r},{sd!r}"]
    for name, value in posterior.prior.items():
        if name != "coefficients" and default.get(name) != value:
            written = ",".join(map(repr, value)) if isinstance(value, list) else repr(value)
            words += ["--prior", f"{name}={written}"]
    if posterior.failure() is not None:
        words.append("--anyway")
    return [shlex.join(words), "tacit report posterior.nc -o report.html"]
