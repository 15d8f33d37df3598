"""Smoothed derivatives of the mean of a response, against high-precision integrals and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from scipy.stats import poisson

from tacit.errors import InputError

# F_k = E[f^(k)(u)], k = 0 .. 4, for u ~ N(mu, sd^2), by quadrature in 30 digits: mu, sd, then tanh(u/2) and softplus.
STEIN = [
    (0, 0, [0.0, 0.5, 0.0, -0.25, 0.0], [0.6931471805599453, 0.5, 0.25, 0.0, -0.125]),
    (
        *(0, 0.5),
        [0.0, 0.47208884487975933, 0.0, -0.20032735423474698, 0.0],
        [0.723492801065976, 0.5, 0.23604442243987966, 0.0, -0.10016367711737349],
    ),
    (
        *(0, 3),
        [0.0, 0.22967580954782107, 0.0, -0.019332126685063317, 0.0],
        [1.3940780431585997, 0.5, 0.11483790477391054, 0.0, -0.009666063342531658],
    ),
    (
        *(-1.5, 4),
        [-0.2682529951219438, 0.17189240537925893, 0.013556779465424456, -0.007959713820357261, -0.0020699025489876667],
        [1.1013896624514763, 0.3658735024390281, 0.08594620268962946, 0.006778389732712228, -0.003979856910178631],
    ),
]

# I_k = E[(u - mu)^k f(u)], k = 0 .. 4, in the same way, for E[y | u] and E[y^2 | u].
INTEGRALS = {
    (0, 1): {
        "logistic": [0, 0.41324192828381406, 0, 1.1149328169329238, 0],
        "softplus": [0.8060591833474398, 0.5, 1.0126801474893468, 1.5, 3.5955068509345023],
        "softplus^2": [
            1.7273050922067401,
            1.5126801474893468,
            2.8405300013079073,
            5.095506850934503,
            11.872204400777704,
        ],
        "clamped": [0.8030203910565263, 0.4939367855080042, 0.9988664819155227, 1.4654395586762434, 3.5022064051496598],
        "clamped^2": [1.691572826498546, 1.4407643954269531, 2.675479351564503, 4.679763929155884, 10.742690025415616],
    },
    (0, 6): {
        "logistic": [0, 4.5869992561183865, 0, 343.51440083687794, 0],
        "softplus": [2.4997952039631053, 18.0, 172.55861395280274, 1944.0, 24819.5895219665],
        "softplus^2": [20.649806449592504, 190.55861395280274, 2117.1879059560947, 26763.5895219665, 374749.3192550094],
        "clamped": [1.7116367732097275, 10.15284604486092, 84.02618255662173, 833.7186224112226, 9568.330587549024],
        "clamped^2": [7.181344931443358, 47.609286763958245, 406.04820016134005, 4100.922225002857, 47430.098337214804],
    },
    (0, 10): {
        "logistic": [0, 7.851912021872815, 0, 1594.947782880159, 0],
        "softplus": [4.054313031171149, 50.0, 798.0269042107557, 15000.0, 319155.4604072346],
        "softplus^2": [54.147930058422716, 848.0269042107557, 15798.464612326665, 334155.4604072346, 7819163.314637388],
        "clamped": [1.9909413649316567, 18.680420355215112, 245.3967077953194, 3965.62375761529, 74855.44907699624],
        "clamped^2": [9.042003731548748, 91.06908860629554, 1215.7133568528582, 19767.659301654767, 373869.78011033556],
    },
    (0.4, 1.3): {
        "logistic": [
            0.1496329838077683,
            0.6240708971733597,
            0.15072681851236938,
            2.7508131215338154,
            0.4755498592499392,
        ],
        "softplus": [1.089021689295354, 0.9714398713175643, 2.367786563020637, 4.838880926696319, 14.329114962210703],
        "softplus^2": [2.883016795360246, 3.679100172723572, 8.608901540874847, 20.943576237391177, 62.0574003352319],
        "clamped": [1.0745995925068552, 0.9359688847326597, 2.2678688949246384, 4.528561131515529, 13.285520160263369],
        "clamped^2": [2.7083010123098004, 3.243808121729544, 7.369088866110118, 17.053478001236385, 48.848667456270604],
    },
}

# E[(u - mu)^k exp(alpha u)] at mu = 0.2, sd = 0.9.
LOG_LINK = {
    1: [1.8312522088857732, 1.4833142891974764, 2.6847988634474325, 4.577656227892332, 10.23196278277005],
    2: [7.538324933661922, 12.212086392532315, 25.88962315216851, 61.72476946241533, 162.90591078888232],
}


@pytest.fixture(autouse=True)
def _float64():
    from tacit.runtime.backend import float64

    with float64():
        yield


def _expectations(link, mean, sd):
    import jax

    from tacit.likelihoods.link_moments import expectations

    compiled = jax.jit(expectations, static_argnums=0)
    return np.asarray(compiled(link, np.asarray(mean, float), np.asarray(sd, float) ** 2))


def _integrals(orders, sd):
    """I_k from F_k: E[(u - mu)^k f] by Stein's identity."""
    g = orders * sd ** np.arange(5.0)
    return np.array([g[0], g[1], g[0] + g[2], 3 * g[1] + g[3], 3 * g[0] + 6 * g[2] + g[4]]) * sd ** np.arange(5.0)


@pytest.mark.parametrize(("mean", "sd", "tanh", "softplus"), STEIN)
def test_smoothed_derivatives(mean, sd, tanh, softplus):
    """To 1e-13. The planted fault is the sign that kulkarni2021 prints in equation (6): off by at least 0.3."""
    from tacit.likelihoods.link_moments import Link

    found = _expectations(Link("logistic"), mean, sd)
    np.testing.assert_allclose(found[0], tanh, atol=1e-13)
    np.testing.assert_allclose(found[1], [1, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(_expectations(Link("softplus"), mean, sd)[0], softplus, atol=1e-13)
    assert np.abs(-found[0] - tanh).max() > 0.3


@pytest.mark.parametrize("at", INTEGRALS)
def test_integrals(at):
    """All to 1e-13 of the largest of its kind. Planted faults: y^2 without the variance of a count; no clamping."""
    from tacit.likelihoods.link_moments import Link

    mean, sd = at
    softplus, clamped = _expectations(Link("softplus"), mean, sd), _expectations(Link("softplus", clamp=5), mean, sd)
    found = {
        "logistic": _expectations(Link("logistic"), mean, sd)[0],
        "softplus": softplus[0],
        "softplus^2": softplus[1],
        "clamped": clamped[0],
        "clamped^2": clamped[1],
    }
    for name, known in INTEGRALS[at].items():
        unit = sd ** np.arange(5.0) * max(1.0, abs(known[0]))
        assert np.abs((_integrals(found[name], sd) - known) / unit).max() < 1e-13, name
    # kulkarni2021, section 8.2, has E[y^2 | u] = mu(u)^2; its Var(y) is what is left without E[y].
    wrong = _integrals(softplus[1] - softplus[0], sd)
    assert np.abs(wrong / INTEGRALS[at]["softplus^2"] - 1).max() > 0.07
    assert np.abs(_integrals(softplus[0], sd)[0] - INTEGRALS[at]["clamped"][0]) > 0.002


def test_printed_variance_of_a_count():
    """Var(y) at sd(u) = 0.5: 0.788, where the form of kulkarni2021, section 8.2, has 0.064."""
    from tacit.likelihoods.link_moments import Link

    first, second = _expectations(Link("softplus"), 0.0, 0.5)[:, 0]
    assert abs(second - first**2 - 0.7877356) < 1e-7
    assert abs(second - first - first**2 - 0.0642428) < 1e-7


def test_log_link_in_closed_form():
    """To 1e-14 relative."""
    from tacit.likelihoods.link_moments import Link

    first, second = _expectations(Link("log"), 0.2, 0.9)
    np.testing.assert_allclose(_integrals(first, 0.9), LOG_LINK[1], rtol=1e-14)
    np.testing.assert_allclose(_integrals(second - first, 0.9), LOG_LINK[2], rtol=1e-14)
    halved = _expectations(Link("log", unit=2.0), 0.2, 0.9)
    np.testing.assert_allclose(halved, np.stack([first / 2, second / 4]), rtol=1e-15)


@pytest.mark.parametrize("top", [1, 2, 5, 32, 33, 60, 400, 500])
def test_clamped_counts_by_brute_force(top):
    """Sums over the Poisson law to 1e-12, rates from 0 to far above the clamp. Planted fault: a clamp of one more."""
    from tacit.likelihoods.link_moments import Link, _means

    u = np.concatenate([[-800.0, -40.0], np.linspace(-3, 2 * top + 30, 60), [1e4]])
    rate = np.logaddexp(0, u)
    counts = np.arange(top)[:, None]
    mass, above = poisson.pmf(counts, rate), poisson.sf(top - 1, rate)
    exact = np.stack([(counts**r * mass).sum(axis=0) + top**r * above for r in (1, 2)]) / np.array([[top], [top**2]])
    found = np.asarray(_means(Link("softplus", clamp=top), u)) / np.array([[top], [top**2]])
    assert np.abs(found - exact).max() < 1e-12
    other = np.asarray(_means(Link("softplus", clamp=top + 1), u)) / np.array([[top], [top**2]])
    assert np.abs(other - exact).max() > 1e-3


@pytest.mark.parametrize("kind", ["softplus", "log"])
@pytest.mark.parametrize("top", [1, 2, 6, 12])
def test_derivatives_of_clamped_counts(kind, top):
    """All seven at u = 0.3 by high-precision Taylor series, to 1e-12. Planted fault: the unclamped second moment."""
    import mpmath

    from tacit.likelihoods.link_moments import Link, _derivatives

    def mean(u, r):
        rate = mpmath.log1p(mpmath.exp(u)) if kind == "softplus" else mpmath.exp(u)
        mass = [mpmath.exp(-rate) * rate**k / mpmath.factorial(k) for k in range(top)]
        return top**r + sum((k**r - top**r) * chance for k, chance in enumerate(mass))

    found = np.asarray(_derivatives(Link(kind, clamp=top), np.array(0.3)))
    with mpmath.workdps(40):
        series = [mpmath.taylor(lambda u, r=r: mean(u, r), mpmath.mpf("0.3"), 6) for r in (1, 2)]
        exact = np.array([[float(c * mpmath.factorial(k)) for k, c in enumerate(row)] for row in series])
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)
    rate = np.logaddexp(0, 0.3) if kind == "softplus" else np.exp(0.3)
    assert abs(rate + rate**2 - exact[1, 0]) > 1e-10


@pytest.mark.parametrize(
    ("kind", "clamp", "errors"),
    [
        ("logistic", None, {0.05: 1e-14, 0.3: 1e-14, 6.0: 1e-13, 10.0: 1e-13, 15.0: 4e-13, 20.0: 1e-9, 30.0: 1e-6}),
        ("softplus", None, {0.05: 1e-14, 0.3: 1e-13, 6.0: 1e-12, 10.0: 1e-12, 15.0: 1e-12, 20.0: 2e-11, 30.0: 2e-8}),
        ("softplus", 30, {0.05: 1e-12, 0.3: 1e-12, 6.0: 1e-12, 15.0: 1e-12, 20.0: 1e-9}),
        ("log", 5, {0.05: 1e-13, 0.3: 1e-13, 6.0: 1e-12, 10.0: 1e-6}),
        ("log", 100, {0.05: 1e-12, 0.3: 1e-12, 2.0: 1e-11, 4.0: 1e-4}),
    ],
)
def test_quadrature_is_as_exact_as_claimed(kind, clamp, errors):
    """s^k F_k for k = 0 .. 4 against 4,001 nodes, at means 0, 0.7 and 3, over the larger of 1 and F_0."""
    from tacit.likelihoods.link_moments import Link, _means

    link, means = Link(kind, clamp=clamp), np.array([0.0, 0.7, 3.0])
    z = np.linspace(-12, 12, 4001)
    weights = np.stack([np.exp(-(z**2) / 2) * hermeval(z, np.eye(5)[k]) for k in range(5)]) / np.exp(-(z**2) / 2).sum()
    sds = np.array(list(errors))[:, None]
    exact = np.einsum("rsmi,ki->rksm", np.asarray(_means(link, means[:, None] + sds[:, :, None] * z)), weights)
    found = _expectations(link, means * np.ones_like(sds), sds * np.ones_like(means))
    away = np.abs(found * sds ** np.arange(5.0)[:, None, None] - exact) / np.maximum(1, exact[:, :1])
    assert (away.max(axis=(0, 1, 3)) < list(errors.values())).all(), away.max(axis=(0, 1, 3))


@pytest.mark.parametrize(
    ("kind", "clamp", "moments"),
    [
        ("logistic", None, "exact"),
        ("softplus", None, "exact"),
        ("softplus", 4, "exact"),
        ("log", 4, "exact"),
        ("log", None, "exact"),
        ("logistic", None, "taylor"),
        ("softplus", None, "taylor"),
    ],
)
def test_gradients(kind, clamp, moments):
    """By mean and variance against central differences, 1e-6 of the step's scale; finite at extreme arguments.

    The planted fault, a variance derivative without its factor 1/2, differs by more than 1e-2.
    """
    import jax

    from tacit.likelihoods.link_moments import Link, expectations

    link = Link(kind, clamp=clamp, moments=moments)

    @jax.jit
    def value_and_slopes(mean, variance):
        def slope(by_mean, by_variance):
            tangents = (np.full(mean.shape, by_mean), np.full(mean.shape, by_variance))
            return jax.jvp(lambda m, v: expectations(link, m, v), (mean, variance), tangents)

        value, by_mean = slope(1.0, 0.0)
        return value, by_mean, slope(0.0, 1.0)[1]

    points = np.array([[0.4, 0.3], [-1.0, 2.0], [0.3, 1e-4]])
    steps = np.array([[1e-4, 0.0], [0.0, 1e-4]]) * np.array([np.ones(3), points[:, 1]]).T[:, :, None]
    moved = np.concatenate([points[:, None] + steps, points[:, None] - steps]).reshape(-1, 2)
    extreme = np.array([[0.3, 0.0], [0.0, 400.0], [-700.0, 400.0], [700.0, 400.0], [5.0, 1e6], [0.0, 1e-300]])
    everything = np.concatenate([points, moved, extreme])
    value, *slopes = (np.asarray(a) for a in value_and_slopes(everything[:, 0], everything[:, 1]))
    up, down = value[..., 3:15].reshape(2, 5, 2, 3, 2)[:, :, 0], value[..., 3:15].reshape(2, 5, 2, 3, 2)[:, :, 1]
    central = (up - down) / (2 * steps.sum(axis=2))
    found = np.stack([slope[..., :3] for slope in slopes], axis=3)
    away = np.abs(found - central).max(axis=(0, 1)) / np.maximum(1, np.abs(central).max(axis=(0, 1)))
    assert away.max() < 1e-6
    assert np.abs(2 * found - central)[:, :, 1, 1].max() > 1e-2
    finite = extreme[:1] if moments == "taylor" else extreme
    assert np.isfinite(np.stack(slopes)[..., 15 : 15 + len(finite)]).all()


def test_taylor_polynomials_of_the_paper():
    """E[u f(u)] / sd^2: the exact values beside those of kulkarni2021's polynomial, 1/2 - sd^2/8."""
    from tacit.likelihoods.link_moments import Link

    exact = {0.5: 0.472089, 1.0: 0.413242, 1.1547: 0.394062, 2.0: 0.302853, 3.0: 0.229676, 6.0: 0.127417}
    for sd, value in exact.items():
        assert abs(_expectations(Link("logistic"), 0.0, sd)[0, 1] - value) < 1e-5
        taylor = _expectations(Link("logistic", moments="taylor"), 0.0, sd)[0, 1]
        assert abs(taylor - (0.5 - sd**2 / 8)) < 1e-12
    series = _expectations(Link("softplus", moments="taylor"), 0.0, 2.0)[:, 0]
    log2 = np.log(2)
    mean = log2 + 4 / 8 - 3 * 16 / 192
    np.testing.assert_allclose(series, [mean, mean + log2**2 + 4 * (1 + log2) / 4], rtol=1e-13)
    assert abs(_expectations(Link("softplus"), 0.0, 2.0)[0, 0] - 1.0677) < 1e-4


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"kind": "probit"}, "kind"),
        ({"kind": "logistic", "clamp": 3}, "clamp"),
        ({"kind": "softplus", "clamp": 0}, "clamp"),
        ({"kind": "softplus", "unit": 0.0}, "unit"),
        ({"kind": "log", "moments": "taylor"}, "moments"),
        ({"kind": "softplus", "clamp": 3, "moments": "taylor"}, "moments"),
        ({"kind": "softplus", "moments": "rough"}, "moments"),
    ],
)
def test_a_link_that_does_not_exist_is_refused(arguments, word):
    from tacit.likelihoods.link_moments import Link

    with pytest.raises(InputError, match=f"Expected {word}="):
        Link(**arguments)
