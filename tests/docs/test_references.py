"""A name in backticks in the source is one that the source has: a renaming that forgets a docstring fails here."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from pathlib import Path

import tacit

SOURCE = Path(tacit.__file__).parent
NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)`(?!`)")
ELSEWHERE = {  # classes of scikit-learn, and a file that Parquet writers leave
    *("BaggingRegressor", "BaggingClassifier", "AdaBoostClassifier", "AdaBoostRegressor", "resample"),
    *("StandardScaler", "SimpleImputer", "PCA", "FunctionTransformer", "_metadata"),
}


def known_names(texts):
    """Every identifier, module name and one-word string of the source."""
    known = {*dir(builtins), *ELSEWHERE}
    for path, text in texts.items():
        known.update({*path.parts, path.stem})
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        known.update(token.string for token in tokens if token.type == tokenize.NAME)
        strings = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        known.update(value for value in strings if isinstance(value, str) and re.fullmatch(r"[\w.-]+", value))
    return known


def unknown(text, known):
    return [name for name in NAME.findall(text) if not set(name.split(".")) <= known]


def test_names_in_backticks_exist():
    texts = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    known = known_names(texts)
    found = {str(path.relative_to(SOURCE)): names for path, text in texts.items() if (names := unknown(text, known))}
    assert not found
    assert unknown("See `peak_chain` and `Plan.forgotten_name`.", known) == ["peak_chain", "Plan.forgotten_name"]
