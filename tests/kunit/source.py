# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Linux sources for KUnit: fetched once, unpacked into a cache outside the repository."""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
from cache import CACHE, keyed  # noqa: E402
from packages import Failure, unpack_source  # noqa: E402

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


def download(folder):
    """Returns the path of the package's file in the folder."""
    if not shutil.which("apt-get"):
        raise Failure(f"{PACKAGE} comes by apt-get, which is not here")
    apt = subprocess.run(["apt-get", "-q", "download", PACKAGE], cwd=folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = list(folder.glob("*.deb"))
    if apt.returncode or not found:
        print(apt.stdout, file=sys.stderr)
        raise Failure(f"apt-get can't download {PACKAGE}; it needs Debian 12's sources and an apt-get update")
    return found[0]


def linux():
    """
    The folder with the tree in `tree` and its version in `version`. Build from it beside these, so that a newer
    tree (remove the folder to get one) never meets older objects. Call it under lock().
    """
    home = HERE / PACKAGE
    if not (home / "version").exists():
        shutil.rmtree(home, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=HERE, prefix="fetch-") as temporary:
            fresh = pathlib.Path(temporary) / "fresh"
            (fresh / "tree").mkdir(parents=True)
            print(f"fetching and unpacking {PACKAGE} into {home}", flush=True)
            package = download(pathlib.Path(temporary))
            unpack_source(package, fresh / "tree", LEFT_OUT)
            (fresh / "version").write_text(package.name.split("_")[1] + "\n")
            fresh.rename(home)
    return home


def run(main):
    """Runs a program; SIGTERM ends it like Ctrl-C, so that what it started ends, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except Failure as problem:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
