"""The signature of a release: who vouches that it is the one they made.

    signature = Ed25519 of "tacit release signature, format 1" + a zero byte + the canonical JSON of
                {"name": ..., "key": ..., "release": the whole release less its signature}

The text in front says what is signed and by which rules, so that a signature made for anything else never fits. The
release holds its plan, values, law, guarantee and ledger receipt. The key and the name that it calls itself stand in
the signature for the reader's help. They prove nothing: a signature is checked with a key that came another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit._support.canonical_json import canonical
from tacit.errors import InputError, expected
from tacit.signing.keys import PrivateKey, PublicKey, check_key_name, from_base64, to_base64

FORMAT = 1
_PURPOSE = f"tacit release signature, format {FORMAT}\0"


@dataclass(frozen=True)
class Signature:
    """What a release carries: the ``name`` that the key calls itself, the public ``key``, and the 64 bytes."""

    name: str
    key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        check_key_name(self.name)
        for name, value, length in (("key", self.key, 32), ("signature", self.signature, 64)):
            if not isinstance(value, bytes) or len(value) != length:
                raise InputError(f"Expected the {name} of the signature to be {length} bytes.")

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {
            "format": FORMAT,
            "name": self.name,
            "key": to_base64(self.key),
            "signature": to_base64(self.signature),
        }

    @classmethod
    def from_plain(cls, plain: object) -> Signature:
        """Read what a release carries. Whether it is right, `check_signature` says."""
        if not isinstance(plain, Mapping) or set(plain) != {"format", "name", "key", "signature"}:
            raise InputError("Expected the signature to have a format, a name, a key and a signature.")
        version = plain["format"]
        if type(version) is not int or version != FORMAT:
            raise expected("format", version, f"of the signature to be {FORMAT}")
        key = from_base64("the key of the signature", plain["key"], 32)
        return cls(plain["name"], key, from_base64("the signature", plain["signature"], 64))


@dataclass(frozen=True)
class Checked:
    """What is known of who signed a release: a word for machines, and the same for people.

    ``status`` is signed, unsigned, wrong, or unchecked where no key was given to check with.
    """

    status: str
    words: str


def make_signature(unsigned: Mapping[str, Any], key: PrivateKey) -> Signature:
    """Sign the JSON object of a release."""
    public = key.public
    return Signature(public.name, public.key, key.sign(_message(unsigned, public.name, public.key)))


def check_signature(unsigned: Mapping[str, Any], signature: Signature | None, keys: Sequence[PublicKey]) -> Checked:
    """Whether one of the ``keys`` signed the release; a name is taken from them, never from the release."""
    if signature is None:
        return Checked("unsigned", "not signed")
    if not keys:
        return Checked(
            "unchecked",
            f"carries a signature by a key that calls itself {signature.name!r}, not checked for want of that key",
        )
    for key in keys:
        if key.key == signature.key:
            message = _message(unsigned, signature.name, signature.key)
            if key.is_signed(message, signature.signature):
                return Checked("signed", f"signed with the key of {key.name}")
            return Checked("wrong", "signature wrong: the release is not the one that was signed")
    given = "the given key" if len(keys) == 1 else "one of the given keys"
    return Checked("wrong", f"signature wrong: it was not made with {given}")


def _message(unsigned: Mapping[str, Any], name: str, key: bytes) -> bytes:
    return (_PURPOSE + canonical({"name": name, "key": to_base64(key), "release": dict(unsigned)})).encode()
