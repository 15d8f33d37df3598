"""The tree of a posterior, in ArviZ's layout: made of draws, or of a file whose parts fit together."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit._support.reading import read_list, strict_json
from tacit.cell_screen import Screen
from tacit.errors import InputError, expected
from tacit.models.score_model import ScorePrior, score_axes
from tacit.models.support import check_draws
from tacit.posterior.file import PosteriorFile, broken
from tacit.posterior.parts import PosteriorParts
from tacit.release import Release
from tacit.reports import PublishedReports

ATTRIBUTES = ("release", "prior", "method", "seed", "warmup", "inference_library")
LATENT_N = "n"
"""The parameter that is the number of rows, or of people where each counts once, where a release does not say it."""
SCREENS = "screens"
"""The attribute that is there only where an inference was given screens."""
_MOST_EVIDENCE = 1000
_NUMBER = re.compile(r"[0-9]{1,19}")


def read_evidence(text: str) -> tuple[Release | PublishedReports, ...]:
    """What a posterior is about, from its attribute; all of it has one model and one schema."""
    plains = read_list("evidence", strict_json(text, "evidence"), _MOST_EVIDENCE)
    found = tuple(
        PublishedReports.from_plain(plain)
        if isinstance(plain, dict) and "reports" in plain
        else Release.from_plain(plain)
        for plain in plains
    )
    about = [(plan.model.unchecked, plan.schema) for one in found for plan in getattr(one, "plans", (one.plan,))]
    if not found or any(one != about[0] for one in about):
        raise InputError("Expected the evidence of the posterior to be one or more pieces of one model and one schema.")
    releases = [one for one in found if isinstance(one, Release)]
    rows = {one.dataset: (one.n, one.plan.mechanism.person) for one in releases}
    again = any(rows[one.dataset] != (one.n, one.plan.mechanism.person) for one in releases)
    if again or len({one.id for one in releases}) < len(releases) or len({one.entries for one in releases}) > 1:
        raise InputError(
            "Expected the releases of a posterior to differ in id and share their entries, and those of one dataset n."
        )
    return found


def read_screens(text: str | None) -> tuple[Screen, ...]:
    """What is known of the cells behind the releases, from a posterior's attribute; nothing where it is left out."""
    plains = [] if text is None else read_list("screens", strict_json(text, "screens"), _MOST_EVIDENCE)
    return tuple(Screen.from_plain(plain) for plain in plains)


def check_screens(screens: Sequence[Screen], releases: Sequence[Release]) -> None:
    """Refuse screens that are not about the rows of the releases, at most one for each dataset."""
    for place, screen in enumerate(screens):
        about = [release for release in releases if release.dataset == screen.dataset]
        if not about:
            raise expected("screen", screen.dataset, "to be about the dataset of a release")
        if screen.dataset in [other.dataset for other in screens[:place]]:
            raise expected("screen", screen.dataset, "to be given once for each dataset")
        for release in about:
            screen.check_about(release)


def observed_data(evidence: Sequence[Release | PublishedReports]) -> dict[str, Any]:
    """The released numbers among the evidence, as a posterior shows them."""
    releases = [one for one in evidence if isinstance(one, Release)]
    entries = list(dict.fromkeys(entry for one in releases for entry in one.entries))
    found = [dict(zip(one.entries, one.values, strict=True)) for one in releases]
    return {
        "released": [
            [own[entry] / one.unit if entry in own else math.nan for entry in entries]  # rounds may be fewer in one
            for one, own in zip(releases, found, strict=True)
        ],
        "release": [one.id for one in releases],
        "entry": entries,
    }


def parts_of(file: PosteriorFile, path: Path) -> PosteriorParts:
    """What a file holds whose parts fit together: the labels follow from the plan, the draws from the file."""
    if set(file.attributes) - {SCREENS} != set(ATTRIBUTES):
        raise broken(path)
    evidence = read_evidence(file.attributes["release"])
    screens = read_screens(file.attributes.get(SCREENS))
    check_screens(screens, [one for one in evidence if isinstance(one, Release)])
    plan = evidence[0].plan
    dims, coords = posterior_axes(evidence)
    names = [name for name in dims if f"posterior/{name}" in file.places]
    others = [name for name in file.places if name.startswith("sample_stats/")]
    lead = file.places[f"posterior/{names[0]}"].shape[:2] if names else ()
    methods = {**plan.model.methods, **plan.model.draw_methods, **plan.model.score_methods, **plan.model.cohort_methods}
    if (
        len(lead) < 2
        or not set(dims) - set(names) <= {*plan.model.site_parameters, "count", LATENT_N}  # which some leave out
        or len(names) + len(others) < len(file.places)
        or file.attributes["method"] not in methods
        or not all(_NUMBER.fullmatch(file.attributes[name]) for name in ("seed", "warmup"))
        or not _is_prior(strict_json(file.attributes["prior"], "prior", constants=True))
        or any(file.places[name].shape != lead for name in others)
    ):
        raise broken(path)
    for name in names:
        place, shape = file.places[f"posterior/{name}"], (*lead, *(len(coords[axis]) for axis in dims[name]))
        if (place.type, place.shape) != ("<f8", shape):
            raise expected("posterior", str(path), f"to hold draws of {name!r} as float64 of the shape {shape}")
    draws = {name: file.read(f"posterior/{name}") for name in names}
    check_draws(draws, plan.model.supports)
    diagnostics = {name.partition("/")[2]: file.read(name) for name in others}
    return PosteriorParts(draws, diagnostics, dims, coords, observed_data(evidence), file.attributes)


def _is_prior(plain: object) -> bool:
    """Whether these are numbers by name, or lists of them."""
    return isinstance(plain, dict) and all(
        isinstance(one, int | float) or one is None or (isinstance(one, str) and one.isprintable())
        for value in plain.values()
        for row in (value if isinstance(value, list) else [value])
        for one in (row if isinstance(row, list) else [row])
    )


def posterior_axes(
    evidence: Sequence[Release | PublishedReports],
) -> tuple[dict[str, tuple[str, ...]], dict[str, list[str]]]:
    """The names of the axes of each parameter and the labels along each; with several sites there is one more."""
    plan = evidence[0].plan
    datasets = list(dict.fromkeys(one.dataset for one in evidence if isinstance(one, Release)))
    if isinstance(
        plan.mechanism.default_prior(plan.model, plan.schema), ScorePrior
    ):  # nothing is said about the covariates
        return score_axes(plan.model, plan.schema)
    dims, coords = plan.model.dims(plan.schema), plan.model.coords(plan.schema)
    latent = any(isinstance(one, Release) and one.n is None for one in evidence)
    dims = {**dims, LATENT_N: ()} if latent else dims
    if len(datasets) < 2:
        return dims, coords
    by_site = {*plan.model.site_parameters, LATENT_N}  # a design of levels alone has none of the numbers' parameters
    own = {name: ("site", *axes) for name, axes in dims.items() if name in by_site}
    return {**dims, **own}, {**coords, "site": datasets}
