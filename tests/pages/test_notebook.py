"""In notebooks: cards that hold what matters and escape everything; ArviZ draws what tacit gives it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import tacit

ODD = '<script>alert("x")</script>'
PLAN = tacit.Plan(tacit.Bernoulli(ODD), tacit.Schema({ODD: ["<i>no", "yes&"]}), tacit.PureDP(0.1))
SMOKER = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(0.1))


@pytest.fixture(scope="module")
def posterior():
    """The same program as in the tests of the report: compiled once. Seed 3."""
    return tacit.infer(tacit.simulate(SMOKER, n=500, seed=3).release)


class Balanced(HTMLParser):
    """Every tag that opens is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_card(card):
    parser = Balanced()
    parser.feed(card)
    assert parser.open == []
    assert "<script" not in card
    assert "<i>" not in card
    return re.sub(r"<style>.*?</style>|<[^>]+>", " ", card, flags=re.DOTALL)


def test_a_card_that_is_not_closed_is_caught():
    """The planted fault of `check_card`."""
    with pytest.raises(AssertionError):
        check_card("<div><p>never closed</div>")
    with pytest.raises(AssertionError):
        check_card("<script></script>")


def test_plans_and_releases_show_themselves():
    text = check_card(PLAN._repr_html_())
    assert "epsilon = 0.1" in text
    assert "nothing has been read or spent" in text
    assert "&lt;script&gt;" in text
    local = tacit.Plan(PLAN.model, PLAN.schema, tacit.PureDP(1.0), tacit.Local())
    assert "on each device" in check_card(local._repr_html_())
    release = tacit.simulate(PLAN, n=100, seed=1).release
    text = check_card(release._repr_html_())
    assert f"{release.values[0] / release.unit:.4g}" in text
    assert "made-up rows" in text
    real = tacit.privatize({ODD: ["yes&"] * 10}, PLAN, ledger=None)
    assert "without a ledger" in check_card(real._repr_html_())


def test_reports_show_their_header_alone():
    local = tacit.Plan(PLAN.model, PLAN.schema, tacit.PureDP(1.0), tacit.Local())
    text = check_card(tacit.simulate(local, n=1234, seed=1).release._repr_html_())
    assert "1,234 reports" in text
    assert "randomized-response" in text


def test_a_posterior_shows_its_warnings_first(posterior):
    card = posterior._repr_html_()
    text = check_card(card)
    assert text.index("made-up rows") < text.index("R-hat")
    assert "theta" in text
    assert card.count("<line") >= 4


def test_studies_show_themselves():
    calibration = tacit.calibrate(SMOKER, n=100, trials=200, seed=7, method="naive")
    text = check_card(calibration._repr_html_())
    assert "Not calibrated" in text, "the naive method is not"
    assert "200" in text
    audit = tacit.audit(SMOKER, runs=0)
    text = check_card(audit._repr_html_())
    assert audit.verdict in text


@pytest.mark.filterwarnings("ignore")  # ArviZ and matplotlib announce their own changes
def test_arviz_draws_it(posterior):
    """Every kind of plot that needs draws alone; each has something in it."""
    import matplotlib

    matplotlib.use("Agg")
    arviz = pytest.importorskip("arviz")
    data = posterior.to_arviz()
    old = "InferenceData" in vars(arviz)
    names = ["plot_forest", "plot_trace", "plot_posterior", "plot_autocorr", "plot_pair", "plot_ess", "plot_rank"]
    names = names if old else ["plot_forest", "plot_trace", "plot_dist", "plot_autocorr", "plot_pair", "plot_rank"]
    for name in names:
        drawn = getattr(arviz, name)(data)
        if old:
            axes = np.atleast_1d(np.asarray(drawn, dtype=object)).ravel()
            assert any(ax is not None and ax.has_data() for ax in axes), name
        else:
            assert drawn is not None, name
        matplotlib.pyplot.close("all")
    assert float(arviz.ess(data)["theta"]) > 400
    assert float(arviz.rhat(data)["theta"]) < 1.02
    assert set(data.observed_data.dims if old else data["observed_data"].dims) == {"release", "entry"}
