"""What would this budget buy? Widths of intervals for many n and budgets, before anything is spent and without data.

A regression is looked at in plausible tables (`plausible_tables`), which take up what is expected of columns and
effects: linear ones by the normal equations with noise (`normal_equations`), scores in rounds by a few simulated
releases (`simulated_rounds`), others as all families are.

Of those, parameters are drawn from the prior. Around each the posterior is taken for normal, in standard coordinates v
in which the prior has mean 0 and covariance 1: with the information I(v) of the release (`information`) its covariance
is C = (1 + I)^-1, and its mean, over releases, is normal around C I v with covariance C I C. What is shown is the
median over the parameters. This takes seconds, because I is known for every n and every noise from one simulation of
rows. It is an approximation: of the sums by the central limit theorem, of the posterior by a normal distribution, of
Laplace noise by its variance. `check` runs the real inference beside it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.calibration.expected_columns import ExpectedColumns, expected_columns
from tacit.errors import expected
from tacit.infer import check_settings
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Prior
from tacit.models.regression import Regression
from tacit.plan import Plan, as_plan
from tacit.privacy.guarantees import Guarantee
from tacit.runtime.progress import Asked, percent

if TYPE_CHECKING:
    from tacit.design.table_widths import TableWidths

_log = logging.getLogger(__name__)
_MOST_ROWS = 10**12
_MOST_CELLS = 400


@dataclass(frozen=True)
class Expectation:
    """What to expect of the 95% interval of one number, the median over plausible tables or parameters of the prior.

    ``width`` is in the units in which the posterior shows the number; in 8 of 10 tables it lies from ``low`` to
    ``high``. ``to_prior`` is the width over that of the prior's interval, ``to_exact`` over that of the interval that
    exact sums, or the rows themselves, would give. ``sign`` is the
    probability that the posterior mean has the sign of the truth, for numbers that may have either. ``privacy`` is the
    share of the posterior variance that the noise is to blame for: 1 - 1 / to_exact^2. ``to_known_n`` is the width over
    that which the same budget would buy if n were public under the same neighbours; None where it is public.
    """

    name: str
    width: float
    low: float
    high: float
    to_prior: float
    to_exact: float
    sign: float | None
    privacy: float
    to_known_n: float | None = None


@dataclass(frozen=True)
class Cell:
    """One choice: the number of rows, the budget, and what it buys."""

    n: int
    budget: Guarantee
    numbers: tuple[Expectation, ...]


@dataclass(frozen=True)
class Design:
    """A study of a plan: its cells by n and then by budget, and the share of each column that would be clamped.

    ``expected`` is what was said of columns and effects, and ``guessed`` names the columns of which too little was.
    """

    plan: Plan
    cells: tuple[Cell, ...]
    clamped: Mapping[str, float]
    seed: int
    expected: ExpectedColumns = field(default_factory=ExpectedColumns)
    guessed: tuple[str, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """One row for each number of each cell, plain."""
        return [
            {
                "n": cell.n,
                **{name: getattr(cell.budget, name) for name in cell.budget.parameters()},
                **{f.name: getattr(number, f.name) for f in fields(number)},
            }
            for cell in self.cells
            for number in cell.numbers
        ]

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "plan": self.plan.to_plain(),
            "seed": self.seed,
            "clamped": dict(self.clamped),
            "expected": self.expected.to_plain(),
            "guessed": list(self.guessed),
            "advice": self.advice(),
            "table": self.table(),
        }

    def advice(self) -> str:
        """One sentence: the least budget that is enough, or that none of them is."""
        from tacit.design.design_text import advice

        return advice(self)

    def figure(self) -> Any:
        """Width against budget, one line for each n: a matplotlib figure with one panel for each number."""
        from tacit.design.figure import figure

        return figure(self)

    def save_figure(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the figure to an SVG or PNG file."""
        from tacit.design.figure import save_figure

        return save_figure(self, path, overwrite=overwrite)

    def _repr_html_(self) -> str:
        """For notebooks: the advice, the table and the figure."""
        from tacit.design.figure import as_html

        return as_html(self)


def design(
    plan: Plan | str | Path,
    *,
    n: int | Sequence[int],
    epsilon: float | Sequence[float] | None = None,
    rho: float | Sequence[float] | None = None,
    mu: float | Sequence[float] | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
    effect: Mapping[str, float] | None = None,
    parameters: int | None = None,
    seed: int = 0,
    progress: Asked = None,
) -> Design:
    """What each number of rows and each budget would buy, from the plan alone.

    ``epsilon`` (or ``rho``, or ``mu``, as the plan's budget has it) takes the place of the plan's; left out, the plan's
    own budget is studied.

    ``expect`` says where the values of a regression's columns are likely to lie, in the units of the data: a number has
    a mean and a standard deviation, or a mean alone (``"age": (40, 10)``), a column of levels shares of them
    (``"smoker": {"no": 0.7, "yes": 0.3}``), two numbers a correlation (``"age:bmi": 0.2``). ``effect`` gives
    coefficients by their names. What is not said is guessed, differently in each of some plausible tables.

    ``parameters`` is how many of these tables there are; for other families so many parameters are drawn from the
    ``prior``, which is the family's default unless changed. Left out it is 24, and 4 to 12 for scores in rounds.
    ``progress`` is told how far it is, in percent, as in `tacit.infer`.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> tacit.design(plan, n=[500, 5000]).cells[0].n
    500

    ```
    """
    plan = as_plan(plan)
    if isinstance(plan.model, LikelihoodModel) or (isinstance(plan.model, Regression) and plan.model.varies):
        raise expected(
            "family",
            plan.model.family,
            "to be one that a design takes; for this one `tacit simulate` makes a release of made-up rows, and "
            "`tacit infer` shows how wide its intervals are",
        )
    sizes = _sizes(n, plan)
    plans = [replace(plan, budget=budget) for budget in _budgets(plan.budget, epsilon=epsilon, rho=rho, mu=mu)]
    if len(sizes) * len(plans) > _MOST_CELLS:
        raise expected("n", f"{len(sizes)} sizes with {len(plans)} budgets", f"to make at most {_MOST_CELLS} cells")
    check_settings(warmup=0, draws=4, chains=1, seed=seed)
    if parameters is not None and (
        isinstance(parameters, bool) or not isinstance(parameters, int) or not 4 <= parameters <= 1000
    ):
        raise expected("parameters", parameters, "to be a whole number from 4 to 1000")
    said = expected_columns(plan, expect, effect)
    _log.info("design: %s, %d numbers of rows, %d budgets", plan.model.family, len(sizes), len(plans))
    with percent(progress, "Studying"):
        if isinstance(plan.model, Regression):
            from tacit.design.regressions import guessed, regression_widths

            widths, clamped = regression_widths(plans, sizes, said, prior, parameters, seed)
            unknown = guessed(plan, said)
        else:
            from tacit.design.families import family_widths

            widths, clamped = family_widths(plans, sizes, prior, parameters, seed)
            unknown = ()
    cells = [
        Cell(size, one.budget, _expectations(widths[size, place])) for size in sizes for place, one in enumerate(plans)
    ]
    return Design(plan, tuple(cells), clamped, seed, said, unknown)


def _expectations(widths: Mapping[str, TableWidths]) -> tuple[Expectation, ...]:
    """What to expect of every number."""
    import numpy as np

    found: list[Expectation] = []
    for name, one in widths.items():
        low, width, high = (float(value) for value in np.quantile(one.width, [0.1, 0.5, 0.9]))
        ratio = max(1.0, width / float(np.median(one.exact)))
        before = float(np.median(one.width / one.before))
        sign = None if one.sign is None else float(np.mean(one.sign))
        known = None if one.known is None else max(1.0, width / float(np.median(one.known)))
        found.append(Expectation(name, width, low, high, before, ratio, sign, 1 - 1 / ratio**2, known))
    return tuple(found)


def _sizes(n: Any, plan: Plan) -> list[int]:
    several = [n] if isinstance(n, int) else n
    if not isinstance(several, Sequence) or isinstance(several, str) or not several:
        raise expected("n", n, "to be a whole number of rows, or a list of them")
    person = plan.mechanism.person
    rows = 1 if person is None or person.weight is not None else person.max_rows
    for one in several:
        if isinstance(one, bool) or not isinstance(one, int) or not 1 <= one <= _MOST_ROWS:
            raise expected("n", one, f"to be a whole number from 1 to {_MOST_ROWS}")
        if one % rows:
            raise expected("n", one, f"to be a multiple of max_rows={rows}: everyone has that many rows")
    return sorted(set(several))


def _budgets(own: Guarantee, **asked: Any) -> list[Guarantee]:
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return [own]
    name, several = next(iter(given.items()))
    mine = [known for known in own.parameters() if known in asked]
    if len(given) > 1 or name not in mine:
        raise expected(name, several, f"to be left out: the plan's budget is {own.symbols}, so that {mine[0]} varies")
    if isinstance(several, int | float):
        several = [several]
    if not isinstance(several, Sequence) or isinstance(several, str) or not several:
        raise expected(name, several, "to be a number, or a list of numbers")
    found = [replace(own, **{name: one}) for one in several]
    return sorted(dict.fromkeys(found), key=lambda budget: getattr(budget, name))
