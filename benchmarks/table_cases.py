"""The regressions of the study of real tables: public tables, and bounds as a person would declare them beforehand."""

# ruff: noqa: C408, E501
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.models.registry import SCORED


@dataclass(frozen=True)
class Case:
    """A formula on a table. ``derived`` are columns made of others, by pandas' eval; ``where`` keeps rows."""

    name: str
    table: str
    family: str  # logistic, log, softplus, linear, or one that is released as scores in rounds alone
    formula: str
    schema: Mapping[str, Any]
    derived: Mapping[str, str] | None = None
    where: str | None = None
    more: Mapping[str, Any] | None = None

    def model(self) -> Any:
        """The family with its formula."""
        if self.family == "linear":
            return tacit.LinearRegression(self.formula)
        if self.family == "logistic":
            return tacit.LogisticRegression(self.formula)
        if self.family in SCORED:
            return SCORED[self.family](self.formula, **(self.more or {}))
        return tacit.PoissonRegression(self.formula, link=self.family)

    def frame(self, folder: Path) -> Any:
        """The rows, without those that miss a value."""
        found = pd.read_parquet(folder / f"{self.table}.parquet")
        for name, text in (self.derived or {}).items():
            found[name] = np.where(found.eval(text), "yes", "no")
        if self.where:
            found = found.query(self.where)
        return found[list(self.schema)].dropna().reset_index(drop=True)

    def rows(self, folder: Path) -> tuple[Any, Any]:
        """The design matrix in mapped units, clamped, and the response: 0 or 1, a count, or a number."""
        parsed = self.parsed(folder)
        design = self.model().design(tacit.Schema(**self.schema))
        response = design.formula.response
        return np.asarray(design.matrix(parsed)), parsed[response].astype(float)

    def parsed(self, folder: Path) -> dict[str, Any]:
        """The cells by column: numbers inside their bounds, codes of levels."""
        frame, parsed = self.frame(folder), dict[str, Any]()
        for name, said in self.schema.items():
            if isinstance(said, tuple):
                parsed[name] = np.clip(frame[name].to_numpy(float), *said)
            else:
                levels = said["levels"] if isinstance(said, dict) else said
                parsed[name] = np.array([levels.index(value) for value in frame[name]])
        return parsed


YES = ["no", "yes"]
WINE = dict(
    alcohol=(8, 15),
    volatile_acidity=(0, 1.6),
    sulphates=(0, 2),
    ph=(2.5, 4.5),
    residual_sugar=(0, 70),
    chlorides=(0, 0.7),
)
HEALTH = dict(age_years=(20, 80), bmi=(12, 90), systolic_bp1=(70, 230), hdl_mgdl=(10, 190), gender=["Male", "Female"])
KIN = {f"theta{i}": (-1.6, 1.6) for i in range(1, 9)}


def _sum(names: Any) -> str:
    return " + ".join(names)


CASES = (
    Case("income", "adult", "logistic", "income ~ age + education_num + hours_per_week + capital_loss + sex",
         dict(income=["<=50K", ">50K"], age=(17, 90), education_num=(1, 16), hours_per_week=(0, 100), capital_loss=(0, 5000), sex=["Female", "Male"])),
    Case("diabetes", "nhanes_2017_2018_extract", "logistic", f"sick ~ {_sum(HEALTH)}", dict(sick=YES, **HEALTH),
         {"sick": "doctor_told_diabetes == 'yes'"}, "age_years >= 20"),
    Case("wine", "wine_quality", "logistic", f"good ~ {_sum(WINE)}", dict(good=YES, **WINE), {"good": "quality >= 6"}),
    Case("abalone", "abalone", "logistic", "old ~ shell_weight + shucked_weight + height",
         dict(old=YES, shell_weight=(0, 1.1), shucked_weight=(0, 1.5), height=(0, 0.3)), {"old": "rings > 10"}),
    Case("banknote", "banknote", "logistic", "forged ~ curtosis + entropy",
         {"forged": YES, "curtosis": (-6, 18), "entropy": (-9, 3)}, {"forged": "`class` == 1"}),
    Case("boston", "boston_housing", "logistic", "dear ~ rm + lstat + ptratio",
         dict(dear=YES, rm=(3, 9), lstat=(0, 40), ptratio=(12, 23)), {"dear": "medv > 21"}),
    Case("pima", "pima_diabetes", "logistic", "ill ~ glucose + bmi + age + pregnancies",
         dict(ill=YES, glucose=(40, 200), bmi=(15, 70), age=(20, 90), pregnancies=(0, 20)), {"ill": "outcome == 1"}),
    Case("vertebral", "vertebral_column_2c", "logistic", "bad ~ pelvic_tilt + sacral_slope + pelvic_radius",
         dict(bad=YES, pelvic_tilt=(-10, 50), sacral_slope=(10, 125), pelvic_radius=(60, 170)), {"bad": "`class` == 'AB'"}),
    Case("robot", "kin8nm", "logistic", f"far ~ {_sum(KIN)}", dict(far=YES, **KIN), {"far": "y > 0.7"}),
    Case("charges", "insurance_charges", "logistic", "dear ~ age + bmi + children",
         dict(dear=YES, age=(18, 65), bmi=(15, 55), children=(0, 6)), {"dear": "charges > 10000"}),
    Case("ship", "naval_propulsion", "logistic", "worn ~ hp_turbine_exit_temp_c + ship_speed_knots + gt_compressor_decay",
         dict(worn=YES, hp_turbine_exit_temp_c=(400, 1200), ship_speed_knots=(0, 30), gt_compressor_decay=(0.95, 1.0)),
         {"worn": "gt_turbine_decay < 0.9875"}),
    Case("rings", "abalone", "log", "rings ~ shell_weight + shucked_weight + height",
         dict(rings=(0, 30), shell_weight=(0, 1.1), shucked_weight=(0, 1.5), height=(0, 0.3))),
    Case("children", "insurance_charges", "log", "children ~ age + bmi", dict(children=(0, 6), age=(18, 65), bmi=(15, 55))),
    Case("pregnancies", "pima_diabetes", "softplus", "pregnancies ~ age + bmi", dict(pregnancies=(0, 20), age=(20, 90), bmi=(15, 70))),
    Case("quality", "wine_quality", "log", "quality ~ alcohol + volatile_acidity + sulphates",
         dict(quality=(0, 10), alcohol=(8, 15), volatile_acidity=(0, 1.6), sulphates=(0, 2))),
    Case("cirrhosis", "cirrhosis_x20", "linear", "cirrhosis_death_rate ~ wine_per_capita",
         dict(cirrhosis_death_rate=(0, 150), wine_per_capita=(0, 40))),
    Case("pressure", "nhanes_2017_2018_extract", "linear", "systolic_bp1 ~ age_years + bmi",
         dict(systolic_bp1=(70, 230), age_years=(20, 80), bmi=(12, 90)), None, "age_years >= 20"),
    Case("costs", "insurance_charges", "linear", "charges ~ age + bmi + children",
         dict(charges=(0, 65000), age=(18, 65), bmi=(15, 55), children=(0, 6))),
    Case("grades", "wine_quality", "ordinal", "quality ~ alcohol + volatile_acidity",
         dict(quality=dict(levels=[3, 4, 5, 6, 7, 8, 9]), alcohol=(8, 15), volatile_acidity=(0, 1.6))),
    Case("sexes", "abalone", "multinomial", "sex ~ shell_weight", dict(sex=["M", "F", "I"], shell_weight=(0, 1.1))),
    Case("births", "pima_diabetes", "negative-binomial-regression", "pregnancies ~ age + bmi",
         dict(pregnancies=(0, 20), age=(20, 90), bmi=(15, 70))),
    Case("family", "insurance_charges", "beta-binomial-regression", "children ~ age",
         dict(children=(0, 5), age=(18, 65))),
    Case("bills", "insurance_charges", "gamma-regression", "charges ~ age + smoker",
         dict(charges=(0, 65000), age=(18, 65), smoker=YES)),
    Case("systolic", "nhanes_2017_2018_extract", "student-regression", "systolic_bp1 ~ age_years + bmi",
         dict(systolic_bp1=(70, 230), age_years=(20, 80), bmi=(12, 90)), None, "age_years >= 20"),
    # No table here has times to an event. Age now, with whether diabetes has come, has the form of one.
    Case("onset", "nhanes_2017_2018_extract", "weibull-survival", "age_years ~ bmi + gender",
         dict(age_years=(0, 81), sick=YES, bmi=(12, 90), gender=["Male", "Female"]),
         {"sick": "doctor_told_diabetes == 'yes'"}, "age_years >= 20", dict(event="sick")),
    Case("onset-constant", "nhanes_2017_2018_extract", "exponential-survival", "age_years ~ bmi",
         dict(age_years=(0, 81), sick=YES, bmi=(12, 90)),
         {"sick": "doctor_told_diabetes == 'yes'"}, "age_years >= 20", dict(event="sick")),
)  # fmt: skip
