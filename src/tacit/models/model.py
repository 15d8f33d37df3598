"""The interface of a model family. A family is one file beside this one and one line in `registry`.

A family says what it releases (a `Statistic`), what it assumes (a prior and how rows arise), and how its posterior is
drawn (its methods). Everything else in the package (plans, the boundary, calibration, audit, reports) works from these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from tacit._support.printable import in_prose
from tacit.bibliography import Paper
from tacit.errors import InputError, did_you_mean, expected, shown
from tacit.models.draw_parameters import DrawParameters
from tacit.models.effects import EffectDraws, effects_of_array
from tacit.models.score_round import ScoreLayout
from tacit.noise.noise import Noise
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class Prior:
    """The base of every prior: public numbers with a data-free default."""

    def to_plain(self) -> dict[str, Any]:
        """The prior's numbers by name."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def replaced(self, changes: Mapping[str, Any]) -> Self:
        """This prior with some numbers changed, validated again."""
        names = [f.name for f in fields(self)]
        for name in changes:
            if name not in names:
                raise expected("prior", name, f"to be one of {', '.join(names)}{did_you_mean(name, names)}")
        return type(self)(**{**{n: getattr(self, n) for n in names}, **changes})


@dataclass(frozen=True)
class Site:
    """Some rows that share nobody with another site: how many there are, and the noise of each release about them.
    ``n`` is None where that is not public: it is then among the noisy numbers, and latent like the sums.

    Where the release is posterior draws instead of noisy sums, ``sample`` is their distribution, and there is no
    noise. Where it is scores in rounds, ``rounds`` says which of them have a matrix; points and scales come with the
    numbers. Where it is people's own reports of scores, ``cohorts`` says the same of every cohort.
    """

    n: int | None
    noises: tuple[Noise, ...]
    sample: DrawParameters | None = None
    rounds: ScoreLayout | None = None
    cohorts: ScoreLayout | None = None

    @property
    def rows(self) -> int:
        """How many rows there are, for methods that take a public number alone."""
        assert self.n is not None  # or the method is not one for such evidence
        return self.n

    @property
    def scored(self) -> bool:
        """Whether its numbers are scores, which come with points and scales and in real units."""
        return self.rounds is not None or self.cohorts is not None


@dataclass(frozen=True)
class Survey:
    """Reports that people randomised themselves: how many there are, and what their devices did."""

    n: int
    local_randomizer: LocalRandomizer


@dataclass(frozen=True)
class Problem:
    """All that a method may know beside the released numbers. Every field is public.

    The released numbers come as one list: site by site, within a site release by release, then the summaries of
    surveys (`LocalModel.summary`).
    """

    model: Model
    schema: Schema
    prior: Prior
    sites: tuple[Site, ...]
    surveys: tuple[Survey, ...] = ()

    @property
    def statistic(self) -> Statistic:
        """What was released."""
        own = self.model.statistic(self.schema)
        return own.of_unknown_n() if self.unknown_n else own

    @property
    def unknown_n(self) -> bool:
        """Whether the number of rows of some site is not public."""
        return any(site.n is None for site in self.sites)

    @property
    def n(self) -> int:
        """The number of rows; for methods that take one site and must know it."""
        (site,) = self.sites
        assert site.n is not None  # or the method would have been refused
        return site.n

    @property
    def sample(self) -> DrawParameters:
        """The distribution of posterior draws; for methods that take one release of them."""
        (sample,) = (site.sample for site in self.sites)
        assert sample is not None
        return sample

    @property
    def methods(self) -> Mapping[str, Method]:
        """The family's methods for such evidence."""
        if any(site.rounds is not None for site in self.sites):
            return self.model.score_methods
        if any(site.cohorts is not None for site in self.sites):
            return self.model.cohort_methods
        sampled = any(site.sample is not None for site in self.sites)
        return self.model.draw_methods if sampled else self.model.methods

    def released(self) -> tuple[int, int]:
        """How many of the numbers are those of releases, and the integer that stands for a 1 in them."""
        if any(site.scored for site in self.sites):
            return 0, 1  # points and scales come with them, all in real units
        samples = [site.sample for site in self.sites if site.sample is not None]
        if samples:
            return sum(sample.size for sample in samples), samples[0].grid
        if not self.sites:
            return 0, 1
        return sum(len(site.noises) for site in self.sites) * len(self.statistic.entries), self.statistic.unit

    @property
    def noise(self) -> Noise:
        """The noise; for methods that take one release."""
        ((noise,),) = (site.noises for site in self.sites)
        return noise


@dataclass(frozen=True)
class Method:
    """A way to draw the posterior: ``build`` makes the chain of a problem.

    ``thin`` says how many draws apart its draws can pass for independent, which is what calibration needs. ``sites``
    and ``releases`` say whether it pools several sites, and several releases about the same rows; ``surveys`` whether
    it takes local reports, and ``central`` whether it takes releases at all; ``known_n`` and ``unknown_n`` whether it
    takes sums over rows whose number is public, and is not. `cite` names its ``papers``.
    """

    build: Callable[[Problem, SamplerSettings], Chain]
    thin: int
    sites: bool = False
    releases: bool = False
    surveys: bool = False
    central: bool = True
    known_n: bool = True
    unknown_n: bool = False
    papers: tuple[Paper, ...] = ()


M = TypeVar("M", bound="Model", covariant=True)


class Example(NamedTuple, Generic[M]):
    """A model with a schema, and the changes to its default prior under which nearly nothing is clamped.

    Calibration is a statement about rows that come from the model. Clamping is not part of the model, so a prior that
    sends rows outside the bounds would blame the method for it.
    """

    model: M
    schema: Schema
    prior: Mapping[str, Any] | None = None
    quick: bool = True
    """Whether all laws run on it by default; otherwise most of those that take long are left to the slow suite."""
    always: bool = True
    """Whether at least one case of every law runs on it by default, if it is the family's first."""


@dataclass(frozen=True)
class Model(ABC):
    """A family of distributions together with the columns it is about."""

    family: ClassVar[str]
    about: ClassVar[str] = ""
    """What it is for, in a few words: `tacit init` shows them."""
    papers: ClassVar[tuple[Paper, ...]] = ()
    """What `cite` names for it."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Small models of this family: every law in the test suite runs on them."""

    @abstractmethod
    def statistic(self, schema: Schema) -> Statistic:
        """What crosses the boundary; refuses a schema that does not fit the model."""

    @abstractmethod
    def default_prior(self, schema: Schema) -> Prior:
        """A prior that needs no data."""

    @abstractmethod
    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """One draw of the parameters from the prior."""

    @abstractmethod
    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """n rows given the parameters, as columns of raw cells, not yet clamped."""

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Parameters from the prior and n rows given them, where a prior may depend on the rows' own moments."""
        parameters = self.draw_parameters(prior, schema, rng)
        return parameters, self.draw_rows(dict(parameters), schema, n, rng)

    def within_bounds(self, draws: Arrays, schema: Schema) -> Any:
        """Of draws, arrays with leading axes, those whose rows hardly ever lie outside the bounds; None if unknown.

        A release clamps what lies outside, and then its rows are not the model's. Where parameters are drawn for a
        simulation, only such draws count, and its posterior is looked at where it says the same: restricting a prior
        to a set of parameters restricts the posterior to that set, and changes nothing else.
        """
        return None

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """``default`` with some numbers changed, by name."""
        return default.replaced(changes)

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """The ways to draw the posterior, the default first. ``naive`` takes the released numbers for exact ones."""

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """The ways to draw p(parameters | released posterior draws), the default first; none unless said."""
        return {}

    @property
    def score_methods(self) -> Mapping[str, Method]:
        """The ways to draw p(parameters | scores in rounds), the default first; none unless said."""
        return {}

    @property
    def cohort_methods(self) -> Mapping[str, Method]:
        """The ways to draw p(parameters | reports of scores), the default first; none unless said."""
        return {}

    def default_method(self, schema: Schema) -> str:
        """The method that is used unless another is asked for."""
        return next(iter(self.methods))

    @abstractmethod
    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """The names of the axes of each parameter, by parameter."""

    @abstractmethod
    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The labels along each axis."""

    def question(self, schema: Schema) -> str:
        """What a person wants to know who makes a plan of this family: the title of a report that has no other."""
        return f"What is known of {in_prose(getattr(self, 'column', self.family))}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """What answers that question, from draws (draws, ...) by name: the first parameter, unless said."""
        name, axes = next(iter(self.dims(schema).items()))
        if name not in draws:
            return []
        column, labels = getattr(self, "column", self.family), self.coords(schema)

        def words(*own: str) -> tuple[str, str, str]:
            return ", ".join((name, *own)), f"The {name} of {', '.join(map(in_prose, (column, *own)))} is ", ""

        return effects_of_array(draws[name], [labels[axis] for axis in axes], words)

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws of each parameter lie, in the words of `tacit.models.support`; any number unless said."""
        return {}

    @property
    def models_clamping(self) -> bool:
        """Whether parameters are about values before clamping, however many are clamped."""
        return False

    @property
    def sums_must_fit(self) -> bool:
        """Whether sums that its own rows could hardly have speak against a posterior of this family."""
        return True

    @property
    def draws_make_rows(self) -> bool:
        """Whether a posterior draw says how rows are distributed, so that releases can be made up from it."""
        return True

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """The parameters that every site has for itself when several are pooled; the others are shared."""
        return ()

    def settled(self, *, checked: bool) -> Model:
        """This model with all decided that it leaves to a plan; ``checked``: the plan is a new one, of noisy sums."""
        return self

    @property
    def unchecked(self) -> Model:
        """This model without what is released for the sake of a check alone: reports have no such numbers."""
        return self

    def to_plain(self) -> dict[str, Any]:
        """The ``[model]`` table of a plan file."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {"family": self.family, **said}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[model]`` table of a plan file, less its ``family``."""
        names = [f.name for f in fields(cls)]
        for name in table:
            if name not in names:
                raise InputError(
                    f"Expected the keys of [model] for family {cls.family!r} to be {', '.join(names)}; "
                    f"found {shown(name)}{did_you_mean(name, names)}."
                )
        try:
            return cls(**table)
        except TypeError:
            missing = [name for name in required(cls) if name not in table]
            raise InputError(f"Expected [model] to say {', '.join(missing)} for family {cls.family!r}.") from None


def required(family: type[Model]) -> list[str]:
    """The fields of a family without a default: what a plan has to say."""
    return [f.name for f in fields(family) if f.default is MISSING and f.default_factory is MISSING]
