"""The papers behind what tacit does. A family, a mechanism, a noise or a method names its own in ``papers``."""

from __future__ import annotations

from dataclasses import dataclass

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
BERNSTEIN_2019 = Paper(
    "bernstein2019",
    "inproceedings",
    ("Bernstein, Garrett", "Sheldon, Daniel"),
    "Differentially Private Bayesian Linear Regression",
    _NEURIPS,
    2019,
)
KULKARNI_2021 = Paper(
    "kulkarni2021",
    "inproceedings",
    ("Kulkarni, Tejas", "Jälkö, Joonas", "Koskela, Antti", "Kaski, Samuel", "Honkela, Antti"),
    "Differentially Private Bayesian Inference for Generalized Linear Models",
    "International Conference on Machine Learning",
    2021,
)
KULKARNI_2022 = Paper(
    "kulkarni2022",
    "misc",
    ("Kulkarni, Tejas", "Jälkö, Joonas", "Kaski, Samuel", "Honkela, Antti"),
    "Locally Differentially Private Bayesian Inference",
    "Preprint",
    2022,
)
JEWSON_2023 = Paper(
    "jewson2023",
    "inproceedings",
    ("Jewson, Jack", "Ghalebikesabi, Sahra", "Holmes, Chris"),
    "Differentially Private Statistical Inference through beta-Divergence One Posterior Sampling",
    _NEURIPS,
    2023,
)
GEUMLEK_2017 = Paper(
    "geumlek2017",
    "inproceedings",
    ("Geumlek, Joseph", "Song, Shuang", "Chaudhuri, Kamalika"),
    "Rényi Differential Privacy Mechanisms for Posterior Sampling",
    _NEURIPS,
    2017,
)
ABADI_2016 = Paper(
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
)
ZHU_2022 = Paper(
    "zhu2022",
    "inproceedings",
    ("Zhu, Yuqing", "Dong, Jinshuo", "Wang, Yu-Xiang"),
    "Optimal Accounting of Differential Privacy via Characteristic Function",
    "International Conference on Artificial Intelligence and Statistics",
    2022,
)
DWORK_2006 = Paper(
    "dwork2006",
    "inproceedings",
    ("Dwork, Cynthia", "McSherry, Frank", "Nissim, Kobbi", "Smith, Adam"),
    "Calibrating Noise to Sensitivity in Private Data Analysis",
    _TCC,
    2006,
    "10.1007/11681878_14",
)
DWORK_2006_OURSELVES = Paper(
    "dwork2006ourselves",
    "inproceedings",
    ("Dwork, Cynthia", "Kenthapadi, Krishnaram", "McSherry, Frank", "Mironov, Ilya", "Naor, Moni"),
    "Our Data, Ourselves: Privacy via Distributed Noise Generation",
    "Advances in Cryptology, Eurocrypt",
    2006,
    "10.1007/11761679_29",
)
BUN_2016 = Paper(
    "bun2016",
    "inproceedings",
    ("Bun, Mark", "Steinke, Thomas"),
    "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
    _TCC,
    2016,
    "10.1007/978-3-662-53641-4_24",
)
DONG_2022 = Paper(
    "dong2022",
    "article",
    ("Dong, Jinshuo", "Roth, Aaron", "Su, Weijie"),
    "Gaussian Differential Privacy",
    "Journal of the Royal Statistical Society, Series B",
    2022,
    "10.1111/rssb.12454",
)
MIRONOV_2017 = Paper(
    "mironov2017",
    "inproceedings",
    ("Mironov, Ilya",),
    "Rényi Differential Privacy",
    "IEEE Computer Security Foundations Symposium",
    2017,
    "10.1109/CSF.2017.11",
)
CANONNE_2020 = Paper(
    "canonne2020",
    "inproceedings",
    ("Canonne, Clément", "Kamath, Gautam", "Steinke, Thomas"),
    "The Discrete Gaussian for Differential Privacy",
    _NEURIPS,
    2020,
)
GHOSH_2012 = Paper(
    "ghosh2012",
    "article",
    ("Ghosh, Arpita", "Roughgarden, Tim", "Sundararajan, Mukund"),
    "Universally Utility-Maximizing Privacy Mechanisms",
    "SIAM Journal on Computing",
    2012,
    "10.1137/09076828X",
)
WARNER_1965 = Paper(
    "warner1965",
    "article",
    ("Warner, Stanley L.",),
    "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias",
    "Journal of the American Statistical Association",
    1965,
    "10.1080/01621459.1965.10480775",
)
AVELLA_2023 = Paper(
    "avella2023",
    "article",
    ("Avella-Medina, Marco", "Bradshaw, Casey", "Loh, Po-Ling"),
    "Differentially private inference via noisy optimization",
    "The Annals of Statistics",
    2023,
)
JU_2022 = Paper(
    "ju2022",
    "inproceedings",
    ("Ju, Nianqiao", "Awan, Jordan", "Gong, Ruobin", "Rao, Vinayak"),
    "Data Augmentation MCMC for Bayesian Inference from Privatized Data",
    _NEURIPS,
    2022,
)
LANGE_1989 = Paper(
    "lange1989",
    "article",
    ("Lange, Kenneth L.", "Little, Roderick J. A.", "Taylor, Jeremy M. G."),
    "Robust Statistical Modeling Using the t Distribution",
    "Journal of the American Statistical Association",
    1989,
)
LAWLESS_1987 = Paper(
    "lawless1987",
    "article",
    ("Lawless, Jerald F.",),
    "Negative Binomial and Mixed Poisson Regression",
    "Canadian Journal of Statistics",
    1987,
)
SUSARLA_1976 = Paper(
    "susarla1976",
    "article",
    ("Susarla, V.", "Van Ryzin, J."),
    "Nonparametric Bayesian Estimation of Survival Curves from Incomplete Observations",
    "Journal of the American Statistical Association",
    1976,
)
MCCULLAGH_1980 = Paper(
    "mccullagh1980",
    "article",
    ("McCullagh, Peter",),
    "Regression Models for Ordinal Data",
    "Journal of the Royal Statistical Society, Series B",
    1980,
)
GELMAN_2006 = Paper(
    "gelman2006",
    "article",
    ("Gelman, Andrew",),
    "Prior Distributions for Variance Parameters in Hierarchical Models",
    "Bayesian Analysis",
    2006,
)
HOFFMAN_2014 = Paper(
    "hoffman2014",
    "article",
    ("Hoffman, Matthew D.", "Gelman, Andrew"),
    "The No-U-Turn Sampler: Adaptively Setting Path Lengths in Hamiltonian Monte Carlo",
    "Journal of Machine Learning Research",
    2014,
)
FIVE = (BERNSTEIN_2019, KULKARNI_2021, KULKARNI_2022, JEWSON_2023, GEUMLEK_2017)
"""Those that tacit grew out of."""
