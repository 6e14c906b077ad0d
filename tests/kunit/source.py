# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Linux sources for KUnit: fetched once, unpacked into a cache outside the repository."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGE = "linux-source-6.1"
# A build of UML never reads three quarters of the tree: other architectures, documentation and the code
# of big drivers. All Kconfig files and makefiles stay, since each names the next.
LEFT_OUT = ["arch/[!ux]*/*.[chS]", "arch/[!ux]*/*.dts*", "Documentation/*/*", "drivers/gpu/*.[ch]",
            "drivers/infiniband/*.[ch]", "drivers/media/*.[ch]", "drivers/net/*.[ch]", "drivers/scsi/*.[ch]",
            "drivers/staging/*.[ch]", "drivers/usb/*.[ch]", "sound/*.[ch]", "tools/perf/*", "tools/testing/selftests/*"]


class Problem(Exception):
    """One sentence for the user."""


def cache():
    """The folder of everything that is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("BLKLAT_VM_CACHE") or pathlib.Path(base) / "blklat").absolute() / "kunit"


def lock():
    """Waits until no other run uses the cache. It is free again when the returned file is closed."""
    cache().mkdir(parents=True, exist_ok=True)
    file = open(cache() / "lock", "w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another run that uses {cache()}", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def download(folder):
    """Returns the path of the package's file in the folder."""
    if not shutil.which("apt-get"):
        raise Problem(f"{PACKAGE} comes by apt-get, which is not here")
    apt = subprocess.run(["apt-get", "-q", "download", PACKAGE], cwd=folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = list(folder.glob("*.deb"))
    if apt.returncode or not found:
        print(apt.stdout, file=sys.stderr)
        raise Problem(f"apt-get can't download {PACKAGE}; it needs Debian 12's sources and an apt-get update")
    return found[0]


def unpack(package, folder):
    """The package holds one compressed archive of the tree; writes the tree only, not the archive."""
    excludes = [f"--exclude={PACKAGE}/{pattern}" for pattern in LEFT_OUT]
    steps = [["dpkg-deb", "--fsys-tarfile", package],
             ["tar", "-xO", f"./usr/src/{PACKAGE}.tar.xz"],
             ["xz", "-dc", "-T2"],
             ["tar", "-x", "-C", folder, "--strip-components=1", "--no-same-owner", "--anchored", "--wildcards",
              *excludes]]
    running, output = [], None
    try:
        for step in steps:
            running.append(subprocess.Popen(step, stdin=output or subprocess.DEVNULL, stdout=subprocess.PIPE))
            if output:
                output.close()
            output = running[-1].stdout
        if any([p.wait() for p in reversed(running)]):
            raise Problem(f"{package.name} can't be unpacked into {folder}")
    finally:
        for p in running:
            p.kill()
            p.wait()


def linux():
    """
    The folder with the tree in `tree` and its version in `version`. Build from it beside these, so that a newer
    tree (remove the folder to get one) never meets older objects. Call it under lock().
    """
    home = cache() / PACKAGE
    if not (home / "version").exists():
        shutil.rmtree(home, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache(), prefix="fetch-") as temporary:
            fresh = pathlib.Path(temporary) / "fresh"
            (fresh / "tree").mkdir(parents=True)
            print(f"fetching and unpacking {PACKAGE} into {home}", flush=True)
            package = download(pathlib.Path(temporary))
            unpack(package, fresh / "tree")
            (fresh / "version").write_text(package.name.split("_")[1] + "\n")
            fresh.rename(home)
    return home
