"""The posterior: draws in ArviZ's layout, with the release they came from.

An xarray DataTree with the groups that ArviZ knows: ``posterior`` (draws), ``sample_stats`` (the sampler's diagnostics)
and ``observed_data`` (the released numbers). Its attributes hold the release, the prior and the method, so that a saved
posterior explains itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InputError, expected
from tacit.files import check_readable, check_writable, write_atomically
from tacit.release import Release
from tacit.seal import has_seal, sealed

_GROUPS = ("posterior", "sample_stats", "observed_data")


@dataclass(frozen=True)
class Row:
    """One line of a summary: a number's posterior, and how well it was sampled."""

    name: str
    mean: float
    sd: float
    low: float
    high: float
    ess_bulk: float
    ess_tail: float
    r_hat: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictive draws of the response, (draws, points), in the units of the data."""

    draws: Any

    @property
    def mean(self) -> Any:
        """The predictive mean at each point."""
        return self.draws.mean(axis=0)

    def interval(self, probability: float = 0.95) -> Any:
        """The equal-tailed predictive interval at each point: an array (2, points), low then high."""
        return central_interval(self.draws, probability)


def central_interval(draws: Any, probability: float) -> Any:
    """The equal-tailed interval over the first axis: an array (2, ...), low then high."""
    import numpy as np

    if not 0 < probability < 1:
        raise expected("probability", probability, "to lie between 0 and 1")
    tail = (1 - probability) / 2
    return np.asarray(np.quantile(draws, [tail, 1 - tail], axis=0))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from p(parameters | release). ``tree`` is an xarray DataTree in ArviZ's layout."""

    tree: Any

    @property
    def release(self) -> Release:
        """The release that this posterior is about."""
        return Release.from_json(self.tree.attrs["release"])

    @property
    def method(self) -> str:
        """The method that drew it."""
        return self.tree.attrs["method"]

    @property
    def prior(self) -> Mapping[str, Any]:
        """The prior's numbers by name."""
        return json.loads(self.tree.attrs["prior"])

    def draws(self, name: str) -> Any:
        """All draws of one parameter, chains joined, draws first."""
        group = self.tree["posterior"]
        if name not in group:
            raise expected("parameter", name, f"to be one of {', '.join(map(str, group.data_vars))}")
        values = group[name].values
        return values.reshape(-1, *values.shape[2:])

    def interval(self, name: str, probability: float = 0.95) -> Any:
        """The equal-tailed credible interval of one parameter: an array (2, ...), low then high."""
        return central_interval(self.draws(name), probability)

    def summary(self, probability: float = 0.95) -> tuple[Row, ...]:
        """Mean, sd, equal-tailed interval, effective sample sizes and R-hat of every number."""
        rows: list[Row] = []
        for variable, array in self.tree["posterior"].data_vars.items():
            values = array.values.reshape(*array.shape[:2], -1)
            for i, label in enumerate(_labels(str(variable), array)):
                rows.append(_row(label, values[:, :, i], probability))
        return tuple(rows)

    def coefficients(self, probability: float = 0.95) -> tuple[Row, ...]:
        """A regression's coefficients in the units of the data, summarised."""
        release = self.release
        found = release.plan.model.coefficients(self._arrays(), release.plan.schema)
        return tuple(_row(name, values, probability) for name, values in found.items())

    def predict(self, new: Any, *, seed: int = 0) -> Prediction:
        """What a regression expects at new, public design points: a mapping of columns or a data frame.

        The draws include the model's own scatter as well as what is unknown about its parameters.
        """
        import numpy as np

        release = self.release
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in self._arrays().items()}
        rng = np.random.default_rng(seed)
        return Prediction(release.plan.model.predict(flat, release.plan.schema, new, rng))

    def _arrays(self) -> dict[str, Any]:
        return {str(name): array.values for name, array in self.tree["posterior"].data_vars.items()}

    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers; empty when all is well."""
        found: list[str] = []
        rows = self.summary()
        if not all(math.isfinite(row.mean) for row in rows):
            found.append("Some draws are not finite numbers: do not use this posterior.")
        worst = max((r.r_hat for r in rows if r.r_hat == r.r_hat), default=1.0)
        if worst > 1.01:
            found.append(f"The chains disagree (largest R-hat {worst:.3f}, above 1.01): draw more.")
        least = min((min(r.ess_bulk, r.ess_tail) for r in rows if r.ess_bulk == r.ess_bulk), default=400.0)
        if least < 400:
            found.append(f"Few effective draws (least {least:.0f}, below 400): draw more.")
        if self.method == "naive":
            found.append("The naive method ignores the noise that privacy added: its intervals are too narrow.")
        if self.release.simulated:
            found.append("The release was simulated: it is about made-up rows.")
        return tuple(found)

    def to_arviz(self) -> Any:
        """What the installed ArviZ works on: InferenceData before version 1.0, this DataTree from then on."""
        try:
            import arviz
        except ImportError:
            raise InputError("Expected the package arviz to be installed (pip install arviz).") from None
        if hasattr(arviz, "InferenceData"):
            return arviz.InferenceData(**{g: self.tree[g].to_dataset() for g in _GROUPS if g in self.tree.children})
        return self.tree

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a netCDF file, whole or not at all."""
        check_writable(path, name="posterior", overwrite=overwrite)
        content = bytes(self.tree.to_netcdf(engine="h5netcdf"))  # in memory: on a full disk HDF5 crashes
        return write_atomically(path, sealed(content), name="posterior", overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Posterior:
        """Read a netCDF file that `save` wrote."""
        import xarray

        source = check_readable(path, name="posterior")
        try:
            if not has_seal(source):
                raise OSError
            with xarray.open_datatree(path, engine="h5netcdf") as tree:
                posterior = cls(tree.load())
            if not _is_whole(posterior):
                raise KeyError
        except InputError:  # a release that contradicts itself
            raise
        except Exception:  # h5netcdf raises many kinds on a file that is not netCDF
            raise expected("posterior", str(path), "to be a posterior that tacit saved, whole and unchanged") from None
        return posterior


def _is_whole(posterior: Posterior) -> bool:
    """Whether the draws are those of the release's model, as numbers of the right shape."""
    plan = posterior.release.plan
    dims, coords = plan.model.dims(plan.schema), plan.model.coords(plan.schema)
    group = posterior.tree["posterior"]
    arrays = {str(name): array.values for name, array in group.data_vars.items()}
    lead = next(iter(arrays.values())).shape[:2]
    return (
        isinstance(posterior.prior, dict)
        and posterior.method in plan.model.methods
        and len(lead) == 2
        and min(lead) >= 1
        and set(arrays) <= set(dims)
        and all(a.shape == (*lead, *(len(coords[axis]) for axis in dims[name])) for name, a in arrays.items())
        and all(array.dtype.kind in "fiu" for array in arrays.values())
    )


def _row(name: str, values: Any, probability: float) -> Row:
    """The summary of one number from its draws (chains, draws)."""
    import arviz_stats.base

    stats: Any = vars(arviz_stats.base)["array_stats"]
    constant = bool((values == values[0, 0]).all())
    low, high = central_interval(values.reshape(-1), probability)
    return Row(
        name=name,
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)),
        low=float(low),
        high=float(high),
        ess_bulk=math.nan if constant else float(stats.ess(values, method="bulk")),
        ess_tail=math.nan if constant else float(stats.ess(values, method="tail", prob=(0.05, 0.95))),
        r_hat=math.nan if constant or len(values) < 2 else float(stats.rhat(values)),
    )


def _labels(name: str, array: Any) -> list[str]:
    """theta, or theta[north], theta[east], ..."""
    labels = [()]
    for axis in array.dims[2:]:
        labels = [(*label, str(value)) for label in labels for value in array[axis].values]
    return [f"{name}[{', '.join(label)}]" if label else name for label in labels]


def build_tree(
    draws: Mapping[str, Any],
    diagnostics: Mapping[str, Any],
    dims: Mapping[str, tuple[str, ...]],
    coords: Mapping[str, list[str]],
    observed: Mapping[str, Any],
    attributes: Mapping[str, str],
) -> Any:
    """A DataTree in ArviZ's layout from arrays with leading axes (chain, draw)."""
    import numpy as np
    import xarray as xr

    chains, count = next(iter(draws.values())).shape[:2]
    axes = {"chain": np.arange(chains), "draw": np.arange(count)}
    used = {axis for names in dims.values() for axis in names}
    labels = {axis: np.array(values, dtype=str) for axis, values in coords.items() if axis in used}
    posterior = xr.Dataset(
        {name: (("chain", "draw", *dims.get(name, ())), np.asarray(a)) for name, a in draws.items()},
        coords={**axes, **labels},
    )
    groups: dict[str, Any] = {
        "posterior": posterior,
        "observed_data": xr.Dataset(
            {"release": (("entry",), np.array(list(observed.values()), np.float64))},
            coords={"entry": np.array(list(observed), dtype=str)},
        ),
    }
    if diagnostics:
        groups["sample_stats"] = xr.Dataset(
            {name: (("chain", "draw"), np.asarray(a)) for name, a in diagnostics.items()}, coords=axes
        )
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update(attributes)
    return tree
