# SPDX-License-Identifier: GPL-2.0-only
"""
Folders of unpacked programs in the cache, each complete once it is there, with a stamp that says what it is.
The cache is $BLKLAT_VM_CACHE, else ~/.cache/blklat.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import time

from packages import Apt, Failure, Staged, run

CACHE = pathlib.Path(os.environ.get("BLKLAT_VM_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "blklat").absolute()
LAYOUT = 1  # of the cache; another one is fetched anew
KEPT_S = 30 * 24 * 3600
# This machine's packages.
APT = Apt(CACHE / "apt")


@contextlib.contextmanager
def locked():
    """Nobody else adds to the cache meanwhile, or takes what is not complete yet for a leftover."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def library_path(folder):
    return ":".join(str(folder / d / "x86_64-linux-gnu") for d in ("usr/lib", "lib"))


def program(folder, name):
    """Path of a program in an unpacked folder, and the environment it needs."""
    for place in ("usr/sbin", "usr/bin", "sbin", "bin"):
        if (folder / place / name).exists():
            return str(folder / place / name), os.environ | {"LD_LIBRARY_PATH": library_path(folder)}
    raise Failure(f"no {name} in {folder}: vm.py fetch --update")


def run_in(folder, name, *argv, **options):
    path, env = program(folder, name)
    return run(path, *argv, env=env, **options)


def read_stamp(folder):
    try:
        stamp = json.loads((folder / "stamp.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return stamp if stamp.get("layout") == LAYOUT else {}


def write_stamp(folder, **facts):
    (folder / "stamp.json").write_text(json.dumps({"layout": LAYOUT} | facts) + "\n")


def keyed(folder, name, *parts):
    """
    The path of what is made of these parts. Whoever makes it of others has another one, so that checkouts which differ do not
    take turns in making it. Call it under a lock when it may not be there: those of the name that nobody has asked for in a month
    are removed.
    """
    path = folder / f"{name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    if path.exists():
        os.utime(path)
        return path
    for old in folder.glob(f"{name}-{'[0-9a-f]' * 16}"):
        if old.stat().st_mtime < time.time() - KEPT_S:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return path


def fetch_programs(folder, names, complete=None):
    """Unpacks packages of programs; complete() adds to the folder before it gets its name."""
    APT.update()
    print(f"{folder.name}: {' '.join(names)}", flush=True)
    with Staged(folder) as scratch:
        APT.unpack(names, scratch)
        if complete:
            complete(scratch)
        write_stamp(scratch)
