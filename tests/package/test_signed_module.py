# SPDX-License-Identifier: GPL-2.0-only
"""The signed and packaged module: openssl checks the signature, the package is installed in a chroot, and make reports why it can't sign."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402
from kernels import KERNELS, fetch  # noqa: E402
from module_signature import MAGIC, signature, verify  # noqa: E402

DEBS = pathlib.Path(os.environ.get("DEBS", ROOT / "build/deb"))
KERNEL = KERNELS["6.1"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root, and so do the guests' headers")


def make(build, target, *words):
    """Without OpenSSL's loadable modules, as on a machine that has none."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"O": str(build), "OPENSSL_MODULES": "/none"}
    return subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", ROOT, target, *map(str, words)], capture_output=True, text=True, env=env, timeout=300)


def make_key(folder, name):
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN=blklat test {name}", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)
    return key, certificate


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return [make_key(folder, name) for name in ("one", "two")]


@pytest.fixture(scope="module")
def build():
    """A folder of its own, as guests load the module from where others build it; it stays, so that only changes are compiled."""
    folder = pathlib.Path(os.environ.get("BLKLAT", ROOT / "build/blklat")).resolve().with_name("signed-module")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def package(build, keys):
    """Path of the package, with a module that was built and signed for it."""
    fetch([KERNEL])
    r = make(build, "deb-module", f"KDIR={KERNEL.headers}", f"KEY={keys[0][0]}", f"CERT={keys[0][1]}")
    assert r.returncode == 0, r.stderr
    return next((build / "deb-module").glob(f"blklat-modules-{KERNEL.release}_*.deb"))


@pytest.fixture
def module(package, tmp_path):
    subprocess.run(["dpkg-deb", "-x", package, tmp_path / "x"], check=True)
    return tmp_path / f"x/lib/modules/{KERNEL.release}/updates/blklat.ko"


def test_signature(module, keys, tmp_path):
    content, signed = signature(module)
    assert verify(content, signed, keys[0][1], tmp_path).returncode == 0
    assert verify(content, signed, keys[1][1], tmp_path).returncode
    assert verify(content.replace(b"description=", b"descriptiom="), signed, keys[0][1], tmp_path).returncode
    told = subprocess.run(["openssl", "cms", "-cmsout", "-print", "-noout", "-inform", "DER", "-in", tmp_path / "signature"], capture_output=True,
                          text=True, check=True).stdout
    assert "sha256" in told
    # Signed once: the signed content is the built module without debugging information.
    assert MAGIC not in content and content.startswith(b"\x7fELF")
    sections = subprocess.run(["readelf", "-SW", module], capture_output=True, text=True, check=True).stdout
    assert ".debug_info" not in sections and ".modinfo" in sections


def test_the_built_one_stays(build, module):
    assert MAGIC not in (build / f"kmod/{KERNEL.release}/blklat.ko").read_bytes()


def test_what_is_missing_is_said(build, package, keys, tmp_path):
    (key, certificate), (other, _) = keys
    here = f"KDIR={KERNEL.headers}"
    wrong = {
        "no kernel headers in /none": ("KDIR=/none", f"KEY={key}", f"CERT={certificate}"),
        "no key: KEY=": (here, f"CERT={certificate}"),
        "no certificate: CERT=": (here, f"KEY={key}"),
        "could not read the key /none": (here, "KEY=/none", f"CERT={certificate}"),
        f"could not read the certificate {tmp_path}": (here, f"KEY={key}", f"CERT={tmp_path}"),
        "private key does not match certificate": (here, f"KEY={other}", f"CERT={certificate}"),
        "OpenSSL has no pkcs11 provider; install it": (here, "KEY=pkcs11:token=none", f"CERT={certificate}"),
        f"the module is not built for {KERNEL.release}: run make kmod": (here, f"KEY={key}", f"CERT={certificate}", f"O={tmp_path}"),
    }
    for said, words in wrong.items():
        r = make(build, "kmod-sign", *words)
        ours = [line for line in r.stderr.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
        assert r.returncode and len(ours) == 1 and ours[0].startswith("make kmod-sign: ") and said in ours[0], r.stderr


def test_package(package):
    """Its name, its kernel, and lintian's verdict."""
    def field(name):
        return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()
    version = re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert package.name == f"blklat-modules-{KERNEL.release}_{version}_amd64.deb"
    assert (field("Package"), field("Version")) == (f"blklat-modules-{KERNEL.release}", version)
    assert f"linux-image-{KERNEL.release} |" in field("Depends")
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    r = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--no-cfg", package], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout


LIFE = r"""
cd /out
mkdir -p /lib/modules/$1
dpkg --force-depends -i blklat-modules-*.deb >&2
modprobe -S $1 --show-depends blklat
modinfo -k $1 -F signer blklat
modinfo -k $1 -F vermagic blklat
dpkg -P blklat-modules-$1 >&2
modprobe -S $1 --show-depends blklat 2>/dev/null || echo gone
find / -xdev -name '*blklat*' ! -path '/out/*' ! -path '/proc/*'
"""


def test_installs_and_goes(package, tmp_path):
    """Without the kernel's image: the module is found by its name, and its removal leaves nothing."""
    debs = sorted(DEBS.glob("blklat_*.deb")) + sorted(DEBS.glob("blklat-dkms_*.deb"))
    if len(debs) != 2:
        pytest.skip(f"no packages in {DEBS}, whose needs the chroot has: make deb builds them")
    root = chroot.fetch(debs)
    shutil.copy(package, tmp_path)
    r = chroot.enter(root, tmp_path, "/bin/bash", "-ec", LIFE, "bash", KERNEL.release)
    assert r.returncode == 0, r.stderr
    assert [line.strip() for line in r.stdout.splitlines()] == [
        f"insmod /lib/modules/{KERNEL.release}/updates/blklat.ko", "blklat test one", f"{KERNEL.release} SMP preempt mod_unload modversions", "gone"]
