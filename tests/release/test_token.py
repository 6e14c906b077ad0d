# SPDX-License-Identifier: GPL-2.0-only
"""
The module signed by a key that is in a PKCS #11 token. OpenSSL reaches it by a provider that Debian 13 has, so its kernel's
module is built and signed in a root of it, with SoftHSM as the token; openssl checks the signature here.
"""
import os
import pathlib
import re
import shutil
import sys

import pytest

import debian13
from sources import copied

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/package"))

from module_signature import signature, verify  # noqa: E402

PIN = "4711"
KEY = "pkcs11:token=blklat;object=signer"
# SoftHSM uses OpenSSL itself: it deadlocks unless the default provider comes first, and crashes when it is unloaded. The last
# setting is for genpkey, which has to write something of the key that it made in the token.
OPENSSL_CONF = """\
openssl_conf = init
[init]
providers = providers
[providers]
default = default_provider
pkcs11 = pkcs11_provider
[default_provider]
activate = 1
[pkcs11_provider]
activate = 1
pkcs11-module-quirks = no-deinit
pkcs11-module-encode-provider-uri-to-pem = true
"""
SOFTHSM_CONF = "directories.tokendir = /out/tokens\n"
# $1: the key, $2: the PIN
PREPARE = """\
mkdir tokens
softhsm2-util --init-token --free --label blklat --pin "$2" --so-pin 47114711
openssl genpkey -propquery provider=pkcs11 -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt "pkcs11_uri:$1;pin-value=$2"
openssl req -x509 -new -days 2 -subj "/CN=blklat test token" -key "$1;type=private;pin-value=$2" -out token.crt
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=blklat test other" -keyout other.key -out other.crt
make -s -C blklat kmod KDIR="$KDIR"
"""

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root"),
              pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="no mmdebstrap: make deps-test installs it")]


class Host:
    """A Debian 13 with a token."""

    def __init__(self, folder):
        self.folder = folder
        self.release = next((debian13.root() / "usr/lib/modules").iterdir()).name
        copied(folder / "blklat")
        (folder / "openssl.cnf").write_text(OPENSSL_CONF)
        (folder / "softhsm2.conf").write_text(SOFTHSM_CONF)
        r = self.run("bash", "-ec", PREPARE, "bash", KEY, PIN)
        assert r.returncode == 0, r.stderr

    def run(self, *argv, **variables):
        variables = {"KDIR": f"/lib/modules/{self.release}/build", "OPENSSL_CONF": "/out/openssl.cnf",
                     "SOFTHSM2_CONF": "/out/softhsm2.conf", "PKCS11_PROVIDER_MODULE": "/usr/lib/softhsm/libsofthsm2.so"} | variables
        return debian13.enter(self.folder, *(f"{k}={v}" for k, v in variables.items()), *argv)

    def sign(self, key=KEY, certificate="token.crt", pin=PIN, **variables):
        return self.run("make", "-s", "-C", "blklat", "kmod-sign", f"KEY={key}", f"CERT=/out/{certificate}", KBUILD_SIGN_PIN=pin, **variables)

    def signed(self):
        """What is in the folder of the signed module."""
        return sorted((self.folder / f"blklat/build/kmod/{self.release}/signed").iterdir())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return Host(tmp_path_factory.mktemp("host"))


@pytest.mark.parametrize("where", ("", "?module-name=softhsm2"), ids=("path", "query"))
def test_token_signs(host, where, tmp_path):
    """With a PIN in the environment alone."""
    r = host.sign(key=KEY + where)
    assert (r.returncode, r.stderr) == (0, "")
    [module] = host.signed()
    content, signed = signature(module)
    module.unlink()
    assert verify(content, signed, host.folder / "token.crt", tmp_path).returncode == 0
    assert verify(content, signed, host.folder / "other.crt", tmp_path).returncode
    assert verify(content.replace(b"description=", b"descriptiom="), signed, host.folder / "token.crt", tmp_path).returncode


NO_KEY = "the token has no such key, does not take the PIN, or has another key"
NOT_OPEN = "could not open it; check the URI, and that PKCS11_PROVIDER_MODULE"


@pytest.mark.parametrize("said, wrong", (
    (NO_KEY, {"pin": "1174"}),
    (NO_KEY, {"pin": ""}),
    (NO_KEY, {"key": "pkcs11:token=blklat;object=none"}),
    (NO_KEY, {"key": "pkcs11:token=none;object=signer"}),
    (NO_KEY, {"certificate": "other.crt"}),
    (NOT_OPEN, {"key": f"{KEY}?pin-source=file:/none"}),
    (NOT_OPEN, {"PKCS11_PROVIDER_MODULE": "/none"}),
), ids=("pin", "no-pin", "object", "token", "certificate", "pin-source", "library"))
def test_what_is_wrong_is_said(host, said, wrong):
    """In one line, and no module is left."""
    r = host.sign(**wrong)
    ours = [line for line in r.stderr.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    assert r.returncode == 2 and len(ours) == 1 and ours[0].startswith("make kmod-sign: could not sign with pkcs11:") and said in ours[0], r.stderr
    assert host.signed() == []
