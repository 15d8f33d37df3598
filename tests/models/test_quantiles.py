"""Quantiles and histograms from counts: honest about where in a bin, monotone, and none below 0."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import tacit
from models.test_mean import draws_of, held, visits

EDGES = [float(e) for e in range(2, 30, 2)]
SCHEMA = tacit.Schema(x=(0, 30), sex=["f", "m"])


HALVES = pytest.param([k + 0.5 for k in range(30)], marks=pytest.mark.slow)


@pytest.mark.parametrize("edges", [EDGES, HALVES], ids=["rows on edges", "halves"])
def test_intervals_hold_the_median_of_the_rows_also_where_they_pile_up_on_an_edge(edges):
    """Seed 5; 100 releases of 2,000 rows whose values are whole: at least 93%, level 1e-4."""
    cells = visits(2000) + 4
    plan = tacit.Plan(tacit.Quantiles("x", [0.5], edges), SCHEMA, tacit.PureDP(1.0))
    found = draws_of(plan, {"x": cells}, 100, 5, draws=300)["rows_quantile"][:, :, 0]
    own = np.quantile(cells, 0.5, method="inverted_cdf")
    assert held(found, own) >= binom.ppf(1e-4, 100, 0.93)


def test_quantiles_rise_and_counts_add_up():
    cells = {"x": visits(500).tolist(), "sex": ["f", "m"] * 250}
    plan = tacit.Plan(tacit.Quantiles("x", [0.1, 0.5, 0.9], EDGES, by="sex"), SCHEMA, tacit.PureDP(1.0))
    posterior = tacit.infer(
        tacit.privatize(cells, plan, ledger=None, dataset="rows"), draws=200, warmup=100, anyway=True
    )
    for name in ("quantile", "rows_quantile"):
        assert (np.diff(posterior.draws(name), axis=-1) >= -1e-9).all()
        assert posterior.draws(name).min() >= 0
    np.testing.assert_allclose(posterior.draws("count").sum(axis=1), 500)
    plan = tacit.Plan(tacit.Histogram("x", EDGES), SCHEMA, tacit.PureDP(1.0))
    histogram = tacit.infer(
        tacit.privatize(cells, plan, ledger=None, dataset="rows"), draws=200, warmup=100, anyway=True
    )
    assert histogram.draws("count").min() >= 0
    np.testing.assert_allclose(histogram.draws("count").sum(axis=1), 500)
    assert (np.diff(histogram.draws("above"), axis=1) <= 1e-12).all()
    page = tacit.report(histogram, quick=True)
    assert "Histogram of x with 95% intervals" in page


def test_a_page_about_quantiles_does_not_make_up_rows_from_them():
    """Rows made up from three quantiles have none at the bound: the page said that the release did not fit."""
    cells = {"x": np.minimum(visits(3000) * 3, 30).tolist()}
    plan = tacit.Plan(tacit.Quantiles("x", [0.1, 0.5, 0.9], EDGES), SCHEMA, tacit.PureDP(1.0))
    release = tacit.privatize(cells, plan, ledger=None, dataset="rows")
    page = tacit.report(tacit.infer(release, draws=400, warmup=200, anyway=True), quick=True)
    assert "standard deviations from what this posterior predicts" not in page


def test_an_interval_covers_the_whole_bin_that_holds_the_quantile():
    """With hardly any noise and 10 rows at 3, between the edges 2 and 4: the place in the bin is not known."""
    plan = tacit.Plan(tacit.Quantiles("x", [0.5], EDGES), SCHEMA, tacit.PureDP(1000.0))
    release = tacit.privatize({"x": [3.0] * 11}, plan, ledger=None, dataset="rows")
    low, high = tacit.infer(release, draws=500).interval("rows_quantile")
    assert (low[0], high[0]) == (2.0, 4.0)


def test_a_median_of_rows_that_pile_up_at_a_bound_is_the_bound():
    cells = np.where(np.arange(2000) < 1400, 0.0, 1.0 + np.arange(2000) % 20)
    plan = tacit.Plan(tacit.Quantiles("x", [0.5], EDGES), SCHEMA, tacit.PureDP(1.0))
    release = tacit.privatize({"x": cells}, plan, ledger=None, dataset="rows")
    low, high = tacit.infer(release, draws=200, warmup=100, anyway=True).interval("rows_quantile")
    assert (low[0], high[0]) == (0.0, 0.0)


def test_sites_have_counts_of_their_own_and_shares_in_common():
    """Hardly any noise: each site's counts are its rows', and the shares are those of all rows, within 6 sds."""
    plan = tacit.Plan(tacit.Histogram("x", [4, 8]), SCHEMA, tacit.PureDP(1000.0))
    sites = [visits(600, seed=1), visits(300, seed=2)]
    releases = [tacit.privatize({"x": x}, plan, ledger=None, dataset=d) for x, d in zip(sites, "ab", strict=True)]
    posterior = tacit.infer(releases, disjoint=True, draws=200, warmup=100, anyway=True)
    assert posterior.method == "gibbs"
    exact = [np.histogram(x, [0, 4, 8, 30])[0] for x in sites]
    np.testing.assert_array_equal(posterior.draws("count").mean(axis=0), exact)
    share = sum(exact) / 900
    assert np.all(np.abs(posterior.draws("share").mean(axis=0) - share) < 6 * np.sqrt(share / 900))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tacit.Histogram("x", []), "to be a list of 1 to"),
        (lambda: tacit.Histogram("x", [3, 2]), "to rise"),
        (lambda: tacit.Histogram("x", [float("nan")]), "finite"),
        (lambda: tacit.Quantiles("x", [0.5, 1.5], [2]), "to lie between 0 and 1"),
        (lambda: tacit.Quantiles("x", [], [2]), "to be a list of 1 to"),
        (lambda: tacit.Quantiles("x", [0.5, 0.5], [2]), "to rise"),
        (lambda: tacit.Plan(tacit.Histogram("x", [40]), SCHEMA, tacit.PureDP(1.0)), "to lie in the bounds"),
        (lambda: tacit.Plan(tacit.Histogram("x", [0, 30]), SCHEMA, tacit.PureDP(1.0)), "at least one inside"),
        (lambda: tacit.Shares("x", by=None), "to name one or two columns"),
    ],
)
def test_bad_models_are_refused_in_one_sentence(make, text):
    with pytest.raises(tacit.InputError, match=text):
        make()
