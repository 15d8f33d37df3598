"""docs/papers.md has every figure, table and algorithm of the five papers, and the numbers of runs that are kept."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import common
import papers_page as page
import pytest

import tacit

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "papers.md").read_text("utf-8")
# Counted in the papers, appendices included. Nothing else there has a number and a caption.
FIGURES = {"bernstein2019": 5, "kulkarni2021": 6, "kulkarni2022": 11, "jewson2023": 11, "geumlek2017": 4}
OTHERS = {("bernstein2019", "Algorithm 1"), ("jewson2023", "Table 1"), ("geumlek2017", "Algorithms 1 to 3")}
OTHERS |= {("geumlek2017", "Algorithm 1 of A.3")}


def test_the_list_is_complete():
    wanted = {(paper, f"Figure {i}") for paper, last in FIGURES.items() for i in range(1, last + 1)} | OTHERS
    assert sorted((item.paper, item.name) for item in page.ITEMS) == sorted(wanted)
    for paper, name in wanted:
        assert TEXT.count(f"| {paper} | {name} |") == 1, (paper, name)


def test_the_page_has_the_numbers_of_the_runs_that_are_kept():
    """Planted: a number that somebody changed in the page is put right, and so is not that of the page."""
    assert page.written(TEXT) == TEXT
    claim = page.results("kulkarni2022")["claims"][0]
    planted = TEXT.replace(f"**{claim['figure']}: {claim['verdict']}.**", f"**{claim['figure']}: agrees entirely.**")
    assert page.written(planted) == TEXT != planted


@pytest.mark.parametrize("paper", page.PAPERS)
def test_claims_have_verdicts_and_belong_to_a_figure(paper):
    claims = page.results(paper)["claims"]
    assert claims
    own = [item for item in page.ITEMS if item.paper == paper and item.command]
    for claim in claims:
        assert claim["verdict"] in (common.AGREES, common.PARTLY, common.DIFFERS)
        assert "not in the paper" in claim["paper"] or any(page.mentions(claim["figure"], i.name) for i in own), claim
        assert claim["command"].startswith(f"python papers/{paper}.py ")


def test_every_figure_that_a_script_draws_is_there_and_small():
    """Or its row says that it was not run in full, or which page has its numbers."""
    for item in page.ITEMS:
        there = [name for name in page.pictures(item) if (page.FIGURES / name).is_file()]
        (row,) = (line for line in TEXT.splitlines() if line.startswith(f"| {item.paper} | {item.name} |"))
        assert there or not item.command or item.where or "not run in full" in row, item
        assert item.command or not there
        for name in there:
            content = (page.FIGURES / name).read_text("utf-8")
            assert ElementTree.fromstring(content).tag.endswith("svg")
            assert len(content.encode()) <= page.MOST_BYTES
            assert f"](figures/{name})" in TEXT


def test_commands_name_figures_that_scripts_know():
    for item in page.ITEMS:
        if item.command:
            tree = ast.parse((ROOT / "papers" / f"{item.paper}.py").read_text("utf-8"))
            (known,) = (
                ast.literal_eval(node.value)
                for node in tree.body
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FIGURES"
            )
            assert set(item.figures.split(",")) <= set(known), item


@pytest.mark.parametrize(
    ("title", "figures"),
    [
        ("Figures 3a, 3b and 3c", {"Figure 3"}),
        ("Figures 7 and 8, adult", {"Figure 7", "Figure 8"}),
        ("Figure 10, networks, regression", {"Figure 10"}),
        ("Figure 1a, Beta(6, 12), share 0.33", {"Figure 1"}),
        ("The paper's choices, Figure 5 at epsilon = 0.1", {"Figure 5"}),
        ("Weights", set()),
    ],
)
def test_a_claim_is_about_the_figures_of_its_title(title, figures):
    assert {f"Figure {i}" for i in range(1, 12) if page.mentions(title, f"Figure {i}")} == figures


def test_claims_of_figures_that_are_not_run_again_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(page.sys, "argv", ["script", "--figures", "3", "--out", str(tmp_path), "--processes=2"])
    for figure, here in (("Figure 3", "1"), ("Figure 4", "2"), ("Figure 3", "3")):
        common.show([common.Claim(figure, "p", here, common.AGREES)], tmp_path, "paper", quick=figure == "Figure 4")
    (tmp_path / "paper.jsonl").write_text("", "utf-8")
    with pytest.raises(SystemExit, match="found --quick for Figure 4"):
        page.collected(tmp_path, "paper")
    common.show([common.Claim("Figure 4", "p", "4", common.AGREES)], tmp_path, "paper", quick=False)
    found = page.collected(tmp_path, "paper")["claims"]
    assert [(c["figure"], c["here"]) for c in found] == [("Figure 3", "3"), ("Figure 4", "4")]
    assert {c["command"] for c in found} == {"python papers/paper.py --figures 3"}


def imported(code):
    """The modules of tacit that a file imports."""
    for node in ast.walk(ast.parse(code)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if re.match(r"tacit(\.|$)", name))


def test_scripts_use_public_names_alone():
    """Planted: a deep import is found."""
    files = sorted((ROOT / "papers").rglob("*.py"))
    assert len(files) > 12
    for file in files:
        assert set(imported(file.read_text("utf-8"))) <= {"tacit", "tacit.studies"}, file
    assert list(imported("def f():\n    from tacit.privacy.gaussian import mu")) == ["tacit.privacy.gaussian"]


def test_a_picture_is_shortened_but_not_its_labels(tmp_path):
    """Planted: shortening the whole text, as was done once, leaves ticks of 0.00 alone."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(2, 2))
    drawn.subplots().set_yticks([0.0002, 0.0004], ["0.0002", "0.0004"])
    common.save(drawn, tmp_path, "small")
    text = (tmp_path / "small.svg").read_text("utf-8")
    assert ">0.0002</text>" in text
    assert ">0.0004</text>" in text
    assert not re.search(r'(?:x|y)="\d+\.\d{3}', text)


NUMBERS = tacit.Schema(y=(-2, 2), x=(-1, 1))
LEVELS = tacit.Schema(y=["no", "yes"], x=(-1, 1), z=(-1, 1))


@pytest.mark.parametrize(
    ("said", "model", "schema"),
    [
        ('{"mean": 1.0, "mean_sd": 2.0}', tacit.Normal("y"), NUMBERS),
        ('{"sd_shape": 2.0, "sd_rate": 1.0}', tacit.Normal("y"), NUMBERS),
        ('{"shape": 2.0, "rate": 1.0}', tacit.Exponential("y"), tacit.Schema(y=(0, 5))),
        ('{"concentration": 1}', tacit.Categorical("y"), LEVELS),
        ('{"theta_sd": 5**0.5}', tacit.LogisticRegression("y ~ x + z"), LEVELS),
        ('{"scale": 2.5, "shape": 2}', tacit.LogisticRegression("y ~ x + z"), LEVELS),
        ('{"lambda0": 1 / 9}', tacit.LinearRegression("y ~ x"), NUMBERS),
    ],
)
def test_priors_that_the_page_offers_are_taken(said, model, schema):
    """Planted: a name that no prior has is refused."""
    keys = re.findall(r'"(\w+)":', said)
    assert all(f'"{key}": ' in TEXT for key in keys)
    given = eval(said)
    prior = model.default_prior(schema).replaced(given)
    assert [getattr(prior, key) for key in keys] == list(given.values())
    with pytest.raises(tacit.InputError):
        model.default_prior(schema).replaced({f"{keys[0]}_of": 1.0})


def test_draws_with_coefficients_beside_sigma_and_orders_near_1_are_offered():
    said = {"loss": "beta-divergence", "prior": {"sd_per_sigma": 3.0}, "options": {"sigma_min": 1.0}}
    drawn = tacit.PosteriorSample(**said, assume="converged", gamma=1e-12)
    assert tacit.Plan(tacit.LinearRegression("y ~ x"), NUMBERS, tacit.ApproxDP(8.0, 1e-6), drawn).event() is not None
    assert tacit.RenyiDP(order=1.001, epsilon=1.0).order == 1.001
    with pytest.raises(tacit.InputError, match="above 1"):
        tacit.RenyiDP(order=1, epsilon=1.0)
