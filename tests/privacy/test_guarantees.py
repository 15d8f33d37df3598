import math
import re
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP, guarantee_from_plain

EXAMPLES = [PureDP(1), ApproxDP(1, 1e-6), ZCDP(0.5), GDP(0.5), RenyiDP(order=4, epsilon=1)]
positive = st.floats(min_value=0, max_value=1.5e6, exclude_min=True)


@pytest.mark.parametrize(
    ("guarantee", "plain", "symbols"),
    [
        (PureDP(1), {"epsilon": 1.0}, "epsilon = 1"),
        (ApproxDP(1, 1e-6), {"epsilon": 1.0, "delta": 1e-6}, "epsilon = 1, delta = 1e-06"),
        (ZCDP(0.5), {"rho": 0.5}, "rho = 0.5"),
        (GDP(0.25), {"mu": 0.25}, "mu = 0.25"),
        (RenyiDP(2, 0.1), {"order": 2.0, "epsilon": 0.1}, "order = 2, epsilon = 0.1"),
    ],
)
def test_plain_form_and_symbols(guarantee, plain, symbols):
    assert guarantee.to_plain() == {**plain, "neighbours": "replace-one"}
    assert guarantee.symbols == symbols
    assert guarantee_from_plain(plain) == guarantee


def test_assumptions_are_kept_and_written_only_when_there_are_some():
    guarantee = PureDP(1, assumes=["exact draw, ideal arithmetic"])  # type: ignore[arg-type]
    assert guarantee.assumes == ("exact draw, ideal arithmetic",)
    assert guarantee.to_plain()["assumes"] == ["exact draw, ideal arithmetic"]
    assert guarantee_from_plain(guarantee.to_plain()) == guarantee
    assert "assumes" not in PureDP(1).to_plain()


@given(epsilon=positive, delta=st.floats(0, 1, exclude_min=True, exclude_max=True))
@settings(derandomize=True, deadline=None)
def test_round_trip_is_exact(epsilon, delta):
    for guarantee in (PureDP(epsilon), ApproxDP(epsilon, delta), ZCDP(epsilon), GDP(epsilon), RenyiDP(1.5, epsilon)):
        assert guarantee_from_plain(guarantee.to_plain()) == guarantee


@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan, True, "1", None, 10**400, Fraction(1, 2), [1]])
@pytest.mark.parametrize(
    "build", [PureDP, lambda v: ApproxDP(v, 1e-6), lambda v: ApproxDP(1, v), ZCDP, GDP, lambda v: RenyiDP(2, v)]
)
def test_impossible_numbers_are_refused(build, bad):
    with pytest.raises(InputError, match=r"^Expected \w+=.* to be "):
        build(bad)


@pytest.mark.parametrize("delta", [1, 1.0, 2])
def test_delta_of_one_or_more_is_refused(delta):
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        ApproxDP(1, delta)


@pytest.mark.parametrize("order", [1, 0.5, math.inf, math.nan, True, "2"])
def test_an_order_of_one_or_less_is_refused(order):
    with pytest.raises(InputError, match="Expected order="):
        RenyiDP(order, 1)


def test_there_is_no_default_and_no_bare_guarantee():
    for build in (PureDP, ApproxDP, ZCDP, GDP, RenyiDP, Guarantee):
        with pytest.raises(TypeError):
            build()


@pytest.mark.parametrize("neighbours", ["remove-one", "Replace-One", "", None])
def test_other_neighbours_are_refused(neighbours):
    with pytest.raises(InputError, match="'replace-one' or 'add-remove', the relations with proofs"):
        PureDP(1, neighbours=neighbours)


def test_a_promise_about_adding_says_so_and_is_another_promise():
    for kind, numbers in ((PureDP, (1,)), (ApproxDP, (1, 1e-6)), (ZCDP, (0.5,)), (GDP, (1,)), (RenyiDP, (8, 1))):
        there, replaced = kind(*numbers, neighbours="add-remove"), kind(*numbers)
        assert there != replaced
        assert re.search("left out, or added|Leaving out, or adding|is in the data", there.sentence())
        assert not re.search("replac", there.sentence(), re.IGNORECASE)
        assert guarantee_from_plain(there.to_plain()) == there


@pytest.mark.parametrize("assumes", ["exact", [""], ["  "], [1], None, {"a": 1}])
def test_assumptions_must_be_a_list_of_strings(assumes):
    with pytest.raises(InputError, match="Expected assumes="):
        PureDP(1, assumes=assumes)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"epsilom": 1}, "did you mean 'epsilon'?"),
        ({"epsilon": 1, "neighbors": "replace-one"}, "did you mean 'neighbours'?"),
        ({"zzz": 1}, "to be one of epsilon, delta, rho"),
        ({"delta": 1e-6}, "one of these and no mixture"),
        ({"order": 2}, "one of these and no mixture"),
        ({"epsilon": 1, "rho": 1}, "one of these and no mixture"),
        ({"epsilon": 1, "delta": 1e-6, "order": 2}, "one of these and no mixture"),
        ({}, "one of these and no mixture"),
        ([1], "to be a table"),
        ({"epsilon": "1"}, "to be a number"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(plain, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        guarantee_from_plain(plain)
    assert str(caught.value).startswith("Expected ")
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("guarantee", EXAMPLES)
def test_sentences_are_short_and_plain(guarantee):
    sentence = guarantee.sentence()
    assert len(sentence.split()) < 60
    assert sentence.endswith(".")
    assert "  " not in sentence


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-5, 0.01, 0.1, 1, math.log(10), 5, 12.99, 13.01, 20, 100, 699])
def test_the_stated_factor_is_never_below_the_true_one(epsilon):
    sentence = PureDP(epsilon).sentence()
    shown = re.search(r"more than (\S+) times", sentence)[1]
    log_factor = float(shown[3:]) * math.log(10) if shown.startswith("10^") else math.log(float(shown))
    assert log_factor >= epsilon * (1 - 1e-15)
    # Rounded up by no more than a digit: a factor that is always huge would be true and useless.
    assert log_factor <= epsilon + max(2.4 if epsilon > 13 else 0.01, 0)
    assert shown in ApproxDP(epsilon, 0.01).sentence()


def test_a_planted_rounding_down_would_be_caught():
    """To the nearest three digits e is 2.72, above it, but e^1.5 = 4.4817 is 4.48, below: it must say 4.49."""
    assert "4.49 times" in PureDP(1.5).sentence()
    assert math.log(4.48) < 1.5


@pytest.mark.parametrize("epsilon", [701, 1e5, 1e12])
def test_a_huge_epsilon_does_not_overflow(epsilon):
    mu = min(epsilon, 1e6)
    for guarantee in (PureDP(epsilon), ApproxDP(epsilon, 0.5), ZCDP(epsilon), GDP(mu), RenyiDP(2, epsilon)):
        assert guarantee.sentence()
    assert "e^701 times" in PureDP(701).sentence()


def test_delta_is_stated_as_the_chance_that_all_is_lost():
    assert "outright with probability 1e-06" in ApproxDP(1, 1e-6).sentence()


@pytest.mark.parametrize("mu", [0.01, 0.5, 1, 3])
def test_the_zcdp_sentence_holds_for_the_gaussian_mechanism(mu):
    """The Gaussian mechanism is (mu^2/2)-zCDP with equality: its loss is N(rho, 2 rho), and its tail must obey."""
    rho = mu * mu / 2
    tail = rho + 2 * math.sqrt(rho * math.log(1e6))
    assert NormalDist(rho, mu).cdf(2 * rho - tail) <= 1e-6
    shown = re.search(r"more than (\S+) with", ZCDP(rho).sentence())[1]
    assert math.log(float(shown) if "^" not in shown else 10.0 ** float(shown[3:])) >= tail


def test_the_gdp_sentence_states_the_best_guess():
    assert "more than 59.9% of the time" in GDP(0.5).sentence()
    assert 0.598 < NormalDist().cdf(0.25) <= 0.599
    assert "more than 100% of the time" in GDP(50).sentence()
