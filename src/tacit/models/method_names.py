"""Which method a name, or none, stands for. Names of earlier versions are taken: saved posteriors hold them."""

from __future__ import annotations

from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.models.model import Model
from tacit.schema import Schema

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


def method_name(
    model: Model,
    schema: Schema,
    method: str | None,
    *,
    central: bool = True,
    local: bool = False,
    unknown_n: bool = False,
    sites: bool = False,
    releases: bool = False,
) -> str:
    """The family's default method for such evidence, or the one that was asked for. ``sites``: of several datasets,
    ``releases``: several about the same rows; where no method takes these, the default is named, and refused later.
    """
    method = current_method(method)
    methods = model.methods
    takes = [
        name for name, found in methods.items() if found.unknown_n >= unknown_n and found.known_n >= (not unknown_n)
    ]
    able = [name for name in takes if methods[name].surveys >= local and methods[name].central >= central]
    if method is not None and method not in methods:
        raise expected("method", method, f"to be one of {', '.join(methods)}{did_you_mean(method, methods)}")
    if method is not None and method not in able:
        raise expected("method", method, f"to be one for such evidence: {', '.join(able)}")
    if method is not None:
        return method
    if not able:
        evidence = " and ".join(["releases"] * central + ["reports"] * local) + " together" * (central and local)
        evidence += " whose number of rows is not public" * unknown_n
        raise expected("family", model.family, f"to have a method that takes {evidence}")
    pools = [
        name for name in able if name != "naive" and methods[name].sites >= sites and methods[name].releases >= releases
    ]
    default, able = model.default_method(schema), pools or able
    return default if default in able else able[0]
