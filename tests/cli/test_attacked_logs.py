# SPDX-License-Identifier: GPL-2.0-only
"""The log that a killed recorder leaves is read in place: whether it belongs to the file or not, whole and damaged."""
import contextlib
import fcntl
import os
import random
import shutil
import sqlite3
import subprocess

import pytest
from attacks import BLKLAT, ENV, NOBODY, ROOT, named, one_line, plant, readings, run, shown, state
from script import write_recording


def script(n):
    """A run of n intervals, no two of which are alike."""
    lines = [f"io read {50 + i}us 4096 x{100 + i}\nio write {2 + i % 7}ms 512\ntick 1\n" for i in range(n)]
    return "blklat-replay 1\ndevice d\nwatch d device\n" + "".join(lines)


def killed(file, n=12):
    """
    Makes what a killed recorder leaves: the first half of the intervals in the file, and each of the rest as a
    transaction in the log. Returns the output of a replay of the whole run.
    """
    whole = write_recording(script(n), file.with_name("whole"))
    expected = shown(whole)
    tables = ("interval", "state", "series")
    with contextlib.closing(sqlite3.connect(whole)) as db:
        rows = {(t, i): db.execute(f"SELECT * FROM {t} WHERE {'id' if t == 'interval' else 'interval'} = ?", (i,)).fetchall()
                for t in tables for i in range(n // 2, n + 1)}
        for t, i in rows:
            db.execute(f"DELETE FROM {t} WHERE {'id' if t == 'interval' else 'interval'} = ?", (i,))
        db.commit()
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        for i in range(n // 2, n + 1):
            with db:
                for t in tables:
                    for row in rows[t, i]:
                        db.execute(f"INSERT INTO {t} VALUES({','.join('?' * len(row))})", row)
        for end in ("", "-wal"):
            shutil.copy(named(whole, end), named(file, end))
    whole.unlink()
    return expected


def test_one_that_was_killed(folder, tmp_path):
    """It is read with its log, which stays unchanged, also in a directory that cannot be written to."""
    file = folder / "run.blklat"
    expected = killed(file)
    before = state(folder)
    folder.chmod(0o555)
    try:
        assert shown(file) == expected
        for args in readings(file, tmp_path)[:5]:
            done = run(*args)
            assert (done.returncode, done.stderr) == (0, ""), args
    finally:
        folder.chmod(0o755)
    assert state(folder) == before
    link = tmp_path / "link"
    link.symlink_to(file)
    assert shown(link) == expected


@pytest.mark.parametrize("what", ["fifo", "folder", "link", "hard link"])
def test_a_log_that_is_not_its_own(folder, tmp_path, what):
    file, real = folder / "run.blklat", tmp_path / "wal"
    killed(file)
    named(file, "-wal").rename(real)
    plant(named(file, "-wal"), what, real)
    before = state(folder)
    for args in readings(file, tmp_path)[:5]:
        one_line(run(*args), 1, f"{file}-wal is not its own log")
    assert state(folder) == before


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_a_log_of_somebody_else(folder, tmp_path):
    file = folder / "run.blklat"
    expected = killed(file)
    os.chown(named(file, "-wal"), NOBODY, NOBODY)
    for args in readings(file, tmp_path)[:5]:
        one_line(run(*args), 1, f"{file}-wal is not its own log")
    # Both belong to another user: it is his recording, and root may read it. The log stays his.
    os.chown(file, NOBODY, NOBODY)
    before = state(folder)
    assert shown(file) == expected
    assert state(folder) == before


@pytest.mark.parametrize("what", ["fifo", "folder", "link", "noise", "sparse"])
@pytest.mark.parametrize("end", ["-shm", "-mark"])
def test_beside_one_that_was_killed(folder, victim, end, what):
    """The index of the log is only for programs that map it; we do not."""
    file = folder / "run.blklat"
    expected = killed(file)
    plant(named(file, end), what, victim)
    before = state(folder)
    assert shown(file) == expected
    assert state(folder) == before


def intervals(file):
    """What SQLite reads, from a copy that it may change."""
    copy = file.with_name("copy")
    for end in ("", "-wal"):
        shutil.copy(named(file, end), named(copy, end))
    with contextlib.closing(sqlite3.connect(copy)) as db:
        n = db.execute("SELECT count(*) FROM interval").fetchone()[0] - 1
    for path in file.parent.glob("copy*"):
        path.unlink()
    return n


def test_logs_that_are_damaged(folder):
    """Cut at any length, or with any byte changed: we read the same from them as SQLite."""
    file, seed = folder / "run.blklat", random.Random(7)
    expected = killed(file).splitlines(keepends=True)
    whole, found = named(file, "-wal").read_bytes(), set()
    for i in range(60):
        log = bytearray(whole[:seed.randrange(len(whole))] if i % 2 else whole)
        if i % 2 == 0:
            log[seed.randrange(len(log)) if i % 4 else seed.randrange(56)] ^= 1 << seed.randrange(8)
        named(file, "-wal").write_bytes(log)
        n = intervals(file)
        assert shown(file) == "".join(expected[:n])
        found.add(n)
    assert len(found) > 4


@pytest.mark.parametrize("content", [b"", b"\x37\x7f\x06\x82", bytes(4096)])
def test_logs_of_nothing(folder, content):
    file = folder / "run.blklat"
    expected = killed(file).splitlines(keepends=True)
    with open(named(file, "-wal"), "wb") as f:
        f.write(content)
        f.truncate(max(1 << 40, len(content)) if content else 0)
    assert shown(file) == "".join(expected[:5])


def test_a_hole_of_a_tebibyte_behind_the_log(folder):
    file = folder / "run.blklat"
    expected = killed(file)
    os.truncate(named(file, "-wal"), 1 << 40)
    assert shown(file) == expected


def test_while_somebody_holds_it(folder, tmp_path):
    """While a recorder has it open: it is read from a copy that is then removed, and that of a sparse file takes no extra space."""
    file, copies = folder / "run.blklat", tmp_path / "copies"
    expected = killed(file)
    copies.mkdir()
    os.truncate(file, 1 << 40)
    with open(file) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = state(folder)
        done = subprocess.run([BLKLAT, "live", "--replay", file, "--format", "json", "--bins"], capture_output=True,
                              text=True, timeout=20, env=ENV | {"TMPDIR": str(copies)})
        assert (done.returncode, done.stderr, done.stdout) == (0, "", expected)
        assert state(folder) == before and not list(copies.iterdir())
        done = subprocess.run([BLKLAT, "live", "--replay", file], capture_output=True, text=True, timeout=20,
                              env=ENV | {"TMPDIR": str(copies / "none")})
        one_line(done, 2, f"{copies}/none")
