"""Simulation-based calibration of plans that nobody chose: family, formula, bounds, budget, n and prior at random.

Plans that a person writes down to test a program tend to suit the program. Here each is a function of a seed and a
number: a family; for a regression a formula of numbers, levels and interactions; bounds; a kind of release; one of
three definitions of the budget; n from 100 to 20,000, uniform on a logarithmic scale; the default prior or a changed
one. Every plan is calibrated (`calibrate`), and all p-values are judged together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.calibration.calibrate import Calibration, calibrate
from tacit.errors import expected
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.newton import Newton
from tacit.models.bernoulli import Bernoulli
from tacit.models.categorical import Categorical
from tacit.models.exponential import Exponential
from tacit.models.geometric import Geometric
from tacit.models.linear import LinearRegression
from tacit.models.logistic import LogisticRegression
from tacit.models.model import Model
from tacit.models.normal import Normal
from tacit.models.poisson import Poisson
from tacit.models.poisson_regression import PoissonRegression
from tacit.plan import Plan
from tacit.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from tacit.schema import Schema

PLAN_GROUPS = ("linear", "logistic", "poisson-regression", "others")
PLAN_KINDS = ("noise", "newton", "local")
_FEWEST_ROWS, _MOST_ROWS = 100, 20_000


@dataclass(frozen=True)
class RandomPlan:
    """A plan with the number of rows and the changes to its prior (None for the default) that it is tried with."""

    plan: Plan
    n: int
    prior: Mapping[str, Any] | None

    @property
    def group(self) -> str:
        """One of `PLAN_GROUPS`."""
        return self.plan.model.family if self.plan.model.family in PLAN_GROUPS else "others"

    def __str__(self) -> str:
        said = "default prior" if self.prior is None else f"prior {dict(self.prior)}"
        model = self.plan.model
        what = f"{model.family} {getattr(model, 'formula', '')}".strip()
        return f"{what}, {self.plan.mechanism.kind}, {self.plan.promise.symbols}, n = {self.n}, {said}"


def random_plan(
    seed: int, number: int, *, groups: Sequence[str] = PLAN_GROUPS, kinds: Sequence[str] = PLAN_KINDS
) -> RandomPlan:
    """The plan with this number: the same for the same seed, groups and kinds."""
    import numpy as np

    for name, given, known in (("groups", groups, PLAN_GROUPS), ("kinds", kinds, PLAN_KINDS)):
        for one in given:
            if one not in known:
                raise expected(name, one, f"to be one of {', '.join(known)}")
    rng = np.random.default_rng([seed, number, 0x91A5])
    while True:
        group = str(rng.choice(list(groups)))
        model, schema, kind, prior = _REGRESSIONS[group](rng) if group in _REGRESSIONS else _one_column(rng)
        if kind.kind in kinds:
            break
    n = round(float(np.exp(rng.uniform(np.log(_FEWEST_ROWS), np.log(_MOST_ROWS)))))
    return RandomPlan(Plan(model, schema, _budget(rng, kind), kind), n, prior)


def try_plan(chosen: RandomPlan, *, trials: int, seed: int, **options: Any) -> dict[str, Any]:
    """Calibrate one plan: its description, the least p-value of its numbers, and what intervals held on average."""
    import numpy as np

    found = calibrate(chosen.plan, n=chosen.n, trials=trials, seed=seed, prior=chosen.prior, **options)
    return {"plan": str(chosen), "group": chosen.group, "kind": chosen.plan.mechanism.kind, **_figures(found, np)}


def _figures(found: Calibration, np: Any) -> dict[str, Any]:
    p, covers = found.least_p(), found.coverage(0.95)
    worst = min(p, key=lambda name: p[name])
    return {
        "p": p[worst],
        "number": worst,
        "covers_95": float(np.mean(list(covers.values()))),
        "trials": len(found.failed),
        "failed": int(found.failed.sum()),
    }


def rejected_plans(outcomes: Sequence[Mapping[str, Any]], level: float = 0.01) -> list[Mapping[str, Any]]:
    """The outcomes that speak against calibration, after Bonferroni over the plans; and every failed trial does.

    If all posteriors are right, the list is empty with a probability of at least 1 - ``level``.
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise expected("level", level, "to be a number between 0 and 1")
    return [one for one in outcomes if one["p"] * len(outcomes) < level or one["failed"]]


_Drawn = tuple[Model, Schema, Mechanism, Mapping[str, Any] | None]
_LEVELS = ("low", "middle", "high", "top")


def _bounds(rng: Any) -> tuple[float, float]:
    """A range whose place and length vary over orders of magnitude."""
    low = float(rng.choice([0.0, 1.0, -1.0])) * round(float(10 ** rng.uniform(0, 3)))
    return low, low + round(float(10 ** rng.uniform(0.5, 4)), 1)


def _covariates(rng: Any, *, products: bool) -> tuple[str, dict[str, Any]]:
    """The right-hand side of a formula, and the columns that it reads."""
    numbers, factors = [(1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (2, 1), (0, 1), (0, 2)][int(rng.integers(8))]
    columns: dict[str, Any] = {f"x{i + 1}": _bounds(rng) for i in range(numbers)}
    for i in range(factors):
        columns[f"f{i + 1}"] = list(_LEVELS[: int(rng.integers(2, len(_LEVELS) + 1))])
    terms = list(columns)
    if products and len(terms) > 1 and factors and rng.random() < 0.5:
        terms.append(f"{terms[0]}:{terms[-1]}")
    return " + ".join(terms), columns


def _linear(rng: Any) -> _Drawn:
    said, columns = _covariates(rng, products=True)
    prior: list[Any] = [None, None, {"slope": round(float(rng.uniform(0.5, 5)), 1)}]
    low, high = _bounds(rng)
    schema = Schema(y=(low, high), **columns)
    prior.append({"Intercept": ((low + high) / 2, (high - low) / 4)})
    return LinearRegression(f"y ~ {said}"), schema, AddNoise(), prior[int(rng.integers(4))]


def _logistic(rng: Any) -> _Drawn:
    said, columns = _covariates(rng, products=True)
    kind = Newton() if rng.random() < 0.5 else AddNoise()
    model, schema = LogisticRegression(f"y ~ {said}"), Schema(y=["no", "yes"], **columns)
    return model, schema, kind, [None, {"theta_sd": round(float(rng.uniform(0.5, 3)), 1)}][int(rng.integers(2))]


def _poisson_regression(rng: Any) -> _Drawn:
    newton = rng.random() < 0.5
    columns: dict[str, Any] = {f"x{i + 1}": _bounds(rng) for i in range(int(rng.integers(1, 4)))}
    link = str(rng.choice(["log", "softplus"]))
    model = PoissonRegression(f"y ~ {' + '.join(columns)}", link=link)
    schema = Schema(y=(0, int(rng.integers(5, 40))), **columns)
    return model, schema, Newton() if newton else AddNoise(), {"theta_sd": round(float(rng.uniform(0.3, 1.0)), 1)}


def _one_column(rng: Any) -> _Drawn:
    kind = Local() if rng.random() < 0.3 else AddNoise()
    low, high = _bounds(rng)
    most = int(rng.integers(5, 60))
    choices: list[tuple[Model, Schema]] = [
        (Bernoulli("y"), Schema(y=["no", "yes"])),
        (Categorical("y"), Schema(y=list(_LEVELS[: int(rng.integers(3, 5))]))),
        (Normal("y"), Schema(y=(low, high))),
        (Exponential("y"), Schema(y=(0, high - low))),
        (Poisson("y"), Schema(y=(0, most))),
        (Geometric("y"), Schema(y=(0, most))),
    ]
    model, schema = choices[int(rng.integers(len(choices)))]
    return model, schema, kind, None


_REGRESSIONS: Mapping[str, Callable[[Any], _Drawn]] = {
    "linear": _linear,
    "logistic": _logistic,
    "poisson-regression": _poisson_regression,
}


def _budget(rng: Any, kind: Mechanism) -> Guarantee:
    """Epsilon from 0.3 to 4; pure, approximate or zero-concentrated. Local reports cost each person alone."""
    import numpy as np

    epsilon = round(float(np.exp(rng.uniform(np.log(0.3), np.log(4)))), 2)
    if kind.kind == "local":
        return PureDP(epsilon)
    return [PureDP(epsilon), ApproxDP(epsilon, 1e-6), ZCDP(round(epsilon**2 / 20, 4))][int(rng.integers(3))]
