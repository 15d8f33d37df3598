"""The draws of a release, read as they are: each is one guess at the parameters, as good as the budget allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import expected
from tacit.models.draw_parameters import FAILED, DrawParameters
from tacit.models.regression import Regression
from tacit.posterior import Prediction
from tacit.release import Release, as_release


@dataclass(frozen=True, eq=False)
class ReleasedDraws:
    """The draws of a release: ``values`` (draws, parameters) in mapped units, ``names`` of the parameters.

    A single draw carries the uncertainty of the tempered posterior in itself: take it for a point that was thrown at
    the truth, not for the middle of an interval.
    """

    release: Release
    names: tuple[str, ...]
    values: Any

    def coefficients(self) -> dict[str, Any]:
        """A regression's coefficients in the units of the data, an array over draws each; of a network its weights."""
        model = self._regression()
        return model.coefficients(self._arrays(), self.release.plan.schema)

    def predict(self, new: Any) -> Prediction:
        """What each draw expects at new, public design points: a mapping of columns or a data frame."""
        import numpy as np

        model = self._regression()
        return Prediction(model.predict(self._arrays(), self.release.plan.schema, new, np.random.default_rng(0)))

    def _arrays(self) -> dict[str, Any]:
        plan = self.release.plan
        axes, labels = plan.model.dims(plan.schema)["theta"], plan.model.coords(plan.schema)
        shape = [len(labels[axis]) for axis in axes]
        arrays = {"theta": self.values[:, : math.prod(shape)].reshape(len(self.values), *shape)}
        if "sigma" in self.names:
            arrays["sigma"] = self.values[:, self.names.index("sigma")]
        return arrays

    def _regression(self) -> Regression:
        model = self.release.plan.model
        if not isinstance(model, Regression):
            raise expected("family", model.family, "to be a regression: only those have coefficients and predict")
        return model


def released_draws(release: Release | str | Path) -> ReleasedDraws:
    """The draws of a release of posterior draws; those that failed are left out."""
    import numpy as np

    found = as_release(release)
    noise_parameters = found.noise_parameters
    if not isinstance(noise_parameters, DrawParameters):
        raise expected(
            "kind",
            found.plan.mechanism.kind,
            'of [mechanism] to be "posterior-sample": this release holds sums, and `infer` reads it',
        )
    values = np.array(found.values, np.float64).reshape(noise_parameters.draws, noise_parameters.parameters)
    whole = (
        np.array([v != FAILED for v in found.values])
        .reshape(noise_parameters.draws, noise_parameters.parameters)
        .all(axis=1)
    )
    if not whole.any():
        raise expected("release", found.id, "to hold draws: all of them failed, which a sampler may do")
    return ReleasedDraws(found, _names(found, noise_parameters), values[whole] / noise_parameters.grid)


def _names(release: Release, noise_parameters: DrawParameters) -> tuple[str, ...]:
    """Those of one draw: entries of several say which draw they belong to."""
    return tuple(name.removeprefix("draw 1: ") for name in release.entries[: noise_parameters.parameters])
