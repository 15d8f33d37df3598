"""The tables of the five papers: where each is from, its licence, whom to cite, and how it becomes what scripts read.

``raws`` are the files at the table's public home, each with its SHA-256 where we have had that file in hand. ``digest``
is that of the converted table, whatever wrote the file: see `digest_of`. None means that what a home gives today may
differ from the table that our numbers were made with, and ``note`` says how.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

UCI = "https://archive.ics.uci.edu/static/public"
CC_BY = "CC BY 4.0"
Columns = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """A file at its public home; ``member`` is its name within an archive, ``package`` a package that ships it."""

    name: str
    url: str
    sha256: str | None = None
    member: str | None = None
    package: str | None = None


@dataclass(frozen=True)
class Packaged:
    """The table as an installed package ships it, in a form of its own; taken before its home is asked."""

    raw: Raw
    convert: Callable[[Mapping[str, bytes]], Columns]
    digest: str


@dataclass(frozen=True)
class Dataset:
    """One table; ``convert`` takes the bytes of every raw file by name."""

    name: str
    title: str
    used: str
    licence: str
    citation: str
    raws: tuple[Raw, ...]
    convert: Callable[[Mapping[str, bytes]], Columns]
    digest: str | None = None
    note: str = ""
    packaged: Packaged | None = None


def digest_of(columns: Mapping[str, Any]) -> str:
    """SHA-256 of a table: its columns by name, each value as Python writes it, one a line; None is an empty line."""
    found = hashlib.sha256()
    for name in sorted(columns):
        found.update(f"[{name}]\n".encode())
        for value in columns[name]:
            plain = value.item() if isinstance(value, np.generic) else value
            if isinstance(plain, float) and plain.is_integer():
                plain = int(plain)
            if isinstance(plain, list | tuple | np.ndarray):
                plain = " ".join(map(str, plain))
            found.update(f"{'' if plain is None else plain}\n".encode())
    return found.hexdigest()


# ---------------------------------------------------------------------------------------------------------------------
# From raw files to columns


def _rows(raw: bytes, separator: str | None = ",", skip: int = 0) -> list[list[str]]:
    lines = [line for line in raw.decode("latin-1").splitlines()[skip:] if line.strip()]
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


def _table(rows: list[list[str]], kinds: Mapping[str, type]) -> Columns:
    """The first columns by position: text, whole numbers or numbers; a question mark is a missing cell."""
    made: Columns = {}
    for place, (name, kind) in enumerate(kinds.items()):
        cells = [row[place] for row in rows]
        made[name] = [None if cell == "?" else kind(cell) for cell in cells]
    return made


ADULT: dict[str, type] = {"age": int, "workclass": str, "fnlwgt": int, "education": str, "education_num": int}
ADULT |= dict.fromkeys(("marital_status", "occupation", "relationship", "race", "sex"), str)
ADULT |= {"capital_gain": int, "capital_loss": int, "hours_per_week": int, "native_country": str, "income": str}


def adult(raws: Mapping[str, bytes]) -> Columns:
    """Both files, one after the other; the dot after labels of the test file is left out."""
    made: Columns = {name: [] for name in (*ADULT, "split")}
    for file, split in (("adult.data", "train"), ("adult.test", "test")):
        rows = [row for row in _rows(raws[file]) if len(row) == len(ADULT)]
        for name, cells in _table(rows, ADULT).items():
            made[name] += [cell.rstrip(".") for cell in cells] if name == "income" else cells
        made["split"] += [split] * len(rows)
    return made


def abalone(raws: Mapping[str, bytes]) -> Columns:
    """Names from the description at the table's home."""
    numbers = ("length", "diameter", "height", "whole_weight", "shucked_weight", "viscera_weight", "shell_weight")
    return _table(_rows(raws["abalone.data"]), {"sex": str, **dict.fromkeys(numbers, float), "rings": int})


WINE = (
    *("fixed_acidity", "volatile_acidity", "citric_acid", "residual_sugar", "chlorides", "free_sulfur_dioxide"),
    *("total_sulfur_dioxide", "density", "ph", "sulphates", "alcohol"),
)


def wine(raws: Mapping[str, bytes]) -> Columns:
    """Red, then white, with the colour beside."""
    made: Columns = {name: [] for name in (*WINE, "quality", "color")}
    for file, colour in (("winequality-red.csv", "red"), ("winequality-white.csv", "white")):
        part = _table(_rows(raws[file], ";", skip=1), {**dict.fromkeys(WINE, float), "quality": int})
        for name, cells in part.items():
            made[name] += cells
        made["color"] += [colour] * len(part["quality"])
    return made


def banknote(raws: Mapping[str, bytes]) -> Columns:
    """Four numbers and the class."""
    numbers = dict.fromkeys(("variance", "skewness", "curtosis", "entropy"), float)
    return _table(_rows(raws["data_banknote_authentication.txt"]), {**numbers, "class": int})


def vertebral(raws: Mapping[str, bytes]) -> Columns:
    """Six numbers, two decimals each, and the class."""
    names = ("pelvic_incidence", "pelvic_tilt", "lumbar_lordosis_angle", "sacral_slope", "pelvic_radius")
    numbers = dict.fromkeys((*names, "degree_spondylolisthesis"), float)
    return _table(_rows(raws["column_2C.dat"], None), {**numbers, "class": str})


NAVAL = (
    *("lever_position", "ship_speed_knots", "gt_shaft_torque_knm", "gt_rpm", "gg_rpm"),
    *("starboard_propeller_torque_kn", "port_propeller_torque_kn", "hp_turbine_exit_temp_c"),
    *("gt_compressor_inlet_temp_c", "gt_compressor_outlet_temp_c", "hp_turbine_exit_pressure_bar"),
    *("gt_compressor_inlet_pressure_bar", "gt_compressor_outlet_pressure_bar", "gt_exhaust_pressure_bar"),
    *("turbine_injection_control_pct", "fuel_flow_kgs", "gt_compressor_decay", "gt_turbine_decay"),
)


def naval(raws: Mapping[str, bytes]) -> Columns:
    """Eighteen numbers."""
    return _table(_rows(raws["data.txt"], None), dict.fromkeys(NAVAL, float))


BOSTON = ("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "b", "lstat", "medv")


def boston(raws: Mapping[str, bytes]) -> Columns:
    """Fourteen numbers: the file of StatLib, a row on two lines after 22 lines of text, or one with commas."""
    raw = raws["boston"]
    if b"," in raw.splitlines()[0] and not raw.lstrip().startswith(b"The"):
        numbers = np.array(_rows(raw), np.float64)
    else:
        numbers = np.array(" ".join(raw.decode("latin-1").splitlines()[22:]).split(), np.float64).reshape(-1, 14)
    made = {name: numbers[:, place].tolist() for place, name in enumerate(BOSTON)}
    return made | {name: [int(value) for value in made[name]] for name in ("chas", "rad")}


def kin8nm(raws: Mapping[str, bytes]) -> Columns:
    """Nine numbers of an ARFF file."""
    lines = [line for line in raws["kin8nm.arff"].splitlines() if line.strip() and not line.startswith((b"@", b"%"))]
    names = (*(f"theta{i}" for i in range(1, 9)), "y")
    return _table(_rows(b"\n".join(lines)), dict.fromkeys(names, float))


def cirrhosis(raws: Mapping[str, bytes]) -> Columns:
    """The lines of nothing but numbers, eight each: an index, a constant, four causes and the rate at the end."""
    kept = []
    for line in raws["x20.txt"].decode("latin-1").splitlines():
        cells = line.split("#")[0].split()
        if len(cells) == 7 and all(cell.replace(".", "", 1).lstrip("-").isdigit() for cell in cells):
            kept.append([float(cell) for cell in cells])
    rows = np.array(kept)
    names = ("urban_population_pct", "late_births_recip_x100", "wine_per_capita", "liquor_per_capita")
    made: Columns = {"index": [int(value) for value in rows[:, 0]]}
    made |= {name: rows[:, 2 + place].tolist() for place, name in enumerate(names)}
    return made | {"cirrhosis_death_rate": rows[:, 6].tolist()}


def kosarak(raws: Mapping[str, bytes]) -> Columns:
    """A set of items a line."""
    return {"items": [[int(cell) for cell in row] for row in _rows(raws["kosarak-5-25.txt"], None)]}


def mnist(raws: Mapping[str, bytes]) -> Columns:
    """Threes and eights of both parts, as bytes row by row."""
    made: Columns = {"split": [], "label": [], "source_index": [], "pixels": []}
    for part, split, first in (("train", "train", 0), ("t10k", "test", 60_000)):
        labels = np.frombuffer(gzip.decompress(raws[f"{part}-labels-idx1-ubyte.gz"]), np.uint8, offset=8)
        images = np.frombuffer(gzip.decompress(raws[f"{part}-images-idx3-ubyte.gz"]), np.uint8, offset=16)
        places = np.flatnonzero((labels == 3) | (labels == 8))
        made["split"] += [split] * len(places)
        made["label"] += labels[places].tolist()
        made["source_index"] += (first + places).tolist()
        made["pixels"] += images.reshape(-1, 784)[places].tolist()
    return made


MARITAL = {1: "Married", 2: "Widowed", 3: "Divorced", 4: "Separated", 5: "Never married", 6: "Living with partner"}
EDUCATION = {
    1: "Less than 9th grade",
    2: "9-11th grade",
    3: "High school graduate/GED or equivalent",
    4: "Some college or AA degree",
    5: "College graduate or above",
}


def nhanes(raws: Mapping[str, bytes]) -> Columns:
    """What Figure 3 of kulkarni2021 needs of two files; pandas reads the format of SAS."""
    import pandas as pd

    people = pd.read_sas(io.BytesIO(raws["DEMO_J.xpt"]), format="xport")
    diabetes = pd.read_sas(io.BytesIO(raws["DIQ_J.xpt"]), format="xport")
    both = people.merge(diabetes[["SEQN", "DIQ010"]], on="SEQN", how="left")

    def named(column: str, names: Mapping[int, str]) -> list[str | None]:
        return [names.get(int(code)) if code == code else None for code in both[column]]

    return {
        "seqn": both["SEQN"].astype(int).tolist(),
        "age_years": both["RIDAGEYR"].round().astype(int).tolist(),
        "gender": named("RIAGENDR", {1: "Male", 2: "Female"}),
        "marital_status": named("DMDMARTL", MARITAL),
        "education_adults20": named("DMDEDUC2", EDUCATION),
        "income_poverty_ratio": [None if v != v else round(float(v), 2) for v in both["INDFMPIR"]],
        "doctor_told_diabetes": named("DIQ010", {1: "yes", 2: "no", 3: "borderline"}),
    }


def nhanes_packaged(raws: Mapping[str, bytes]) -> Columns:
    """The same columns of the table that the package nhanes ships: 8,366 people."""
    (content,) = raws.values()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8")), delimiter="\t"))

    def of(column: str) -> list[str | None]:
        return [row[column] or None for row in rows]

    told = {"1": "yes", "0": "no", "Borderline": "borderline"}
    return {
        "seqn": [int(float(row["SEQN"])) for row in rows],
        "age_years": [round(float(row["AgeInYearsAtScreening"])) for row in rows],
        "gender": of("Gender"),
        "marital_status": of("MaritalStatus"),
        "education_adults20": of("EducationLevelAdults20"),
        # 5.4e-79 is how the format of SAS writes 0
        "income_poverty_ratio": [v and round(float(v), 2) for v in of("RatioOfFamilyIncomeToPoverty")],
        "doctor_told_diabetes": [told.get(v or "") for v in of("DoctorToldYouHaveDiabetes")],
    }
