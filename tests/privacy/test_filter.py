"""Whoever picks releases one by one, in view of the earlier ones, never gets past a total."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.privacy import gaussian
from tacit.privacy.approximate_filter import Limits, limits
from tacit.privacy.events import BoundedRangeEvent, GaussianEvent, LaplaceEvent, PureEvent, RenyiEvent
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.privacy.price_sums import as_declared, written_down, written_up
from tacit.privacy.rounding import float_above, float_below

TOTALS = [
    PureDP(1.0),
    PureDP(0.3),
    ZCDP(0.5),
    ZCDP(0.01),
    GDP(1.0),
    GDP(0.2),
    RenyiDP(8.0, 1.0),
    RenyiDP(1.5, 0.25),
    ApproxDP(1.0, 1e-6),
    ApproxDP(0.1, 0.01),
    ApproxDP(4.0, 1e-9),
]
APPROXIMATE = [total for total in TOTALS if isinstance(total, ApproxDP)]


# An independent price list: every formula again, straight from its definition, for the lists that a filter let through.


@cache
def _renyi_again(event, order):
    if isinstance(event, GaussianEvent):
        return order * float(event.mu_squared) / 2
    if isinstance(event, RenyiEvent):
        return float(event.divergence) if order <= event.order else math.inf
    e = float(event.pure)
    if isinstance(event, BoundedRangeEvent):
        worst = 0.0
        for i in range(1, 50):  # the two-point pair at each offset t, as in Dong, Durfee, Rogers 2020
            t = e * i / 50
            q = (math.exp(-t) - math.exp(-e)) / -math.expm1(-e)
            p = q * math.exp(t)
            pair = (
                order * math.log(p) + (1 - order) * math.log(q),
                order * math.log1p(-p) + (1 - order) * math.log1p(-q),
            )
            worst = max(worst, max(pair) + math.log1p(math.exp(-abs(pair[0] - pair[1]))))
        return worst / (order - 1)
    if isinstance(event, LaplaceEvent):  # the continuous distribution, a lower bound on the price of the discrete one
        a = order
        return (
            e + math.log(a / (2 * a - 1) + (a - 1) / (2 * a - 1) * math.exp(-(2 * a - 1) * e)) / (a - 1)
            if (2 * a - 1) * e < 700
            else e + math.log(a / (2 * a - 1)) / (a - 1)
        )
    p = 1 / (1 + math.exp(-e))
    terms = order * math.log(p) + (1 - order) * math.log1p(-p), order * math.log1p(-p) + (1 - order) * math.log(p)
    return (max(terms) + math.log1p(math.exp(-abs(terms[0] - terms[1])))) / (order - 1)


def _mu_squared_again(event):
    if isinstance(event, GaussianEvent):
        return float(event.mu_squared) if event.slack == 0 else math.inf
    if isinstance(event, RenyiEvent):
        return math.inf
    pure = float(event.pure) / (2 if isinstance(event, BoundedRangeEvent) else 1)
    return (2 * NormalDist().inv_cdf(1 / (1 + math.exp(-pure)))) ** 2


def _rho_again(event):
    if isinstance(event, GaussianEvent):
        return float(event.mu_squared) / 2
    if isinstance(event, RenyiEvent):
        return math.inf
    if isinstance(event, BoundedRangeEvent):
        e = float(event.pure)
        return math.log(math.expm1(e) / e) - 1 + e / math.expm1(e)
    return float(event.pure) * math.tanh(float(event.pure) / 2)


def _delta_again(events, epsilon):
    """delta of the list, seen as fixed beforehand: by Renyi at 60 orders, by mu, and by pure epsilon."""
    found = 1.0
    if all(not isinstance(event, GaussianEvent | RenyiEvent) for event in events):
        pure = sum(event.pure for event in events)
        found = 0.0 if pure <= as_declared(epsilon) else 1.0
    mu_squared = sum(float(e.mu_squared) if isinstance(e, GaussianEvent) else _mu_squared_again(e) for e in events)
    if mu_squared < math.inf:
        mu, n = math.sqrt(mu_squared), NormalDist()
        slack = sum(float(event.slack) for event in events if isinstance(event, GaussianEvent))
        ideal = n.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * n.cdf(-mu / 2 - epsilon / mu)
        found = min(found, ideal + (1 + math.exp(epsilon)) * slack)
    counts = Counter(events)
    for i in range(60):
        order = 1 + 20000 ** (i / 59) / 10
        tau = sum(n * _renyi_again(event, order) for event, n in counts.items())
        log_delta = (order - 1) * (tau - epsilon + math.log1p(-1 / order)) - math.log(order)
        found = min(found, math.exp(min(0.0, log_delta)))
    return found


def keeps(total, events):
    """Whether a list that was let through keeps its total, by the formulas above (to one part in 10^9)."""
    if not events:
        return True
    match total:
        case PureDP(epsilon=epsilon):
            return all(isinstance(e.epsilon(), Fraction) for e in events) and sum(
                e.pure for e in events
            ) <= as_declared(epsilon)
        case ZCDP(rho=rho):
            return math.fsum(map(_rho_again, events)) <= rho * (1 + 1e-9)
        case GDP(mu=mu):
            return math.fsum(map(_mu_squared_again, events)) <= mu**2 * (1 + 1e-9)
        case RenyiDP(order=order, epsilon=epsilon):
            return math.fsum(_renyi_again(event, order) for event in events) <= epsilon * (1 + 1e-9)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _delta_again(events, epsilon) <= delta * (1 + 1e-9)


def request(rng, size):
    """A random event whose price is of the order of ``size`` in epsilon."""
    size = Fraction(1 + round(size * math.exp(rng.gauss(0, 1)) * 10**6), 10**6)
    match rng.randrange(6):
        case 0:
            return LaplaceEvent(size, rng.choice([1, 5, 2**15]))
        case 1:
            return GaussianEvent(size**2 / 4, 0)
        case 2:
            return GaussianEvent(size**2 / 4, Fraction(1, 10**14))
        case 3:
            return PureEvent(size)
        case 4:
            return BoundedRangeEvent(size)
        case _:
            return RenyiEvent(rng.choice([2, 8, 32]), size)


def play(total, admits, *, requests=1000, seed):
    """An analyst who reacts: refusals make the next request smaller, lucky outcomes make it bolder."""
    rng = random.Random(seed)
    scale = {PureDP: 0.3, ZCDP: 0.3, GDP: 0.3, RenyiDP: 0.2, ApproxDP: 0.2}[type(total)]
    size, spent = scale, []
    for _ in range(requests):
        event = request(rng, size)
        if spent and rng.random() < 0.7:  # mostly more of the same, so that no route dies at once
            kind = type(rng.choice(spent))
            while not isinstance(event, kind):
                event = request(rng, size)
        if admits(spent, event):
            spent.append(event)
            size *= math.exp(rng.choice([-0.3, 0.3]))
        else:
            size = max(size * 0.9, 0.003)
    return spent


@pytest.mark.parametrize("total", TOTALS, ids=lambda t: t.symbols)
def test_a_thousand_adaptive_requests_never_pass_the_total(total):
    """Seed 1; no false alarms, as the check is by proved bounds. The next two tests plant faults that it must catch."""
    spent = play(total, Filter(total).admits, seed=1)
    assert len(spent) > 3
    assert keeps(total, spent)
    assert Filter(total).within(spent)


@pytest.mark.parametrize("total", TOTALS, ids=lambda t: t.symbols)
def test_a_filter_that_forgets_events_is_caught(total):
    """Planted fault: every second event is forgotten. Seed 3."""
    spent = play(total, lambda spent, new: Filter(total).admits(spent[::2], new), requests=300, seed=3)
    assert not keeps(total, spent)
    assert not Filter(total).within(spent)


def test_a_filter_that_adds_epsilons_of_approximate_privacy_is_caught():
    """Planted fault: each release is priced by its epsilon at the total's delta, and these are added."""
    total = ApproxDP(0.1, 0.01)
    event = GaussianEvent(Fraction(1, 40**2), 0)
    epsilon = gaussian.epsilon_for(event.mu(), total.delta)
    assert epsilon == 0.0  # its delta at epsilon 0 is below 0.01 already, so the sum never grows
    admitted = [event] * 1000
    assert sum(gaussian.epsilon_for(e.mu(), total.delta) for e in admitted) <= total.epsilon
    assert not keeps(total, admitted)
    assert not Filter(total).within(admitted)
    honest = max(n for n in range(60) if Filter(total).within([event] * n))
    assert 1 < honest < 59


# (epsilon, delta): the shares of delta, and the best adversary there is.


def spent_delta(total: ApproxDP, found: Limits) -> float:
    """What the limits of all routes use of delta, computed back from them."""
    e = total.epsilon
    used = gaussian.delta(e, math.sqrt(found.mu_squared)) + (1 + math.exp(e)) * float(found.slack)
    for a, limit in zip(found.orders, found.renyi, strict=True):
        if limit > -math.inf:
            used += math.exp((a - 1) * (limit - e) + (a - 1) * math.log1p(-1 / a) - math.log(a))
    return used


FIRSTS = [
    GaussianEvent(Fraction(1, 100), 0),
    GaussianEvent(Fraction(1, 100), Fraction(1, 10**15)),
    GaussianEvent(Fraction(1, 100), Fraction(1, 100)),
    LaplaceEvent(Fraction(1, 10), 2**15),
    RenyiEvent(Fraction(21, 10), Fraction(1, 10)),
    RenyiEvent(64, Fraction(1, 10)),
]


@pytest.mark.parametrize("total", APPROXIMATE, ids=lambda t: t.symbols)
@pytest.mark.parametrize("first", FIRSTS, ids=lambda e: str(e.to_plain()))
def test_the_shares_of_delta_add_up_to_delta_at_most(total, first):
    found = limits(total, first)
    assert 0.9 * total.delta < spent_delta(total, found) <= total.delta
    # Planted fault: every order is given all of delta, as if it had been chosen beforehand.
    naive = replace(
        found,
        renyi=tuple(
            total.epsilon + (math.log(total.delta) - (a - 1) * math.log1p(-1 / a) + math.log(a)) / (a - 1)
            for a in found.orders
        ),
    )
    assert spent_delta(total, naive) > 10 * total.delta


def test_the_own_order_of_a_first_renyi_event_is_in_the_grid():
    for order in (Fraction(21, 10), Fraction(10, 3), Fraction(64), Fraction(1001, 1000)):
        first = RenyiEvent(order, Fraction(1, 100))
        grid = limits(ApproxDP(1.0, 1e-6), first).orders
        assert 0 <= order - Fraction(max(grid)) <= order * Fraction(1, 2**52)
        assert all(first.renyi(a) < math.inf for a in grid)


@dataclass(frozen=True)
class Game:
    """Randomised response in steps of ``unit``, several ``sizes`` of it to choose from, against a total."""

    total: ApproxDP
    unit: float
    sizes: tuple[int, ...]

    def list_of(self, first, counts):
        rest = list(counts)
        rest[first] -= 1
        events = [PureEvent(Fraction(self.unit) * self.sizes[first])]
        for size, count in zip(self.sizes, rest, strict=True):
            events += [PureEvent(Fraction(self.unit) * size)] * count
        return events

    def worst_delta(self, admits):
        """The largest delta over all adaptive strategies, exactly: dynamic programming over counts and the loss."""

        @cache
        def allowed(first, counts):
            return admits(first, counts)

        @cache
        def value(first, counts, loss):
            best = max(0.0, -math.expm1(self.total.epsilon - loss * self.unit))
            for i, size in enumerate(self.sizes):
                more = tuple(c + (j == i) for j, c in enumerate(counts))
                start = i if first is None else first
                if allowed(start, more):
                    up = 1 / (1 + math.exp(-self.unit * size))
                    won, lost = value(start, more, loss + size), value(start, more, loss - size)
                    best = max(best, up * won + (1 - up) * lost)
            return best

        return value(None, (0,) * len(self.sizes), 0)


GAMES = [
    Game(ApproxDP(1.0, 0.05), 0.1, (1, 2)),
    Game(ApproxDP(1.0, 0.01), 0.1, (1, 3)),
    Game(ApproxDP(1.0, 1e-3), 0.1, (1, 4)),
    Game(ApproxDP(2.0, 0.05), 0.25, (1, 3)),
]


@pytest.mark.parametrize("game", GAMES, ids=lambda g: f"{g.total.symbols} {g.sizes}")
def test_the_best_adversary_stays_below_delta(game):
    """Exact, no randomness. The planted filter sees only every second event of each size, and is beaten."""
    total = Filter(game.total)
    honest = game.worst_delta(lambda first, counts: total.within(game.list_of(first, counts)))
    assert 0 < honest <= game.total.delta
    halved = game.worst_delta(
        lambda first, counts: total.within(game.list_of(first, tuple((c + 1) // 2 for c in counts)))
    )
    assert halved > game.total.delta


@pytest.mark.parametrize(
    "total", [ApproxDP(0.1, 1e-6), ApproxDP(1.0, 1e-5), ApproxDP(4.0, 1e-9)], ids=lambda t: t.symbols
)
@pytest.mark.parametrize("count", [10, 100])
def test_little_is_lost_against_a_list_fixed_beforehand(total, count):
    """Of the mu^2 that exact Gaussian composition allows, the filter gives at least 99%; by Renyi at least 75%."""
    exact = Fraction(gaussian.mu_for(total.epsilon, total.delta)) ** 2 / count
    filter_ = Filter(total)
    assert filter_.within([GaussianEvent(exact * Fraction(99, 100), 0)] * count)
    assert not filter_.within([GaussianEvent(exact * Fraction(1001, 1000), 0)] * count)
    coarse = Fraction(1, 100)  # so far from a rounded Gaussian that only the Renyi route is open
    assert filter_.within([GaussianEvent(exact * Fraction(75, 100), coarse)] * count)


def test_slack_is_paid_for():
    total = Filter(ApproxDP(1.0, 1e-6))
    event = GaussianEvent(Fraction(1, 10**6), Fraction(1, 10**10))
    room = float(limits(total.total, event).slack)
    assert room * (1 + math.e) <= 1e-6 / 32
    many = [event] * math.floor(room / 1e-10)
    assert limits(total.total, event).less(many).slack >= 0
    assert limits(total.total, event).less([*many, event]).slack < 0


# What holds for every filter.


def events(kinds=("laplace", "gaussian", "slack", "pure", "range", "renyi")):
    size = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1), max_denominator=10**6)
    made = {
        "laplace": st.builds(LaplaceEvent, size, st.sampled_from([1, 7, 2**15])),
        "gaussian": st.builds(lambda s: GaussianEvent(s**2, 0), size),
        "slack": st.builds(lambda s: GaussianEvent(s**2, Fraction(1, 10**12)), size),
        "pure": st.builds(PureEvent, size),
        "range": st.builds(BoundedRangeEvent, size),
        "renyi": st.builds(RenyiEvent, st.sampled_from([2, 8, 32]), size),
    }
    return st.one_of(*(made[kind] for kind in kinds))


@settings(max_examples=150, deadline=None)
@given(total=st.sampled_from(TOTALS), spent=st.lists(events(), max_size=6))
def test_every_beginning_of_an_admitted_list_is_admitted(total, spent):
    if Filter(total).within(spent):
        assert all(Filter(total).within(spent[:i]) for i in range(len(spent)))


@settings(max_examples=150, deadline=None)
@given(
    total=st.sampled_from(TOTALS), spent=st.lists(events(), max_size=4), size=st.fractions("1/1000", 1), data=st.data()
)
def test_a_cheaper_event_fits_wherever_a_dearer_one_does(total, spent, size, data):
    less = size * data.draw(st.fractions("1/100", 1))
    for dear, cheap in (
        (GaussianEvent(size, 0), GaussianEvent(less, 0)),
        (LaplaceEvent(size, 7), LaplaceEvent(less, 7)),
        (PureEvent(size), PureEvent(less)),
        (PureEvent(size), LaplaceEvent(size, 7)),
        (RenyiEvent(8, size), RenyiEvent(8, less)),
    ):
        if Filter(total).admits(spent, dear):
            assert Filter(total).admits(spent, cheap)


@settings(max_examples=200, deadline=None)
@given(total=st.sampled_from(TOTALS), event=events())
def test_a_first_event_that_satisfies_the_total_is_admitted(total, event):
    if event.satisfies(total):
        assert Filter(total).admits([], event)


@pytest.mark.parametrize("total", APPROXIMATE, ids=lambda t: t.symbols)
def test_one_release_may_use_up_the_whole_total_and_is_then_the_last(total):
    whole = GaussianEvent(Fraction(gaussian.mu_for(total.epsilon, total.delta)) ** 2, 0)
    assert Filter(total).admits([], whole)
    assert Filter(total).left([whole]) is None
    assert not Filter(total).admits([whole], PureEvent(Fraction(1, 10**9)))


def test_totals_are_read_as_written():
    tenth = LaplaceEvent(Fraction(1, 10), 100)
    assert Fraction(0.3) < Fraction(3, 10)
    assert Filter(PureDP(0.3)).within([tenth] * 3)
    assert Filter(PureDP(1.0)).within([tenth] * 10)
    assert not Filter(PureDP(1.0)).within([tenth] * 10 + [PureEvent(Fraction(1, 10**30))])
    assert Filter(ApproxDP(0.3, 1e-9)).within([tenth] * 3)
    assert Filter(RenyiDP(8.0, 0.3)).within([RenyiEvent(9, Fraction(1, 10))] * 3)
    assert Filter(ZCDP(0.3)).within([GaussianEvent(Fraction(2, 10), 0)] * 3)
    assert Filter(GDP(0.3)).within([GaussianEvent(Fraction(9, 300), 0)] * 3)


@pytest.mark.parametrize("total", TOTALS, ids=lambda t: t.symbols)
def test_what_is_left_fits_and_no_more(total):
    """Seed 5: what `left` and `largest_fit` say after 0 to 40 requests is admitted, and 1% more is not."""
    kinds = {
        PureDP: PureEvent,
        GDP: lambda x: GaussianEvent(Fraction(x) ** 2, 0),
        ZCDP: lambda x: GaussianEvent(2 * x, 0),
    }
    for requests in (0, 1, 5, 40):
        filter_ = Filter(total)
        spent = play(total, filter_.admits, requests=requests, seed=5)
        left, said = filter_.left(spent), filter_.largest_fit(spent)
        if left is None:
            assert said == "no release would fit"
            continue
        assert type(left) is type(total)
        if isinstance(total, ApproxDP):
            for number, event in (
                (_number_after(said, "Gaussian noise up to epsilon ="), lambda x: _gaussian_plan(x, total.delta)),
                (_number_after(said, "Laplace noise up to epsilon ="), PureEvent),
            ):
                if number is not None:
                    assert filter_.admits(spent, event(number))
                    assert not filter_.admits(spent, event(1.01 * number))
            continue
        number = _number_after(
            said, f"{'rho' if isinstance(total, ZCDP) else 'mu' if isinstance(total, GDP) else 'epsilon'} ="
        )
        order = getattr(total, "order", 2)
        event = kinds.get(type(total), lambda x, order=order: RenyiEvent(order, x))
        assert filter_.admits(spent, event(Fraction(str(number))))
        assert filter_.admits(spent, event(getattr(left, left.parameters()[-1])))
        assert not filter_.admits(spent, event(1.01 * number))


def _gaussian_plan(epsilon, delta):
    return GaussianEvent(Fraction(gaussian.mu_for(epsilon, delta)) ** 2, 0)


def _number_after(text, words):
    return float(text.split(words, 1)[1].split()[0]) if words in text else None


@pytest.mark.parametrize("total", TOTALS, ids=lambda total: total.symbols)
def test_what_is_left_is_under_the_relation_of_the_total(total):
    """Under the other one it would promise something else, and a plan that asked for it would be refused."""
    added = replace(total, neighbours="add-remove")
    for spent in ([], [PureEvent(1e-3)], [GaussianEvent(Fraction(1, 10**6), 0)]):
        left = Filter(added).left(spent)
        assert left is None or left.neighbours == "add-remove"


def test_a_refusal_says_what_is_left_and_what_would_fit():
    half = LaplaceEvent(Fraction(1, 2), 100)
    assert Filter(PureDP(1.0)).why_not([half], LaplaceEvent(Fraction(2, 3), 100)) == (
        "it costs epsilon = 0.666667, and epsilon = 0.5 is left of epsilon = 1; "
        "a plan with epsilon = 0.5 or less would fit"
    )
    assert Filter(PureDP(1.0)).why_not([half, half], half) == (
        "it costs epsilon = 0.5, and nothing is left of epsilon = 1; no release would fit"
    )
    assert Filter(GDP(1.0)).why_not([], GaussianEvent(Fraction(1, 4), Fraction(1, 10**12))) == (
        "nothing is proved about its mu, and the total is mu = 1; a plan with mu = 1 or less would fit"
    )
    assert Filter(RenyiDP(8.0, 1.0)).why_not([], RenyiEvent(4, 1)) == (
        "nothing is proved about its epsilon, and the total is order = 8, epsilon = 1; "
        "a plan with epsilon = 1 at order = 8 or less would fit"
    )
    said = Filter(ApproxDP(1.0, 1e-6)).why_not([GaussianEvent(Fraction(1, 25), 0)], GaussianEvent(1, 0))
    assert said.startswith(
        "it costs more than is left of epsilon = 1, delta = 1e-06; a plan with Gaussian noise up to epsilon"
    )
    assert said.endswith("would fit")


def test_a_total_must_be_a_guarantee():
    with pytest.raises(InputError, match="Expected total=1"):
        Filter(1)  # pyright: ignore[reportArgumentType]


@given(st.fractions(min_value="1/1000000", max_value=10**6))
def test_rounding_has_a_direction(x):
    assert Fraction(float_below(x)) <= x <= Fraction(float_above(x))
    assert Fraction(written_down(x)) <= x <= Fraction(written_up(x)) * (1 + Fraction(1, 10**8))
    assert Fraction(written_up(x)) - Fraction(written_down(x)) <= x / 10**4


def test_numbers_are_written_for_people():
    assert [written_down(x) for x in (Fraction(1, 4), 1.0, 1e-7, 12345678.9, Fraction(2, 3))] == [
        "0.25",
        "1",
        "1e-07",
        "12345600",
        "0.666666",
    ]
    assert written_up(0.1 + 0.2) == "0.3"
