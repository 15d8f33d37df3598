"""What every command takes: --verbose and --quiet, added in one place to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from tacit.cli.shared import hushed, talk

_Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done to standard error.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and grave warnings.")]


class Commands(typer.Typer):
    """Commands that are told how much to say. A function that has a parameter ``verbose`` says more itself as well."""

    def command(self, *given: Any, **settings: Any) -> Callable[[Any], Any]:
        """As of `typer.Typer`."""
        register = super().command(*given, **settings)

        def registered(function: Any) -> Any:
            register(_with_loudness(function))
            return function

        return registered


def _with_loudness(function: Callable[..., None]) -> Callable[..., None]:
    known = get_type_hints(function, include_extras=True)
    more = {name: kind for name, kind in (("verbose", _Verbose), ("quiet", _Quiet)) if name not in known}

    @wraps(function)
    def command(**said: Any) -> None:
        quiet = said.pop("quiet")
        if said.pop("verbose") if "verbose" in more else said["verbose"]:
            talk()
        with hushed(quiet):
            function(**said)

    signature, kinds = inspect.signature(function), {**known, **more}
    own = [one.replace(annotation=kinds[name]) for name, one in signature.parameters.items()]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in more.items()
    ]
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = kinds
    return command
