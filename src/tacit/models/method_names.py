"""Names that methods had once. They are taken wherever a method is named, and saved posteriors may hold them."""

from __future__ import annotations

from typing import Any

OLD_NAMES = {
    "collapsed": "wishart",
    "free": "cell-moments",
    "marginal": "gaussian-covariates",
    "cells": "exact-cells",
    "evidence": "likelihood",
}


def current_method(name: Any) -> Any:
    """Today's name of a method; what is no old name stays as it is."""
    return OLD_NAMES.get(name, name) if isinstance(name, str) else name
