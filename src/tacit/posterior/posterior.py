"""The posterior: draws in ArviZ's layout, with the release they came from.

As an xarray DataTree it has the groups that ArviZ knows: ``posterior`` (draws), ``sample_stats`` (the sampler's
diagnostics) and ``observed_data`` (the released numbers). Its attributes hold the releases, the prior and the method,
so that a saved posterior explains itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit._support.file_kinds import check_kind
from tacit._support.files import check_readable, check_writable, write_atomically
from tacit._support.reading import strict_json
from tacit.cell_screen import Screen
from tacit.errors import InputError, expected
from tacit.models.likelihood import Likelihood
from tacit.models.method_names import current_method
from tacit.models.model import Prior
from tacit.models.prior_draws import prior_draws
from tacit.models.regression import Regression
from tacit.models.score_model import ScorePrior
from tacit.models.survival_regression import SurvivalRegression
from tacit.plan import Plan
from tacit.posterior.checksum import with_checksum
from tacit.posterior.combination import combined, read_combination
from tacit.posterior.convergence import failure_of
from tacit.posterior.cut_rows import cut_rows
from tacit.posterior.data_units import (
    coefficient_draws,
    in_file,
    marginal_draws,
    points_grid,
    ratios_of,
    reference_levels,
)
from tacit.posterior.differences import differences_of
from tacit.posterior.effects import Effect, effects_of
from tacit.posterior.file import file_content, open_posterior
from tacit.posterior.nested import NestedComparison, compare_with
from tacit.posterior.parts import PosteriorParts
from tacit.posterior.ranking import Rank, ranking_of
from tacit.posterior.rows import Prediction, PriorRow, Row, central_interval, labels_of, row_of, two_moments
from tacit.posterior.score_sites import score_prior_draws
from tacit.posterior.tree import ATTRIBUTES, SCREENS, parts_of, read_evidence, read_screens
from tacit.release import Release
from tacit.reports import PublishedReports

_GROUPS = ("posterior", "sample_stats", "observed_data")


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from p(parameters | release), made of its parts or of an xarray DataTree in ArviZ's layout."""

    content: Any

    @property
    def parts(self) -> PosteriorParts:
        """Its draws, diagnostics, labels and attributes, as plain arrays and texts.

        Whoever has the tree may have changed it, so from then on they are those of the tree.
        """
        if isinstance(self.content, PosteriorParts) and "tree" not in vars(self):
            return self.content
        return PosteriorParts.of_tree(self.tree)

    @cached_property
    def tree(self) -> Any:
        """An xarray DataTree in ArviZ's layout."""
        return self.content.tree() if isinstance(self.content, PosteriorParts) else self.content

    @cached_property
    def evidence(self) -> tuple[Release | PublishedReports, ...]:
        """What this posterior is about: releases, and the headers of local reports."""
        return read_evidence(self.parts.attributes["release"])

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases among the evidence."""
        return tuple(one for one in self.evidence if isinstance(one, Release))

    @property
    def surveys(self) -> tuple[PublishedReports, ...]:
        """The local reports among the evidence."""
        return tuple(one for one in self.evidence if isinstance(one, PublishedReports))

    @cached_property
    def screens(self) -> tuple[Screen, ...]:
        """What is known of the cells behind the releases: the screens that the inference was given."""
        return read_screens(self.parts.attributes.get("screens"))

    @property
    def release(self) -> Release:
        """The release that this posterior is about, where it is one and no more."""
        if len(self.evidence) != 1 or not self.releases:
            raise expected("release", len(self.evidence), "pieces of evidence to be asked for as posterior.evidence")
        return self.releases[0]

    @property
    def plan(self) -> Plan:
        """The plan of the first piece of evidence; all have its model and its schema."""
        return self.evidence[0].plan

    @property
    def assumes(self) -> tuple[str, ...]:
        """What this posterior takes for granted beside its model."""
        found = [text for release in self.releases for text in release.guarantee.assumes]
        found += [text for survey in self.surveys for text in survey.assumes]
        if len({one.dataset for one in self.releases}) + len({one.dataset for one in self.surveys}) > 1:
            found.append("the datasets are about disjoint people")
        if self.surveys:
            found.append("every report was made by the published protocol, at a budget that its record did not choose")
        if self.method in self.plan.model.cohort_methods and any(len(one.plans) > 1 for one in self.surveys):
            found.append("people of all cohorts are of one kind, and nobody answered in two")
        return tuple(dict.fromkeys(found))

    @property
    def method(self) -> str:
        """The method that drew it."""
        return current_method(self.parts.attributes["method"])

    @property
    def prior(self) -> Mapping[str, Any]:
        """The prior's numbers by name."""
        return strict_json(self.parts.attributes["prior"], "prior", constants=True)

    def draws(self, name: str) -> Any:
        """All draws of one number, chains joined, draws first, in the units of the data.

        ``name`` is a coefficient's term (``age``, ``smoker[yes]``, ``Intercept``; ``sigma`` of a linear regression), a
        parameter of another family, or a sum of such names (`contrast`). Parameters that a method has in mapped units
        have a name of their own, ``theta``; `parameter` gives any of them as the method has it.
        """
        if name in self._coefficients:
            return self._coefficients[name].reshape(-1)
        if name in self.parts.draws:
            return self.parameter(name)
        return self._combined(name, "parameter").reshape(-1)

    def parameter(self, name: str) -> Any:
        """All draws of one parameter as the method has it, a regression's in mapped units; chains joined."""
        values = self._parameter(name)
        return values.reshape(-1, *values.shape[2:])

    def joined(self) -> dict[str, Any]:
        """All parameters as `parameter` gives them, by name."""
        return {name: self.parameter(name) for name in self.parts.draws}

    @cached_property
    def _coefficients(self) -> dict[str, Any]:
        """Draws (chains, draws) of a regression's coefficients in the units of the data, by term."""
        return coefficient_draws(self)

    def _combined(self, text: object, what: str) -> Any:
        """Draws (chains, draws) of a sum of coefficients, of groups' numbers, of levels that are left out (0)."""
        import numpy as np

        parts, known = self.parts, dict(self._coefficients)
        for variable, array in parts.draws.items():
            if variable not in known and not (known and parts.dims.get(variable) == ("coefficient",)):
                values = array.reshape(*array.shape[:2], -1)
                known |= {name: values[:, :, i] for i, name in enumerate(labels_of(variable, parts))}
        zeros = np.zeros(next(iter(parts.draws.values())).shape[:2])
        for name in reference_levels(self):
            known.setdefault(name, zeros)
        return combined(read_combination(text, known, what=what), known)

    def _parameter(self, name: str) -> Any:
        if name not in self.parts.draws:
            raise expected("parameter", name, f"to be one of {', '.join(self.parts.draws)}")
        return self.parts.draws[name]

    def diagnostic(self, name: str) -> Any:
        """What the sampler says of each draw under that name, an array (chains, draws); None where it says nothing."""
        return self.parts.diagnostics.get(name)

    def interval(self, name: str, probability: float = 0.95) -> Any:
        """The equal-tailed credible interval of one parameter: an array (2, ...), low then high."""
        return central_interval(self.draws(name), probability)

    def summary(self, probability: float = 0.95) -> tuple[Row, ...]:
        """Mean, sd, equal-tailed interval, effective sample sizes and R-hat of every number."""
        if probability not in self._summaries:
            rows: list[Row] = []
            for variable, array in self.parts.draws.items():
                values = array.reshape(*array.shape[:2], -1)
                for i, label in enumerate(labels_of(variable, self.parts)):
                    rows.append(row_of(label, values[:, :, i], probability))
            self._summaries[probability] = tuple(rows)
        return self._summaries[probability]

    @cached_property
    def _summaries(self) -> dict[float, tuple[Row, ...]]:
        """Made once for each probability: a report and its warnings ask several times."""
        return {}

    def differences(self, name: str, *, to: str | None = None, probability: float = 0.95) -> tuple[Row, ...]:
        """Every group less the group ``to`` (the first one unless said) in one parameter, summarised."""
        self._parameter(name)
        found = differences_of(self.parts, name, to)
        return tuple(row_of(label, values, probability) for label, values in found.items())

    def ranking(self, name: str = "group_mean", probability: float = 0.9) -> tuple[Rank, ...]:
        """The groups by a number of theirs, the largest first, with an interval for each rank."""
        return ranking_of(self.parts, name, probability)

    def contrast(self, text: str, probability: float = 0.95) -> Row:
        """A sum of coefficients or of groups' numbers, such as ``smoker[yes] - smoker[no]`` or ``2*age - bmi``.

        Coefficients are those of the formula in the units of the data, those of levels that it leaves out are 0.
        """
        return row_of(text, self._combined(text, "contrast"), probability)

    def ratios(self, probability: float = 0.95) -> tuple[Row, ...]:
        """Ratios of odds, of rates or of times: how many times as much, for one more of each column."""
        return tuple(row_of(name, values, probability) for name, values in ratios_of(self).items())

    def marginal_effect(self, name: str, *, at: Any = None, probability: float = 0.95) -> Row:
        """How much the expected response changes for one more of a number, or from the first level to ``smoker[yes]``.

        It is the mean over ``at``, public points as `predict` takes them; left out, over 256 that are spread evenly
        over the declared bounds and levels. A release does not say where its rows lie.
        """
        leading = next(iter(self.parts.draws.values())).shape[:2]
        return row_of(name, marginal_draws(self, name, at).reshape(leading), probability)

    def grid(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Points for `predict`: all combinations of values of ``columns``; all else at the middle, or first level."""
        return points_grid(self, columns)

    def compare(self, formula: str) -> NestedComparison:
        """How much the release speaks for this model against a nested one, ``formula`` with some terms left out.

        By the evidence (marginal likelihood) of both on the release, of scores in rounds; see `tacit.posterior.nested`.
        """
        return compare_with(self, formula)

    def effects(self, probability: float = 0.95) -> tuple[Effect, ...]:
        """What answers the plan's question, in units that people use, each with a sentence.

        For a regression: what a step of each covariate goes with. For other families: their means, shares or rates.
        """
        if probability not in self._effects:
            self._effects[probability] = effects_of(self, probability)
        return self._effects[probability]

    @cached_property
    def _effects(self) -> dict[float, tuple[Effect, ...]]:
        return {}

    @property
    def title(self) -> str:
        """The title of the plan, or else the question that it asks."""
        return self.plan.title or self.plan.model.question(self.plan.schema)

    def coefficients(self, probability: float = 0.95) -> tuple[Row, ...]:
        """A regression's coefficients in the units of the data, summarised."""
        found = self._regression().coefficients(self.arrays(), self.plan.schema)
        return tuple(row_of(name, values, probability) for name, values in found.items())

    def prior_coefficients(self) -> tuple[PriorRow, ...]:
        """The prior of a regression's coefficients, in mapped units and in the units of the data, by simulation."""
        model = self._regression()
        draws = self.prior_draws(4000)
        original, theta = model.coefficients(draws, self.plan.schema), draws["theta"]
        several = theta.ndim > 2  # levels with coefficients of their own
        names = list(original) if several else model.coords(self.plan.schema)["coefficient"]
        mapped = dict(zip(names, theta.reshape(len(theta), -1).T, strict=True))
        mapped |= {name: values for name, values in draws.items() if values.ndim == 1}
        return tuple(
            PriorRow(name, *two_moments(mapped[name]), *two_moments(values)) for name, values in original.items()
        )

    def prior_draws(self, draws: int, *, seed: int = 0) -> dict[str, Any]:
        """Independent draws of the parameters from the prior."""
        plan, prior = self.plan, self.whole_prior()
        if isinstance(prior, ScorePrior):
            return score_prior_draws(self.releases, prior, draws, seed)
        return prior_draws(plan.model, plan.schema, prior, draws=draws, seed=seed)

    def whole_prior(self) -> Prior:
        """The prior as an object of its family."""
        numbers = {name: tuple(v) if isinstance(v, list) else v for name, v in self.prior.items()}
        return self.plan.mechanism.default_prior(self.plan.model, self.plan.schema).replaced(numbers)

    def predict(self, new: Any, *, seed: int = 0) -> Prediction:
        """What a regression expects at new, public design points: a mapping of columns or a data frame.

        The draws include the model's own scatter as well as what is unknown about its parameters.
        """
        import numpy as np

        flat = self.joined()
        rng = np.random.default_rng(seed)
        model = self.plan.model
        predicting = model if isinstance(model, Likelihood) else self._regression()
        return Prediction(predicting.predict(flat, self.plan.schema, new, rng))

    def survival(self, new: Any, times: Any) -> Prediction:
        """The share without the event at ``times``, for rows at public points: draws (draws, points, times)."""
        flat = self.joined()
        model = self.plan.model
        if not isinstance(model, SurvivalRegression):
            raise expected("family", model.family, "to be a survival regression: only those have curves at points")
        return Prediction(model.survival(flat, self.plan.schema, new, times))

    def _regression(self) -> Regression:
        model = self.plan.model
        if not isinstance(model, Regression):
            raise expected("family", model.family, "to be a regression: only those have coefficients and predict")
        return model

    def arrays(self) -> dict[str, Any]:
        """All draws by name, with the axes of chains and draws in front."""
        return dict(self.parts.draws)

    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers; empty when all is well."""
        from tacit.posterior.warnings import warnings_about

        return warnings_about(self)

    def grave_warnings(self) -> tuple[str, ...]:
        """Those of the warnings that forbid trusting the intervals."""
        from tacit.posterior.warnings import grave_warnings_about

        return grave_warnings_about(self)

    def failure(self) -> str | None:
        """One sentence on why the chains failed and what to try; None where they did not. `infer` refuses it then."""
        return failure_of(self)

    def __str__(self) -> str:
        """The answer as a terminal shows it: title, effects, warnings."""
        grave = self.grave_warnings()
        lines = [f"Do not rely on this yet: {warning}" for warning in grave]
        lines += [self.title, *(f"  {one.sentence}" for one in self.effects())]
        lines += [cut.sentence() for one in self.releases if (cut := cut_rows(one)) is not None]
        return "\n".join([*lines, *(f"Note: {warning}" for warning in self.warnings() if warning not in grave)])

    def __repr__(self) -> str:
        """The same, where a name alone is typed: not thousands of draws."""
        return str(self)

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import posterior_card

        return posterior_card(self)

    def to_arviz(self) -> Any:
        """What the installed ArviZ works on: InferenceData before version 1.0, this DataTree from then on."""
        try:
            import arviz
        except ImportError:
            raise InputError("Expected the package arviz to be installed (pip install arviz).") from None
        if "InferenceData" in vars(arviz):  # asked for as an attribute, a later one warns
            return arviz.InferenceData(**{g: self.tree[g].to_dataset() for g in _GROUPS if g in self.tree.children})
        return self.tree

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a netCDF file, whole or not at all."""
        check_writable(path, name="posterior", overwrite=overwrite)
        parts = self.parts
        groups = {"posterior": parts.draws, "sample_stats": parts.diagnostics}
        arrays = {f"{group}/{name}": array for group, own in groups.items() for name, array in own.items()}
        said = [name for name in (*ATTRIBUTES, SCREENS) if name in parts.attributes]
        content = file_content(
            parts.netcdf(in_file(self._coefficients)), arrays, {name: str(parts.attributes[name]) for name in said}
        )
        return write_atomically(path, with_checksum(content), name="posterior", overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Posterior:
        """Read a file that `save` wrote: its index, then what it is about, then draws of the shapes that follow.

        The netCDF part is for other programs and is never parsed, so nothing in the file can lead to another file.
        """
        check_kind(path, "a posterior", "posterior")
        source = check_readable(path, name="posterior")
        with open_posterior(source) as file:
            return cls(parts_of(file, source))
