"""A plan file to fill in: the names of the columns, and comments that say how to choose the rest.

Nothing in it comes from a value of the data. Bounds, levels and the budget are left blank, and a plan with a blank is
refused: nothing private has a default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tacit._support.printable import spelled_out
from tacit.models.model import Model, required
from tacit.models.registry import FAMILIES, SCORED
from tacit.plan import Plan
from tacit.schema import check_column_name

_TOP = """\
# A plan says in public what will be released, before any row is read. Fill in the blanks ("" and []), delete the lines
# that you do not need, and let `tacit check` read it. Only names{types} were read from the data, never a value.

# title = "What goes with ...?"     # of the report; left out, it is made of the model. It promises nothing.

[model]
family = ""                # for a number start with "mean", which assumes no shape. One of:
{families}
{said}

[schema]
# Every column that the model reads needs bounds or levels, declared from what you know and never from these rows: what
# was observed is private, also the smallest and the largest value.
#   a number:    age = [18, 100]           the least and the largest value that make sense. Values outside are clamped.
#                Ask what the form allowed, what law or nature allow, what a colleague would call a typing error. Wider
#                bounds cost more noise: twice as wide, about twice the noise. Clamp a few extreme values rather than
#                double the range. If nobody can say, `tacit bounds` suggests some, for a part of the budget.
#   a category:  smoker = ["no", "yes"]    every level, spelt as in the data; the first one is the reference.
#                Numbers that stand for categories: {{levels = [0, 1]}}. An undeclared cell counts as the reference.
# Delete the lines of columns that the model does not use: they are then never read.
"""

_BUDGET = """
[budget]
# How much the release may tell about any one row; see `tacit design` for what an amount buys. No conclusion becomes
# more than e^epsilon times as likely because of one person: 1.1 times at 0.1, 2.7 times at 1, 20 times at 3.
epsilon = ""

[mechanism]
kind = "default"           # what suits the family, "newton" or "noise"; `tacit check` says which. For reports from
                           # people's own devices write "local".
# unit = "person"          # where one person may have several rows, these four lines: so many of them count,
# id = "patient"           # the column that tells people apart, and how many rows of each person count.
# max_rows = 5
# weight = "row"           # results are about rows; or "person": everyone counts once. Left out for scores in rounds.
"""


def template(columns: Mapping[str, str | None]) -> str:
    """The text of a plan file with blanks, for columns by name, each with its type or None where there is none."""
    for name in columns:
        check_column_name("column name", name)
    families = "\n".join(f"#   {name:<19} {_about(model)}" for name, model in {**FAMILIES, **SCORED}.items())
    said = 'column = ""               # the column that it is about; or, for a regression, in its place:\n'
    said += '# formula = "response ~ one + another"\n'
    said += '# by = "group"            # for mean, histogram, quantiles, survival: an answer for every level of it\n'
    said += "# edges = [1, 2, 5, 10]     # for histogram, quantiles, survival: in the bounds, at halves where whole\n"
    said += "# probabilities = [0.5]     # for quantiles: 0.5 is the median\n"
    said += '# event = "relapse"         # for survival: the yes/no column, whether a time ended with the event'
    width = max((len(toml_key(name)) for name in columns), default=0)
    lines = [
        f"{toml_key(name):<{width}} = []" + ("" if kind is None else f"    # {spelled_out(kind)[:60]}")
        for name, kind in columns.items()
    ]
    types = " and types" if any(kind is not None for kind in columns.values()) else ""
    return _TOP.format(types=types, families=families, said=said) + "\n" + "\n".join(lines) + "\n" + _BUDGET


def _about(model: type[Model]) -> str:
    """What a family is for, and what its plan has to say."""
    return f"{model.about}: {', '.join(required(model))}"


_ABOUT = {
    "model": "what is asked",
    "schema": "bounds and levels, from what is known and never from the rows",
    "derive": "columns that follow from others of the same row",
    "budget": "how much the release may tell about anybody: at epsilon 1 nothing gets more than 2.7 times as likely",
    "mechanism": "how: `tacit check` explains it",
}


def filled(plan: Plan) -> str:
    """The text of a plan file without blanks, short lines and all."""
    tables = plan.to_plain()
    parts = ["# A plan says in public what will be released, before any row is read."]
    if "title" in tables:
        parts.append(f"title = {toml_value(tables.pop('title'))}  # of the report; it promises nothing")
    for table, content in tables.items():
        parts += ["", f"[{table}]  # {_ABOUT[table]}"]
        parts += [f"{toml_key(name)} = {toml_value(value)}" for name, value in content.items()]
    return "\n".join([*parts, ""])


def toml_key(name: str) -> str:
    """A column's name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def toml_value(value: Any) -> str:
    """A plain value on one line of TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
