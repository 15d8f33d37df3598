"""Functions in a formula: every one that cannot be has one sentence that says what to write instead."""

from __future__ import annotations

import pytest

import tacit
from tacit.errors import InputError
from tacit.models.regression import design_for

SCHEMA = tacit.Schema(
    y=(0, 10),
    age=(18, 90),
    dose=(0, 10),
    loss=(-5, 5),
    sex=["f", "m"],
    region=["north", "south"],
    code={"levels": [1, 2]},
)

# The place, marked by ^ in the text, and the remedy.
BAD = [
    ("y ~ age + scale(dose)", "y ~ age + ^scale(dose)", "write dose, which is mapped from its declared bounds"),
    ("y ~ center(age)", "y ~ ^center(age)", "write age, whose centre is the middle of its declared bounds"),
    ("y ~ .", "y ~ ^.", "named one by one instead of ."),
    ("y ~ bs(age, df=4)", "y ~ ^bs(age, df=4)", r"write bs\(age, knots=\[...\]\)"),
    ("y ~ ns(age, 4)", "y ~ ^ns(age, 4)", r"write bs\(age, knots=\[...\]\) with knots that are public"),
    ("y ~ s(age)", "y ~ ^s(age)", r"write bs\(age, knots=\[...\]\)"),
    ("y ~ cut(age, 3)", "y ~ ^cut(age, 3)", "make it a column of its own, from public numbers"),
    ("y ~ age + lgo(dose)", "y ~ age + ^lgo(dose)", "did you mean 'log'"),
    ("y ~ np.log(age)", "y ~ ^np.log(age)", r"but log\(age\)"),
    ("y ~ log(dose)", "y ~ ^log(dose)", r"a low above 0, or write log1p\(dose\)"),
    ("y ~ sqrt(loss)", "y ~ ^sqrt(loss)", "a low of at least 0"),
    ("y ~ log(sex)", "y ~ ^log(sex)", "'sex' has levels, so write sex"),
    ("y ~ C(age)", r"y ~ C(^age)", "declare the levels of 'age', or write age"),
    ('y ~ C(sex, ref="w")', 'y ~ C(^sex, ref="w")', r'one of the declared levels as ref \("f", "m"\)'),
    ("y ~ C(sex, ref=m)", "y ~ C(sex, ref=^m)", r'between quotes: C\(sex, ref="m"\)'),
    ('y ~ C(sex, Treatment("m"))', 'y ~ ^C(sex, Treatment("m"))', r'reference level as C\(sex, ref="level"\)'),
    ("y ~ factor(sex)", "y ~ ^factor(sex)", r"but C\(sex\)"),
    ("y ~ (1|age)", "y ~ (1|^age)", "a column with levels behind"),
    ("y ~ (age + sex)", "y ~ ^(age + sex)", "write the terms out"),
    ("y ~ age|region", "y ~ age^|region", "only between brackets"),
    ("y ~ age/sex", "y ~ age^/sex", "write a \\+ a:b for a/b"),
    ("y ~ age^2", "y ~ age^^2", r"a power is I\(x\*\*2\)"),
    ("y ~ I(age + dose)", "y ~ ^I(age + dose)", "declare a column that has it"),
    ("y ~ I(age**0.5)", "y ~ I(age**^0.5)", "a whole number from 2 to 8, the power"),
    ("y ~ poly(age)", "y ~ ^poly(age)", r"as in poly\(age, 2\)"),
    ("y ~ poly(age, 20)", "y ~ poly(age, ^20)", "a whole number from 1 to 8"),
    ("y ~ bs(age)", "y ~ ^bs(age)", r"write bs\(age, knots=\[...\]\)"),
    ("y ~ bs(age, knots=[30, 95])", "y ~ ^bs(age, knots=[30, 95])", "inside the bounds 18 to 90"),
    ("y ~ bs(age, knots=[50, 30])", "y ~ bs(age, knots=^[50, 30])", "that grow"),
    ("y ~ bs(age, knots=4)", "y ~ bs(age, knots=^4)", r"as in bs\(age, knots=\[30, 50\]\)"),
    ("y ~ log(age", "y ~ log^(age", r"close this bracket with \)"),
    ("y ~ log(age + 1)", "y ~ log(^age + 1)", r"one column in log\(\), as in log\(x\)"),
    ("log(y) ~ age", "^log(y) ~ age", "derive a column, as in"),
    ("y ~ offset(sex)", "y ~ offset(^sex)", "a number in offset"),
    ("y ~ offset(2)", "y ~ ^offset(2)", r"as in offset\(x\) or offset\(log\(x\)\)"),
    ("y ~ age - 1 + offset(dose)", "y ~ age - 1 + offset(^dose)", "leave out - 1"),
    ("y ~ exp(age)", "y ~ ^exp(age)", "declare a column that has it"),
    ("y ~ agee", "y ~ ^agee", "did you mean 'age'"),
    ("y ~ 2*age", "y ~ ^2*age", "no numbers but 0 and 1"),
    ("y ~ age dose", "y ~ age ^dose", "between terms, or : or"),
    ('y ~ C(sex, ref="f") + C(sex, ref="m")', 'y ~ C(sex, ref="f") + ^C(sex, ref="m")', "one reference level"),
]


@pytest.mark.parametrize(("text", "shown", "remedy"), BAD)
def test_a_bad_formula_gets_one_sentence_with_its_place_and_a_remedy(text, shown, remedy):
    with pytest.raises(InputError, match=remedy) as caught:
        design_for(text, SCHEMA)
    sentence = str(caught.value)
    assert sentence.startswith(f"Expected formula={shown!r} ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 500


def test_the_place_is_shown_in_a_long_formula():
    text = "y ~ " + " + ".join(["age"] * 60) + " + lgo(dose) + " + " + ".join(["sex"] * 60)
    with pytest.raises(InputError, match=r"formula='\.\.\.[^']*\^lgo\(dose\)[^']*\.\.\.' to have one of"):
        design_for(text, SCHEMA)


def test_a_level_that_is_a_number_and_one_that_is_text_are_told_apart():
    names = design_for("y ~ C(code, ref=2)", SCHEMA).names
    assert names == ["Intercept", "code[1]"]
    with pytest.raises(InputError, match=r"one of the declared levels as ref \(1, 2\)"):
        design_for('y ~ C(code, ref="2")', SCHEMA)
