"""The commands about keys: make a pair, and say whose a public key says it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.commands import Commands
from tacit.cli.shared import Json, print_json, say

app = Commands(help="Keys to sign releases with.", no_args_is_help=True)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is: a person or an office.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Makes OUTPUT.key, to keep, and OUTPUT.pub.")],
    as_json: Json = False,
) -> None:
    """Make a key pair with a name in it. The private half is readable by its owner alone."""
    from tacit.signing.keys import PublicKey, new_key

    private, public = new_key(name, output)
    fingerprint = PublicKey.load(public).fingerprint
    if as_json:
        print_json({"name": name, "private": str(private), "public": str(public), "fingerprint": fingerprint})
        return
    say(f"Private key, to keep: {private}. Whoever has it can sign as {name!r}.")
    say(f"Public key, to hand out: {public}")
    say(f"Fingerprint: {fingerprint}")


@app.command()
def show(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="A public key, the file that ends in .pub.")],
    as_json: Json = False,
) -> None:
    """Print the name in a public key, and its fingerprint. Ask the owner by telephone if it is theirs."""
    from tacit.signing.keys import PublicKey

    found = PublicKey.load(key)
    if as_json:
        print_json({"name": found.name, "fingerprint": found.fingerprint})
        return
    say(f"This key calls itself {found.name!r}. That alone proves nothing: ask its holder for the fingerprint.")
    say(f"Fingerprint: {found.fingerprint}")
