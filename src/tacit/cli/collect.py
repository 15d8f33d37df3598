"""The commands about a survey: start one, collect reports from people's own devices, make a file of reports of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared import Json, Overwrite, print_json, say

_Plans = Annotated[
    list[Path],
    typer.Argument(
        metavar="PLAN",
        help="Local plans, TOML files: one for each question, which has the file's name.",
        show_default=False,
    ),
]


def collect(
    plan: _Plans,
    port: Annotated[int, typer.Option("--port", help="Where to listen; 0 picks a free one.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The journal; an existing one is continued.")],
    dataset: Annotated[str, typer.Option("--dataset", help="What the survey is called.")],
    page: Annotated[
        Path | None, typer.Option("--page", help="A folder with the survey's page, to serve it as well.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    as_json: Json = False,
) -> None:
    """Collect randomised reports from people's own devices. Runs until it is stopped, and keeps no addresses."""
    from tacit.collector.form import Form
    from tacit.collector.journal import Journal
    from tacit.collector.page import load_page
    from tacit.collector.server import listen
    from tacit.errors import expected

    if not 0 <= port <= 65535:
        raise expected("port", port, "to lie between 0 and 65535")
    form = Form.load(dataset, plan)
    files = {} if page is None else load_page(page)
    journal = Journal(output, form)
    server = listen(host, port, form, journal, files)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{server.server_address[1]}/"
    if as_json:
        print_json({"url": url, "journal": str(output), "stored": len(journal), "promise": form.promise.to_plain()})
    else:
        questions = ", ".join(f"{question.name} ({question.plan.budget.symbols})" for question in form.questions)
        say(f"Questions: {questions}. Whoever answers all of them is promised {form.promise.symbols}.")
        say(f"Stored so far: {len(journal):,} submissions in {output}")
        say(f"Collecting at {url} until stopped.")
    server.serve_forever()


def survey(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to fill.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write the files of a survey: a page, its client, three plans. Try them and change them."""
    from tacit.collector.starter import new_survey

    written = new_survey(folder)
    if as_json:
        print_json({"folder": str(folder), "files": [path.name for path in written]})
        return
    plans = " ".join(path.name for path in written if path.suffix == ".toml")
    say(f"Wrote {len(written)} files: {folder}")
    say(f"  cd {folder} && tacit collect {plans} --port 8000 --page . --dataset NAME -o NAME.journal")


def reports(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="The journal of a collector.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the reports go, a Parquet file.")],
    question: Annotated[
        str | None, typer.Option("--question", help="Which question, where there are several.", show_default=False)
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make a file of reports of what a collector has stored. It may still be running; infer takes the file."""
    from tacit._support.files import check_apart, check_writable
    from tacit.collector.journal import read_reports

    check_apart(output, "output", journal=journal)
    check_writable(output, name="output", overwrite=overwrite)
    found = read_reports(journal, question)
    found.save(output, overwrite=overwrite)
    if as_json:
        print_json({**found.header(), "reports": str(output)})
        return
    say(f"Wrote {found.n:,} reports of {found.dataset!r}: {output}")
    for warning in found.warnings():
        say(f"Note: {warning}")


def cohort(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS", help="What earlier cohorts of a survey reported.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the next cohort's plan goes, a TOML file.")],
    matrix: Annotated[
        float | None,
        typer.Option("--matrix", help="The part of a report that goes to the information.", show_default="as before"),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write the plan of a survey's next cohort. Its point follows from the reports; it costs nothing."""
    from tacit._support.files import check_apart, check_writable
    from tacit.collector.next_cohort import next_cohort
    from tacit.mechanisms.local import Local

    check_apart(output, "output", **{f"reports {place + 1}": path for place, path in enumerate(reports)})
    check_writable(output, name="output", overwrite=overwrite)
    plan = next_cohort(list(reports), matrix=matrix)
    plan.save(output, overwrite=overwrite)
    assert isinstance(plan.mechanism, Local)
    if as_json:
        print_json({"plan": str(output), "point": list(plan.mechanism.point or ()), "matrix": plan.mechanism.matrix})
        return
    say(f"Wrote the plan of the next cohort, at {', '.join(f'{t:g}' for t in plan.mechanism.point or ())}: {output}")
    say("It is for people who have not answered yet: every report costs its sender the whole budget.")
