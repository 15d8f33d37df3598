"""Sums of names as people write them."""

from __future__ import annotations

import pytest

import tacit
from tacit.posterior.combination import combined, read_combination

NAMES = ["Intercept", "age", "age:sex[f]", "smoker[yes]", "smoker[no]", "income per-year", "log(income)", "a", "-1"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("age", [(1, "age")]),
        ("smoker[yes] - smoker[no]", [(1, "smoker[yes]"), (-1, "smoker[no]")]),
        ("smoker[yes]-smoker[no]", [(1, "smoker[yes]"), (-1, "smoker[no]")]),
        (" -2*age + 0.5 * log(income) ", [(-2, "age"), (0.5, "log(income)")]),
        ("age/4 - age:sex[f]*1e1", [(0.25, "age"), (-10, "age:sex[f]")]),
        ("income per-year - a", [(1, "income per-year"), (-1, "a")]),
    ],
)
def test_sums_are_read(text, parts):
    assert read_combination(text, NAMES) == parts
    draws = {name: float(i + 1) for i, name in enumerate(NAMES)}
    assert combined(parts, draws) == pytest.approx(sum(w * draws[name] for w, name in parts))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "text such as"),
        (None, "text such as"),
        ("age age", "to have \\+ or - before 'age'"),
        ("age +", "not ''"),
        ("smoker[yess]", "did you mean 'smoker\\[yes\\]'"),
        ("2", "not '2'"),
        ("age / 0", "other than 0"),
        ("1e308 * age * 1e308", "finite"),
        ("ag", "did you mean 'age'"),
    ],
)
def test_what_is_no_sum_is_refused_in_one_sentence(text, said):
    with pytest.raises(tacit.InputError, match=said) as refused:
        read_combination(text, NAMES)
    assert str(refused.value).startswith("Expected contrast=")
    assert str(refused.value).count("\n") == 0
