"""What the posterior expects a release to look like: made-up rows from its draws, their sums, noise like the real.

Nothing here sees a row of anybody: the parameters are posterior draws, the rows come from the model, and the noise is
drawn from its continuous limit with a seed. (Seeded integer noise lives in `simulate`, out of reach of reports.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.models.replicated_sums import exact_sums
from tacit.noise.noise import Noise
from tacit.posterior import Posterior
from tacit.posterior.tree import LATENT_N

_MOST_ROWS = 4_000_000  # made up for one page, all replicas together
_MOST, _FEWEST = 200, 20  # replicas


@dataclass(frozen=True)
class ReplicaSite:
    """Some rows that share nobody with another place: their name, how many they are, the releases about them.

    Where that is not public, ``n`` is as it was released, and every replica has as many rows as its draw says.
    """

    dataset: str
    n: int
    noises: tuple[Noise, ...]


def places(posterior: Posterior) -> tuple[ReplicaSite, ...]:
    """The datasets of a posterior, in the order of its axis of sites; reports are places without releases."""
    found: dict[str, ReplicaSite] = {}
    for one in posterior.releases:
        noises = found[one.dataset].noises if one.dataset in found else ()
        n = max(1, round(one.noisy_n[0]))
        found[one.dataset] = ReplicaSite(one.dataset, n, (*noises, one.noise))
    surveys = [ReplicaSite(one.dataset, one.n, ()) for one in posterior.surveys]
    return (*found.values(), *surveys)


@dataclass(frozen=True, eq=False)
class Replicas:
    """Exact sums of made-up rows, in units of the statistic: for each place an array (replicas, entries).

    Replica i of every place is drawn with draw ``draws[i]`` of the posterior. Where ``rows`` is below a place's n, the
    sums of that many rows were multiplied up to n: their means are right, their scatter is too wide by sqrt(n / rows).
    """

    places: tuple[ReplicaSite, ...]
    draws: tuple[int, ...]
    rows: tuple[int, ...]
    sums: tuple[Any, ...]

    @property
    def whole(self) -> bool:
        """Whether every replica has as many rows as the data, so that its scatter is right, too."""
        return all(rows == place.n for rows, place in zip(self.rows, self.places, strict=True))


def replicate(posterior: Posterior, *, seed: int = 0) -> Replicas | None:
    """Replicas from draws spread evenly over the posterior; None where they say too little to make rows of."""
    import numpy as np

    model, schema = posterior.plan.model, posterior.plan.schema
    if not model.draws_make_rows:
        return None
    statistic = posterior.releases[0].plan.statistic() if posterior.releases else model.statistic(schema)
    all_places = places(posterior)
    arrays = posterior.joined()
    sites = len(posterior.parts.coords["site"]) if "site" in posterior.parts.axes else 1
    own = [name for name in model.site_parameters if name in arrays]
    if own and len(all_places) != sites:
        return None
    total = sum(place.n for place in all_places)
    count = int(min(_MOST, max(_FEWEST, _MOST_ROWS // total)))
    available = len(next(iter(arrays.values())))
    chosen = tuple(int(i) for i in np.linspace(0, available - 1, count).round())
    rows = tuple(min(place.n, max(1, _MOST_ROWS // (count * len(all_places)))) for place in all_places)
    rng = np.random.default_rng(seed)
    sums: list[Any] = []
    for site, (place, made) in enumerate(zip(all_places, rows, strict=True)):
        found: list[Any] = []
        for i in chosen:
            draw = {n: (v[i, site] if sites > 1 and n in (*own, LATENT_N) else v[i]) for n, v in arrays.items()}
            try:
                one = exact_sums(model, schema, statistic, draw, made, rng)
            except (KeyError, ValueError, np.linalg.LinAlgError):  # a parameter that this method leaves out
                return None
            found.append(one * (float(draw.get("n", place.n)) / made))
        sums.append(np.array(found))
    return Replicas(all_places, chosen, rows, tuple(sums))


@dataclass(frozen=True)
class ReplicaCheck:
    """One released number beside what replicated releases have in its place.

    ``low`` and ``high`` are ``mean`` minus and plus 1.96 ``sd``; ``distance`` is how many ``sd`` the released ``value``
    is from ``mean``.
    """

    name: str
    value: float
    mean: float
    sd: float

    @property
    def low(self) -> float:
        """The lower end of what is expected."""
        return self.mean - 1.96 * self.sd

    @property
    def high(self) -> float:
        """The upper end of what is expected."""
        return self.mean + 1.96 * self.sd

    @property
    def distance(self) -> float:
        """In standard deviations."""
        return (self.value - self.mean) / self.sd


def checks(posterior: Posterior, replicas: Replicas, *, seed: int = 1) -> dict[str, list[ReplicaCheck]]:
    """For each release, by its id, every released number beside replicated ones: sums of a replica plus new noise."""
    import numpy as np

    rng = np.random.default_rng(seed)
    found: dict[str, list[ReplicaCheck]] = {}
    by_name = {place.dataset: sums for place, sums in zip(replicas.places, replicas.sums, strict=True)}
    for release in posterior.releases:
        sums = by_name[release.dataset]
        scales = np.array([float(s) / release.unit for s in release.noise.scales])
        standard = rng.laplace(size=sums.shape) if release.noise.limit == "laplace" else rng.normal(size=sums.shape)
        replicated = sums + scales * standard
        found[release.id] = [
            ReplicaCheck(name, value / release.unit, float(column.mean()), float(column.std(ddof=1)))
            for name, value, column in zip(release.entries, release.values, replicated.T, strict=True)
        ]
    return found
