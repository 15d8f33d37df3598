"""Scores in rounds from rows on disk: the same integers everywhere, paid once and beforehand."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from unittest import mock

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from score_toy import MODELS, SCHEMA, csv, exactly, plan, rows
from tacit.errors import BrokenMediumError
from tacit.mechanisms.newton import Newton
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.sources.csv_file import CsvFile
from tacit.statistics.accumulator import Sums
from tacit.statistics.score_sums import POINT_UNIT
from tacit.statistics.score_tables import ScoreTable


def test_without_noise_the_rounds_find_the_rows_own_estimate(tmp_path):
    """Seed 0, 5,000 rows with a skewed five-point column: the last point is the maximum-likelihood estimate to 1e-3."""
    table = rows(5000)
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.ApproxDP(1e6, 1e-6), Newton())
    release = tacit.privatize(csv(tmp_path / "rows.csv", table), made, ledger=None)
    x = (np.array(table["x"]) - 3) / 2
    design, y = np.stack([np.ones_like(x), x], axis=1), np.array([cell == "yes" for cell in table["y"]])
    theta = np.zeros(2)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-design @ theta))
        theta += np.linalg.solve((design * (mean * (1 - mean))[:, None]).T @ design, design.T @ (y - mean))
    np.testing.assert_allclose(release.noise_parameters.facts(release.unit)[-1].point, theta, atol=1e-3)


def test_every_engine_and_file_finds_the_same_integers(tmp_path):
    """Without noise: a CSV file, Parquet in several row groups, a folder, a frame, in one thread and in four."""
    from tacit.engines.threads import Threads

    table = rows(3000)
    arrow = pa.table(table)
    pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=100)
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(arrow.slice(1000 * i, 1000), tmp_path / "folder" / f"{i}.parquet")
    shuffled = {name: [cells[i] for i in np.random.default_rng(1).permutation(3000)] for name, cells in table.items()}
    found = set()
    with exactly():
        for data in (
            csv(tmp_path / "rows.csv", table),
            tmp_path / "rows.parquet",
            tmp_path / "folder",
            arrow,
            polars.from_arrow(arrow),
            shuffled,
        ):
            for threads in (1, 4):
                release = tacit.privatize(data, plan(), ledger=None, engine=Threads(threads))
                found.add((release.n, release.values, release.noise_parameters))
    assert len(found) == 1


def test_a_person_who_has_few_rows_adds_less(tmp_path):
    """Without noise: the sums of the rows that there are, n as if everyone had all, and noise for max_rows of them."""
    table = {**rows(300), "id": [i // 3 for i in range(300)]}
    made = plan("poisson", unit=tacit.Person("id", 4))
    with exactly():
        release = tacit.privatize(csv(tmp_path / "rows.csv", table), made, ledger=None)
    assert release.n == 4 * 100
    per_row = plan("poisson")
    with exactly():
        alone = tacit.privatize(csv(tmp_path / "again.csv", table), per_row, ledger=None)
    p = 3
    assert (
        release.noise_parameters.split(release.values)[0] == alone.noise_parameters.split(alone.values)[0]
    )  # at 0, of the same rows
    assert release.noise_parameters.rounds[0].scales[0] >= 3.9 * alone.noise_parameters.rounds[0].scales[0]
    assert len(release.noise_parameters.rounds[0].point) == p


def test_a_medium_that_breaks_between_rounds_is_paid_in_full(tmp_path):
    """The second pass fails, or finds other rows: one sentence, no release, and the whole price is spent."""
    path = csv(tmp_path / "rows.csv", rows(60))
    for fault in ("breaks", "grows"):
        ledger = tacit.Ledger.create(tmp_path / f"{fault}.db")
        ledger.new_dataset("rows", plan().budget)
        passes = []
        real = CsvFile.pulls

        def pulls(self, *arguments, real=real, passes=passes, fault=fault):
            passes.append(1)
            if len(passes) == 2 and fault == "breaks":
                raise BrokenMediumError("gone")
            yield from real(self, *arguments)
            if len(passes) == 2:
                yield from real(self, *arguments)

        with mock.patch.object(CsvFile, "pulls", pulls), pytest.raises(BrokenMediumError):
            tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
        assert len(passes) == 2
        with pytest.raises(tacit.errors.RefusedError):
            tacit.privatize(path, plan(), ledger=ledger, dataset="rows")


def test_a_ledger_pays_once_for_all_rounds(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    path = csv(tmp_path / "rows.csv", rows(60))
    before = len(ledger.entries("rows"))
    tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
    spent = len(ledger.entries("rows")) - before
    other = tacit.Ledger.create(tmp_path / "other.db")
    noise = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, plan().budget)
    other.new_dataset("rows", noise.budget)
    tacit.privatize(path, noise, ledger=other, dataset="rows")
    assert spent == len(other.entries("rows")) - before


def test_the_price_is_charged_before_the_first_row(tmp_path):
    """A source that is never read: the ledger has paid when the first pass begins."""
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    path = csv(tmp_path / "rows.csv", rows(60))
    before, left = len(ledger.entries("rows")), []

    def carry_out(calibrated, read, entropy):
        left.append(len(ledger.entries("rows")))
        raise BrokenMediumError("stop")

    with mock.patch.object(ScoreRounds, "carry_out", carry_out), pytest.raises(BrokenMediumError):
        tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
    assert left == [before + 1]


def test_neighbouring_tables_on_disk_differ_within_the_claim_in_every_round(tmp_path):
    """Seed 11: the attack. Points are fixed by one table; the sums of its neighbours there are compared with the claim.

    The planted fault: with half of the claimed square some pair would be beyond it.
    """
    made = plan()
    first = rows(40)
    release = tacit.privatize(csv(tmp_path / "first.csv", first), made, ledger=None)
    calibrated = made.calibrated_mechanism()
    worst = 0.0
    rng = np.random.default_rng(11)
    cells = {
        "y": ["yes", "no", "", "?"],
        "x": [1, 5, "", 1e300, "-inf", "nan"],
        "age": [18, 90, "", 54, 1e9],
        "sex": ["f", "m", "", "x"],
        "visits": [0, 8],
        "id": [0],
    }
    for trial in range(12):
        second = {name: list(column) for name, column in first.items()}
        for name, choices in cells.items():
            second[name][7] = choices[rng.integers(len(choices))]
            if trial % 2:
                first[name][7] = choices[rng.integers(len(choices))]
        for place, one in enumerate(release.noise_parameters.rounds):
            totals = []
            for name, table in (("a", first), ("b", second)):
                statistic = calibrated.statistic(place, one.point)
                totals.append(_sums(csv(tmp_path / f"{name}.csv", table), made, statistic))
            moves = calibrated.sensitivity(place, one.point)
            apart = [Fraction(a - b) / w for a, b, w in zip(*totals, moves.relative_scales, strict=True)]
            assert sum(v * v for v in apart) <= moves.l2_squared
            assert sum(map(abs, apart)) <= moves.l1
            worst = max(worst, float(sum(v * v for v in apart) / moves.l2_squared))
    assert worst > 0.5


def _sums(path, made, statistic):
    from tacit.boundary import collect, needed
    from tacit.sources.open import open_source

    _, collected = collect(open_source(path, *needed(made)), made, empty=Sums(statistic))
    return collected.totals


@pytest.mark.parametrize("name", ["logistic", "ball", "products", "log"])
def test_a_row_has_its_integers_in_whatever_company(name):
    """Seed 5: alone, behind others, in another order, in strides; cells on the edges of the lattice and of the bounds.

    The planted fault: a linear predictor from which the mean over the batch is taken off.
    """
    real = ScoreTable.of_rows

    def centred(table, eta, response):
        return real(table, eta - int(np.mean(eta)), response)

    assert _differs_in_company(name) == 0
    with mock.patch.object(ScoreTable, "of_rows", centred):
        assert _differs_in_company(name) > 0


def _differs_in_company(name):
    rng = np.random.default_rng(5)
    statistic = MODELS[name].score_sums(SCHEMA)
    point = np.rint(rng.normal(size=len(statistic.design)) * 3 * POINT_UNIT)
    statistic, cells = statistic.at(tuple(int(t) for t in point), matrix=True), {}
    for column in statistic.columns:
        declared = SCHEMA.declared(column)
        if hasattr(declared, "levels"):
            cells[column] = rng.integers(0, 2, 200)
        else:
            low, high = declared.low, declared.high
            edges = (low + high) / 2 + (high - low) / 2 * (rng.integers(-4096, 4096, 200) + 0.5) / 4096
            cells[column] = np.clip(np.where(rng.random(200) < 0.3, rng.choice([low, high], 200), edges), low, high)
    whole, found = _packed(statistic, cells), 0
    for i in range(0, 200, 7):
        for before in (0, 1, 5):
            company = rng.integers(0, 200, before)
            some = {key: np.concatenate([v[company], v[i : i + 1], v[:3]]) for key, v in cells.items()}
            found += int((_packed(statistic, some)[before] != whole[i]).any())
    order = rng.permutation(200)
    found += int((_packed(statistic, {key: v[order] for key, v in cells.items()}) != whole[order]).sum())
    return found + int((_packed(statistic, {key: np.repeat(v, 3)[::3] for key, v in cells.items()}) != whole).sum())


def _packed(statistic, cells):
    q, rho, omega = statistic.rows(cells)
    return np.concatenate([q, rho[:, None], omega[:, None]], axis=1)


@pytest.mark.parametrize("end", ["os._exit(9)", "raise KeyboardInterrupt"])
def test_a_process_that_dies_between_rounds_has_paid_in_full(end, tmp_path):
    """The second pass ends the process, or stops it: no release is written, and the ledger refuses the next one."""
    path = csv(tmp_path / "rows.csv", rows(60))
    plan().save(tmp_path / "plan.toml")
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    before = len(ledger.entries("rows"))
    code = f"""
import os, sys
from tacit.sources.csv_file import CsvFile
real, passes = CsvFile.pulls, []
def pulls(self, *arguments):
    passes.append(1)
    for place, one in enumerate(real(self, *arguments)):
        if len(passes) == 2:
            {end}
        yield one
CsvFile.pulls = pulls
from tacit_command import main
main()
"""
    command = [sys.executable, "-c", code, "privatize", "plan.toml", str(path), "--ledger", "books.db"]
    done = subprocess.run(
        [*command, "--dataset", "rows", "-o", "release.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert not (tmp_path / "release.json").exists()
    assert "Traceback" not in done.stderr
    assert len(ledger.entries("rows")) == before + 1
    with pytest.raises(tacit.errors.RefusedError):
        tacit.privatize(path, plan(), ledger=ledger, dataset="rows")


@pytest.mark.slow
def test_the_posterior_of_the_rows_own_likelihood(tmp_path):
    """Seed 0, n = 20,000, epsilon 4: a skewed five-point column. Six sds off the truth have odds of 2e-9."""
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.ApproxDP(4.0, 1e-6), Newton())
    release = tacit.privatize(csv(tmp_path / "rows.csv", rows(20_000)), made, ledger=None)
    posterior = tacit.infer(release, seed=0, chains=2, draws=300, warmup=300)
    (slope,) = [row for row in posterior.summary() if row.name == "theta[x]"]
    assert abs(slope.mean + 1.44) < 6 * slope.sd
    assert slope.sd < 0.06
    assert tacit.Posterior.load(posterior.save(tmp_path / "posterior.nc")).summary()
