"""The whole path on made-up survey answers, as `tacit demo` shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit._support.files import write_atomically
from tacit.boundary import privatize
from tacit.errors import expected
from tacit.infer import infer
from tacit.ledger import Ledger
from tacit.models.bernoulli import Bernoulli
from tacit.models.categorical import Categorical
from tacit.plan import Plan
from tacit.privacy.guarantees import PureDP
from tacit.report.page import write_report
from tacit.schema import Schema

PEOPLE = 2_000
_SHARES = {"never": 0.62, "monthly": 0.23, "weekly": 0.11, "daily": 0.04}
_YES = 0.17


def run_demo(output: str | Path, say: Callable[[str], None]) -> Path:
    """Make a survey, plan, privatize, infer and report into the folder ``output``; ``say`` gets a line a step."""
    folder = _folder(output)
    survey = write_atomically(folder / "survey.csv", _survey().encode(), name="survey", overwrite=True)
    say(f"1. A survey of {PEOPLE:,} made-up people: {survey}")
    book = folder / "ledger.db"
    book.unlink(missing_ok=True)
    Ledger.create(book).new_dataset("demo survey", PureDP(epsilon=1.0))
    say(f"2. A ledger that allows epsilon = 1 in all on these people, and no more: {book}")
    schema = Schema(diagnosed=["no", "yes"], drinks=list(_SHARES))
    plans = {
        "diagnosed": Plan(Bernoulli("diagnosed"), schema, PureDP(epsilon=0.5)),
        "drinks": Plan(Categorical("drinks"), schema, PureDP(epsilon=0.5)),
    }
    truth = {"diagnosed": {"yes": _YES}, "drinks": _SHARES}
    for step, (name, plan) in enumerate(plans.items()):
        first = 3 + 4 * step
        path = plan.save(folder / f"{name}.toml", overwrite=True)
        say(f"{first}. A plan, in public, before any answer is read: {path}")
        release = privatize(survey, path, ledger=book, dataset="demo survey")
        path = release.save(folder / f"{name}.json", overwrite=True)
        seen = ", ".join(f"{e} {v / release.unit:,.1f}" for e, v in zip(release.entries, release.values, strict=True))
        say(f"{first + 1}. The release, {release.guarantee.symbols}, all that leaves the building: {path} ({seen})")
        posterior = infer(path)
        posterior.save(folder / f"{name}.nc", overwrite=True)
        say(f"{first + 2}. The posterior, noise included, {folder / name}.nc:")
        for row in posterior.summary():
            if row.name.startswith("theta"):
                label = row.name[6:-1] or "yes"
                mean, low, high = (100 * v for v in (row.mean, row.low, row.high))
                made = 100 * truth[name][label]
                say(f"   {label:>8}  {mean:5.1f}%   95% interval {low:4.1f}% to {high:4.1f}%   (made with {made:.0f}%)")
        path = write_report(posterior, folder / f"{name}.html", overwrite=True, ledger=book)
        say(f"{first + 3}. A page to show somebody: {path}")
    balance = Ledger(book).left("demo survey")
    rest = "nothing" if balance.left is None else balance.left.symbols
    say(f"{3 + 4 * len(plans)}. The ledger now: {balance.spends} releases paid for, {rest} left.")
    return folder


def _folder(output: str | Path) -> Path:
    """The folder, made if it is not there. What somebody else has put into it is not overwritten."""
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        survey = folder / "survey.csv"
        ours = survey.is_file() and survey.read_bytes() == _survey().encode()
        if not ours and any(folder.iterdir()):
            raise expected("output", str(output), "to be a new or empty folder, or one that the demo has filled before")
    except FileExistsError:
        raise expected("output", str(output), "to be a folder") from None
    except OSError as error:
        raise expected("output", str(output), f"to be a folder that can be filled: {error.strerror}") from None
    return folder


def _survey() -> str:
    import numpy as np

    rng = np.random.default_rng(2026)
    drinks = rng.choice(list(_SHARES), size=PEOPLE, p=list(_SHARES.values()))
    diagnosed = np.where(rng.random(PEOPLE) < _YES, "yes", "no")
    return "diagnosed,drinks\n" + "".join(f"{a},{b}\n" for a, b in zip(diagnosed, drinks, strict=True))
