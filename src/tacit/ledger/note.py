"""The note that links a spend to what it paid for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tacit._support.interrupts import uninterrupted
from tacit.errors import TacitError
from tacit.ledger.chain import Receipt, digest
from tacit.ledger.ledger import Ledger


def note(book: Ledger, receipt: Receipt, paid: str, plain: Mapping[str, Any]) -> None:
    """Link the spend to what it ``paid`` for, by its id. It is paid for: if the note fails it is not lost for that."""
    try:
        with uninterrupted():
            book.record_release(receipt, paid, digest(plain))
    except TacitError as error:
        with suppress(Warning):  # where warnings are made errors, what was paid for must still come back
            warnings.warn(f"The ledger has charged for this release but could not note it: {error}", stacklevel=4)
