# SPDX-License-Identifier: GPL-2.0-only
"""Recordings in a folder where an attacker has put files: what he put there, and whether anything changed."""
import os
import random
import stat
import subprocess

from asked import BLKLAT
from script import TESTS, recorded

NVME = recorded(TESTS / "cli/replay/nvme.txt")
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
ROOT = os.geteuid() == 0
NOBODY = 65534
BESIDE = ["-wal", "-shm", "-journal", "-mark"]
PLANTS = ["fifo", "folder", "link", "hard link", "noise", "sparse", "empty"]


def run(*args, **kw):
    """Runs blklat with a time limit, so that any waiting is found."""
    return subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, env=ENV, timeout=20, **kw)


def one_line(done, status, sentence):
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    assert sentence in done.stderr, done.stderr


def record(file, source=NVME, *args):
    done = run("record", "--replay", source, "-o", file, "--quiet", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return file


def shown(file):
    done = run("live", "--replay", file, "--format", "json", "--bins")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def named(file, end):
    return file.with_name(file.name + end)


def state(folder):
    """Everything about a directory and its files except when they were read."""
    found = {}
    for path in (folder, *folder.iterdir()):
        st = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(st.st_mode) and st.st_size < 1 << 24 else None
        found[path.name] = (st.st_mode, st.st_uid, st.st_size, st.st_ino, st.st_mtime_ns, content)
    return found


def readings(file, out):
    """Each command that reads a recording, which may write only to @out."""
    return [["live", "--replay", file], ["report", file, "-o", out / "report.html"], ["report", "--format", "json", file],
            ["compare", file, file], ["record", "--quiet", "--replay", file, "-o", out / "again"], ["mark", file, "x"],
            ["record", "--quiet", "--replay", NVME, "-o", file]]


def plant(path, what, victim):
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to(victim)
    elif what == "hard link":
        os.link(victim, path)
    elif what == "noise":
        path.write_bytes(random.Random(path.name).randbytes(40000))
    elif what == "sparse":
        with open(path, "wb") as f:
            f.truncate(1 << 40)
    else:
        assert what == "empty"
        path.touch()
