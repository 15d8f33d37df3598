"""docs/papers.md from the numbers of full runs: the list of all figures, tables and algorithms, and every claim.

    python papers/papers_page.py --runs FOLDER  # what the scripts wrote into FOLDER (--out of each) -> papers/results
    python papers/papers_page.py                # papers/results -> docs/papers.md, between its marks

With --runs the figures are copied, too. A claim of a run with --quick is refused. A figure that no run has says so.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common

ROOT = Path(__file__).resolve().parents[1]
RESULTS, FIGURES, PAGE = ROOT / "papers" / "results", ROOT / "docs" / "figures", ROOT / "docs" / "papers.md"
MOST_BYTES = 200_000
TITLES = {
    "bernstein2019": "Bernstein and Sheldon 2019",
    "kulkarni2021": "Kulkarni et al. 2021",
    "kulkarni2022": "Kulkarni et al. 2022",
    "jewson2023": "Jewson, Ghalebikesabi and Holmes 2023",
    "geumlek2017": "Geumlek, Song and Chaudhuri 2017, appendix",
}


@dataclass(frozen=True)
class Item:
    """A figure, table or algorithm of a paper.

    ``figures`` is what the script calls it, ``functions`` its cells; ``pictures`` end the names of its files. Without
    ``figures`` there is nothing to run, and ``where`` says why, or where it is. ``verdict`` is that of numbers on
    another page, which ``where`` names, as long as no run is kept.
    """

    paper: str
    name: str
    what: str
    figures: str = ""
    functions: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    where: str = ""
    verdict: str = ""

    @property
    def command(self) -> str:
        return f"python papers/{self.paper}.py --figures {self.figures}" if self.figures else ""


DIAGRAM = "a diagram of the model: nothing to run"
NETWORKS = "numbers and their runs: [Private networks](private-networks.md#against-private-descents)"
FOUND = "[What a reader may look for](#what-a-reader-may-look-for)"
ROWS = ("against_rows", "against_rows_of")
WORTH = "other prices: [What it is worth](posterior-sampling.md#what-it-is-worth)"
SCORES = ("tempered_scores", "bounded_scores", "plain_scores", "calibrated_scores")
REGRESSIONS = ("figures3-4-abalone", "figures3-4-adult", "figures3-4-mnist")
ITEMS = (
    Item("bernstein2019", "Algorithm 1", "Gibbs sampler", where="methods `gibbs-update`, `gibbs-prior`, `gibbs-noisy`"),
    Item("bernstein2019", "Figure 1", "private regression model", where=DIAGRAM),
    Item("bernstein2019", "Figure 2", "the model with moments of the data", where=DIAGRAM),
    Item(
        "bernstein2019",
        "Figure 3",
        "calibration, coverage, MMD and run time on synthetic data",
        "3",
        ("measure", "known_moments", "outside"),
        ("figure3",),
    ),
    Item(
        "bernstein2019", "Figure 4", "coverage of predictive intervals, cirrhosis", "4", ("predictive",), ("figure4",)
    ),
    Item("bernstein2019", "Figure 5", "non-private and private models", where=DIAGRAM),
    Item("kulkarni2021", "Figure 1", "the model", where=DIAGRAM),
    Item(
        "kulkarni2021",
        "Figure 2",
        "an example of a statistic",
        where="nothing to run; [Logistic and Poisson regression](glm.md) says what is released",
    ),
    Item(
        "kulkarni2021",
        "Figure 3",
        "posteriors, diabetes",
        "3,choices,steps",
        ("posterior_of_data:3", "least_widths:diabetes", "cut_and_scale:diabetes"),
        ("figure3",),
    ),
    Item(
        "kulkarni2021",
        "Figure 4",
        "posteriors, Adult",
        "4,choices,steps",
        ("posterior_of_data:4", "prediction", "least_widths:adult", "cut_and_scale:adult"),
        ("figure4",),
    ),
    Item(
        "kulkarni2021",
        "Figure 5",
        "distribution functions, logistic regression",
        "5,choices,steps",
        ("against_epsilon:5", "exact_posterior:5", "with_choices", "cut_and_scale:synthetic", "least_widths:synthetic"),
        ("figure5",),
    ),
    Item(
        "kulkarni2021",
        "Figure 6",
        "distribution functions, Poisson regression",
        "6",
        ("against_epsilon:6", "exact_posterior:6"),
        ("figure6",),
    ),
    Item("kulkarni2022", "Figure 1", "calibration, normal", "1", ("coverage:1",), ("figure1",)),
    Item("kulkarni2022", "Figure 2", "Kosarak against non-private", "2", ("kosarak_gaps",), ("figure2",)),
    Item("kulkarni2022", "Figure 3", "shares against point estimates", "3", ("shares_errors:0.5",), ("figure3",)),
    Item(
        "kulkarni2022",
        "Figure 4",
        "linear regression, Wine",
        "4",
        ("regression_scores:4",),
        ("figure4",),
    ),
    Item(
        "kulkarni2022",
        "Figure 5",
        "logistic regression, Adult",
        "5",
        ("regression_scores:5",),
        ("figure5",),
    ),
    Item("kulkarni2022", "Figure 6", "error of the Chebyshev series", "6", ("chebyshev_error",), ("figure6",)),
    Item(
        "kulkarni2022",
        "Figure 7",
        "an example of the series",
        where="a formula: nothing to run; its quadratic term is 0 ([Errata](errata.md), L7)",
    ),
    Item("kulkarni2022", "Figure 8", "a table of priors", where=FOUND),
    Item(
        "kulkarni2022",
        "Figure 9",
        "shares at other epsilons",
        "9",
        ("shares_errors:0.25", "shares_errors:1.0", "shares_errors:2.0"),
        ("figure9",),
    ),
    Item("kulkarni2022", "Figure 10", "calibration, six shares", "10", ("coverage:10",), ("figure10",)),
    Item("kulkarni2022", "Figure 11", "calibration, exponential", "11", ("coverage:11",), ("figure11",)),
    Item("jewson2023", "Table 1", "what methods require", where="[Choosing a method](choosing-a-method.md)"),
    Item("jewson2023", "Figure 1", "the loss beside others", "1", pictures=("figure1",)),
    Item("jewson2023", "Figure 2", "logistic regression against n", "2", ROWS, ("figure2", "figure2-uci")),
    Item(
        "jewson2023",
        "Figure 3",
        "networks, regression, against n",
        "3",
        pictures=("figure3", "figure3-uci"),
        where=NETWORKS,
        verdict="agrees",
    ),
    Item("jewson2023", "Figure 4", "attacks against error", "4", ("attack",), ("figure4",)),
    Item("jewson2023", "Figure 5", "influence of an observation", "5", pictures=("figure5",)),
    Item("jewson2023", "Figure 6", "beside non-private counterparts", "6", ROWS, ("figure6", "figure6-uci")),
    Item("jewson2023", "Figure 7", "signs", "7", ROWS, ("figure7", "figure7-uci")),
    Item("jewson2023", "Figure 8", "signs beside non-private counterparts", "8", ROWS, ("figure8", "figure8-uci")),
    Item(
        "jewson2023",
        "Figure 9",
        "networks, classification, against n",
        "9",
        pictures=("figure9", "figure9-uci"),
        where=NETWORKS,
        verdict="agrees in part",
    ),
    Item(
        "jewson2023",
        "Figure 10",
        "against the number of features",
        "10,10n",
        ("against_size",),
        ("figure10", "figure10-networks"),
        where="of networks: " + NETWORKS,
    ),
    Item("jewson2023", "Figure 11", "certified bounds against error", "11", ("attack",), ("figure11",)),
    Item(
        "geumlek2017",
        "Algorithms 1 to 3",
        "direct, diffused and concentrated draws",
        where="`PosteriorSample(tempering=...)`: [Posterior draws as a release](posterior-sampling.md)",
    ),
    Item(
        "geumlek2017",
        "Algorithm 1 of A.3",
        "Beta-sampled statistical query",
        where="`StatisticalQuery`: [A statistical query](posterior-sampling.md#a-statistical-query)",
    ),
    Item("geumlek2017", "Figure 1", "Beta and Bernoulli, three shares", "beta", ("beta_panel",), ("figures1-2",)),
    Item("geumlek2017", "Figure 2", "Beta and Bernoulli, uniform prior", "beta", ("beta_panel",), ("figures1-2",)),
    Item(
        "geumlek2017",
        "Figure 3",
        "test error of regressions",
        "abalone,adult,mnist",
        SCORES,
        REGRESSIONS,
        where=WORTH,
    ),
    Item(
        "geumlek2017",
        "Figure 4",
        "log-likelihood of regressions",
        "abalone,adult,mnist",
        SCORES,
        REGRESSIONS,
        where=WORTH,
    ),
)
PAPERS = tuple(TITLES)


def mentions(title: str, figure: str) -> bool:
    """Whether a claim's title, such as "Figures 7 and 8, adult", is about a figure."""
    kind, _, number = figure.partition(" ")
    numbers = [word.rstrip("abcdef") for word in title.replace(",", " ").split()[1:]]
    return title.startswith((kind, "The paper's choices, " + kind)) and number in numbers


def results(paper: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Claims and processor seconds of full runs, or nothing."""
    path = folder / f"{paper}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {"claims": [], "seconds": {}}


def collected(runs: Path, paper: str) -> dict[str, Any]:
    """What the scripts wrote into a folder: claims, and the seconds of every figure's cells."""
    said = runs / f"{paper}-claims.json"
    claims = json.loads(said.read_text("utf-8")) if said.is_file() else []
    for claim in claims:
        if claim.pop("quick"):
            raise SystemExit(f"Expected {said} to be of full runs; found --quick for {claim['figure']}.")
    path = runs / f"{paper}.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
    order = [
        next((i for i, item in enumerate(ITEMS) if item.paper == paper and mentions(c["figure"], item.name)), 99)
        for c in claims
    ]
    claims = [claim for _, claim in sorted(zip(order, claims, strict=True), key=lambda pair: pair[0])]
    seconds = {
        item.name: round(sum(row["seconds"] for row in rows if any(_belongs(row, f) for f in item.functions)), 1)
        for item in ITEMS
        if item.paper == paper and item.functions
    }
    return {"claims": claims, "seconds": {name: value for name, value in seconds.items() if value}}


def _belongs(row: dict[str, Any], function: str) -> bool:
    name, _, value = function.partition(":")
    said = (str(row["given"].get(key)) for key in ("figure", "number", "epsilon", "table"))
    return row["function"] == name and (not value or value in said)


def verdicts(item: Item, claims: list[dict[str, Any]]) -> str:
    """That of all claims of a figure; with several, how many of each."""
    own = [c["verdict"] for c in claims if item.figures and mentions(c["figure"], item.name)]
    own = own or [item.verdict]
    return own[0] if len(set(own)) == 1 else ", ".join(f"{own.count(v)} {v}" for v in dict.fromkeys(own))


def table(folder: Path = RESULTS) -> str:
    """The complete list."""
    lines = ["| paper | item | shows | verdict | command, or where | minutes |", "|---|---|---|---|---|---|"]
    for item in ITEMS:
        found = results(item.paper, folder)
        verdict = verdicts(item, found["claims"]) or ("not run in full" if item.command else "")
        seconds = found["seconds"].get(item.name)
        if (
            verdict
            and item.command
            and not item.where
            and not any((FIGURES / name).is_file() for name in pictures(item))
        ):
            verdict = verdict if verdict == "not run in full" else f"{verdict}; the figure was not run in full"
        time = f"{max(0.1, (seconds or 0) / 60):.1f}" if item.command and verdicts(item, found["claims"]) else ""
        where = "; ".join(filter(None, (f"`{item.command}`" if item.command else "", item.where)))
        time = "" if item.verdict and not seconds else time
        lines.append(f"| {item.paper} | {item.name} | {item.what} | {verdict} | {where} | {time} |")
    return "\n".join(lines)


def pictures(item: Item) -> list[str]:
    """The files of a figure, in docs/figures."""
    return [f"{item.paper}-{name}.svg" for name in item.pictures]


def said(paper: str, folder: Path = RESULTS, figures: Path = FIGURES) -> str:
    """Every claim: what the paper says, what came out, the verdict, the command; then the figures."""
    parts = [
        f"**{claim['figure']}: {claim['verdict']}.** `{claim['command']}`\n\n* Paper: {claim['paper']}.\n"
        f"* Here: {_lines(claim['here'])}."
        for claim in results(paper, folder)["claims"]
    ]
    shown: dict[str, str] = {}
    for item in ITEMS:
        for name in pictures(item) if item.paper == paper else []:
            if (figures / name).is_file():
                shown[name] = f"{shown[name]}; {item.name}" if name in shown else f"{item.name}: {item.what}"
    parts += [f"![{words}](figures/{name})" for name, words in shown.items()]
    return "\n\n".join(parts)


def _lines(here: str) -> str:
    """Many numbers in lines of their own."""
    return here if len(here) < 300 else here.replace("; ", ";<br>")


def tables() -> str:
    """Where the data are from."""
    from fetch import DATASETS

    lines = ["| table | used by | licence | remark |", "|---|---|---|---|"]
    lines += [f"| `{d.name}` | {d.used} | {d.licence} | {d.note} |" for d in DATASETS]
    return "\n".join(lines)


def written(text: str, folder: Path = RESULTS) -> str:
    """The page with its marked parts anew."""
    for name, block in {"list": table(folder), "tables": tables(), **{p: said(p, folder) for p in PAPERS}}.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{block}\n\n{end}{rest.split(end)[1]}"
    return text


NUMBER = r"([\d.]+) ± ([\d.]+)"


def networks_figure(page: str) -> Any:
    """Figure 9 of jewson2023 from the table of docs/private-networks.md, whose run took hours. Bars of one error."""
    import numpy as np
    from matplotlib.figure import Figure

    found = re.findall(rf"^\| ([\d.]+) \| ([\d,]+) \| {NUMBER} \| {NUMBER} \| {NUMBER} \|", page, re.MULTILINE)
    values = np.array([[float(cell.replace(",", "")) for cell in row] for row in found])
    epsilons = sorted(set(values[:, 0]))
    drawn = Figure(figsize=(9.3, 3.4), layout="constrained", facecolor="white")
    methods = ("beta-divergence draw (assumed)", "the same, weight 1 (paper)", "DP-SGD, the better of two settings")
    for panel, epsilon in zip(drawn.subplots(1, len(epsilons), sharey=True), epsilons, strict=True):
        own = values[values[:, 0] == epsilon]
        for place, (label, colour) in enumerate(zip(methods, ("#2f6690", "#7fb2d9", "#c0562f"), strict=True)):
            means, bars = own[:, 2 + 2 * place], own[:, 3 + 2 * place]
            panel.errorbar(own[:, 1] * 1.03 ** (place - 1), means, bars, fmt="o-", color=colour, label=label)
        panel.set(xscale="log", xlabel="n", ylabel="ROC-AUC" if epsilon == epsilons[0] else "")
        panel.set_xticks(own[:, 1], [f"{n:,.0f}" for n in own[:, 1]])
        panel.minorticks_off()
        panel.set_title(f"simulated, epsilon = {epsilon:g}", fontsize=9, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    drawn.legend(*drawn.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="docs/papers.md from the numbers of full runs.")
    parser.add_argument("--runs", type=Path, help="folder that the scripts wrote into")
    given = parser.parse_args()
    if given.runs is not None:
        RESULTS.mkdir(exist_ok=True)
        drawn = networks_figure((ROOT / "docs" / "private-networks.md").read_text("utf-8"))
        common.save(drawn, FIGURES, "jewson2023-figure9")
        for paper in PAPERS:
            found = collected(given.runs, paper)
            if found["claims"]:
                (RESULTS / f"{paper}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for name in (name for item in ITEMS for name in pictures(item)):
            path = given.runs / name
            if path.is_file() and path.stat().st_size > MOST_BYTES:
                raise SystemExit(f"Expected {path} to have at most {MOST_BYTES} bytes; found {path.stat().st_size}.")
            if path.is_file():
                shutil.copy(path, FIGURES / name)
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
