"""What to cite: tacit, and the papers behind the very plan, release or posterior at hand."""

from __future__ import annotations

from tacit.bibliography import DONG_2022, FIVE, TACIT, Paper
from tacit.errors import expected
from tacit.mechanisms.mechanism import NoiseParameters
from tacit.models.score_noise import ScoreNoise
from tacit.noise.registry import NOISES
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.protocols.protocol import Protocol
from tacit.release import Release
from tacit.reports import PublishedReports, Reports


def cite(what: Plan | Release | Reports | Posterior | None = None, *, format: str = "text") -> str:  # noqa: A002
    """What to cite for a plan, a release, reports or a posterior; for nothing, tacit and the papers it grew out of.

    ``format`` is "text", one reference a line, or "bibtex".

    ```pycon
    >>> print(tacit.cite())  # doctest: +ELLIPSIS
    The tacit authors (2026). tacit: differentially private Bayesian inference. ...

    ```
    """
    if format not in ("text", "bibtex"):
        raise expected("format", format, 'to be "text" or "bibtex"')
    papers = references(what)
    if format == "text":
        return "\n".join(paper.text() for paper in papers) + "\n"
    return "\n\n".join(paper.bibtex() for paper in papers) + "\n"


def references(what: Plan | Release | Reports | Posterior | None = None) -> list[Paper]:
    """The papers of `cite`, tacit first."""
    if what is None:
        return [TACIT, *FIVE]
    if not isinstance(what, Plan | Release | Reports | Posterior):
        raise expected("what", type(what).__name__, "to be a Plan, Release, Reports or Posterior")
    papers: list[Paper] = [TACIT]
    for plan, noise_parameters in _plans(what):
        papers += (*plan.model.papers, *plan.mechanism.papers, *plan.budget.papers, *noise_parameters.papers)
        if isinstance(noise_parameters, ScoreNoise):  # the noise, and how rounds of it are composed
            papers += (*NOISES[noise_parameters.noise].papers, *(() if noise_parameters.laplace else (DONG_2022,)))
    if isinstance(what, Posterior):
        model = what.plan.model
        method = {**model.draw_methods, **model.score_methods, **model.cohort_methods, **model.methods}.get(what.method)
        papers += () if method is None else method.papers
    return list(dict.fromkeys(papers))


def _plans(what: Plan | Release | Reports | Posterior) -> list[tuple[Plan, NoiseParameters | Protocol]]:
    """Every plan, with what randomised under it."""
    if isinstance(what, Plan):
        return [
            (
                what,
                what.local_randomizer().protocol
                if what.mechanism.kind == "local"
                else what.calibrated_mechanism().noise_parameters,
            )
        ]
    if isinstance(what, Release):
        return [(what.plan, what.noise_parameters)]
    if isinstance(what, Reports):
        return [(group.plan, group.protocol) for group in what.groups]
    found: list[tuple[Plan, NoiseParameters | Protocol]] = []
    for one in what.evidence:
        found += zip(one.plans, one.protocols, strict=True) if isinstance(one, PublishedReports) else _plans(one)
    return found
