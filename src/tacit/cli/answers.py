"""What an answer to a question of `tacit init` says: a family, columns, a formula, bounds or levels, a number.

Each takes the text that somebody typed, and what is wrong with it is one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import InputError, did_you_mean

_NUMBER = r"[-+]?[\d_]*\.?\d+(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}) *(?:-|–|\.\.+|to) *({_NUMBER})")
_GROUPED = r"[-+]?\d{1,3}(?:,\d{3})+"
_LARGE = re.compile(rf"({_GROUPED}|{_NUMBER})(?:,? +|,? +to +)({_GROUPED}|{_NUMBER})")
_LISTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,;]*?))\s*(?:[,;]|$)""")
_OF_RESPONSE = re.compile(r"\s*(log|sqrt)\(\s*(`[^`]+`|\"[^\"]+\"|[^~]+?)\s*\)\s*~(.*)", re.DOTALL)


def read_family(answer: str, names: list[str]) -> str:
    """A family, by its name or its number."""
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer not in names:
        said = answer.lower().removesuffix("regression").strip(" -")
        hint = did_you_mean(said if said in names else answer, names)
        if not said:  # of "regression" alone
            hint = " (linear explains a number, logistic a yes or no)"
        raise InputError(f"Expected a number from 1 to {len(names)}, or one of the names{hint}.")
    return answer


def _found(answer: str, columns: Mapping[str, str | None]) -> str | None:
    """The column that is meant, by its name, in quotes or not, in another case, or by its number."""
    name = _unquoted(answer.strip())
    if name in columns:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(columns):
        return list(columns)[int(name) - 1]
    same = [one for one in columns if one.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def read_column(answer: str, columns: Mapping[str, str | None]) -> str:
    """One column, by its name or its number."""
    found = _found(answer, columns)
    if found is None:
        several = " One plan is about one column: make another plan for each." if "," in answer else ""
        hint = did_you_mean(answer, columns)
        raise InputError(f"Expected one of the columns {', '.join(columns)}, not {answer!r}{hint}.{several}")
    return found


def read_columns(answer: str, columns: Mapping[str, str | None]) -> list[str]:
    """Several columns. A name may hold commas itself, so the longest name that fits is taken first."""
    if re.fullmatch(r"\d+( +\d+)+", answer):  # numbers alone need no commas
        answer = ",".join(answer.split())
    parts, found = re.split(r"([,+])", answer), list[str]()
    while parts:
        for size in range(len(parts), 0, -2):
            if (one := _found("".join(parts[:size]), columns)) is not None:
                found.append(one)
                parts = parts[size + 1 :]
                break
        else:
            raise InputError(
                f"Expected some of the columns {', '.join(columns)}, or their numbers, with commas between them, not "
                f"{parts[0].strip()!r}{did_you_mean(parts[0].strip(), columns)}."
            )
    return found


def formula_of(response: str, columns: list[str]) -> str:
    """A formula of these columns; a name with spaces or signs stands between backticks."""
    from tacit.models.formula_terms import quoted

    names = [quoted(one) for one in (response, *columns)]
    return f"{names[0]} ~ {' + '.join(names[1:])}"


def formula_of_groups(response: str, groups: str) -> str:
    """A formula of a mean that varies between groups."""
    from tacit.models.formula_terms import quoted

    return f"{quoted(response)} ~ (1 | {quoted(groups)})"


def derived_response(answer: str, columns: Mapping[str, str | None]) -> tuple[str, dict[str, str]]:
    """A formula whose response is log(x) or sqrt(x) as one of a derived column, and that column; others as they are."""
    from tacit.models.formula_terms import quoted

    found = _OF_RESPONSE.fullmatch(answer)
    if found is None:
        return answer, {}
    function, said, rest = found.groups()
    if _found(said, columns) is None and not re.fullmatch(r"[\w.]+", said):
        return answer, {}
    column = read_column(said, columns)
    name = f"{function}_{re.sub(r'[^a-z0-9]+', '_', column.lower()).strip('_')}"
    if name in columns:
        return f"{name} ~{rest}", {}
    return f"{name} ~{rest}", {name: f"{function}({quoted(column)})"}


def named_in(expression: str) -> str:
    """The column of a derived one that `derived_response` wrote."""
    return _unquoted(expression.partition("(")[2].removesuffix(")"))


def read_formula(answer: str, columns: Mapping[str, str | None]) -> str:
    """A formula as it was written, whose names are columns."""
    from tacit.models.formula import parse_formula

    parsed = parse_formula(answer)
    for name in (parsed.response, *parsed.columns):
        if name not in columns:
            parsed.no(name, f"to name columns of the file, not {name!r}{did_you_mean(name, columns)}")
    return answer


def columns_of(formula: str) -> list[str]:
    """The columns of a formula, the response first."""
    from tacit.models.formula import parse_formula

    parsed = parse_formula(formula)
    return list(dict.fromkeys([parsed.response, *parsed.columns]))


def read_field(family: Any, model: dict[str, Any], name: str, *, whole: bool) -> Any:
    """An answer about the model, a number where it is one; the last one makes the model whole, which checks it."""
    several = family.__dataclass_fields__[name].metadata.get("list", False)
    parts = [part.strip() for part in model[name].split(",")] if several else [model[name]]
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers
    if not several or (numbers is None and len(parts) == 1):
        value = value[0]
    if whole:
        family.from_plain({**{k: v for k, v in model.items() if k != "family"}, name: value})
    return value


def read_declaration(answer: str) -> Any:
    """Bounds as ``1 5``, ``1,5`` or ``[1, 5]``; levels with commas between them, in quotes or not."""
    inner = answer[1:-1] if answer[:1] + answer[-1:] in ("[]", "()") else answer
    if large := _LARGE.fullmatch(inner):
        inner = " ".join(end.replace(",", "") for end in large.groups())
    parts = _parts(inner)
    ends = _RANGE.fullmatch(parts[0]) if len(parts) == 1 else None
    if len(parts) == 1 and (pair := _floats(ends.groups() if ends else parts[0].split())) and len(pair) == 2:
        return _checked(pair)
    if len(parts) == 1:
        raise InputError(f"Expected two numbers such as 1 5, or at least two levels such as no, yes; not {answer!r}.")
    numbers = _floats(parts)
    value: Any = parts if numbers is None else numbers if len(numbers) == 2 else {"levels": numbers}
    return _checked(value)


def _parts(text: str) -> list[str]:
    """What stands between commas or semicolons, but for those inside quotes."""
    found: list[str] = []
    place = 0
    while place < len(text):
        match = _LISTED.match(text, place)
        if match is None:  # a quote that does not end: all of it is taken as it stands
            return [_unquoted(part.strip()) for part in re.split("[,;]", text)]
        found.append(next((one for one in match.groups() if one is not None), ""))
        place = match.end()
    return [*found, ""] if text[-1:] in (",", ";") else found


def _checked(value: Any) -> Any:
    from tacit.schema import column_from_plain

    try:
        column: Any = column_from_plain("answer", value)
    except InputError as error:
        raise InputError(str(error).removeprefix("In the schema, column 'answer': ")) from None
    return column.to_plain()


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`" else text


def _floats(parts: Sequence[str]) -> list[float] | None:
    try:
        return [float(part.replace("_", "")) for part in parts]
    except ValueError:
        return None


def read_person(answer: str, columns: Mapping[str, str | None], used: list[str]) -> str | None:
    """The column that tells people apart, or None where everyone has one row."""
    if answer.lower() in ("no", "n", "none", "never"):
        return None
    found = _found(answer, columns)
    if found is None or found in used:
        rest = ", ".join(name for name in columns if name not in used)
        raise InputError(
            f"Expected no, or the column that tells people apart, one of {rest or 'no column'}, not {answer!r}."
        )
    return found


def read_rows(answer: str) -> int:
    """How many rows of a person count."""
    if not answer.isdecimal() or not 1 <= int(answer) <= 10**6:
        raise InputError(f"Expected a whole number of rows, at least 1, not {answer!r}.")
    return int(answer)


def read_weight(answer: str) -> str:
    """What counts of a person with several rows."""
    if answer not in ("row", "person"):
        raise InputError(
            f"Expected row, so that every row counts, or person, so that everyone counts once, not {answer!r}."
        )
    return answer


def read_epsilon(answer: str) -> float:
    """The budget."""
    from tacit.privacy.guarantees import PureDP

    found = _floats([re.sub(r"^(\d+),(\d+)$", r"\1.\2", answer)])
    if found is None:
        raise InputError(f"Expected epsilon to be a number such as 1, not {answer!r}.")
    return PureDP(found[0]).epsilon
