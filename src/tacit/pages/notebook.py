"""What a notebook shows of tacit's objects: small cards, each a piece of HTML with its own style.

The objects call these functions in their ``_repr_html_``. They are given as they are and looked at from outside: this
module stands below all of them and imports none, so that a plan can be shown without loading a sampler. Every text is
escaped, because names of columns, levels and datasets may be anybody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tacit.pages.escape import escape
from tacit.pages.interval_rows import Scale, interval
from tacit.pages.render import number

_MOST_ROWS = 40
_STYLE = """<style>
.tacit-card { --blue: #3a7fc1; --line: rgba(128, 128, 128, .35); --soft: rgba(128, 128, 128, 1); font-size: 13px;
  border: 1px solid var(--line); border-radius: 6px; padding: .6em 1em; max-width: 62em; overflow-x: auto; }
.tacit-card h4 { margin: 0 0 .3em; font-size: 1.1em; } .tacit-card p { margin: .3em 0; }
.tacit-card table { border-collapse: collapse; margin: .5em 0; font-size: inherit; }
.tacit-card tr + tr th { font-weight: normal; }
.tacit-card th, .tacit-card td { text-align: right; padding: .15em .6em; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
.tacit-card th:first-child, .tacit-card td.text { text-align: left; }
.tacit-card td.strip { min-width: 11em; padding: 0; } .tacit-card td.text { white-space: normal; }
.tacit-card .warn { border-left: 3px solid #c77700; padding-left: .6em; }
.tacit-card .bad { border-left: 3px solid #c0392b; padding-left: .6em; }
.tacit-card td.strip svg { display: block; width: 100%; height: 1.5em; }
.tacit-card line { vector-effect: non-scaling-stroke; } .tacit-card .wide { stroke: var(--blue); stroke-width: 2; }
.tacit-card .dot { stroke: currentColor; stroke-width: 3; }
.tacit-card .zero { stroke: var(--soft); stroke-dasharray: 3 3; }
</style>"""


def plan_card(plan: Any) -> str:
    """What a `Plan` will read, release and promise."""
    local = plan.mechanism.kind == "local"
    columns = (*plan.reads, *(name for name in plan.columns if name in plan.schema.derived))
    lines = [
        ("Model", ", ".join(f"{name} {value}" for name, value in plan.model.to_plain().items())),
        ("Reads", f"{_some(plan.reads)}{' on each device' if local else ''}"),
        (
            "Releases",
            f"one report per person by {plan.local_randomizer().protocol.kind}"
            if local
            else _numbers(plan.calibrated_mechanism()),
        ),
        ("Unit", _unit(plan)),
        ("Promise", f"{plan.promise.symbols}. {plan.promise.sentence()}"),
    ]
    schema = [
        (name, _declared(plan.schema.declared(name)), repr(plan.schema.declared(name).missing)) for name in columns
    ]
    table = _table(("column", "declared", "stand-in"), schema, text=(0, 1, 2))
    return _card("Plan: nothing has been read or spent", lines, table)


def release_card(release: Any) -> str:
    """What crossed the boundary in a `Release`."""
    paid = "without a ledger" if release.ledger is None else f"ledger entry {release.ledger['entry']}"
    lines = [
        ("Dataset", f"{release.dataset}, {_n_of(release)}, release {release.id}"),
        ("Promise", f"{release.guarantee.symbols}. {release.guarantee.sentence()}"),
        ("Paid", "simulated: about made-up rows" if release.simulated else paid),
    ]
    sds = getattr(release.noise_parameters, "sd", None)
    rows = [
        (name, number(value / release.unit), "–" if sds is None else number(sds[i] / release.unit))
        for i, (name, value) in enumerate(zip(release.entries, release.values, strict=True))
    ]
    return _card(
        f"Release: {len(rows)} randomised number{'s' if len(rows) != 1 else ''}",
        lines,
        _table((f"{release.noise_parameters.kind}", "value", "sd of the noise"), rows),
    )


def reports_card(reports: Any) -> str:
    """What a collector holds in `Reports`: headers, never a report."""
    lines = [("Dataset", f"{reports.dataset}{' (simulated)' if reports.simulated else ''}, {reports.n:,} reports")]
    rows = [(g.protocol.kind, f"{g.n:,}", g.plan.budget.symbols) for g in reports.groups]
    notes = "".join(f'<p class="warn">{escape(warning)}</p>' for warning in reports.warnings())
    return _card("Reports that people randomised themselves", lines, notes + _table(("protocol", "n", "promise"), rows))


def posterior_card(posterior: Any) -> str:
    """What a `Posterior` answers, after the warnings that forbid trusting it; then the others, and every number."""
    grave = posterior.grave_warnings()
    alarm = "".join(f'<p class="bad">{escape(warning)}</p>' for warning in grave)
    found = "".join(f"<p>{escape(effect.sentence)}</p>" for effect in posterior.effects()[:_MOST_ROWS])
    others = [warning for warning in posterior.warnings() if warning not in grave]
    notes = "".join(f'<p class="warn">{escape(warning)}</p>' for warning in others)
    evidence = ", ".join(f"{one.dataset} ({_n_of(one)}, {_promise(one)})" for one in posterior.evidence)
    lines = [("About", evidence), ("Method", f"{posterior.plan.model.family}, {posterior.method}")]
    summary = posterior.summary()
    rows = summary[:_MOST_ROWS]
    scales = {
        name: _scale([row for row in rows if _variable(row.name) == name]) for name in map(_variable, _names(rows))
    }
    cells: list[str] = []
    for row in rows:
        scale = scales[_variable(row.name)]
        words = f"{row.name}: {number(row.mean)}, 95% {number(row.low)} to {number(row.high)}"
        strip = "" if scale is None else interval(scale, [(row.low, row.high, "wide")], row.mean, label=words)
        texts = [number(v) for v in (row.mean, row.sd, row.low, row.high)]
        texts += ["–" if v != v else f"{v:{form}}" for v, form in ((row.ess_bulk, ",.0f"), (row.r_hat, ".3f"))]
        shown = "".join(f"<td>{escape(text)}</td>" for text in texts)
        cells.append(f'<tr><th>{escape(row.name)}</th>{shown}<td class="strip">{strip}</td></tr>')
    head = "".join(f"<th>{name}</th>" for name in ("number", "mean", "sd", "95% from", "to", "ESS", "R-hat", ""))
    more = f"<p>{len(summary) - len(rows)} more</p>" if len(summary) > len(rows) else ""
    table = f"<details><summary>Every number</summary><table><tr>{head}</tr>{''.join(cells)}</table>{more}</details>"
    return _card(posterior.title, lines, table, first=f"{alarm}{found}{notes}")


def calibration_card(calibration: Any) -> str:
    """For each number of a `Calibration`, its least p-value (Bonferroni), and the coverage of its intervals."""
    trials, failed = len(calibration.failed), int(calibration.failed.sum())
    p_values = calibration.least_p()
    half, wide = calibration.coverage(0.5), calibration.coverage(0.95)
    contraction = calibration.contraction()
    rows = [
        (name, f"{p:.3g}", f"{half[name]:.1%}", f"{wide[name]:.1%}", f"{contraction[name]:.2f}")
        for name, p in p_values.items()
    ]
    lines = [
        ("Trials", f"{trials:,}{f', of which {failed} failed' if failed else ''}, {calibration.draws} ranked draws")
    ]
    body = _table(("number", "least p", "in 50%", "in 95%", "contraction"), rows)
    good = calibration.calibrated(0.01)
    verdict = "No number is rejected at level 1% (Bonferroni)." if good else "Not calibrated at level 1% (Bonferroni)."
    return _card("Calibration", lines, f'<p class="{"" if good else "bad"}">{verdict}</p>{body}')


def audit_card(audit: Any) -> str:
    """The verdict of an `Audit`, then what each check found."""
    lines = [("Plan", f"{audit.plan.model.family}, {audit.plan.promise.symbols}"), ("Verdict", audit.verdict)]
    said = f'<p class="{"bad" if audit.violated else ""}">{escape(audit.sentence())}</p>'
    rows = [(check.words,) for check in audit.checks]
    return _card("Audit", lines, said + _table(("what was tried",), rows, text=(0,)))


def _card(title: str, lines: Iterable[tuple[str, str]], body: str, *, first: str = "") -> str:
    said = "".join(f"<p><b>{escape(name)}</b>: {escape(words)}</p>" for name, words in lines)
    return f'{_STYLE}<div class="tacit-card"><h4>{escape(title)}</h4>{first}{said}{body}</div>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = (0,)) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr>{''.join(_cell(cell, i in text) for i, cell in enumerate(row))}</tr>" for row in rows[:_MOST_ROWS]
    )
    more = f"<p>{len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
    return f"<table><tr>{top}</tr>{body}</table>{more}"


def _cell(cell: str, text: bool) -> str:
    return f'<td class="text">{escape(cell)}</td>' if text else f"<td>{escape(cell)}</td>"


def _names(rows: Sequence[Any]) -> dict[str, None]:
    return dict.fromkeys(row.name for row in rows)


def _variable(name: str) -> str:
    return name.partition("[")[0]


def _scale(rows: Sequence[Any]) -> Scale | None:
    ends = [value for row in rows for value in (row.low, row.high)]
    finite = all(value - value == 0 for value in ends)
    return Scale.around(ends) if finite and max(ends) > min(ends) else None


def _n_of(one: Any) -> str:
    return f"n = {one.n:,}" if one.n is not None else one.size


def _promise(one: Any) -> str:
    return one.guarantee.symbols if hasattr(one, "guarantee") else one.plan.budget.symbols


def _unit(plan: Any) -> str:
    person = plan.mechanism.person
    return (
        "a row" if person is None else f"a person, all rows with one value of {person.id}; {person.max_rows} rows count"
    )


def _numbers(calibrated: Any) -> str:
    count = len(calibrated.entries)
    return f"{count} randomised number{'s' if count != 1 else ''}: {_some(calibrated.entries)}"


def _declared(column: Any) -> str:
    return (
        f"levels {_some(list(map(repr, column.levels)))}"
        if hasattr(column, "levels")
        else f"{column.low:g} to {column.high:g}"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])}, and {len(names) - 10} more"
