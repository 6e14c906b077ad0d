# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the guests' tests."""
import os
import shutil

from architectures import ARM64, fetch_tools
from built import Built
from cache import CACHE, locked
from kernel import Kernel
from packages import Failure

BULLSEYE, BOOKWORM = ("bullseye-security", "bullseye"), ("bookworm-security", "bookworm")
BACKPORTED = "bookworm-security", "bookworm-backports"
BIG_PAGES = Kernel("6.12", BACKPORTED, arch=ARM64, flavour="arm64-16k")
KERNELS = {k.name: k for k in (
    Kernel("5.10", BULLSEYE),
    Kernel("6.1", BOOKWORM),
    Kernel("6.1", BOOKWORM, flavour="rt-amd64"),
    Kernel("6.12", BACKPORTED),
    Kernel("6.12", BACKPORTED, flavour="rt-amd64"),
    Kernel("7.2", ("sid",), chroot="sid"),
    Kernel("7.2", ("sid",), chroot="sid", flavour="rt-amd64"),
    # The mirrors have only the lists of its later updates.
    Kernel("5.10", ("bullseye",), arch=ARM64),
    Kernel("6.1", BOOKWORM, arch=ARM64),
    Kernel("6.12", BACKPORTED, arch=ARM64),
    BIG_PAGES,
    # A thousand null_blk take 300 MiB there.
    Built(BIG_PAGES, "arm64-64k", {"ARM64_16K_PAGES": "n", "ARM64_64K_PAGES": "y"}, memory="2G"),
    Kernel("7.2", ("sid",), chroot="sid", arch=ARM64),
)}


def remove_leftovers():
    """Removes what a killed fetch left."""
    for pattern in (".*.*", "kernels/.*.*", "kernels/*/tmp*", "kunit/.*.*", "apt/tmp*"):
        for folder in CACHE.glob(pattern):
            shutil.rmtree(folder)


def fetch(kernels, update=False):
    """Downloads and prepares missing kernels; with update, newer versions too."""
    if os.geteuid() != 0:
        raise Failure("the kernels' guests see this machine's root and are prepared in a chroot: run this as root")
    with locked():
        remove_leftovers()
        fetch_tools(update)
        emulators = []
        for arch in dict.fromkeys(kernel.arch for kernel in kernels):
            emulators.append(arch.fetch_emulator(update))
            arch.fetch_root(update)
        for kernel in kernels:
            kernel.fetch(update)
            kernel.initrd()
    return ", ".join(dict.fromkeys(emulators))
