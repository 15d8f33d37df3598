"""A family of counts is one file: the negative binomial one that extending.md shows, which nothing else knows of."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import nbinom

import tacit
from tacit.cite import references
from tacit.cli.template import template
from tacit.likelihoods.clamped_distributions import moments
from tacit.mechanisms.registry import MECHANISMS
from tacit.models.geometric import Geometric
from tacit.models.poisson import Poisson
from tacit.models.registry import DRAWN, FAMILIES
from tacit.runtime.backend import float64

ROOT = Path(__file__).parents[2]


def page_code():
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class NegativeBinomial" in code)
    return code


@pytest.fixture(scope="module")
def family():
    module = types.ModuleType("page_counts")
    sys.modules[module.__name__] = module
    exec(compile(page_code(), "extending.md", "exec", dont_inherit=True), vars(module))
    yield module.NegativeBinomial
    del sys.modules[module.__name__]


@pytest.mark.parametrize("mean", [1e-4, 0.7, 12.0, 300.0])
@pytest.mark.parametrize("size", [0.05, 1.5, 900.0])
def test_its_law_is_the_one_that_it_says(family, mean, size):
    """Probabilities and moments of clamped counts against scipy's, with what is left over at the largest count."""
    model, schema = family("visits", size=size), tacit.Schema(visits=(0, 40))
    distribution = model.distribution(model.default_prior(schema), schema)
    with float64():
        phi = distribution.coordinates({"mean": jnp.float64(mean)})
        points, weights = map(np.asarray, distribution.atoms(phi))
        found = np.asarray(moments(distribution, phi, 2))
    exact = nbinom(size, size / (size + mean))
    expected = np.append(exact.pmf(np.arange(40)), exact.sf(39))
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found, [expected @ points, expected @ points**2], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("model", [Poisson("y"), Geometric("y")], ids=lambda model: model.family)
@pytest.mark.parametrize("natural", [-3.0, 0.0, 2.5])
def test_a_closed_tail_is_what_the_probabilities_leave(model, natural):
    with float64():
        closed = float(model.tail(9, jnp.float64(natural)))
        left = float(super(type(model), model).tail(9, jnp.float64(natural)))
    assert closed == pytest.approx(left, abs=1e-14)


def test_init_and_cite_know_it_without_another_line(family, monkeypatch):
    """One line in the registry is all: the template says what it is for and what it needs, `cite` names its paper."""
    monkeypatch.setitem(FAMILIES, family.family, family)
    text = template({"visits": None})
    assert "#   negative-binomial   the mean of a count that varies more than a Poisson one: column, size\n" in text
    plan = tacit.Plan(*family.examples()[0][:2], tacit.PureDP(1.0))
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert "lawless1987" in {paper.key for paper in references(plan)}


def test_init_asks_for_what_it_needs_in_its_own_words(family, tmp_path):
    (tmp_path / "people.csv").write_text("visits\n1\n")
    asks = family.__dataclass_fields__["size"].metadata["asks"]
    code = (
        "from tacit.models.registry import FAMILIES\nfrom page_counts import NegativeBinomial as F\n"
        "FAMILIES[F.family] = F\nfrom tacit.cli import main\nmain()\n"
    )
    (tmp_path / "page_counts.py").write_text(page_code())
    done = subprocess.run(
        [sys.executable, "-c", code, "init", "people.csv", "--ask"],
        input="negative-binomial\nvisits\nfew\n1.5\n0, 40\nno\n1\n\n",
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert f"size, {asks}" in done.stdout
    assert "size = 1.5" in (tmp_path / "plan.toml").read_text()


def test_every_family_says_what_it_is_for():
    for name, model in {**FAMILIES, **DRAWN}.items():
        assert model.about, name
        assert not model.about.endswith("."), name
    text = template({"a": None})
    assert all(f"#   {name:<19} {model.about}: " in text for name, model in FAMILIES.items())


def test_no_table_of_families_is_left():
    """What a family, a mechanism or a method is for stands with it: these two modules name none of them."""
    for name in ("cite.py", "cli/template.py"):
        text = (ROOT / "src" / "tacit" / name).read_text("utf-8")
        for kind in [*FAMILIES, *DRAWN, *MECHANISMS]:
            assert f'"{kind}":' not in text, (name, kind)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [tacit.AddNoise(), tacit.Local()], ids=lambda one: one.kind)
def test_it_is_calibrated_and_the_naive_method_is_not(family, mechanism):
    """Seed 1, 300 trials; false alarm 0.001 each. The planted fault: noise that is ignored, where sums are released."""
    plan = tacit.Plan(*family.examples()[0][:2], tacit.PureDP(0.1 if mechanism.kind == "noise" else 1.0), mechanism)
    assert tacit.calibrate(plan, n=200, trials=300, seed=1).calibrated(level=0.001)
    if mechanism.kind == "noise":
        assert not tacit.calibrate(plan, n=200, trials=300, seed=1, method="naive").calibrated(level=0.001)
