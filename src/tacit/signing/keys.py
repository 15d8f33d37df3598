"""Key pairs for signing releases: an Ed25519 key with the name of who holds it, in a small JSON file each.

    holder.key    {"tacit": "private key", "format": 1, "name": ..., "key": the 32 bytes of the seed in base64}
    holder.pub    {"tacit": "public key", "format": 1, "name": ..., "key": the 32 bytes of the public key in base64}

The name is what the key calls itself. It proves nothing: whoever gets a public key must know whom it came from. Signing
and checking need the package cryptography (``pip install "tacit[signing]"``); reading a public key does not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit._support.files import check_writable, read_text, write_atomically
from tacit._support.reading import strict_json
from tacit.errors import InputError, expected

FORMAT = 1
_LARGEST = 2**16  # bytes of a key file
_LARGEST_NAME = 100


@dataclass(frozen=True)
class PublicKey:
    """What others check a signature with: the ``name`` that the key calls itself, and its 32 bytes."""

    name: str
    key: bytes

    def __post_init__(self) -> None:
        check_key_name(self.name)
        _check_bytes(self.key)

    @property
    def fingerprint(self) -> str:
        """The first 128 bits of the key's SHA-256, to be compared by telephone."""
        text = hashlib.sha256(self.key).hexdigest()[:32]
        return " ".join(text[i : i + 4] for i in range(0, 32, 4))

    def is_signed(self, message: bytes, signature: bytes) -> bool:
        """Whether the private key of this one signed the message."""
        ed25519, invalid = _cryptography()
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.key).verify(signature, message)
        except invalid:
            return False
        return True

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the key to a file."""
        return write_atomically(path, _text("public key", self.name, self.key), name="key", overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Read a public key from its file."""
        return cls(*_read(path, "public key"))


@dataclass(frozen=True)
class PrivateKey:
    """What its holder signs with, and nobody else may have: the ``name`` and the 32 bytes of the seed."""

    name: str
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_key_name(self.name)
        _check_bytes(self.key)

    @classmethod
    def new(cls, name: str) -> PrivateKey:
        """A fresh key, from the operating system's randomness."""
        _cryptography()  # before a key is made that nothing here could use
        return cls(name, os.urandom(32))

    @property
    def public(self) -> PublicKey:
        """The key to hand out."""
        ed25519, _ = _cryptography()
        return PublicKey(
            self.name, ed25519.Ed25519PrivateKey.from_private_bytes(self.key).public_key().public_bytes_raw()
        )

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""
        ed25519, _ = _cryptography()
        return ed25519.Ed25519PrivateKey.from_private_bytes(self.key).sign(message)

    def save(self, path: str | Path) -> Path:
        """Write the key to a new file that its owner alone can read."""
        content = _text("private key", self.name, self.key)
        return write_atomically(path, content, name="key", overwrite=False, private=True)

    @classmethod
    def load(cls, path: str | Path) -> PrivateKey:
        """Read a private key from its file, which nobody but its owner may be able to read."""
        name, key = _read(path, "private key")
        if os.name == "posix" and os.stat(path).st_mode & 0o077:
            raise expected("key", str(path), "to be readable by its owner alone; `chmod 600` makes it so")
        return cls(name, key)


def new_key(name: str, output: str | Path) -> tuple[Path, Path]:
    """Make a key pair in the files ``output``.key and ``output``.pub, and return their paths. Nothing is replaced."""
    private, public = Path(f"{output}.key"), Path(f"{output}.pub")
    for path in (private, public):
        check_writable(path, name="output", overwrite=False)
    made = PrivateKey.new(check_key_name(name))
    return made.save(private), made.public.save(public)


def as_public_key(key: PublicKey | str | Path) -> PublicKey:
    """A public key, or the path of one."""
    return key if isinstance(key, PublicKey) else PublicKey.load(key)


def as_private_key(key: PrivateKey | str | Path) -> PrivateKey:
    """A private key, or the path of one."""
    return key if isinstance(key, PrivateKey) else PrivateKey.load(key)


def check_key_name(name: object) -> str:
    """``name`` itself, if it can stand on a line of a report."""
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= _LARGEST_NAME
        or not name.isprintable()
        or name != name.strip()
    ):
        raise expected("name", name, f"to be 1 to {_LARGEST_NAME} printable characters, no space at either end")
    return name


def from_base64(name: str, text: object, length: int) -> bytes:
    """The bytes that a text stands for, written in the one way there is."""
    try:
        found = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != length or to_base64(found) != text:
        raise InputError(f"Expected {name} to be {length} bytes in base64.")
    return found


def to_base64(value: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(value).decode()


def _text(kind: str, name: str, key: bytes) -> bytes:
    plain = {"tacit": kind, "format": FORMAT, "name": name, "key": to_base64(key)}
    return (json.dumps(plain, indent=2, ensure_ascii=True) + "\n").encode()


def _read(path: str | Path, kind: str) -> tuple[str, bytes]:
    """Name and bytes; no message quotes the content, which may be a private key."""
    plain: Any = None
    text = read_text(path, name="key", limit=_LARGEST)
    with suppress(InputError):
        plain = strict_json(text, "key")
    if not isinstance(plain, dict) or plain.get("tacit") not in ("private key", "public key"):
        raise expected("key", str(path), "to be a key file that `tacit key new` made")
    if plain["tacit"] != kind:
        other = "the file that ends in .key" if kind == "private key" else "the file that ends in .pub"
        raise expected("key", str(path), f"to be a {kind}, {other}, and it is a {plain['tacit']}")
    if set(plain) != {"tacit", "format", "name", "key"} or type(plain["format"]) is not int:
        raise expected("key", str(path), "to have a format, a name and a key, and nothing else")
    if plain["format"] != FORMAT:
        newer = "; it was written by a newer tacit" if plain["format"] > FORMAT else ""
        raise expected("key", str(path), f"to have format {FORMAT}{newer}")
    return check_key_name(plain["name"]), from_base64("the key in the file", plain["key"], 32)


def _check_bytes(key: object) -> None:
    if not isinstance(key, bytes) or len(key) != 32:
        raise InputError("Expected key to be 32 bytes.")


def _cryptography() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError(
            'Expected the package cryptography to be installed for signatures (pip install "tacit[signing]").'
        ) from None
    return ed25519, InvalidSignature
