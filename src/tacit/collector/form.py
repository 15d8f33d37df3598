"""The form of a survey: the questions that people are asked, each with its public plan, as every client reads it.

A form is JSON. A client needs nothing else, in any language; `clients/js` is one. Everything in it is public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit._support.names import check_name
from tacit._support.reading import check_format, read_list, read_table, same
from tacit.errors import expected
from tacit.models.score_reports import RowScore
from tacit.plan import Plan
from tacit.privacy.events import LaplaceEvent, PureEvent
from tacit.privacy.guarantees import PureDP
from tacit.privacy.rounding import float_above
from tacit.protocols.local_randomizer import LatticeNumber, LevelCode, LocalRandomizer
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.protocols.parameters import written_whole
from tacit.protocols.protocol import Protocol
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.registry import protocol_from_plain
from tacit.protocols.unary_encoding import UnaryEncoding
from tacit.statistics.design import Scaled

FORMAT = 1
SPOKEN = (RandomizedResponse, UnaryEncoding, NoisyNumber, NoisyStatistic)
"""The protocols that clients in other languages speak."""

MOST_EPSILON = 10
"""What clients accept of one form, all questions together."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_QUESTIONS = 1000
_MOST_NUMBERS = 4096  # in the report of one question
_MOST_DESIGN = 64
_SCALES_OF_SCORES = 1024
_LARGEST_REPORT = 2**62  # a file of reports holds 64-bit whole numbers


@dataclass(frozen=True)
class Question:
    """One question: a local plan with a pure budget, and the protocol that a device follows for it."""

    name: str
    plan: Plan
    protocol: Protocol

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise expected("question", self.name, "to be named by at most 64 letters, digits or _.- characters")
        if not isinstance(self.plan.budget, PureDP):
            raise expected("budget", self.plan.budget.symbols, f"of question {self.name!r} to be an epsilon alone")
        if self.plan.title is not None:
            raise expected("title", self.plan.title, f"of question {self.name!r} to be left out: people do not see it")
        if self.plan.schema.derived:
            names = ", ".join(self.plan.schema.derived)
            raise expected("derive", names, f"of question {self.name!r} to be left out: a form asks for each column")
        encoder = self.local_randomizer.encoder
        if not isinstance(self.local_randomizer.protocol, SPOKEN) or not (
            isinstance(encoder, LevelCode | LatticeNumber) or (isinstance(encoder, RowScore) and _has_words(encoder))
        ):
            known = ", ".join(protocol.kind for protocol in SPOKEN)
            raise expected(
                "protocol",
                self.protocol.kind,
                f"of question {self.name!r} to be one of {known}, the last for scores of logistic regression alone, "
                "its formula without functions",
            )
        reports = self.protocol.reports
        if reports.size > _MOST_NUMBERS:
            raise expected("levels", reports.size, f"of question {self.name!r} to be at most {_MOST_NUMBERS}")
        if self._reach > _LARGEST_REPORT:
            raise expected("budget", self.plan.budget.symbols, f"of question {self.name!r} to need less noise")

    @cached_property
    def local_randomizer(self) -> LocalRandomizer:
        """The device's side; refuses a protocol that does not meet the plan's budget."""
        return self.plan.local_randomizer(self.protocol)

    @property
    def _reach(self) -> int:
        """The largest number that a report may hold; of a score that is kept, noise goes beyond it once in e^1024."""
        if isinstance(self.protocol, NoisyStatistic):
            most = max(self.protocol.inputs.blocks[0].high)
            return most + _SCALES_OF_SCORES * max(self.protocol.noise.scales)
        return max(abs(v) for block in self.protocol.reports.blocks for v in (*block.low, *block.high))

    @cached_property
    def _box(self) -> tuple[tuple[int, int], ...]:
        blocks, most = self.protocol.reports.blocks, _LARGEST_REPORT
        assert all(block.radius_squared is None for block in blocks)
        pairs = (pair for block in blocks for pair in zip(block.low, block.high, strict=True))
        return tuple((max(low, -most), min(high, most)) for low, high in pairs)

    def possible(self, report: tuple[int, ...]) -> bool:
        """Whether the protocol can make this report: the box of `Protocol.check_reports`, in 64 bits."""
        return len(report) == len(self._box) and all(
            low <= value <= high for value, (low, high) in zip(report, self._box, strict=True)
        )

    @property
    def epsilon(self) -> Fraction:
        """What one report costs its sender, exactly."""
        event = self.protocol.event()
        assert isinstance(event, PureEvent | LaplaceEvent)
        return Fraction(event.epsilon())

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a form."""
        encoder = self.local_randomizer.encoder
        plain: dict[str, Any] = {"kind": "level", "column": self.local_randomizer.columns[0]}
        if isinstance(encoder, RowScore):
            plain = _score_plain(encoder)
        if isinstance(encoder, LatticeNumber):
            plain |= {"kind": "number", "low": encoder.low, "high": encoder.high}
            plain |= {"first": written_whole(encoder.first), "last": written_whole(encoder.last)}
        return {
            "name": self.name,
            "plan": self.plan.to_plain(),
            "protocol": self.protocol.to_plain(),
            "encoder": plain,
        }

    @classmethod
    def from_plain(cls, table: object) -> Question:
        """Read what `to_plain` wrote; how an answer is encoded follows from the plan."""
        plain = read_table("question", table, ("name", "plan", "protocol", "encoder"))
        found = cls(plain["name"], Plan.from_plain(plain["plan"]), protocol_from_plain(plain["protocol"]))
        if not same(found.to_plain()["encoder"], plain["encoder"]):
            raise expected("encoder", "...", f"of question {found.name!r} to be the plan's")
        return found


def _has_words(encoder: RowScore) -> bool:
    """Whether clients in other languages can encode such a row."""
    curves = any(isinstance(column, Scaled) and column.number.curves for column in encoder.sums.design)
    fits = encoder.sums.radius is None and len(encoder.sums.design) <= _MOST_DESIGN
    return encoder.sums.link == "logistic" and fits and not curves


def _score_plain(encoder: RowScore) -> dict[str, Any]:
    """How a row becomes its score, for a client that computes the table and the sensitivity itself."""
    design: list[dict[str, Any]] = []
    for column in encoder.sums.design:
        plain: dict[str, Any] = {"levels": dict(column.levels), "numbers": []}
        if isinstance(column, Scaled):
            number = column.number
            plain |= {"numbers": list(number.numbers), "offset": number.offset, "scale": number.scale}
            plain |= {"low": number.low, "high": number.high}
        design.append(plain)
    return {
        "kind": "score",
        "columns": list(encoder.columns),
        "response": encoder.sums.response,
        "design": design,
        "point": list(encoder.sums.point),
        "matrix": encoder.sums.matrix,
    }


@dataclass(frozen=True)
class Form:
    """What one person is asked: one or more questions, of the survey named ``dataset``."""

    dataset: str
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        check_name("dataset", self.dataset)
        names = [question.name for question in self.questions]
        if not 1 <= len(names) <= _MOST_QUESTIONS or len(set(names)) != len(names):
            raise expected("questions", names, f"to be 1 to {_MOST_QUESTIONS}, each with a name of its own")
        columns = [column for question in self.questions for column in question.local_randomizer.columns]
        if len(set(columns)) != len(columns):
            raise expected(
                "columns", columns, "of the questions to differ: a column that is asked for twice costs twice"
            )
        if sum((question.epsilon for question in self.questions), Fraction(0)) > MOST_EPSILON:
            raise expected(
                "budget", self.promise.symbols, f"of all questions together to be at most epsilon = {MOST_EPSILON}"
            )

    @classmethod
    def of_plans(cls, dataset: str, plans: Mapping[str, Plan]) -> Form:
        """The form whose questions are ``plans``, by their names, each with its own calibrated protocol."""
        bare = {name: replace(plan, title=None) for name, plan in plans.items()}
        return cls(
            dataset, tuple(Question(name, plan, plan.local_randomizer().protocol) for name, plan in bare.items())
        )

    @classmethod
    def load(cls, dataset: str, paths: Sequence[Path]) -> Form:
        """The form of plan files; the name of a file, without its suffix, is the name of its question."""
        names = [path.stem for path in paths]
        if len(set(names)) != len(names):
            raise expected("plans", names, "to be files of different names, which name the questions")
        return cls.of_plans(dataset, {path.stem: Plan.load(path) for path in paths})

    @property
    def promise(self) -> PureDP:
        """What is promised to a person who answers everything.

        Proof: of local DP with the sum of the questions' epsilons, where neighbours are any two records of one person
        (replace-one on a data set of one record). The reports of different questions are drawn independently given the
        record, so the probability of all of them is a product, and its log ratio for two records is a sum of log
        ratios, each at most its question's epsilon. The sum is exact and rounded up to a float. []
        """
        return PureDP(float_above(sum((question.epsilon for question in self.questions), Fraction(0))))

    @cached_property
    def largest_submission(self) -> int:
        """How many bytes a submission can have, with room for white space."""
        total = 256
        for question in self.questions:
            longest = max(len(str(v)) for block in question.protocol.reports.blocks for v in (*block.low, *block.high))
            total += len(question.name) + 16 + question.protocol.reports.size * (longest + 4)
        return 2 * total

    def __getitem__(self, name: str) -> Question:
        for question in self.questions:
            if question.name == name:
                return question
        raise expected("question", name, f"to be one of {', '.join(question.name for question in self.questions)}")

    def to_plain(self) -> dict[str, Any]:
        """As every client reads it."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "questions": [question.to_plain() for question in self.questions],
        }

    @classmethod
    def from_plain(cls, table: object) -> Form:
        """Read what `to_plain` wrote."""
        plain = read_table("form", table, ("format", "dataset", "questions"))
        check_format("form", plain["format"], FORMAT)
        questions = read_list("questions", plain["questions"], _MOST_QUESTIONS)
        return cls(plain["dataset"], tuple(Question.from_plain(question) for question in questions))
