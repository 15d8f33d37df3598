"""What to cite: tacit, and the papers behind the very plan, release or posterior at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.release import Release
from tacit.reports import PublishedReports, Reports
from tacit.version import __version__


@dataclass(frozen=True)
class Paper:
    """A reference. ``kind`` is BibTeX's word for it, ``where`` the journal or the proceedings."""

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    where: str
    year: int
    doi: str = ""

    def text(self) -> str:
        """One line for a list of references."""
        names = [f"{last}, {first}" if first else last for last, first in map(_name, self.authors)]
        joined = names[0] if len(names) == 1 else f"{'; '.join(names[:-1])} and {names[-1]}"
        end = f" doi:{self.doi}." if self.doi else ""
        return f"{joined} ({self.year}). {self.title}. {self.where}.{end}"

    def bibtex(self) -> str:
        """One BibTeX entry."""
        place = {"article": "journal", "inproceedings": "booktitle"}.get(self.kind, "howpublished")
        authors = [f"{last}, {first}" if first else f"{{{last}}}" for last, first in map(_name, self.authors)]
        fields = {"author": " and ".join(authors), "title": f"{{{self.title}}}", place: self.where, "year": self.year}
        if self.doi:
            fields["doi"] = self.doi
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{self.kind}{{{self.key},\n{body}\n}}"


def _name(author: str) -> tuple[str, str]:
    last, _, first = author.partition(", ")
    return last, first


_NEURIPS = "Advances in Neural Information Processing Systems"
_TCC = "Theory of Cryptography Conference"
TACIT = Paper(
    "tacit",
    "misc",
    ("The tacit authors",),
    "tacit: differentially private Bayesian inference",
    f"Software, version {__version__}",
    2026,
)
_PAPERS = {
    paper.key: paper
    for paper in (
        Paper(
            "bernstein2019",
            "inproceedings",
            ("Bernstein, Garrett", "Sheldon, Daniel"),
            "Differentially Private Bayesian Linear Regression",
            _NEURIPS,
            2019,
        ),
        Paper(
            "kulkarni2021",
            "inproceedings",
            ("Kulkarni, Tejas", "Jälkö, Joonas", "Koskela, Antti", "Kaski, Samuel", "Honkela, Antti"),
            "Differentially Private Bayesian Inference for Generalized Linear Models",
            "International Conference on Machine Learning",
            2021,
        ),
        Paper(
            "kulkarni2022",
            "misc",
            ("Kulkarni, Tejas", "Jälkö, Joonas", "Kaski, Samuel", "Honkela, Antti"),
            "Locally Differentially Private Bayesian Inference",
            "Preprint",
            2022,
        ),
        Paper(
            "jewson2023",
            "inproceedings",
            ("Jewson, Jack", "Ghalebikesabi, Sahra", "Holmes, Chris"),
            "Differentially Private Statistical Inference through beta-Divergence One Posterior Sampling",
            _NEURIPS,
            2023,
        ),
        Paper(
            "geumlek2017",
            "inproceedings",
            ("Geumlek, Joseph", "Song, Shuang", "Chaudhuri, Kamalika"),
            "Rényi Differential Privacy Mechanisms for Posterior Sampling",
            _NEURIPS,
            2017,
        ),
        Paper(
            "abadi2016",
            "inproceedings",
            (
                "Abadi, Martín",
                "Chu, Andy",
                "Goodfellow, Ian",
                "McMahan, H. Brendan",
                "Mironov, Ilya",
                "Talwar, Kunal",
                "Zhang, Li",
            ),
            "Deep Learning with Differential Privacy",
            "ACM Conference on Computer and Communications Security",
            2016,
            "10.1145/2976749.2978318",
        ),
        Paper(
            "zhu2022",
            "inproceedings",
            ("Zhu, Yuqing", "Dong, Jinshuo", "Wang, Yu-Xiang"),
            "Optimal Accounting of Differential Privacy via Characteristic Function",
            "International Conference on Artificial Intelligence and Statistics",
            2022,
        ),
        Paper(
            "dwork2006",
            "inproceedings",
            ("Dwork, Cynthia", "McSherry, Frank", "Nissim, Kobbi", "Smith, Adam"),
            "Calibrating Noise to Sensitivity in Private Data Analysis",
            _TCC,
            2006,
            "10.1007/11681878_14",
        ),
        Paper(
            "dwork2006ourselves",
            "inproceedings",
            ("Dwork, Cynthia", "Kenthapadi, Krishnaram", "McSherry, Frank", "Mironov, Ilya", "Naor, Moni"),
            "Our Data, Ourselves: Privacy via Distributed Noise Generation",
            "Advances in Cryptology, Eurocrypt",
            2006,
            "10.1007/11761679_29",
        ),
        Paper(
            "bun2016",
            "inproceedings",
            ("Bun, Mark", "Steinke, Thomas"),
            "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
            _TCC,
            2016,
            "10.1007/978-3-662-53641-4_24",
        ),
        Paper(
            "dong2022",
            "article",
            ("Dong, Jinshuo", "Roth, Aaron", "Su, Weijie"),
            "Gaussian Differential Privacy",
            "Journal of the Royal Statistical Society, Series B",
            2022,
            "10.1111/rssb.12454",
        ),
        Paper(
            "mironov2017",
            "inproceedings",
            ("Mironov, Ilya",),
            "Rényi Differential Privacy",
            "IEEE Computer Security Foundations Symposium",
            2017,
            "10.1109/CSF.2017.11",
        ),
        Paper(
            "canonne2020",
            "inproceedings",
            ("Canonne, Clément", "Kamath, Gautam", "Steinke, Thomas"),
            "The Discrete Gaussian for Differential Privacy",
            _NEURIPS,
            2020,
        ),
        Paper(
            "ghosh2012",
            "article",
            ("Ghosh, Arpita", "Roughgarden, Tim", "Sundararajan, Mukund"),
            "Universally Utility-Maximizing Privacy Mechanisms",
            "SIAM Journal on Computing",
            2012,
            "10.1137/09076828X",
        ),
        Paper(
            "warner1965",
            "article",
            ("Warner, Stanley L.",),
            "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias",
            "Journal of the American Statistical Association",
            1965,
            "10.1080/01621459.1965.10480775",
        ),
        Paper(
            "ju2022",
            "inproceedings",
            ("Ju, Nianqiao", "Awan, Jordan", "Gong, Ruobin", "Rao, Vinayak"),
            "Data Augmentation MCMC for Bayesian Inference from Privatized Data",
            _NEURIPS,
            2022,
        ),
        Paper(
            "hoffman2014",
            "article",
            ("Hoffman, Matthew D.", "Gelman, Andrew"),
            "The No-U-Turn Sampler: Adaptively Setting Path Lengths in Hamiltonian Monte Carlo",
            "Journal of Machine Learning Research",
            2014,
        ),
    )
}
_FIVE = ("bernstein2019", "kulkarni2021", "kulkarni2022", "jewson2023", "geumlek2017")
_BY_FAMILY = {"linear": "bernstein2019", "logistic": "kulkarni2021", "poisson-regression": "kulkarni2021"}
_BY_MECHANISM = {"dp-sgd": "abadi2016", "local": "kulkarni2022", "private-chain": "jewson2023"}
_BY_LOSS = {
    "log-likelihood": "geumlek2017",
    "bounded-log-likelihood": "geumlek2017",
    "beta-divergence": "jewson2023",
}
_BY_METHOD = {"augment": "ju2022"} | dict.fromkeys(
    ("collapsed", "free", "marginal", "taylor", "shares", "individual"), "hoffman2014"
)
_BY_LAW = {
    "discrete-gaussian": "canonne2020",
    "discrete-laplace": "ghosh2012",
    "randomized-response": "warner1965",
    "label-and-vector": "warner1965",
}
_BY_BUDGET = {
    "PureDP": "dwork2006",
    "ApproxDP": "dwork2006ourselves",
    "ZCDP": "bun2016",
    "GDP": "dong2022",
    "RenyiDP": "mironov2017",
}


def cite(what: Plan | Release | Reports | Posterior | None = None, *, format: str = "text") -> str:  # noqa: A002
    """What to cite for a plan, a release, reports or a posterior; for nothing, tacit and the papers it grew out of.

    ``format`` is "text", one reference a line, or "bibtex".
    """
    if format not in ("text", "bibtex"):
        raise expected("format", format, 'to be "text" or "bibtex"')
    papers = references(what)
    if format == "text":
        return "\n".join(paper.text() for paper in papers) + "\n"
    return "\n\n".join(paper.bibtex() for paper in papers) + "\n"


def references(what: Plan | Release | Reports | Posterior | None = None) -> list[Paper]:
    """The papers of `cite`, tacit first."""
    if what is None:
        return [TACIT, *(_PAPERS[key] for key in _FIVE)]
    if not isinstance(what, Plan | Release | Reports | Posterior):
        raise expected("what", type(what).__name__, "to be a Plan, Release, Reports or Posterior")
    keys: list[str | None] = []
    for plan, laws in _plans(what):
        keys += [_BY_FAMILY.get(plan.model.family), _BY_MECHANISM.get(plan.mechanism.kind)]
        if isinstance(plan.mechanism, PosteriorSample):
            keys.append(_BY_LOSS.get(plan.mechanism.loss))
        elif plan.mechanism.kind == "dp-sgd":
            keys.append("zhu2022")
        keys += [_BY_BUDGET.get(type(plan.budget).__name__), *(_BY_LAW.get(law.kind) for law in laws)]
    if isinstance(what, Posterior):
        keys.append(_BY_METHOD.get(what.method))
    return [TACIT, *(_PAPERS[key] for key in dict.fromkeys(keys) if key is not None)]


def _plans(what: Plan | Release | Reports | Posterior) -> list[tuple[Plan, list[Any]]]:
    """Every plan, with what randomised under it."""
    if isinstance(what, Plan):
        return [(what, [what.client().protocol if what.mechanism.kind == "local" else what.crossing().law])]
    if isinstance(what, Release):
        return [(what.plan, [what.law])]
    if isinstance(what, Reports):
        return [(group.plan, [group.protocol]) for group in what.groups]
    found: list[tuple[Plan, list[Any]]] = []
    for one in what.evidence:
        found += (
            zip(one.plans, ([p] for p in one.protocols), strict=True)
            if isinstance(one, PublishedReports)
            else _plans(one)
        )
    return found
