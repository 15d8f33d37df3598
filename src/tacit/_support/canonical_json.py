"""The one JSON text of a value, and its digest: what is hashed in a ledger and signed in a release."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(plain: Any) -> str:
    """The value as JSON with sorted keys, no spaces, ASCII alone and finite numbers."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(plain: Any) -> str:
    """SHA-256 of the canonical JSON of a value: of a plan, a release, ..."""
    return hashlib.sha256(canonical(plain).encode()).hexdigest()
