"""Private chains as plans: what they refuse, what they cost by other people's accountants, and what they release."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

import tacit
from tacit.audit.black_box import ends
from tacit.audit.neighbours import collected, fillings
from tacit.audit.private_chains import furthest, recorded, transcripts
from tacit.errors import InputError, RefusedError
from tacit.mechanisms.iterative.private_sums import PrivateSums
from tacit.mechanisms.iterative.row_bounds import RowBounds
from tacit.mechanisms.private_chain.chain_settings import CHAINS
from tacit.noise.entropy import OSEntropy
from tacit.noise.noisy_steps import NoisySteps, chance_below
from tacit.report.words import explain, explain_plain

SCHEMA = tacit.Schema(y=["no", "yes"], x=(-1, 1))
MODEL = tacit.LogisticRegression("y ~ x")
BUDGET = tacit.ApproxDP(1.0, 1e-5)


def chain(kind, **said):
    if kind == "fast-mh":
        said = {"batch": max(1, said.get("n", 20) // 4), **said}
    return tacit.PrivateChain(kind, **{"n": 20, "steps": 12, **said})


def plan(kind, budget=BUDGET, **said):
    return tacit.Plan(MODEL, SCHEMA, budget, chain(kind, **said))


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-0.5 - 1.5 * x)), "yes", "no")
    return {"x": x, "y": y}


@pytest.mark.parametrize("kind", CHAINS)
def test_a_plan_is_a_text_and_back_and_a_release_is_priced_again(kind, tmp_path):
    said = plan(kind, draws=3, thin=2, options={"beta": 2.0, "weight": 0.5}, prior={"sd": 1.5})
    assert tacit.Plan.from_toml(said.to_toml()) == said
    release = tacit.privatize(rows(20), said, ledger=None)
    release.save(tmp_path / "out.json")
    again = tacit.Release.load(tmp_path / "out.json")
    assert again.values == release.values
    assert len(release.values) == 6
    assert again.law.number("beta") == 2.0
    plain = json.loads((tmp_path / "out.json").read_text())
    plain["sample"]["numbers"]["scale"] /= 2
    (tmp_path / "less.json").write_text(json.dumps(plain))
    with pytest.raises(InputError):
        tacit.Release.load(tmp_path / "less.json")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"chain": "gibbs"}, "Expected chain='gibbs' to be one of sgld, penalty, hmc, fast-mh, barker."),
        ({}, "Expected chain=None of [mechanism] to be said."),
        ({"chain": "sgld", "stepz": 3}, "did you mean 'steps'?"),
        ({"chain": "sgld", "steps": 0}, "Expected steps=0 to be a whole number from 1"),
        ({"chain": "sgld", "batch": 2.5}, "Expected batch=2.5"),
        ({"chain": "sgld", "leaps": 3}, "hmc alone leaps"),
        ({"chain": "penalty", "batch": 3}, "on a sample of rows it is fast-mh"),
        ({"chain": "fast-mh"}, "Expected batch=None to be said for chain fast-mh"),
        ({"chain": "sgld", "draws": 7, "steps": 6}, "Expected draws=7 to be among the 6 steps"),
        ({"chain": "sgld", "beta": 1.0}, "Expected beta=1.0 to be a number above 1"),
        ({"chain": "sgld", "weight": -1}, "Expected weight=-1"),
        ({"chain": "sgld", "step_size": math.inf}, "Expected step_size=inf"),
        ({"chain": "sgld", "clip": 0}, "Expected clip=0"),
    ],
)
def test_tables_that_make_no_sense_are_refused(table, message):
    with pytest.raises(InputError) as caught:
        tacit.PrivateChain.from_plain(table)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("model", "schema", "budget", "said", "message"),
    [
        (MODEL, SCHEMA, BUDGET, {"n": None}, "Expected n=None to be declared"),
        (MODEL, SCHEMA, BUDGET, {"batch": 21}, "Expected batch=21 to be less than the number of rows"),
        (MODEL, SCHEMA, tacit.PureDP(1.0), {}, "Gaussian noise is never pure"),
        (MODEL, SCHEMA, BUDGET, {"step_size": 1e6}, "the noise would swamp the steps"),
        (tacit.Bernoulli("y"), SCHEMA, BUDGET, {}, "Expected family='bernoulli'"),
        (
            MODEL,
            tacit.Schema(y=["no", "yes"], x={"bounds": [-1, 1], "clamp": False}),
            BUDGET,
            {},
            "this mechanism clamps every number",
        ),
        (tacit.PoissonRegression("c ~ x"), tacit.Schema(c=(0, 9), x=(-1, 1)), BUDGET, {}, "Expected clip=None"),
        (tacit.LinearRegression("c ~ x"), tacit.Schema(c=(0, 9), x=(-1, 1)), BUDGET, {}, "sigma_min"),
    ],
)
def test_plans_that_do_not_fit_are_refused(model, schema, budget, said, message):
    with pytest.raises(InputError) as caught:
        tacit.Plan(model, schema, budget, chain("sgld", **said))
    assert message in str(caught.value)


def test_a_wrong_number_of_rows_is_refused():
    with pytest.raises(InputError, match="Expected n=20"):
        tacit.privatize(rows(21), plan("sgld"), ledger=None)


def gaussian_delta(mu, epsilon):
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def sampled_delta(multiplier, rate, steps, epsilon):
    """dp-accounting's loss distribution for replace-one, an upper bound of its own."""
    import dp_accounting
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_gaussian_mechanism(
        multiplier,
        sampling_prob=rate,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=1e-4,
    )
    return one.self_compose(steps).get_delta_for_epsilon(epsilon)


SETTINGS = [  # epsilon, delta, n, steps
    (1.0, 1e-5, 500, 200),
    (0.3, 1e-3, 60, 30),
    (3.0, 1e-6, 1000, 1000),
    (8.0, 1e-4, 40, 5),
    (0.8, 1e-2, 5000, 3000),
]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", CHAINS)
def test_the_price_agrees_with_an_independent_accountant(kind, setting):
    """No randomness. The noise is the least for the budget to 1 in 1000, by a closed form for all rows and by
    dp-accounting for samples; the planted faults, a sensitivity of 1 instead of 2 and one sum too few a step of hmc,
    miss it."""
    epsilon, delta, n, steps = setting
    said = {"n": n, "steps": steps, **({"batch": n // 10} if kind == "fast-mh" else {})}
    found = plan(kind, tacit.ApproxDP(epsilon, delta), **said)
    numbers = dict(found.crossing().law.numbers)
    multiplier = numbers["scale"] / 2**24
    asked = steps * (4 if kind == "hmc" else 1)
    if kind == "fast-mh":
        truth = sampled_delta(multiplier, (n // 10) / n, asked, epsilon)
        assert truth == pytest.approx(delta, rel=5e-3)
    else:
        truth = gaussian_delta(2 * math.sqrt(asked) / multiplier, epsilon)
        assert delta * 0.99 < truth <= delta * (1 + 1e-9)
        assert gaussian_delta(math.sqrt(asked) / multiplier, epsilon) < delta / 2
    assert found.event().delta(epsilon) == pytest.approx(truth, rel=5e-3)


@pytest.mark.parametrize(
    ("kind", "batch"), [("sgld", 100), ("hmc", 100), ("barker", 100), ("sgld", 20), ("barker", 20)]
)
def test_samples_of_rows_are_priced_as_such(kind, batch):
    """No randomness; dp-accounting."""
    found = plan(kind, n=400, steps=150, batch=batch)
    multiplier = dict(found.crossing().law.numbers)["scale"] / 2**24
    asked = 150 * (4 if kind == "hmc" else 1)
    assert sampled_delta(multiplier, batch / 400, asked, 1.0) == pytest.approx(1e-5, rel=5e-3)


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_asks_no_more_than_it_pays_for(kind):
    found = plan(kind, steps=7)
    crossing = found.crossing()
    (one,) = collected(found, ends(found)[:1], 20, fillings(found)[0])
    record = recorded(crossing, one, 20)
    paid = crossing.chain.chain.sums
    assert len(record) <= paid
    if kind in ("sgld", "penalty", "hmc"):
        assert len(record) == paid == 7 * (4 if kind == "hmc" else 1)
    evidence = crossing.chain.evidence(dict(crossing.drawn.numbers), one, OSEntropy())
    for _ in range(paid):
        evidence.gradient(np.zeros(2))
    with pytest.raises(RuntimeError, match="more than it paid for"):
        evidence.gradient(np.zeros(2))


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_evidence_has_the_mean_and_the_noise_that_it_says(rate):
    """Fresh entropy; false-alarm rate 1e-5 (ten tests at 1e-6). 600 answers about rows whose sums are computed here."""
    from private_toy import SLOPE, X, Y, gradients, losses

    crossing = plan("sgld", n=40).crossing()
    loss = crossing.chain.inner
    loss = type(loss)(loss.rows, loss.sampling, loss.density, 1.5)
    bounds = RowBounds(2.0, SLOPE, True)
    steps = NoisySteps(3 * 2**24, chance_below(rate), 10_000)
    evidence = PrivateSums(loss, 0.7, bounds, steps, X, Y, OSEntropy())
    theta, other = np.array([0.3, -0.5]), np.array([0.4, -0.45])
    exact = 0.7 * gradients(theta).sum(axis=0)
    found = np.array([evidence.gradient(theta) for _ in range(600)])
    spread = np.sqrt(evidence.gradient_sd**2 + (1 - rate) / rate * 0.49 * (gradients(theta) ** 2).sum(axis=0))
    for j in (0, 1):
        assert kstest((found[:, j] - exact[j]) / spread[j], "norm").pvalue > 1e-6
        assert kstest((found[:, j] - exact[j]) / (2 * spread[j]), "norm").pvalue < 1e-4, "half the noise would be seen"
    sd = evidence.ratio_sd(theta, other)
    assert sd == evidence.ratio_sd(other, theta)
    d = 0.7 * (losses(theta) - losses(other))
    ratios = np.array([evidence.log_ratio(theta, other) for _ in range(600)])
    if rate == 1:
        assert sd == pytest.approx(3 * 0.7 * SLOPE * np.linalg.norm(other - theta))
        assert kstest((ratios - d.sum()) / sd, "norm").pvalue > 1e-6
    else:
        # The mean of a sampled ratio is the sum of r_i h_i; its variance that of the noise and of the coins.
        bound, ceiling = 0.7 * SLOPE * np.linalg.norm(other - theta), -math.log1p(-rate)
        low = ceiling - (bound + d) / 2
        kept, h = -np.expm1(-low), np.log(np.expm1(low + d) / np.expm1(low))
        mean, variance = (kept * h).sum(), sd**2 + (kept * (1 - kept) * h**2).sum()
        assert kstest((ratios - mean) / math.sqrt(variance), "norm").pvalue > 1e-6
    assert evidence.ratio_sd(theta, theta) == math.inf, "a proposal that does not move is not asked about"


def test_a_sampled_ratio_of_far_points_is_not_asked_about():
    crossing = plan("fast-mh", n=20, batch=2).crossing()
    (one,) = collected(plan("fast-mh"), ends(plan("fast-mh"))[:1], 20, fillings(plan("fast-mh"))[0])
    evidence = crossing.chain.evidence(dict(crossing.drawn.numbers), one, OSEntropy())
    assert evidence.ratio_sd(np.zeros(2), np.array([5.0, 5.0])) == math.inf


def test_a_long_langevin_chain_comes_to_the_posterior():
    """Fresh entropy. With hardly any noise (mu = 200) the end of 400 steps is a draw from the beta-divergence posterior
    of 2,000 rows, up to the step; its coefficients lie within 6 posterior standard deviations (about 0.1 and 0.15) of
    where the data were made with probability beyond 1 - 1e-6."""
    found = plan("sgld", tacit.GDP(200.0), n=2000, steps=400, draws=50)
    values = tacit.drawn(tacit.privatize(rows(2000), found, ledger=None)).values
    assert values.mean(axis=0) == pytest.approx([0.5, 1.5], abs=0.9)
    assert np.ptp(values[:, 1]) > 0.01


def test_other_models_run():
    """Linear with a declared sigma_min, softmax, and by clipping Poisson and a network; a failure would be released."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 50)
    cases = {
        "linear": (tacit.LinearRegression("c ~ x"), tacit.Schema(c=(0, 9), x=(-1, 1)), {"options": {"sigma_min": 1.0}}),
        "softmax": (tacit.SoftmaxRegression("l ~ x"), tacit.Schema(l=["a", "b", "c"], x=(-1, 1)), {}),
        "poisson": (tacit.PoissonRegression("c ~ x"), tacit.Schema(c=(0, 9), x=(-1, 1)), {"clip": 1.0}),
        "network": (tacit.Network("y ~ x", hidden=3), SCHEMA, {"clip": 1.0}),
    }
    data = {
        "x": x,
        "c": rng.integers(0, 9, 50),
        "l": rng.choice(["a", "b", "c"], 50),
        "y": rng.choice(["no", "yes"], 50),
    }
    for name, (model, schema, said) in cases.items():
        found = tacit.Plan(model, schema, tacit.ApproxDP(2.0, 1e-5), chain("sgld", n=50, **said))
        release = tacit.privatize({c: data[c] for c in schema}, found, ledger=None)
        assert np.all(np.isfinite(tacit.drawn(release).values)), name
    assert tacit.drawn(release).predict({"x": [0.0]}).mean.shape == (1,)


def test_the_words_say_what_is_asked_of_the_rows():
    words = "\n".join(explain(plan("hmc", batch=5)))
    assert "48 sums over about 5 of 20 rows, picked anew each time" in words
    assert "the price covers all of them, and so every state" in words
    assert "Assumes: nobody sees how long the chain took." in words
    assert "exact draw" not in words, "nothing is taken for granted about convergence"
    assert explain_plain(plan("sgld"))["sample"]["sampler"] == "sgld"
    network = tacit.Plan(tacit.Network("y ~ x", hidden=2), SCHEMA, BUDGET, chain("penalty", clip=0.5))
    assert "Gradients longer than 0.5 are cut, which bends the posterior." in "\n".join(explain(network))


def test_a_ledger_pays_once(tmp_path):
    tacit.Ledger.create(tmp_path / "l.db").new_dataset("d", BUDGET)
    tacit.privatize(rows(20), plan("barker"), ledger=tmp_path / "l.db", dataset="d")
    with pytest.raises(RefusedError):
        tacit.privatize(rows(20), plan("barker"), ledger=tmp_path / "l.db", dataset="d")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        pytest.param("sgld", {}, marks=pytest.mark.slow),
        ("sgld", {"batch": 2}),
        pytest.param("penalty", {}, marks=pytest.mark.slow),
        pytest.param("hmc", {"leaps": 1}, marks=pytest.mark.slow),
        ("fast-mh", {"batch": 2}),
        pytest.param("barker", {}, marks=pytest.mark.slow),
    ],
)
def test_an_attack_on_every_sum_proves_no_more_than_is_claimed(kind, said):
    """Fresh entropy; false-alarm rate 1e-6. `test_faults` holds what the same audit must see."""
    found = tacit.audit(plan(kind, tacit.ApproxDP(0.1, 0.5), n=3, steps=2, **said), runs=400, level=1e-6)
    assert found.verdict != "violated", found.sentence()


def test_the_attack_has_power():
    """Fresh entropy; fails with probability below 1e-6. Full rows: the scores of 500 runs on either side are apart by
    at least half of mu = 2 sqrt(steps) / multiplier, in their own standard deviations, and by no more than mu."""
    found = plan("sgld", tacit.GDP(3.0), n=3, steps=3)
    crossing = found.crossing()
    filling = fillings(found)[0]
    pair = furthest(crossing, found, ends(found), filling)
    first, second = (np.array(one.scores) for one in transcripts(crossing, found, pair, filling, 500))
    apart = (second.mean() - first.mean()) / math.sqrt((first.var() + second.var()) / 2)
    assert 1.5 < apart < 3.0 + 0.5
