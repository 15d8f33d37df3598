"""The whole path on made-up survey answers, as `tacit demo` shows it: a regression first, then two shares."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

from tacit._support.files import write_atomically
from tacit.boundary import privatize
from tacit.errors import expected
from tacit.infer import infer
from tacit.ledger import Ledger
from tacit.models.bernoulli import Bernoulli
from tacit.models.categorical import Categorical
from tacit.models.linear import LinearRegression
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.privacy.guarantees import PureDP
from tacit.report.page import write_report
from tacit.schema import Schema

PEOPLE = 20_000
DATASET = "demo survey"
_SHARES = {"never": 0.62, "monthly": 0.23, "weekly": 0.11, "daily": 0.04}
_YES = 0.17
_BASE, _AGE, _DRINKS, _DIAGNOSED = 68.0, -0.15, {"never": 0.0, "monthly": -1.0, "weekly": -4.0, "daily": -9.0}, -12.0
_SCATTER = 8.0
SCHEMA = {"wellbeing": (0, 100), "age": (18, 90), "diagnosed": ["no", "yes"], "drinks": list(_SHARES)}


def run_demo(output: str | Path, say: Callable[[str], None], *, show: bool = False) -> Path:
    """Make a survey, plan, privatize, infer and report into the folder ``output``; ``say`` gets a line a step.

    ``show`` opens the first report in a browser, where there is a screen.
    """
    folder = _folder(output)
    survey = write_atomically(folder / "survey.csv", _survey().encode(), name="survey", overwrite=True)
    say(f"1. A survey of {PEOPLE:,} made-up people (well-being, age, a diagnosis, drinking): {survey}")
    book = folder / "ledger.db"
    book.unlink(missing_ok=True)
    Ledger.create(book).new_dataset(DATASET, PureDP(epsilon=2.0))
    say(f"2. A ledger that allows epsilon = 2 in all on these people, and no more: {book}")
    schema = Schema(SCHEMA)
    model = LinearRegression("wellbeing ~ age + drinks")
    plans = {
        "wellbeing": Plan(model, schema, PureDP(epsilon=1.0), title="What goes with well-being?"),
        "diagnosed": Plan(Bernoulli("diagnosed"), schema, PureDP(epsilon=0.5)),
        "drinks": Plan(Categorical("drinks"), schema, PureDP(epsilon=0.5)),
    }
    for step, (name, plan) in enumerate(plans.items()):
        posterior = _one(folder, name, plan, book, 3 + 4 * step, say)
        page = write_report(posterior, folder / f"{name}.html", overwrite=True, ledger=book)
        say(f"{6 + 4 * step}. A page to show somebody: {page}")
    balance = Ledger(book).left(DATASET)
    little = isinstance(balance.left, PureDP) and balance.left.epsilon < 1e-6  # what whole numbers of noise do not use
    rest = "nothing" if balance.left is None or little else balance.left.symbols
    say(f"{3 + 4 * len(plans)}. The ledger now: {balance.spends} releases paid for, {rest} left.")
    first = folder / "wellbeing.html"
    opened = show and _has_screen() and webbrowser.open(first.resolve().as_uri())
    say(f"{'Opened' if opened else 'Open'} {first} in a browser: it begins with what was found.")
    say("Your own table next, in a folder with its CSV file:")
    tool = _tool()
    for line in ("init people.csv", "check plan.toml"):
        say(f"  {tool} {line}")
    return folder


def _tool() -> str:
    """How the command is called from here: `make demo` leaves it in a folder where no shell looks."""
    called = Path(sys.argv[0])
    if shutil.which("tacit") or called.name != "tacit":
        return "tacit"
    return shlex.quote(str(called.resolve()))


def _one(folder: Path, name: str, plan: Plan, book: Path, first: int, say: Callable[[str], None]) -> Posterior:
    """One plan from its file to its posterior, told beside what the answers were made with."""
    path = plan.save(folder / f"{name}.toml", overwrite=True)
    say(f"{first}. A plan, in public, before any answer is read: {path}")
    release = privatize(folder / "survey.csv", path, ledger=book, dataset=DATASET)
    path = release.save(folder / f"{name}.json", overwrite=True)
    few = list(zip(release.entries, release.values, strict=True))[:4]
    seen = ", ".join(f"{entry} {value / release.unit:,.1f}" for entry, value in few)
    more = f" and {len(release.values) - 4} more" if len(release.values) > 4 else ""
    say(f"{first + 1}. The release, {release.guarantee.symbols}, all that leaves the building: {path} ({seen}{more})")
    posterior = infer(path)
    posterior.save(folder / f"{name}.nc", overwrite=True)
    say(f"{first + 2}. The posterior, noise included, {folder / name}.nc: {posterior.title}")
    for effect, made in zip(posterior.effects(), _truth(name), strict=True):
        say(f"   {effect.sentence} Made with {made}.")
    for warning in posterior.warnings():
        say(f"   Note: {warning}")
    return posterior


def _truth(name: str) -> list[str]:
    """What each effect was made with, in its units."""
    if name == "diagnosed":
        return [f"{_YES:.0%}"]
    if name == "drinks":
        return [f"{share:.0%}" for share in _SHARES.values()]
    made = [10 * _AGE, *(_DRINKS[level] for level in list(_SHARES)[1:])]
    return [f"{abs(effect):g} {'lower' if effect < 0 else 'higher'}" for effect in made]


def _has_screen() -> bool:
    """Whether a person sits before it: a display or a desktop, and a terminal."""
    desktop = sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return desktop and sys.stdout.isatty()


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
    """Age is skewed and well-being ends at 0 and 100, as in real surveys: nothing is exactly normal."""
    import numpy as np

    rng = np.random.default_rng(2026)
    drinks = rng.choice(list(_SHARES), size=PEOPLE, p=list(_SHARES.values()))
    diagnosed = np.where(rng.random(PEOPLE) < _YES, "yes", "no")
    age = np.clip(np.round(18 + 72 * rng.beta(1.6, 2.4, PEOPLE)), 18, 90)
    scatter = _SCATTER * (rng.gamma(4, 0.5, PEOPLE) - 2)
    effects = np.array([_DRINKS[level] for level in drinks]) + _DIAGNOSED * (diagnosed == "yes")
    wellbeing = np.clip(np.round(_BASE + _AGE * (age - 50) + effects + scatter), 0, 100)
    rows = zip(wellbeing, age, diagnosed, drinks, strict=True)
    return "wellbeing,age,diagnosed,drinks\n" + "".join(f"{w:.0f},{a:.0f},{d},{k}\n" for w, a, d, k in rows)
