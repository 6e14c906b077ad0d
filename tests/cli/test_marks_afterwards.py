# SPDX-License-Identifier: GPL-2.0-only
"""blklat mark --at: a mark in a recording that has ended, whoever made it and whatever files are beside it."""
import fcntl
import os
import signal
import stat
import subprocess
import time

import pytest
from attacks import BESIDE, BLKLAT, ENV, NOBODY, PLANTS, ROOT, named, one_line, plant, run, shown, state
from script import write_recording
from sql import change, query

SECOND = 10 ** 9
SCRIPT = "blklat-replay 1\nstart 2026-11-21T07:35:00.000Z\ndevice sda\nwatch sda device\n" + "io read 60us 4096 x10\ntick 1\n" * 120


@pytest.fixture
def file(tmp_path):
    """120 s from 07:35:00 UTC, in a folder of its own."""
    (tmp_path / "folder").mkdir()
    return write_recording(SCRIPT, tmp_path / "folder" / "run.blklat")


def marks(file):
    """Seconds since the start, by both clocks, and texts."""
    assert query(file, "PRAGMA integrity_check") == [("ok",)]
    (mono, wall), = query(file, "SELECT mono_ns, wall_ns FROM interval WHERE id = 0")
    return [((m - mono) / SECOND, (w - wall) / SECOND, text) for m, w, text in query(file, "SELECT mono_ns, wall_ns, text FROM mark ORDER BY mono_ns")]


def mark(file, at, text="x", **kw):
    return run("mark", file, "--at", at, text, **kw)


@pytest.mark.parametrize("at,seconds", [
    ("0", 0), ("12.5", 12.5), ("90s", 90), ("2m", 120), ("250ms", 0.25), ("07:35:10", 10), ("07:36:00.25", 60.25),
    ("2026-11-21T07:35:30Z", 30), ("2026-11-21 07:35:31.5", 31.5),
    ("07:36", 60), ("2026-11-21T09:35:32+02:00", 32), ("2026-11-21T02:05:33-05:30", 33)])
def test_times(file, at, seconds):
    before = shown(file)
    done = mark(file, at, "QD 16")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert marks(file) == [(seconds, seconds, "QD 16")]
    assert shown(file) == before


@pytest.mark.parametrize("at,status,sentence", [
    ("120.001", 1, "is 120.000 s long, and the time is not within it"), ("07:34:58", 1, "not within it"),
    ("2026-11-21T07:34:59Z", 1, "not within it"), ("2025-11-21T07:35:10Z", 1, "not within it"), ("9e9", 2, "must be seconds"),
    ("", 2, "must be seconds"), ("-1", 2, "must be seconds"), ("7:", 2, "must be seconds"),
    ("07:35:10Z", 2, "must be seconds"), ("07:35:", 2, "must be seconds"), ("25:00", 2, "must be seconds"),
    ("2026-13-21T07:35", 2, "must be seconds"),
    ("2026-11-21", 2, "must be seconds"), ("99999999999", 2, "must be seconds")])
def test_wrong_times(file, at, status, sentence):
    before = state(file.parent)
    done = run("mark", file, f"--at={at}", "x")
    one_line(done, status, sentence)
    assert state(file.parent) == before


def test_rights_and_links_stay(file, tmp_path):
    file.chmod(0o604)
    link = tmp_path / "link"
    link.symlink_to(file)
    if ROOT:
        os.chown(file, NOBODY, NOBODY)
    assert mark(link, 1).returncode == 0
    st = file.stat()
    assert link.is_symlink() and stat.S_IMODE(st.st_mode) == 0o604 and (not ROOT or (st.st_uid, st.st_gid) == (NOBODY, NOBODY))
    assert [p.name for p in file.parent.iterdir()] == ["run.blklat"] and len(marks(file)) == 1


def test_one_that_is_recorded(file):
    with open(file) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = state(file.parent)
        one_line(mark(file, 1), 1, "is being recorded or marked: leave out --at")
        assert state(file.parent) == before


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("end", BESIDE)
def test_nothing_that_was_planted_is_used(file, victim, tmp_path, end, what):
    """It stays as it is. A journal that SQLite would play back is refused, as for readers."""
    plant(named(file, end), what, victim)
    before = state(file.parent)
    done = mark(file, 1)
    after = state(file.parent)
    assert victim.read_text() == "precious"
    if (end, what) == ("-journal", "noise"):
        one_line(done, 1, "-journal: open it with sqlite3 once")
        assert after == before
        return
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert done.returncode == 0 and changed == {file.name, file.parent.name}
    alone = file.rename(tmp_path / "alone")  # SQLite itself would use what was planted
    assert len(marks(alone)) == 1


@pytest.mark.parametrize("end", ["", "-wal"])
def test_one_that_was_cut_off(file, end):
    """What is in its log would be lost; it may be missing already."""
    change(file, "PRAGMA journal_mode = WAL")
    named(file, "-wal").write_bytes(b"x") if end else None
    before = state(file.parent)
    one_line(mark(file, 1), 1, "its recording was interrupted: make a complete copy")
    assert state(file.parent) == before


def test_triggers_do_not_run(file):
    change(file, "CREATE TRIGGER t AFTER INSERT ON mark BEGIN DELETE FROM interval; END")
    assert mark(file, 1).returncode == 0
    assert len(marks(file)) == 1


@pytest.mark.parametrize("sql,sentence", [
    ("DROP TABLE mark", "table mark is missing"), ("ALTER TABLE mark ADD COLUMN more", "table mark is missing or altered"),
    ("PRAGMA user_version = 99", "is a recording of version 99"), ("PRAGMA application_id = 5", "not a recording"),
    ("UPDATE interval SET wall_ns = 'x'", "have no times"), ("UPDATE mark SET text = 5", None),
    ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) INSERT INTO mark SELECT mono_ns, wall_ns, 'm' "
     "FROM interval, n WHERE id = 0", "has 10000 marks")])
def test_files_that_are_none(file, sql, sentence):
    change(file, sql)
    before = state(file.parent)
    done = mark(file, 1)
    if not sentence:
        assert done.returncode == 0
        return
    one_line(done, 1, sentence)
    assert state(file.parent) == before


def test_what_is_no_file(tmp_path):
    one_line(mark(tmp_path / "none", 1), 1, "No such file")
    one_line(mark(tmp_path, 1), 1, "not a regular file")
    os.mkfifo(tmp_path / "fifo")
    one_line(mark(tmp_path / "fifo", 1), 1, "not a regular file")


def test_two_at_once(file):
    """Each mark is in the file, or its command has reported that it is not."""
    both = [subprocess.Popen([BLKLAT, "mark", file, "--at", str(i), f"m{i}"], stderr=subprocess.PIPE, text=True) for i in range(8)]
    done = {f"m{i}": (p.communicate(timeout=20), p.returncode) for i, p in enumerate(both)}
    assert {text for _, _, text in marks(file)} == {text for text, (_, status) in done.items() if not status}
    assert all(said.count("\n") == 1 for (_, said), status in done.values() if status)


def test_nothing_stays_behind(file, tmp_path):
    """Nor is anything put elsewhere."""
    for at in ("1", "1000"):
        subprocess.run([BLKLAT, "mark", file, "--at", at, "x"], env={**ENV, "TMPDIR": str(tmp_path / "no")}, timeout=20)
        assert [p.name for p in file.parent.iterdir()] == [file.name]
    assert len(marks(file)) == 1


def test_killed_at_any_time(file):
    """The file is whole, with the mark or without it, and the next mark removes what was left beside it."""
    change(file, "CREATE TABLE padding AS SELECT zeroblob(20000000) AS padding")
    argv, env = [BLKLAT, "mark", file, "--at", "1", "x"], ENV
    begin = time.monotonic()
    subprocess.run(argv, env=env, check=True, timeout=60)
    whole_s, killed = time.monotonic() - begin, 0
    for i in range(40):
        process = subprocess.Popen(argv, env=env)
        time.sleep(whole_s * i / 60)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    # One may be left, as the name is the file's own.
    assert len(list(file.parent.glob(".blklat-mark-*"))) <= 1
    assert {text for _, _, text in marks(file)} == {"x"} and 1 <= len(marks(file)) <= 1 + 40
    assert killed >= 10
    subprocess.run(argv, env=env, check=True, timeout=60)
    assert not list(file.parent.glob(".blklat-mark-*"))


def test_what_one_that_was_killed_left(file, victim):
    """It is removed, whatever it is; what can't be is named."""
    left = file.parent / f".blklat-mark-{file.stat().st_ino}"
    left.write_text("half a file")
    assert mark(file, 1).returncode == 0 and not left.exists()
    left = file.parent / f".blklat-mark-{file.stat().st_ino}"
    left.symlink_to(victim)
    assert mark(file, 1).returncode == 0 and not left.is_symlink() and victim.read_text() == "precious"
    left = file.parent / f".blklat-mark-{file.stat().st_ino}"
    left.mkdir()
    before = state(file.parent)
    one_line(mark(file, 1), 1, f"{left.name} next to it can't be removed: Is a directory")
    assert state(file.parent) == before
