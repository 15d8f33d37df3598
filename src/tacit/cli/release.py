"""The commands about a release's signature: sign it, and check who did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.commands import Commands
from tacit.cli.shared import Json, Overwrite, print_json, say

app = Commands(help="Sign a release, or check its signature.", no_args_is_help=True)

_File = Annotated[Path, typer.Argument(metavar="RELEASE", help="The release, a JSON file.", show_default=False)]


@app.command()
def sign(
    release: _File,
    key: Annotated[Path, typer.Option("--key", help="Your private key, the file that ends in .key.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the signed release goes; left out: into RELEASE.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Sign a release: plan, values, receipt and all else in it. The signature is added to the file."""
    from tacit._support.files import check_apart
    from tacit.errors import expected
    from tacit.release import Release

    check_apart(output or release, "output", key=key)
    loaded = Release.load(release)
    if loaded.signature is not None and not overwrite:
        raise expected("release", str(release), "to be unsigned; --overwrite replaces its signature")
    signed = loaded.sign(key)
    path = signed.save(output or release, overwrite=overwrite or output is None)
    assert signed.signature is not None
    if as_json:
        print_json({"release": str(path), "name": signed.signature.name})
        return
    say(f"Signed with the key of {signed.signature.name}: {path}")


@app.command()
def verify(
    release: _File,
    key: Annotated[list[Path], typer.Option("--key", help="A public key, the file that ends in .pub; repeatable.")],
    as_json: Json = False,
) -> None:
    """Check who signed a release. Exit code 1 means that none of the keys did."""
    from tacit.release import Release

    found = Release.load(release).check_signature(key)
    if as_json:
        print_json({"release": str(release), "status": found.status, "words": found.words})
    else:
        say(f"{release}: {found.words}.")
    if found.status != "signed":
        raise typer.Exit(1)
