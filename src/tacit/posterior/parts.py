"""What a posterior holds, as plain arrays and texts; as the DataTree that ArviZ knows, and as the bytes of netCDF.

xarray takes half a second to import, which is as long as the rest of a further inference, so only who asks for the tree
waits for it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_LEADING = ("chain", "draw")


@dataclass(frozen=True, eq=False)
class PosteriorParts:
    """``draws`` and ``diagnostics`` are arrays (chains, draws, ...) by name.

    ``dims`` names the further axes of draws, ``coords`` the labels along them; ``observed`` has the released numbers
    as ``released``, with the labels ``release`` and ``entry``.
    """

    draws: Mapping[str, Any]
    diagnostics: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, list[str]]
    observed: Mapping[str, Any]
    attributes: Mapping[str, str]

    @property
    def axes(self) -> set[str]:
        """The axes that some draws have behind chains and draws."""
        return {axis for name in self.draws for axis in self.dims.get(name, ())}

    def labels(self, name: str) -> list[tuple[str, list[str]]]:
        """The further axes of one parameter, each with its labels."""
        return [(axis, self.coords[axis]) for axis in self.dims.get(name, ())]

    def groups(self) -> dict[str, tuple[dict[str, Any], dict[str, tuple[tuple[str, ...], Any]]]]:
        """By group its axes with their labels, and its variables with their axes; NumPy arrays, or lists of texts."""
        import numpy as np

        chains, count = next(iter(self.draws.values())).shape[:2]
        leading: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(count)}
        used = {axis for names in self.dims.values() for axis in names}
        labels = {axis: list(values) for axis, values in self.coords.items() if axis in used}
        numbers = [self.observed[axis] for axis in ("release", "entry")]
        released = np.array(self.observed["released"], np.float64).reshape([len(one) for one in numbers])
        found: dict[str, Any] = {
            "posterior": (
                {**leading, **labels},
                {k: ((*_LEADING, *self.dims.get(k, ())), np.asarray(a)) for k, a in self.draws.items()},
            ),
            "observed_data": (
                dict(zip(("release", "entry"), numbers, strict=True)),
                {"released": (("release", "entry"), released)},
            ),
        }
        if self.diagnostics:
            found["sample_stats"] = leading, {k: (_LEADING, np.asarray(a)) for k, a in self.diagnostics.items()}
        return found

    def tree(self) -> Any:
        """A DataTree in ArviZ's layout."""
        import numpy as np
        import xarray as xr

        tree = xr.DataTree.from_dict(
            {
                group: xr.Dataset(
                    variables, {k: np.array(v, str) if isinstance(v, list) else v for k, v in axes.items()}
                )
                for group, (axes, variables) in self.groups().items()
            }
        )
        tree.attrs.update(self.attributes)
        return tree

    @classmethod
    def of_tree(cls, tree: Any) -> PosteriorParts:
        """What a tree in that layout holds."""
        posterior = tree["posterior"]
        stats = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
        dims = {str(name): tuple(map(str, one.dims[2:])) for name, one in posterior.data_vars.items()}
        coords = {axis: [str(label) for label in posterior[axis].values] for names in dims.values() for axis in names}
        observed: dict[str, Any] = {"released": [], "release": [], "entry": []}
        if "observed_data" in tree.children:
            observed = {name: tree["observed_data"][name].values.tolist() for name in observed}
        return cls(
            {str(name): one.values for name, one in posterior.data_vars.items()},
            {str(name): one.values for name, one in stats.items()},
            dims,
            coords,
            observed,
            dict(tree.attrs),
        )

    def netcdf(self, coefficients: Mapping[str, tuple[str, Any]]) -> bytes:
        """The same as a netCDF file, as xarray would write the tree; in memory, as on a full disk HDF5 crashes.

        A group ``coefficients`` is added for other programs: by a name that netCDF can have, each term and its draws in
        the units of the data. tacit computes them again and never reads the group.
        """
        import h5py
        import numpy as np

        library: Any = import_module("h5netcdf")
        strings = h5py.string_dtype()
        content = io.BytesIO()
        with library.File(content, "w") as file:
            file.attrs.update(self.attributes)
            for name, (axes, variables) in self.groups().items():
                group = file.create_group(name)
                group.dimensions = {axis: len(labels) for axis, labels in axes.items()}
                for axis, labels in axes.items():
                    named = (axis,), strings if isinstance(labels, list) else labels.dtype
                    group.create_variable(axis, *named, data=np.array(labels, object if named[1] is strings else None))
                for variable, (named, values) in variables.items():
                    if values.dtype == bool:  # netCDF has none; xarray knows it by this attribute
                        made = group.create_variable(variable, named, data=values.astype("i1"))
                        made.attrs["dtype"] = "bool"
                    else:
                        filled = {"fillvalue": math.nan} if values.dtype.kind == "f" else {}
                        group.create_variable(variable, named, dtype=values.dtype, data=values, **filled)
            if coefficients:
                group = file.create_group("coefficients")
                group.dimensions = dict(zip(_LEADING, next(iter(self.draws.values())).shape[:2], strict=True))
                for axis, length in group.dimensions.items():
                    group.create_variable(axis, (axis,), np.dtype(np.int64), data=np.arange(len(length)))
                for name, (term, values) in coefficients.items():
                    made = group.create_variable(name, _LEADING, dtype=values.dtype, data=values, fillvalue=math.nan)
                    made.attrs["term"] = term
        return content.getvalue()
