"""docs/papers.md from the numbers of full runs: the list of all figures, tables and algorithms, and every claim.

    python papers/page.py --runs FOLDER --page docs/papers.md --figures docs/figures

FOLDER holds PAPER.jsonl and PAPER-claims.json of the scripts (--out of each). The page is written between its marks,
and the figures that it shows are copied. A figure that was not run in full says so: ``cells`` counts what there is.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIST, CLAIMS = "list", "claims"


@dataclass(frozen=True)
class Item:
    """A figure, table or algorithm: its command, or why there is nothing to run; ``functions`` are its cells."""

    paper: str
    name: str
    what: str
    figures: str = ""
    functions: tuple[str, ...] = ()
    where: str = ""
    options: str = ""

    @property
    def command(self) -> str:
        return f"python papers/{self.paper}.py --figures {self.figures} {self.options}".strip() if self.figures else ""


DIAGRAM = "a diagram of the model: nothing to run"
ITEMS = (
    Item("bernstein2019", "Algorithm 1", "Gibbs sampler", where="methods `gibbs-update`, `gibbs-prior`, `gibbs-noisy`"),
    Item("bernstein2019", "Figure 1", "private regression model", where=DIAGRAM),
    Item("bernstein2019", "Figure 2", "the model with moments of the data", where=DIAGRAM),
    Item(
        "bernstein2019",
        "Figure 3",
        "calibration, coverage, MMD and run time on synthetic data",
        "3",
        ("measure", "exact_moments"),
    ),
    Item("bernstein2019", "Figure 4", "coverage of predictive intervals, cirrhosis", "4", ("predictive",)),
    Item("bernstein2019", "Figure 5", "non-private and private models", where=DIAGRAM),
    Item("kulkarni2021", "Figure 1", "the model", where=DIAGRAM),
    Item(
        "kulkarni2021", "Figure 2", "an example of a statistic", where="`LogisticRegression` releases it; docs/glm.md"
    ),
    Item("kulkarni2021", "Figure 3", "posteriors, diabetes", "3", ("posterior_of_data:3",)),
    Item("kulkarni2021", "Figure 4", "posteriors, Adult", "4", ("posterior_of_data:4", "prediction")),
    Item(
        "kulkarni2021",
        "Figure 5",
        "distribution functions, logistic",
        "5,choices",
        ("against_epsilon:5", "with_choices"),
    ),
    Item("kulkarni2021", "Figure 6", "distribution functions, Poisson", "6", ("against_epsilon:6",)),
    Item("kulkarni2022", "Figure 1", "calibration, normal", "1", ("coverage:1",)),
    Item("kulkarni2022", "Figure 2", "Kosarak against non-private", "2", ("kosarak_gaps",)),
    Item("kulkarni2022", "Figure 3", "shares against point estimates", "3", ("shares_errors:0.5",)),
    Item("kulkarni2022", "Figure 4", "linear regression, Wine", "4", ("regression_scores:4",)),
    Item("kulkarni2022", "Figure 5", "logistic regression, Adult", "5", ("regression_scores:5",)),
    Item("kulkarni2022", "Figure 6", "error of the Chebyshev series", "6", ("chebyshev_error",)),
    Item(
        "kulkarni2022",
        "Figure 7",
        "an example of the series",
        where="a formula; the series has no quadratic term (Errata L7)",
    ),
    Item(
        "kulkarni2022",
        "Figure 8",
        "a table of priors",
        where="see [what a reader may look for](#what-a-reader-may-look-for)",
    ),
    Item("kulkarni2022", "Figure 9", "shares at other epsilons", "9", ("shares_errors",)),
    Item("kulkarni2022", "Figure 10", "calibration, six shares", "10", ("coverage:10",)),
    Item("kulkarni2022", "Figure 11", "calibration, exponential", "11", ("coverage:11",)),
    Item("jewson2023", "Table 1", "what methods require", where="[Choosing a method](choosing-a-method.md)"),
    Item("jewson2023", "Figure 1", "the loss beside others", "1"),
    Item("jewson2023", "Figure 2", "logistic regression against n", "2", ("against_rows", "against_rows_of")),
    Item(
        "jewson2023",
        "Figure 3",
        "networks, regression, against n",
        "3",
        ("on_simulated:regression", "on_uci:regression"),
    ),
    Item("jewson2023", "Figure 4", "attacks against error", "4", ("attack",)),
    Item("jewson2023", "Figure 5", "influence of an observation", "5"),
    Item("jewson2023", "Figure 6", "beside non-private counterparts", "6", ("against_rows", "against_rows_of")),
    Item("jewson2023", "Figure 7", "signs", "7", ("against_rows", "against_rows_of")),
    Item("jewson2023", "Figure 8", "signs beside non-private counterparts", "8", ("against_rows", "against_rows_of")),
    Item(
        "jewson2023",
        "Figure 9",
        "networks, classification",
        "9",
        ("on_simulated:classification", "on_uci:classification"),
    ),
    Item("jewson2023", "Figure 10", "against the number of features", "10,10n", ("against_size",)),
    Item("jewson2023", "Figure 11", "certified bounds against error", "11", ("attack",)),
    Item(
        "geumlek2017", "Algorithms 1 to 3", "direct, diffused, concentrated", where="`PosteriorSample(tempering=...)`"
    ),
    Item("geumlek2017", "Figure 1", "Beta and Bernoulli, three shares", "beta", ("beta_panel",)),
    Item("geumlek2017", "Figure 2", "Beta and Bernoulli, uniform prior", "beta", ("beta_panel",)),
    Item(
        "geumlek2017",
        "Figure 3",
        "test error of regressions",
        "abalone,adult,mnist",
        ("tempered_scores", "bounded_scores", "plain_scores", "calibrated_scores"),
    ),
    Item(
        "geumlek2017",
        "Figure 4",
        "negative log-likelihood of regressions",
        "abalone,adult,mnist",
        ("tempered_scores", "bounded_scores", "plain_scores", "calibrated_scores"),
    ),
)
PAPERS = tuple(dict.fromkeys(item.paper for item in ITEMS))


def _belongs(row: dict[str, Any], function: str) -> bool:
    name, _, value = function.partition(":")
    return row["function"] == name and (not value or value in map(str, row["given"].values()))


def _verdict(item: Item, claims: list[dict[str, Any]]) -> str:
    """That of all claims of a figure; with several, how many of each."""
    own = [c["verdict"] for c in claims if mentions(c["figure"], item.name)]
    return own[0] if len(own) == 1 else ", ".join(f"{own.count(v)} {v}" for v in dict.fromkeys(own))


def mentions(title: str, figure: str) -> bool:
    """Whether a claim's title, such as "Figures 7 and 8, adult", is about a figure."""
    kind, _, number = figure.partition(" ")
    numbers = [word.rstrip("abcdef") for word in title.replace(",", " ").split()[1:]]
    return title.startswith(kind) and number in numbers


def table(runs: Path) -> str:
    """The complete list."""
    lines = ["| paper | item | shows | verdict | command, or where | core minutes |", "|---|---|---|---|---|---|"]
    for item in ITEMS:
        said, rows = _claims(runs, item.paper), _rows(runs, item.paper)
        seconds = sum(row["seconds"] for row in rows if any(_belongs(row, f) for f in item.functions))
        where = f"`{item.command}`" if item.command else item.where
        verdict = _verdict(item, said) or ("not run in full" if item.command else "")
        time = f"{seconds / 60:.1f}" if seconds else ("0.1" if item.command and verdict != "not run in full" else "")
        lines.append(f"| {item.paper} | {item.name} | {item.what} | {verdict} | {where} | {time} |")
    return "\n".join(lines)


def _rows(runs: Path, paper: str) -> list[dict[str, Any]]:
    path = runs / f"{paper}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def _claims(runs: Path, paper: str) -> list[dict[str, Any]]:
    path = runs / f"{paper}-claims.json"
    return json.loads(path.read_text("utf-8"))["claims"] if path.is_file() else []


def said(runs: Path, paper: str) -> str:
    """Every claim: what the paper says, what came out, the verdict."""
    lines = []
    for claim in _claims(runs, paper):
        lines.append(f"* **{claim['figure']}: {claim['verdict']}.** Paper: {claim['paper']}. Here: {claim['here']}.")
    return "\n".join(lines) or "Not run in full."


def main() -> None:
    parser = argparse.ArgumentParser(description="docs/papers.md from the numbers of full runs.")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--figures", type=Path, required=True)
    given = parser.parse_args()
    text = given.page.read_text("utf-8")
    blocks = {LIST: table(given.runs), **{paper: said(given.runs, paper) for paper in PAPERS}}
    for name, block in blocks.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{block}\n\n{end}{rest.split(end)[1]}"
    given.page.write_text(text, "utf-8")
    for path in sorted(given.runs.glob("*.svg")):
        if f"figures/{path.name}" in text:
            shutil.copy(path, given.figures / path.name)


if __name__ == "__main__":
    main()
