# SPDX-License-Identifier: GPL-2.0-only
"""A root of Debian 13 in the cache, with what its tests need: to build everything but the page, and to sign by a token."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402
from cache import CACHE  # noqa: E402

SUITE = "trixie"
TOKEN = ("linux-headers-amd64", "openssl", "pkcs11-provider", "python3-minimal", "softhsm2")


def needed():
    """What 'make deps' installs where the page is built already."""
    listed = subprocess.run(["make", "-s", "-C", ROOT, "--eval=listed: ; @echo $(deps)", "listed"], capture_output=True, text=True,
                            check=True).stdout.split()
    assert "clang" in listed
    return set(listed) - {"nodejs", "npm"}


def root():
    """Makes it if it is not there; returns its folder."""
    return chroot.make(CACHE / f"chroot-{SUITE}", SUITE, needed() | set(TOKEN))


def enter(folder, *argv):
    """Runs a command as root in it, with the folder as /out; changes are thrown away. Returns what it did."""
    return chroot.enter(folder, "env", "--chdir=/out", *argv, root=root())
