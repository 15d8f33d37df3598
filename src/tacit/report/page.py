"""A posterior as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from tacit._support.files import write_atomically
from tacit.cite import cite, references
from tacit.errors import expected
from tacit.ledger import Ledger
from tacit.ledger.ledger_text import words as ledger_words
from tacit.models.one_number import OneNumber
from tacit.models.regression import Regression
from tacit.models.score_noise import ScoreNoise
from tacit.noise.noise import Noise
from tacit.pages.render import render
from tacit.plan import Plan
from tacit.posterior import Posterior, PriorRow, Row
from tacit.posterior.cut_rows import cut_rows
from tacit.posterior.differences import differences_of
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.release import Release
from tacit.report import commands
from tacit.report.answer import answer_of, called, promise_in_short
from tacit.report.curves import curve_plots
from tacit.report.densities import PosteriorNumber, density_plot, distinct, numbers
from tacit.report.gram_split import split_of_sums
from tacit.report.histograms import histogram_plots
from tacit.report.neighbour_text import everyone, neighbours_in_words
from tacit.report.officer import officer_rows
from tacit.report.outlook import answering_splits, outlook
from tacit.report.promise import PriceRow, prices, tradeoff_plot
from tacit.report.replicas import checks, replicate
from tacit.report.rows import Chart, check_rows, forest, split_rows, widening_sentence
from tacit.report.score_split import split_of_scores
from tacit.report.survival_plots import survival_plots
from tacit.report.uncertainty import split_uncertainty
from tacit.report.weight import weighed
from tacit.schema import Category
from tacit.signing.keys import PublicKey, as_public_key
from tacit.signing.signature import Checked

_MOST_PLOTS = 30
_MOST_COLUMNS = 60


class Simulated(Protocol):
    """What a page takes of a `Simulation`; the class itself is out of reach of reports, because it can meet rows."""

    @property
    def release(self) -> Any:
        """The release."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The true parameters."""
        ...

    @property
    def exact(self) -> tuple[int, ...]:
        """The exact sums."""
        ...

    def non_private(self, *, seed: int = 0, draws: int = 1000, prior: Any = None) -> dict[str, Any]:
        """Draws of the posterior that the exact sums give."""
        ...


@dataclass(frozen=True)
class Promise:
    """What the page says of one guarantee."""

    title: str
    short: str
    guarantee: Guarantee
    unit: str
    prices: list[PriceRow]
    curve: str


@dataclass(frozen=True)
class Public:
    """One declared column."""

    name: str
    declared: str
    missing: str


def report(
    posterior: Posterior | str | Path,
    *,
    ledger: Ledger | str | Path | None = None,
    simulation: Simulated | None = None,
    quick: bool = False,
    keys: Sequence[PublicKey | str | Path] = (),
) -> str:
    """The page as text. `write_report` puts it into a file.

    ``ledger`` adds how the ledger stands now, and whether it paid for these releases. ``simulation`` is the one whose
    release was inferred: the page then shows the truth and what no noise would have given. ``quick`` leaves out the
    split of the uncertainty, which needs another inference. ``keys`` are public keys, or their files, by which the page
    says who signed the releases.
    """
    if not isinstance(posterior, Posterior):
        posterior = Posterior.load(posterior)
    if simulation is not None and [simulation.release] != list(posterior.releases):
        raise expected("simulation", posterior.evidence[0].id, "to be the one whose release was inferred")
    everything = numbers(posterior, simulation)
    noisy = all(isinstance(one.noise_parameters, Noise) for one in posterior.releases)
    replicas = replicate(posterior) if noisy else None
    if posterior.method == "naive":
        splits = []
    elif replicas is None:
        splits = split_of_scores(posterior) or split_of_sums(posterior)
    else:
        splits = [] if quick else split_uncertainty(posterior, replicas)
    fit = checks(posterior, replicas) if replicas is not None and replicas.whole else {}
    shown = distinct(everything)
    answer = answer_of(posterior, simulation)
    grave, other = weighed(posterior, fit)
    answering = next(iter(posterior.plan.model.dims(posterior.plan.schema)))
    pictured, survival = histogram_plots(posterior), survival_plots(posterior)
    curves, curves_say = curve_plots(posterior)
    drawn = [] if pictured else [plot for one in answer.numbers if (plot := density_plot(one)) is not None]
    rest = [one for one in shown if not answer.numbers or one.variable != answering]
    plots = [plot for one in rest if (plot := density_plot(one)) is not None]
    return render(
        files("tacit.report").joinpath("page.html.j2").read_text("utf-8"),
        title=posterior.title,
        called=called(posterior.plan),
        answer=answer,
        grave=grave,
        warnings=other,
        prior_row=bool(answer.numbers) and any(one.prior is not None for one in answer.numbers),
        outlook=outlook(posterior, splits),
        officer=officer_rows(posterior),
        posterior=posterior,
        datasets=_datasets(posterior),
        neighbours_in_words=neighbours_in_words,
        everyone=everyone,
        sampler=_sampler(posterior),
        promises=_promises(posterior),
        receipts=[one for one in posterior.releases if not one.simulated],
        signatures=_signatures(posterior, keys),
        ledger=None if ledger is None else _ledger(posterior, ledger),
        densities=[plot.svg() for plot in drawn[:_MOST_PLOTS]],
        plots=[plot.svg() for plot in plots[:_MOST_PLOTS]],
        plots_left_out=max(0, len(plots) - _MOST_PLOTS) + max(0, len(drawn) - _MOST_PLOTS),
        differences=forest(_differences(posterior)),
        overlays={"exact": any(one.exact is not None for one in everything), "truth": simulation is not None},
        rows=list(zip(posterior.summary(), map(_moments, everything), strict=True)),
        coefficients=_coefficients(posterior),
        quick=quick,
        splits=split_rows(answering_splits(posterior, splits), outlook(posterior, splits), posterior.plan.model)
        if splits
        else None,
        widening=widening_sentence(answering_splits(posterior, splits)),
        replicas=replicas,
        checks={one.id: _check(one, fit) for one in posterior.releases},
        noisy=noisy,
        scores=_scores(posterior),
        shape=_shape(posterior.plan),
        histograms=[plot.svg() for plot in pictured],
        curves=[plot.svg() for plot in curves],
        curves_say=curves_say,
        survival=[plot.svg() for plot in survival],
        public=_public(posterior.plan),
        commands=commands.commands(posterior),
        files=commands.files(posterior),
        screen_files=commands.screen_files(posterior),
        references=references(posterior),
        bibtex=cite(posterior, format="bibtex"),
    )


def write_report(
    posterior: Posterior | str | Path,
    path: str | Path,
    *,
    overwrite: bool = False,
    ledger: Ledger | str | Path | None = None,
    simulation: Simulated | None = None,
    quick: bool = False,
    keys: Sequence[PublicKey | str | Path] = (),
) -> Path:
    """Write the page to a file; the arguments are those of `report`."""
    page = report(posterior, ledger=ledger, simulation=simulation, quick=quick, keys=keys)
    return write_atomically(path, page.encode(), name="report", overwrite=overwrite)


def _datasets(posterior: Posterior) -> list[str]:
    return list(dict.fromkeys(one.dataset for one in posterior.evidence))


def _sampler(posterior: Posterior) -> dict[str, Any]:
    """How the chains did, in a handful of numbers."""
    chains, draws = next(iter(posterior.arrays().values())).shape[:2]
    rows = posterior.summary()
    diverging = posterior.diagnostic("diverging")
    return {
        "chains": chains,
        "draws": draws,
        "r_hat": max((row.r_hat for row in rows if row.r_hat == row.r_hat), default=None),
        "ess": min((min(row.ess_bulk, row.ess_tail) for row in rows if row.ess_bulk == row.ess_bulk), default=None),
        "divergences": None if diverging is None else int(diverging.sum()),
    }


def _promises(posterior: Posterior) -> list[Promise]:
    found: list[Promise] = []
    several = len(posterior.evidence) > 1
    for one in posterior.releases:
        title = f"{one.dataset}, release {one.id}" if several else ""
        found.append(
            _promise(
                title,
                promise_in_short(one.plan, one.guarantee),
                one.guarantee,
                _unit(one.plan),
                one.calibrated_mechanism.event(),
            )
        )
    for survey in posterior.surveys:
        for plan, protocol, count in zip(survey.plans, survey.protocols, survey.counts, strict=True):
            title = f"{survey.dataset}, {count:,} reports by {protocol.kind}"
            short = promise_in_short(plan, plan.budget)
            found.append(_promise(title, short, plan.budget, "local", protocol.event()))
    return found


def _promise(title: str, short: str, guarantee: Guarantee, unit: str, event: Event) -> Promise:
    return Promise(title, short, guarantee, unit, prices(event, guarantee), tradeoff_plot(event).svg())


def _unit(plan: Plan) -> str:
    return "row" if plan.mechanism.person is None else "person"


def _ledger(posterior: Posterior, ledger: Ledger | str | Path) -> dict[str, Any]:
    """How the ledger stands, and every way in which it disagrees with the releases."""
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    named = {one.id: one for one in posterior.releases if not one.simulated}
    return {"lines": ledger_words(book), "problems": book.verify(releases=named), "checked": len(named)}


def _signatures(posterior: Posterior, keys: Sequence[PublicKey | str | Path]) -> dict[str, Checked]:
    """By the id of each release, who signed it as far as the keys can tell."""
    known = [as_public_key(key) for key in keys]
    return {one.id: one.check_signature(known) for one in posterior.releases if not one.simulated}


def _moments(one: PosteriorNumber) -> tuple[float, float] | None:
    return None if one.prior is None else (float(one.prior.mean()), float(one.prior.std(ddof=1)))


def _coefficients(posterior: Posterior) -> list[tuple[Row, PriorRow]]:
    """A regression's coefficients in the units of the data, each with its prior; none for other families."""
    if not isinstance(posterior.plan.model, Regression):
        return []
    return list(zip(posterior.coefficients(), posterior.prior_coefficients(), strict=True))


def _scores(posterior: Posterior) -> dict[str, Any] | None:
    """How far scores lie from what the posterior predicts; None where no scores were released."""
    cohorts = posterior.method in posterior.plan.model.cohort_methods
    if not cohorts and (
        not posterior.releases or not all(isinstance(one.noise_parameters, ScoreNoise) for one in posterior.releases)
    ):
        return None
    misfit = posterior.diagnostic("misfit")
    worst = None if misfit is None else median(misfit.reshape(-1).tolist())
    entries = sum(len(one.values) for one in posterior.releases)
    entries += sum(protocol.reports.size for one in posterior.surveys for protocol in one.protocols)
    cut = [found.sentence() for one in posterior.releases if (found := cut_rows(one)) is not None]
    return {"entries": entries, "misfit": worst, "cut": cut}


def _check(release: Release, fit: Mapping[str, Any]) -> Chart | None:
    return check_rows(fit[release.id]) if release.id in fit else None


def _differences(posterior: Posterior) -> list[PosteriorNumber]:
    """The groups' means less that of the first group; none where there are no groups, or too many."""
    if "group" not in posterior.parts.dims.get("mean", ()):
        return []
    found = differences_of(posterior.parts, "mean", None)
    return [PosteriorNumber(name, "difference of means", values.reshape(-1)) for name, values in found.items()]


def _shape(plan: Plan) -> str | None:
    """The shape that a family of one number assumes of it."""
    return plan.model.shape if isinstance(plan.model, OneNumber) else None


def _public(plan: Plan) -> dict[str, Any]:
    """The columns that are read, as declared, and how many more were declared."""
    read = (*plan.reads, *(name for name in plan.columns if name in plan.schema.derived))
    columns: list[Public] = []
    for name in read[:_MOST_COLUMNS]:
        column = plan.schema.declared(name)
        if isinstance(column, Category):
            levels = [repr(level) for level in column.levels]
            declared = f"levels {', '.join(levels[:20])}{f' and {len(levels) - 20} more' if len(levels) > 20 else ''}"
        else:
            declared = f"numbers from {column.low:g} to {column.high:g}"
        columns.append(Public(name, declared, repr(column.missing)))
    return {"columns": columns, "left_out": max(0, len(read) - _MOST_COLUMNS), "model": plan.model.to_plain()}
