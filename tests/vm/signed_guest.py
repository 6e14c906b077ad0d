#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""
The signed module on a kernel that takes no other: a guest with Secure Boot, lockdown=integrity and module.sig_enforce=1, whose
firmware knows one of two keys. The tests in signed/ are run there.

usage: signed_guest.py [-k EXPR]
"""
import os
import pathlib
import shutil
import tempfile

import matrix
from kernels import fetch
from machine import Machine
from packages import run
from secure_boot import firmware
from service_guest import KERNEL, PYTEST, show, tests

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 600


def make_key(folder, name):
    """Makes a key and its certificate, as a firmware's owner does; returns make's arguments for them."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", f"/CN=blklat test {name}", "-keyout", key,
        "-out", certificate)
    return f"KEY={key}", f"CERT={certificate}"


def make(build, target, *words):
    """Makes it in folder @build: guests load the module from where others build it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"O": str(build)}
    run("make", "-s", "-C", matrix.ROOT, target, f"KDIR={KERNEL.headers}", *words, env=env)


def boot(keyword, folder):
    fetch([KERNEL])
    out = folder / "out"
    out.mkdir()
    shutil.copy(matrix.build_kmod(KERNEL), out / "unsigned.ko")
    make(folder, "kmod")
    for name in ("unknown", "known"):
        key = make_key(folder, name)
        make(folder, "kmod-sign", *key)
        shutil.copy(folder / f"kmod/{KERNEL.release}/signed/blklat.ko", out / f"{name}.ko")
    # The module to be loaded is the package's.
    make(folder, "deb-module", *key)
    package = next((folder / "deb-module").glob(f"blklat-modules-{KERNEL.release}_*.deb"))
    run("dpkg-deb", "-x", package, folder / "package")
    shutil.copy(folder / f"package/lib/modules/{KERNEL.release}/updates/blklat.ko", out / "known.ko")
    machine = Machine(KERNEL, disks=("virtio",), qemu_args=firmware(folder, folder / "known.crt"), append="module.sig_enforce=1")
    env = {"BLKLAT": KERNEL.arch.blklat, "BLKLAT_SLOW": matrix.SLOWER, "BLKLAT_KO": out / "known.ko", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return machine.run([*PYTEST, "-k", keyword, HERE / "signed"], TIMEOUT_S, env, show=show, out=out)


def run_tests(keyword):
    with tempfile.TemporaryDirectory(prefix="blklat-signed-") as scratch:
        return boot(keyword, pathlib.Path(scratch))


if __name__ == "__main__":
    tests(run_tests, __doc__)
