# SPDX-License-Identifier: GPL-2.0-only
"""
Folders of unpacked programs in the cache, each complete once it is there, with a stamp that says what it is.
The cache is $BLKLAT_VM_CACHE, else ~/.cache/blklat.
"""
import json
import os
import pathlib

from packages import Apt, Failure, Staged, run

CACHE = pathlib.Path(os.environ.get("BLKLAT_VM_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "blklat").absolute()
LAYOUT = 1  # of the cache; another one is fetched anew
# This machine's packages.
APT = Apt(CACHE / "apt")


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


def fetch_programs(folder, names, complete=None):
    """Unpacks packages of programs; complete() adds to the folder before it gets its name."""
    APT.update()
    print(f"{folder.name}: {' '.join(names)}", flush=True)
    with Staged(folder) as scratch:
        APT.unpack(names, scratch)
        if complete:
            complete(scratch)
        write_stamp(scratch)
