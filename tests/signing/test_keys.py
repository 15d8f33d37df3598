"""Keys and signatures: what a signature covers, what a name proves, and what a report says of it."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit._support.canonical_json import canonical
from tacit.cli.main import app
from tacit.errors import InputError
from tacit.ledger import Ledger
from tacit.signing import keys
from tacit.signing.keys import PrivateKey, PublicKey, new_key
from tacit.signing.signature import Signature

PLAN = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["a", "b"]), tacit.PureDP(0.5))
ROWS = {"x": ["a", "b"] * 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def holder(folder):
    """The paths of a key pair."""
    return new_key("Clinic South, data office", folder / "holder")


@pytest.fixture(scope="module")
def stranger(folder):
    """A key pair that calls itself the same."""
    return new_key("Clinic South, data office", folder / "stranger")


@pytest.fixture(scope="module")
def paid(folder):
    """A ledger, and a release that it paid for."""
    ledger = Ledger.create(folder / "ledger.db")
    ledger.new_dataset("south", tacit.PureDP(1.0))
    return ledger, tacit.privatize(ROWS, PLAN, ledger=ledger, dataset="south")


@pytest.fixture(scope="module")
def signed(paid, holder):
    return paid[1].sign(holder[0])


def run(*words):
    """Through the real entry, for its sentences and exit codes."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


# Keys.


def test_a_key_pair_has_a_name_and_a_private_half(holder, folder):
    private, public = holder
    assert (private.name, public.name) == ("holder.key", "holder.pub")
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    loaded, known = PrivateKey.load(private), PublicKey.load(public)
    assert loaded.public == known
    assert known.name == "Clinic South, data office"
    assert base64.b64encode(loaded.key).decode() not in public.read_text()
    assert "key=" not in repr(loaded)
    with pytest.raises(InputError, match=r"Expected output=.*holder.key' not to exist yet"):
        new_key("other", folder / "holder")


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_private_key_is_private_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        private, _ = new_key("a", tmp_path / "k")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    os.chmod(private, 0o640)
    with pytest.raises(InputError, match="to be readable by its owner alone; `chmod 600` makes it so"):
        PrivateKey.load(private)


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\u202eb", "a\u2028b", "x" * 101, 3])
def test_names_stand_on_one_line(name, tmp_path):
    with pytest.raises(InputError, match="Expected name="):
        new_key(name, tmp_path / "k")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: {},
        lambda plain: [],
        lambda plain: {**plain, "format": 2},
        lambda plain: {**plain, "format": True},
        lambda plain: {**plain, "name": "a\u202eb"},
        lambda plain: {**plain, "key": plain["key"][:-2]},
        lambda plain: {**plain, "key": 3},
        lambda plain: {**plain, "more": 1},
        lambda plain: {**plain, "tacit": "private key"},
    ],
)
def test_key_files_are_read_strictly(holder, tmp_path, change):
    path = tmp_path / "k.pub"
    path.write_text(json.dumps(change(json.loads(holder[1].read_text()))))
    with pytest.raises(InputError) as refusal:
        PublicKey.load(path)
    assert "\n" not in str(refusal.value)
    path.write_text("not json")
    with pytest.raises(InputError, match="to be a key file that `tacit key new` made"):
        PublicKey.load(path)


def test_a_private_key_given_for_a_public_one_is_not_quoted(holder):
    with pytest.raises(InputError, match=r"to be a public key, the file that ends in \.pub, and it is a private") as e:
        PublicKey.load(holder[0])
    assert json.loads(holder[0].read_text())["key"] not in str(e.value)


# What a signature covers.


def test_a_signature_survives_the_file_and_says_whose_it_is(signed, holder, tmp_path):
    loaded = tacit.Release.load(signed.save(tmp_path / "r.json"))
    assert loaded == signed
    assert loaded.signature == signed.signature
    assert loaded.check_signature(holder[1]).words == "signed with the key of Clinic South, data office"


def test_the_signature_can_be_checked_by_anybody(signed, holder):
    """With nothing but Ed25519 and JSON, as docs/other-languages.md says."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    plain = json.loads(signed.to_json())
    signature = plain.pop("signature")
    message = json.dumps(
        {"name": signature["name"], "key": signature["key"], "release": plain}, sort_keys=True, separators=(",", ":")
    )
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(json.loads(holder[1].read_text())["key"]))
    key.verify(
        base64.b64decode(signature["signature"]), b"tacit release signature, format 1\0" + message.encode("ascii")
    )


def test_every_edit_is_noticed(signed, holder):
    first = signed.values[0]
    for edited in (
        replace(signed, values=(first + 1, *signed.values[1:])),
        replace(signed, n=signed.n + 1),
        replace(signed, dataset="north"),
        replace(signed, id="0" * 32),
        replace(signed, ledger=None),
        replace(signed, ledger={**signed.ledger, "entry": 4}),
        replace(signed, plan=replace(PLAN, budget=tacit.PureDP(0.25)), noise_parameters=None),
        replace(signed, plan=replace(PLAN, schema=tacit.Schema(x=["a", "c"]))),
        replace(signed, simulated=True),
        replace(signed, partials=2),
        replace(signed, signature=replace(signed.signature, name="Somebody else")),
        replace(signed, signature=replace(signed.signature, signature=bytes(64))),
    ):
        found = edited.check_signature(holder[1])
        assert (found.status, found.words) == ("wrong", "signature wrong: the release is not the one that was signed")
    assert signed.check_signature(holder[1]).status == "signed"


def test_a_name_proves_nothing(paid, signed, holder, stranger):
    """A stranger signs with a key that calls itself the same, and also puts the holder's key beside its signature."""
    forged = paid[1].sign(stranger[0])
    assert forged.check_signature(holder[1]).words == "signature wrong: it was not made with the given key"
    disguised = replace(forged, signature=replace(forged.signature, key=signed.signature.key))
    assert disguised.check_signature(holder[1]).status == "wrong"
    renamed = replace(PublicKey.load(holder[1]), name="What I call them")
    assert signed.check_signature(renamed).words == "signed with the key of What I call them"
    both = [PublicKey.load(stranger[1]), PublicKey.load(holder[1])]
    assert signed.check_signature(both).status == "signed"
    assert paid[1].check_signature(both).words == "not signed"
    unchecked = signed.check_signature()
    assert unchecked.status == "unchecked"
    assert unchecked.words == (
        "carries a signature by a key that calls itself 'Clinic South, data office', not checked for want of that key"
    )


def test_a_signature_for_another_purpose_does_not_fit(paid, holder):
    """The same key and content, signed without the text that says what is signed, or under another one."""
    private, release = PrivateKey.load(holder[0]), paid[1]
    inner = {
        "name": private.name,
        "key": base64.b64encode(private.public.key).decode(),
        "release": release.unsigned_plain(),
    }
    for purpose in ("", "tacit release signature, format 2\0", "tacit ledger head, format 1\0"):
        made = private.sign((purpose + canonical(inner)).encode())
        release = replace(release, signature=Signature(private.name, private.public.key, made))
        assert release.check_signature(holder[1]).status == "wrong"
    made = private.sign(("tacit release signature, format 1\0" + canonical(inner)).encode())
    release = replace(release, signature=Signature(private.name, private.public.key, made))
    assert release.check_signature(holder[1]).status == "signed"


@pytest.mark.parametrize(
    "change",
    [
        lambda s: None,
        lambda s: {**s, "format": 2},
        lambda s: {**s, "format": True},
        lambda s: {**s, "name": "a\nb"},
        lambda s: {**s, "key": s["key"] + "\n"},
        lambda s: {**s, "signature": s["signature"].rstrip("=")},
        lambda s: {**s, "more": 1},
        lambda s: {k: v for k, v in s.items() if k != "name"},
        lambda s: "text",
    ],
)
def test_signatures_are_read_strictly(signed, change):
    plain = signed.to_plain()
    with pytest.raises(InputError):
        tacit.Release.from_plain({**plain, "signature": change(plain["signature"])})


def test_the_ledger_knows_a_release_signed_or_not(paid, signed):
    ledger, release = paid
    assert ledger.verify(releases={"signed": signed, "unsigned": release}) == []
    edited = replace(signed, n=signed.n + 1)
    assert ledger.verify(releases={"signed": edited}) == ["release 'signed': its content is not what entry 4 noted"]


# The command line.


def test_the_commands(paid, tmp_path):
    done = run("key", "new", "Ministry of Health", "-o", tmp_path / "k", "--json")
    fingerprint = json.loads(done.stdout)["fingerprint"]
    assert fingerprint in run("key", "show", tmp_path / "k.pub").stdout
    release = paid[1].save(tmp_path / "r.json")
    done = run("release", "verify", release, "--key", tmp_path / "k.pub")
    assert (done.exit_code, done.stdout) == (1, f"{release}: not signed.\n")
    assert run("release", "sign", release, "--key", tmp_path / "k.key").exit_code == 0
    done = run("release", "verify", release, "--key", tmp_path / "k.pub")
    assert (done.exit_code, done.stdout) == (0, f"{release}: signed with the key of Ministry of Health.\n")
    with pytest.raises(InputError, match="to be unsigned; --overwrite replaces its signature"):
        run("release", "sign", release, "--key", tmp_path / "k.key")
    run("release", "sign", release, "--key", tmp_path / "k.key", "-o", tmp_path / "s.json", "--overwrite")
    plain = json.loads(release.read_text())
    plain["values"][0] += 1
    release.write_text(json.dumps(plain))
    done = run("release", "verify", release, "--key", tmp_path / "k.pub", "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (1, "wrong")
    assert run("release", "verify", tmp_path / "s.json", "--key", tmp_path / "k.pub").exit_code == 0
    with pytest.raises(InputError, match="not to be the key"):
        run("release", "sign", tmp_path / "s.json", "--key", tmp_path / "k.key", "-o", tmp_path / "k.key")


def test_without_the_package_one_sentence_says_what_to_install(signed, holder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    for call in (
        lambda: signed.check_signature(holder[1]),
        lambda: signed.sign(holder[0]),
        lambda: new_key("a", tmp_path / "k"),
    ):
        with pytest.raises(InputError) as refusal:
            call()
        assert str(refusal.value) == (
            'Expected the package cryptography to be installed for signatures (pip install "tacit[signing]").'
        )
    assert list(tmp_path.iterdir()) == []
    assert signed.check_signature().status == "unchecked"
    assert tacit.Release.from_json(signed.to_json()) == signed


def test_the_package_loads_when_it_is_needed():
    code = "import sys, tacit; print('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    assert keys.FORMAT == 1


# Posterior and report.


@pytest.fixture(scope="module")
def posterior(signed, stranger, folder):
    """Three sites: signed by the holder, signed by a stranger, not signed."""
    other = tacit.privatize(ROWS, PLAN, ledger=None, dataset="north").sign(stranger[0])
    plain = tacit.privatize(ROWS, PLAN, ledger=None, dataset="west")
    made = tacit.infer(
        [signed, other, plain], disjoint=True, method="shares", draws=50, anyway=True, warmup=50, chains=2
    )
    return made.save(folder / "p.nc"), (signed, other, plain)


def test_a_report_says_who_signed_each_release(posterior, holder, tmp_path):
    path, (first, second, third) = posterior
    assert [one.signature for one in tacit.Posterior.load(path).releases] == [first.signature, second.signature, None]
    page = tacit.report(path, quick=True, keys=[holder[1]])
    assert f"Release {first.id}: signed with the key of Clinic South, data office." in page
    assert f"Release {second.id}: signature wrong: it was not made with the given key." in page
    assert f"Release {third.id}: not signed." in page
    page = tacit.report(path, quick=True)
    assert "signed with the key of" not in page
    assert page.count("not checked for want of that key") == 2
    done = run("report", path, "-o", tmp_path / "r.html", "--quick", "--key", holder[1], "--json")
    assert list(json.loads(done.stdout)["signatures"].values()) == ["signed", "wrong", "unsigned"]
    assert "signed with the key of Clinic South, data office" in (tmp_path / "r.html").read_text()


def test_an_edited_release_in_a_posterior_is_told(posterior, holder):
    loaded = tacit.Posterior.load(posterior[0])
    plains = json.loads(loaded.tree.attrs["release"])
    plains[0]["values"][0] += 1
    loaded.tree.attrs["release"] = json.dumps(plains)
    page = tacit.report(tacit.Posterior(loaded.tree), quick=True, keys=[holder[1]])
    assert "signature wrong: the release is not the one that was signed" in page


def test_a_signed_release_and_a_key_of_the_first_format_stay_good():
    """Files that were written once; the private key is gone."""
    old = Path(__file__).parents[1] / "formats"
    signed = tacit.Release.load(old / "release-1-signed.json")
    assert signed == tacit.Release.load(old / "release-1.json")
    assert signed.check_signature(old / "key-1.pub").status == "signed"
