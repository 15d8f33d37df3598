"""Predicted widths for scores in rounds against those of releases of tables that no model of covariates made."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import tacit
from obtained_widths import BOUNDS, knowledge, made_up, obtained, ratios
from tacit.calibration.expected_columns import ExpectedColumns
from tacit.calibration.plausible_tables import PlausibleTables
from tacit.design.simulated_rounds import simulated_rounds, tables_for

BUDGET = tacit.ApproxDP(epsilon=2, delta=1e-6)
EFFECTS = {"income": 0.03, "grade": -0.4, "lean": 0.6}
FACTOR = 1.5


def logistic(n, epsilon):
    rows, eta, rng = made_up(n, 1)
    expect = knowledge(rows)
    ill = rng.random(n) < 1 / (1 + np.exp(0.5 - eta))
    schema = tacit.Schema(ill=["no", "yes"], **BOUNDS)
    model = tacit.LogisticRegression("ill ~ income + grade + lean")
    plan = tacit.Plan(model, schema, replace(BUDGET, epsilon=epsilon), tacit.Newton())
    return plan, {**rows, "ill": np.where(ill, "yes", "no")}, {**expect, "ill": {"yes": round(float(ill.mean()), 1)}}


def within(found):
    return all(1 / FACTOR < ratio < FACTOR for ratio in found.values())


def test_widths_are_those_of_releases_of_other_tables():
    """Skewed, discrete and U-shaped columns; 6 releases, seed 0, so fixed: no false alarm. Ratios are 0.8 to 1.2.

    Planted faults: bounds taken for the spread of columns, and the noise left out.
    """
    n = 4000
    plan, rows, expect = logistic(n, 2.0)
    widths = obtained(plan, rows, 6)
    found = tacit.design(plan, n=n, expect=expect, effect=EFFECTS, parameters=6)
    assert within(ratios(found, widths)), ratios(found, widths)
    bounds = {name: ((low + high) / 2, (high - low) / 12**0.5) for name, (low, high) in BOUNDS.items()}
    filled = tacit.design(plan, n=n, expect={**expect, **bounds}, effect=EFFECTS, parameters=6)
    assert not within(ratios(filled, widths)), "the bounds were taken for the spread"
    numbers = found.cells[0].numbers
    assert not within({one.name: one.width / one.to_exact / widths[one.name] for one in numbers}), "no noise"
    for one in numbers:
        assert one.low <= one.width <= one.high
        assert one.to_exact >= 1
        assert one.privacy == pytest.approx(1 - 1 / one.to_exact**2)
        assert 0.5 <= one.sign <= 1
        assert one.to_prior < 1
    assert found.guessed == ()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_widths_are_those_of_releases_at_other_budgets(family, epsilon):
    """12 releases, 12 tables, seed 0, so fixed: no false alarm. The median over coefficients is within a factor of
    1.5, each of them within 2.
    """
    n = 4000
    plan, rows, expect = logistic(n, epsilon)
    effects = EFFECTS
    if family == "poisson":
        columns, eta, rng = made_up(n, 1)
        counts = rng.poisson(np.exp(1 + 0.3 * eta)).astype(float)
        model = tacit.PoissonRegression("visits ~ income + grade + lean", link="log")
        plan = replace(plan, model=model, schema=tacit.Schema(visits=(0, 20), **BOUNDS))
        rows, expect = {**columns, "visits": counts}, {**knowledge(columns), "visits": round(float(counts.mean()), 1)}
        effects = {name: 0.3 * value for name, value in EFFECTS.items()}
    found = ratios(tacit.design(plan, n=n, expect=expect, effect=effects), obtained(plan, rows, 12))
    assert 1 / FACTOR < np.median(list(found.values())) < FACTOR, found
    assert all(0.5 < ratio < 2 for ratio in found.values()), found


@pytest.mark.slow
def test_pure_budgets_and_persons_are_predicted_and_cost_noise():
    """Seed 0. Laplace noise; a person of four rows, whose noise is up to four times as large."""
    plan, _, expect = logistic(100, 2.0)
    pure = replace(plan, budget=tacit.PureDP(2.0))
    person = replace(plan, mechanism=tacit.Newton(unit=tacit.Person("id", 4)))
    widths = {
        name: tacit.design(one, n=8000, expect=expect, effect=EFFECTS, parameters=4).cells[0].numbers[1].width
        for name, one in (("row", plan), ("pure", pure), ("person", person))
    }
    assert widths["row"] < 0.8 * widths["pure"]
    assert widths["row"] < 0.8 * widths["person"]


def test_what_exact_rows_give_is_the_inverse_of_prior_and_information(monkeypatch):
    """A closed form: with levels alone, all rows at eta = 0, the information of n rows is X'X / 4. Inference is left
    out, as it has no part in it; exact, so no false alarm. Seed 0.
    """
    schema = tacit.Schema(ill=["no", "yes"], arm=["a", "b"])
    plan = tacit.Plan(tacit.LogisticRegression("ill ~ arm"), schema, BUDGET, tacit.Newton())
    module = sys.modules["tacit.design.simulated_rounds"]
    drawn = np.random.default_rng(0).standard_normal((2, 1, 8, 2))
    monkeypatch.setattr(module, "posterior_arrays", lambda *a, **k: ({"theta": drawn}, {}))
    monkeypatch.setattr(module, "_numbers", lambda *a: [0.0])
    said = ExpectedColumns(shares={"arm": (0.75, 0.25), "ill": (0.5, 0.5)}, effects={"arm[b]": 0.0})
    tables = PlausibleTables(plan, said, 2, 0)
    found = simulated_rounds([plan], [1000], tables, {"theta_sd": 2.0}, 0)[1000, 0]
    gram = 1000 / 4 * np.array([[1.0, 0.25], [0.25, 0.25]]) + np.eye(2) / 4
    exact = 3.92 * np.sqrt(np.diag(np.linalg.inv(gram)))
    np.testing.assert_allclose([found[name].exact[0] for name in ("Intercept", "arm[b]")], exact, rtol=1e-3)
    np.testing.assert_allclose([one.before[0] for one in found.values()], 2 * 3.92, rtol=1e-3)


def test_what_a_public_n_would_buy_is_the_part_of_the_count_and_the_same_noise(monkeypatch):
    """Under add-remove, without inference: the first round has less noise, from the same standard draws, and n is the
    true one. Exact but for rounding, so no false alarm. Planted fault: other draws, with which they do not agree.
    """
    module = sys.modules["tacit.design.simulated_rounds"]
    schema = tacit.Schema(ill=["no", "yes"], arm=["a", "b"])
    budget = replace(BUDGET, neighbours="add-remove")
    plan = tacit.Plan(tacit.LogisticRegression("ill ~ arm"), schema, budget, tacit.Newton(rounds=1, matrix=(0.5,)))
    tables = PlausibleTables(plan, ExpectedColumns(), 1, 0)
    sites = []
    monkeypatch.setattr(module, "score_numbers", lambda problem, found: sites.extend(found))
    latent = plan.calibrated_mechanism()
    public = module._of_public_n(latent)
    for mechanism, seed in ((latent, 0), (public, 0), (public, 1)):
        module._numbers(mechanism, None, tables, 0, 1000, seed)
    ((noisy,), (first,), counted), ((quiet,), (second,), n), (_, (other,), _) = sites
    assert 0.5 < quiet.score_scale / noisy.score_scale < 1
    assert n == 1000
    assert 0 < abs(counted - 1000) < 100
    batch = {name: values[:1000] for name, values in tables.table(0).cells.items()}
    exact = np.array(public.statistic(0, (0, 0)).batch_sum(batch)) / public.unit
    ratio = (np.array(first) - exact)[:2] / (np.array(second) - exact)[:2]
    assert np.allclose(ratio, noisy.score_scale / quiet.score_scale, rtol=1e-6)
    assert not np.allclose((np.array(first) - exact)[:2] / (np.array(other) - exact)[:2], ratio, rtol=0.01)


def test_many_cells_have_fewer_tables():
    assert [tables_for(cells) for cells in (1, 2, 4, 8, 400)] == [12, 12, 8, 4, 4]
