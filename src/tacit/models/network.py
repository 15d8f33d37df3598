"""A Bayesian network with one hidden layer, for numbers and for two levels; released as posterior draws (jewson2023).

The response decides what it is: a number has a normal distribution around the network's output (jewson2023, Example
2), one of two levels has the logistic function of the output as its probability (Example 1).

The numbers of m(x) = sum over units j of v_j tanh(w_j'x) + c stand in one list: w_1, ..., w_hidden, then v, then c.
x is the design of the formula in mapped units; its constant, where there is one, makes the first number of w_j the
bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.errors import expected
from tacit.models.model import Example, Method, Prior
from tacit.models.regression import Regression
from tacit.models.support import POSITIVE
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema
from tacit.statistics.statistic import Statistic

_MOST_HIDDEN = 1000


@dataclass(frozen=True)
class NetworkPrior(Prior):
    """Every weight and bias ~ N(0, ``theta_sd``^2); ``sigma`` is that of a response that is a number. Mapped units."""

    theta_sd: float = 1.0
    sigma: float = 0.1

    def __post_init__(self) -> None:
        for name in ("theta_sd", "sigma"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e6:
                raise expected(f"prior {name}", value, "to be a number from 1e-06 to 1e+06")


@dataclass(frozen=True)
class Network(Regression):
    """m(x) = v'tanh(W x) + c with ``hidden`` units, x the design of ``formula``: the mean, or the logit of a level.

    It has no sums to add noise to: only draws of it can be released. Covariates are no part of the model; to simulate,
    numbers are uniform in their bounds and levels equally likely.
    """

    family: ClassVar[str] = "network"
    about: ClassVar[str] = "a number or one of two levels explained by a hidden layer"

    hidden: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.hidden, bool) or not isinstance(self.hidden, int) or not 1 <= self.hidden <= _MOST_HIDDEN:
            raise expected("hidden", self.hidden, f"to be a whole number of units from 1 to {_MOST_HIDDEN}")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """A number from two, and a level from a number and a level."""
        schema = Schema(load=(0, 50), hour=(0, 24), heat=(-10, 40), open=["no", "yes"], day=["week", "weekend"])
        return (
            Example(cls("load ~ hour + heat", hidden=3), schema),
            Example(cls("open ~ hour + day", hidden=2), schema),
        )

    def classifies(self, schema: Schema) -> bool:
        """Whether the response is one of two levels; refuses one of more."""
        name = self.design(schema).formula.response
        column = schema.declared(name)
        if isinstance(column, Category) and len(column.levels) != 2:
            raise expected("response", name, "to be a number or to have two levels, for family network")
        return isinstance(column, Category)

    def statistic(self, schema: Schema) -> Statistic:
        raise expected("kind", "noise", f'of [mechanism] to be "posterior-sample" for family {self.family}')

    def default_prior(self, schema: Schema) -> NetworkPrior:
        """Standard normal weights (jewson2023, appendix B)."""
        return NetworkPrior()

    def weights(self, schema: Schema) -> tuple[str, ...]:
        """The name of each weight and bias."""
        return weight_names(self.design(schema).names, self.hidden)

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Weights, and the standard deviation around the mean for a number."""
        assert isinstance(prior, NetworkPrior)
        theta = prior.theta_sd * rng.standard_normal(len(self.weights(schema)))
        return {"theta": theta} if self.classifies(schema) else {"theta": theta, "sigma": prior.sigma}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Uniform covariates, and a response for each row."""
        import numpy as np
        from scipy.special import expit

        design = self.design(schema)
        rows, parsed = self.uniform_covariates(schema, n, rng)
        mean = np.broadcast_to(self._output(np.asarray(parameters["theta"]), design.matrix(parsed)), (n,))
        if self.classifies(schema):
            levels = schema.category(design.formula.response).levels
            rows[design.formula.response] = [levels[int(yes)] for yes in rng.random(n) < expit(mean)]
        else:
            mapped = mean + np.asarray(parameters["sigma"]) * rng.standard_normal(n)
            rows[design.formula.response] = design.number_response.offset + design.number_response.scale * mapped
        return rows

    @property
    def methods(self) -> Mapping[str, Method]:
        """None: there are no noisy sums of it."""
        return {}

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The mean of the response (draws, points) in the units of the data, or the probability of the second level.

        The scatter of the response around its mean is left out: with one draw it would be all that is seen.
        """
        import numpy as np
        from scipy.special import expit

        design = self.design(schema)
        matrix = design.matrix(design.parse(new))
        found = np.stack([self._output(theta, matrix) for theta in np.asarray(draws["theta"])])
        if self.classifies(schema):
            return expit(found)
        return design.number_response.offset + design.number_response.scale * found

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """What is predicted has no scatter."""
        return self.predict(draws, schema, new, None)

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Weights and biases by name, sigma last. Units can be swapped and mirrored: one by itself says nothing."""
        found = {name: draws["theta"][..., i] for i, name in enumerate(self.weights(schema))}
        return {**found, **({"sigma": draws["sigma"]} if "sigma" in draws else {})}

    @property
    def in_data_units(self) -> bool:
        """Weights are those of mapped numbers."""
        return False

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sigma": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """A list of weights."""
        named: dict[str, tuple[str, ...]] = {"theta": ("weight",)}
        return named if self.classifies(schema) else {**named, "sigma": ()}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        return {"weight": list(self.weights(schema))}

    def _output(self, theta: Any, matrix: Any) -> Any:
        import numpy as np

        return output(theta, matrix, self.hidden, np.tanh)


def weight_names(columns: Sequence[str], hidden: int) -> tuple[str, ...]:
    """The name of each number, for a design with these columns."""
    into = [f"unit {j}: {name}" for j in range(1, hidden + 1) for name in columns]
    return (*into, *(f"output: unit {j}" for j in range(1, hidden + 1)), "output: constant")


def output(theta: Any, x: Any, hidden: int, tanh: Any) -> Any:
    """m(x) of every row: ``theta`` (numbers,), ``x`` (n, columns) -> (n,). ``tanh`` is NumPy's or JAX's."""
    columns = x.shape[1]
    into = theta[: hidden * columns].reshape(hidden, columns)
    out, constant = theta[hidden * columns : hidden * (columns + 1)], theta[hidden * (columns + 1)]
    return tanh(x @ into.T) @ out + constant
