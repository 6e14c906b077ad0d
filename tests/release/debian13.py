# SPDX-License-Identifier: GPL-2.0-only
"""A root of Debian 13 in the cache, with what its tests need: to build and package everything but the page, and to sign by a token."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402

SUITE = "trixie"
TOKEN = ("linux-headers-amd64", "openssl", "pkcs11-provider", "python3-minimal", "softhsm2")


def make(*argv):
    """Runs make here, on its own: not as a part of the one that may run the tests. Returns what it printed."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(["make", "-s", "-C", ROOT, *argv], stdout=subprocess.PIPE, text=True, check=True, env=env).stdout


def needed():
    """What 'make deps deps-deb' installs where the page is built already."""
    listed = make("--eval=listed: ; @echo $(deps) $(deps-deb)", "listed").split()
    assert "clang" in listed
    return set(listed) - {"nodejs", "npm"}


def root():
    """Makes it if it is not there; returns its folder."""
    return chroot.make(SUITE, needed() | set(TOKEN))


def enter(folder, *argv):
    """Runs a command as root in it, with the folder as /out; changes are thrown away. Returns what it did."""
    return chroot.enter(root(), folder, "env", "--chdir=/out", *argv)
