"""What a plan asks of its mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.models.model import Model
from tacit.privacy.guarantees import Guarantee
from tacit.schema import Schema


@dataclass(frozen=True)
class Request:
    """Everything public that decides what one release is, at what price: a mechanism is calibrated for it.

    ``filtered`` says that rows count only where they meet the plan's condition.
    """

    model: Model
    schema: Schema
    budget: Guarantee
    filtered: bool = False
