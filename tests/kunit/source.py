# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Linux sources for KUnit: fetched once, unpacked into a cache outside the repository."""
import fcntl
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
from cache import APT, CACHE, keyed, locked  # noqa: E402, F401
from packages import Failure, Staged, exit_with, unpack_source  # noqa: E402, F401

HERE = CACHE / "kunit"
PACKAGE = "linux-source-6.1"
# A build of UML never reads three quarters of the tree: other architectures, documentation and the code
# of big drivers. All Kconfig files and makefiles stay, since each names the next.
LEFT_OUT = ["arch/[!ux]*/*.[chS]", "arch/[!ux]*/*.dts*", "Documentation/*/*", "drivers/gpu/*.[ch]",
            "drivers/infiniband/*.[ch]", "drivers/media/*.[ch]", "drivers/net/*.[ch]", "drivers/scsi/*.[ch]",
            "drivers/staging/*.[ch]", "drivers/usb/*.[ch]", "sound/*.[ch]", "tools/perf/*", "tools/testing/selftests/*"]


def lock():
    """Waits until no other run uses the cache. It is free again when the returned file is closed."""
    HERE.mkdir(parents=True, exist_ok=True)
    file = open(HERE / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another run that uses {HERE}", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def linux():
    """
    The folder with the tree in `tree` and its version in `version`. Build from it beside these, so that a newer
    tree (remove the folder to get one) never meets older objects. Call it under lock().
    """
    home = HERE / PACKAGE
    if not (home / "version").exists():
        print(f"fetching and unpacking {PACKAGE} into {home}", flush=True)
        with locked():
            APT.update()
            with APT.downloaded([PACKAGE]) as (package,), Staged(home) as fresh:
                (fresh / "tree").mkdir()
                unpack_source(package, fresh / "tree", LEFT_OUT)
                (fresh / "version").write_text(package.name.split("_")[1] + "\n")
    return home
