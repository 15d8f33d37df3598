"""Distributions of every release: it survives being written down, and refuses to contradict itself."""

from __future__ import annotations

import json

import pytest

import tacit
from laws.cases import PLANS, exact_sums
from tacit.boundary import needed
from tacit.sources.open import open_source


@pytest.mark.parametrize("name", PLANS)
def test_json_round_trip_is_exact(name, tmp_path):
    release = tacit.simulate(PLANS[name], n=50, seed=3).release
    path = release.save(tmp_path / "release.json")
    assert tacit.Release.load(path) == release
    assert tacit.Release.load(path).to_json() == path.read_text()


@pytest.mark.parametrize("name", PLANS)
def test_every_field_is_checked_against_the_plan(name):
    """Every single field, changed alone, is refused: an edited release cannot pass for another one."""
    plain = tacit.simulate(PLANS[name], n=50, seed=3).release.to_plain()
    free = {"id", "dataset", "simulated", "n", "values", "ledger"}
    for field in plain:
        for wrong in (None, "x", -1, [], {}):
            changed = {**plain, field: wrong}
            allowed = (field == "id" and wrong == "x") or (field == "dataset" and wrong == "x")
            allowed |= field == "ledger" and (wrong is None or wrong == {})
            if allowed:
                continue
            with pytest.raises(tacit.InputError, match="Expected"):
                tacit.Release.from_json(json.dumps(changed))
    for field in set(plain) - free:
        if isinstance(plain[field], dict):
            with pytest.raises(tacit.InputError, match="Expected"):
                tacit.Release.from_json(json.dumps({**plain, field: {**plain[field], "surprise": 1}}))


@pytest.mark.parametrize("name", PLANS)
def test_privatize_matches_simulate_but_for_the_noise(name):
    """The real boundary on the same rows: exact sums agree, noise is fresh each time."""
    plan = PLANS[name]
    import numpy as np

    rng = np.random.default_rng(4)
    theta = plan.model.draw_parameters(plan.model.default_prior(plan.schema), plan.schema, rng)
    rows = plan.model.draw_rows(theta, plan.schema, 200, rng)
    first = tacit.privatize(rows, plan, ledger=None)
    second = tacit.privatize(rows, plan, ledger=None)
    _, exact = exact_sums(open_source(rows, *needed(plan)), plan)
    for release in (first, second):
        for value, total, scale in zip(release.values, exact, release.noise.scales, strict=True):
            assert abs(value - total) < 60 * scale  # e^-60: no false alarm
    assert first.n == second.n == 200
    assert first.values != second.values
    assert first.id != second.id
    assert not first.simulated
