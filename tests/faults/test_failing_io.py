# SPDX-License-Identifier: GPL-2.0-only
"""
Each call that asks the kernel for a file's content or room fails once, by strace. Those before main() are the loader's; writes find no room,
the rest finds a broken device.
"""
import collections
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from faults import BLKLAT, COMMANDS, DEADLINE_S, ENV, SMALL_SCRIPT
from script import write_recording

CALLS = {"ENOSPC": ("write", "pwrite64", "writev", "ftruncate", "fallocate"),
         "EIO": ("openat", "read", "pread64", "fsync", "fdatasync", "rename", "fchmod")}
BEGINS = "fcntl(0, F_GETFD"  # of open_standard_streams(), which main() begins with


def strace(log, calls, *more):
    return ("strace", "-qq", "-o", log, "-e", "trace=" + ",".join(calls), "-e", "signal=none", *more)


def calls_of(bench, name, error):
    """What is called since main(), as strace counts it: [(call, its number)]."""
    with tempfile.NamedTemporaryFile(prefix="blklat-faults-") as log:
        outcome = bench.run(name, before=strace(log.name, ("fcntl", *CALLS[error])))
        lines = pathlib.Path(log.name).read_text().splitlines()
    assert bench.complaint(name, outcome) is None, outcome
    begin = next(i for i, line in enumerate(lines) if line.startswith(BEGINS))
    found, count = [], collections.Counter()
    for i, line in enumerate(lines):
        call = line.partition("(")[0]
        count[call] += 1
        if i > begin and call != "fcntl":
            found.append((call, count[call]))
    return found


@pytest.mark.parametrize("error", CALLS)
@pytest.mark.parametrize("name", COMMANDS)
def test_one_call_fails(bench, name, error):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    assert bench.denied(name, calls_of(bench, name, error), lambda call: {
        "before": strace("/dev/null", call[:1], "-e", f"inject={call[0]}:error={error}:when={call[1]}")}) > 0


@pytest.mark.parametrize("error,why", [("ENOLCK", "No locks available"), ("EINVAL", "Invalid argument"), ("EOPNOTSUPP", "Operation not supported"),
                                       ("ENOSYS", "Function not implemented")])
@pytest.mark.parametrize("call", ["fcntl", "flock"])
def test_a_file_system_without_locks(bench, tmp_path, call, error, why):
    """It has only one kind of lock, or the other. SQLite by itself takes ENOLCK for a lock that another program has."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    out = tmp_path / "out"
    # Of this file only: the rest of the program has descriptors to duplicate.
    without_locks = ("strace", "-qq", "-o", "/dev/null", "-P", out, "-e", f"trace={call}", "-e", f"inject={call}:error={error}")
    begin = time.monotonic()
    ended = subprocess.run([*without_locks, *bench.argv("record", out)], capture_output=True, env=ENV, timeout=DEADLINE_S)
    took_s = time.monotonic() - begin
    assert (ended.returncode, ended.stderr.decode()) == (
        2, f"blklat record: {out}: can't be locked: its file system has no locks ({why}): record to another one\n")
    assert took_s < 5
    assert not list(tmp_path.iterdir())


def test_a_recording_that_is_deleted_once_it_was_found(tmp_path):
    """As a service deletes its oldest one: those of the folder are looked for again. One that stays like that is an error."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    file = write_recording(SMALL_SCRIPT, tmp_path / "2026-11-21T02-59-00Z.blklat")

    def report(when):
        gone = ("strace", "-qq", "-o", "/dev/null", "-P", file, "-e", "trace=openat", "-e", f"inject=openat:error=ENOENT:when={when}")
        return subprocess.run([*gone, BLKLAT, "report", "-f", "text", tmp_path], env=ENV, capture_output=True, text=True, timeout=DEADLINE_S)
    once = report("1")
    assert (once.returncode, once.stderr) == (0, "") and "e total flush" in once.stdout, once
    always = report("1+")
    assert (always.returncode, always.stdout) == (2, "") and "No such file or directory" in always.stderr, always
