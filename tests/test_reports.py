"""Local privacy end to end: one record in, one report out, a file of reports, a posterior."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.cli import main
from tacit.reports import Group, Reports

SCHEMA = tacit.Schema(drinks=["never", "weekly", "daily"], smoker=["no", "yes"])
PLAN = tacit.Plan(tacit.Categorical("drinks"), SCHEMA, tacit.PureDP(1.0), tacit.Local())
UNARY = dataclasses.replace(PLAN, mechanism=tacit.Local("unary-encoding"))


def _reports(plan=PLAN, n=50, seed=1):
    return tacit.simulate(plan, n=n, seed=seed).release


def test_a_plan_survives_being_written_down():
    for plan in (PLAN, UNARY):
        assert tacit.Plan.from_toml(plan.to_toml()) == plan
        assert plan.event().satisfies(plan.budget)
    assert PLAN.local_randomizer().protocol.kind == "randomized-response"
    for changes, words in (
        ({"mechanism": tacit.Local("unary-encodin")}, "did you mean 'unary-encoding'"),
        ({"model": tacit.LinearRegression("drinks ~ smoker")}, "declared with bounds"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            dataclasses.replace(PLAN, **changes)
    with pytest.raises(tacit.InputError, match="releases of all rows"):
        PLAN.statistic()
    with pytest.raises(tacit.InputError, match='"local"'):
        dataclasses.replace(PLAN, mechanism=tacit.AddNoise()).local_randomizer()


def test_one_record_becomes_one_report_by_the_published_law():
    """Fresh entropy: 3,000 reports against the exact probabilities by chi-square, false-alarm rate 1e-9.

    Planted fault: the distribution of half the epsilon is rejected.
    """
    from scipy.stats import chisquare

    reports = [tacit.randomize({"drinks": " daily "}, PLAN)[0] for _ in range(3000)]
    counts = np.bincount(reports, minlength=3)

    def distribution(epsilon):
        weights = np.exp([0.0, 0.0, epsilon])
        return 3000 * weights / weights.sum()

    assert chisquare(counts, distribution(1.0)).pvalue > 1e-9
    assert chisquare(counts, distribution(0.5)).pvalue < 1e-9
    assert len(tacit.randomize({"drinks": "daily"}, UNARY)) == 3
    with pytest.raises(tacit.InputError, match="drinks"):
        tacit.randomize({"smoker": "yes"}, PLAN)
    for strange in (None, 7, float("nan"), "?", [1, 2]):
        assert tacit.randomize({"drinks": strange}, PLAN)[0] in (0, 1, 2)


def test_a_client_needs_numpy_alone():
    """What a device runs must not import what a collector needs."""
    code = (
        "import sys; import tacit.device as c; from tacit.plan import Plan\n"
        f"c.randomize({{'drinks': 'daily'}}, Plan.from_toml({PLAN.to_toml()!r}))\n"
        "print([m for m in ('jax', 'pyarrow', 'scipy', 'xarray', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_files_round_trip_and_merge(tmp_path):
    first, second = _reports(), _reports(UNARY, 30, 2)
    path = first.save(tmp_path / "a.parquet")
    again = Reports.load(path)
    assert again.header() == first.header()
    assert np.array_equal(np.sort(again.groups[0].values, axis=0), np.sort(first.groups[0].values, axis=0))
    merged = Reports.merge([first, second, again], dataset="both")
    assert [group.n for group in merged.groups] == [100, 30]
    loaded = Reports.load(merged.save(tmp_path / "b.parquet"))
    assert (loaded.n, loaded.dataset) == (130, "both")
    assert loaded.id == merged.id != first.id
    loose = dataclasses.replace(PLAN, budget=tacit.ApproxDP(1.0, 1e-3))
    assert "delta times the number" in _reports(loose, 100).warnings()[0]
    other = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), tacit.Local())
    with pytest.raises(tacit.InputError, match="one model"):
        Reports.merge([first, _reports(other)])


def _write(path, columns, header):
    table = pa.table(columns).replace_schema_metadata({b"tacit": json.dumps(header)})
    pq.write_table(table, path)
    return path


def test_a_broken_or_malicious_file_is_refused_in_one_sentence(tmp_path):
    good = _reports(n=4)
    header, columns = good.header(), {"group": [0] * 4, "report_0": [0, 1, 2, 2]}
    group = header["groups"][0]
    assert Reports.load(_write(tmp_path / "good.parquet", columns, header)).n == 4
    cases = {
        "outside the alphabet": ({**columns, "report_0": [0, 1, 2, 3]}, header, "reports"),
        "negative": ({**columns, "report_0": [0, 1, 2, -1]}, header, "reports"),
        "not whole": ({**columns, "report_0": [0.5, 1.0, 2.0, 2.0]}, header, "reports"),
        "too many": ({"group": [0] * 5, "report_0": [0] * 5}, header, "as many"),
        "stray group": ({"group": [0, 0, 0, 0, 1], "report_0": [0, 1, 2, 2, 0]}, header, "belong to a group"),
        "no column": ({"group": [0] * 4}, header, "as wide"),
        "newer": (columns, {**header, "format": 2}, "format"),
        "no groups": (columns, {**header, "groups": []}, "group|at least one"),
        "surprise": (columns, {**header, "surprise": 1}, "header"),
        "wrong epsilon": (
            columns,
            {**header, "groups": [{**group, "protocol": {**group["protocol"], "epsilon": "2/1"}}]},
            "budget",
        ),
        "other protocol": (
            columns,
            {**header, "groups": [{**group, "protocol": UNARY.local_randomizer().protocol.to_plain()}]},
            "as wide|protocol",
        ),
        "broken plan": (columns, {**header, "groups": [{**group, "plan": {}}]}, "plan"),
        "header is a list": (columns, [], "format"),
    }
    for name, (cells, head, words) in cases.items():
        path = _write(tmp_path / f"{name}.parquet", cells, head)
        with pytest.raises(tacit.InputError, match=words) as caught:
            tacit.infer(path)
        assert "\n" not in str(caught.value), name
    whole = (tmp_path / "good.parquet").read_bytes()
    for i, content in enumerate((b"", whole[: len(whole) // 2], b"PAR1" + bytes(100), whole[:-1])):
        (tmp_path / f"cut{i}.parquet").write_bytes(content)
        with pytest.raises(tacit.InputError, match="file of reports"):
            tacit.infer(tmp_path / f"cut{i}.parquet")
    with pytest.raises(tacit.InputError, match="reports"):
        Group(PLAN, PLAN.local_randomizer().protocol, np.array([[5]]))


@pytest.mark.parametrize(
    "plan", [pytest.param(PLAN, id="response"), pytest.param(UNARY, id="unary", marks=pytest.mark.slow)]
)
def test_reports_give_a_calibrated_posterior(plan):
    """Seed 3: 300 surveys of 200 people, level 1e-3 over all numbers. Planted fault: inference at twice the epsilon."""
    from tacit.infer import posterior_arrays, problem_of
    from tacit.runtime.chain import SamplerSettings

    assert tacit.calibrate(plan, n=200, trials=300, seed=3).calibrated(1e-3)
    if plan is PLAN:
        wrong = dataclasses.replace(plan, budget=tacit.PureDP(2.0))
        simulations = [tacit.simulate(plan, n=200, seed=s) for s in range(300)]
        values = [s.numbers() for s in simulations]
        arrays, _ = posterior_arrays(
            problem_of(wrong, None, 200), "shares", SamplerSettings(300, 99), values, chains=1, seed=1
        )
        ranks = (arrays["theta"][:, 0, :, 0] < np.array([s.parameters["theta"][0] for s in simulations])[:, None]).sum(
            1
        )
        from scipy.stats import kstest

        assert kstest((ranks + 0.5) / 100, "uniform").pvalue < 1e-3


def test_reports_and_a_release_pool(tmp_path):
    """Seeds 4 and 5: the pooled interval is narrower than that of either."""
    local = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), tacit.Local())
    central = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(0.05))
    reports = tacit.simulate(local, n=2000, seed=4, parameters={"theta": 0.3}).release
    release = tacit.simulate(central, n=1000, seed=5, parameters={"theta": 0.3}).release
    both = tacit.infer([release, reports.save(tmp_path / "r.parquet")], disjoint=True)
    alone = [tacit.infer(one).draws("theta").std() for one in (release, reports)]
    assert both.draws("theta").std() < 0.95 * min(alone)
    again = tacit.Posterior.load(both.save(tmp_path / "p.nc"))
    assert len(again.releases) == len(again.surveys) == 1
    page = tacit.report(again)
    assert "reports that people randomised themselves" in page
    assert any("published protocol" in text for text in again.assumes)
    with pytest.raises(tacit.InputError, match=r"posterior\.evidence"):
        _ = again.release
    with pytest.raises(tacit.InputError, match="shares"):
        tacit.infer(reports, method="exact")


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.toml")
    (tmp_path / "rows.csv").write_text("drinks\n" + "daily\nnever\nnonsense\n" * 20)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tacit", *arguments])
        main()
        return capsys.readouterr().out

    with pytest.raises(SystemExit) as caught:
        run("check", "plan.toml")
    assert caught.value.code == 0
    assert "on each person's own device" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        run("randomize", "plan.toml", "rows.csv", "-o", "reports.parquet", "--dataset", "trial")
    assert caught.value.code == 0
    assert "Made 60 reports" in capsys.readouterr().out
    assert Reports.load("reports.parquet").n == 60
    with pytest.raises(SystemExit) as caught:
        run("privatize", "plan.toml", "rows.csv", "-o", "x.json", "--no-ledger")
    assert caught.value.code == 2
    assert "releases of all rows" in capsys.readouterr().err
