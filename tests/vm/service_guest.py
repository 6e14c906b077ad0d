#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""
The hardened service on a real systemd: a Debian 12 boots in a guest, the package is installed, and the tests in systemd/
are run there.

usage: service_guest.py [-k EXPR]      ($DEBS: where the packages are)
"""
import argparse
import os
import pathlib
import shutil
import tempfile

import chroot
import matrix
from kernels import KERNELS, fetch
from machine import Machine
from packages import Failure, exit_with

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = KERNELS["6.1"]
PYTEST = ("/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE", "--tb=short")
TIMEOUT_S = 3600


def show(text):
    print(text, end="", flush=True)


def run(keyword):
    folder = pathlib.Path(os.environ.get("DEBS", HERE.parents[1] / "build/deb"))
    debs = sorted(folder.glob("blklat_*.deb"))
    if len(debs) != 1:
        raise Failure(f"{len(debs)} packages in {folder}: make deb builds it")
    fetch([KERNEL])
    # With the other package's dependencies too, so that all tests share one chroot.
    root = chroot.fetch(debs + sorted(folder.glob("blklat-dkms_*.deb")))
    with tempfile.TemporaryDirectory(prefix="blklat-service-") as out:
        for path in [*debs, matrix.build_kmod(KERNEL), HERE / "alarms.py", *(HERE / "systemd").glob("*.py")]:
            shutil.copy(path, out)
        machine = Machine(KERNEL, disks=("virtio",), root=root, manager="/lib/systemd/systemd")
        return machine.run([*PYTEST, "-k", keyword, "."], TIMEOUT_S, show=show, out=out)


def tests(run, text):
    """The program whose run(keyword) runs pytest in a guest."""
    def main():
        p = argparse.ArgumentParser(description=text)
        p.add_argument("-k", dest="keyword", default="", metavar="EXPR", help="only tests that match, as pytest's -k")
        return matrix.verdict(KERNEL, run(p.parse_args().keyword), show)
    exit_with(main)


if __name__ == "__main__":
    tests(run, __doc__)
