# SPDX-License-Identifier: GPL-2.0-only
"""Recordings in directories where others put what they like, and recordings that others made.

Whoever reads one changes nothing, plays nothing back, waits for nothing and takes no more from what lies beside it than
is its own. What root would see of somebody's file is shown with decoys.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import sqlite3
import stat
import struct
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BLKLAT = os.environ.get("BLKLAT", str(HERE.parents[1] / "build/blklat"))
NVME = HERE / "replay" / "nvme.txt"
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
ROOT = os.geteuid() == 0
NOBODY = 65534
BESIDE = ["-wal", "-shm", "-journal", "-mark"]
PAGE = 4096


def run(*args, **kw):
    """Whatever waits for something is found out."""
    return subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, env=ENV, timeout=20, **kw)


def one_line(done, status, sentence):
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    assert sentence in done.stderr, done.stderr


def record(file, script=NVME, *args):
    done = run("record", "--replay", script, "-o", file, "--quiet", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return file


def shown(file):
    done = run("live", "--replay", file, "--format", "json", "--bins")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def named(file, end):
    return file.with_name(file.name + end)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def file(folder):
    return record(folder / "run.blklat")


def script(n):
    """A run of n intervals of which no two are alike."""
    lines = [f"io read {50 + i}us 4096 x{100 + i}\nio write {2 + i % 7}ms 512\ntick 1\n" for i in range(n)]
    return "blklat-replay 1\ndevice d\nwatch d device\n" + "".join(lines)


def killed(file, n=12):
    """
    What a recorder leaves that is killed: the first half of its intervals in the file, each other one as a transaction
    of the log. Gives what a replay of the whole run shows.
    """
    source = file.with_name("source")
    source.write_text(script(n))
    whole = record(file.with_name("whole"), source)
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
    for name in (source, whole):
        name.unlink()
    return expected


def journal(file, victim):
    """A journal of the file that would have to be played back, whose super-journal is a file of the attacker's choice."""
    name = str(victim).encode()
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, file.stat().st_size // PAGE, 512, PAGE)
    super_page = 0x40000000 // PAGE + 1
    return head.ljust(512, b"\0") + struct.pack(">I", super_page) + name + \
        struct.pack(">II", len(name), sum(name)) + \
        bytes.fromhex("d9d505f920a163d7")


def state(folder):
    """All that can be told of a directory and its files but when they were read."""
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


PLANTS = ["fifo", "folder", "link", "hard link", "noise", "sparse", "empty"]


# --- reading ------------------------------------------------------------------------------------------------

def test_the_decoy_works(file, tmp_path):
    """SQLite itself deletes what the journal names: else the next test says nothing."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    named(file, "-journal").write_bytes(journal(file, victim))
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    assert not victim.exists()


def test_reading_deletes_nothing(file, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    named(file, "-journal").write_bytes(journal(file, victim))
    before = state(file.parent)
    for args in readings(file, tmp_path):
        done = run(*args)
        assert done.returncode and done.stderr.count("\n") == 1, args
        if args[0] != "mark" and args[-1] != file:
            assert "left" in done.stderr and f"{file}-journal" in done.stderr
        assert victim.read_text() == "precious", args
        assert state(file.parent) == before, args


def test_overwriting_deletes_only_what_it_replaces(file, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    named(file, "-journal").write_bytes(journal(file, victim))
    one_line(run("record", "--quiet", "--replay", NVME, "-o", file, "--overwrite"), 2, "is no recording")
    assert victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_a_journal_of_somebody_else(file, tmp_path):
    """Can't be the file's own, so it keeps nobody from reading."""
    expected, victim = shown(file), tmp_path / "victim"
    victim.write_text("precious")
    named(file, "-journal").write_bytes(journal(file, victim))
    os.chown(named(file, "-journal"), NOBODY, NOBODY)
    before = state(file.parent)
    assert shown(file) == expected
    assert victim.exists() and state(file.parent) == before


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("end", BESIDE)
def test_beside_a_recording_that_ended(file, tmp_path, end, what):
    """One plain file, to which nothing belongs: whatever lies beside it is left alone, and read by nobody."""
    victim, expected = tmp_path / "victim", shown(file)
    victim.write_bytes(os.urandom(5000))
    plant(named(file, end), what, victim)
    before = state(file.parent)
    if (end, what) == ("-journal", "noise"):
        for args in readings(file, tmp_path)[:5]:
            one_line(run(*args), 1, "-journal: open it with sqlite3 once")
    else:
        for args in readings(file, tmp_path)[:5]:
            done = run(*args)
            assert (done.returncode, done.stderr) == (0, ""), args
            (tmp_path / "again").unlink(missing_ok=True)
        assert shown(file) == expected
    assert state(file.parent) == before


def test_a_log_beside_a_recording_that_ended(file):
    """Valid, of the same owner, with other contents: it is not the file's."""
    expected, other = shown(file), file.with_name("other")
    shutil.copy(file, other)
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("UPDATE meta SET value = 'forged' WHERE key = 'host'")
        shutil.copy(named(other, "-wal"), named(file, "-wal"))
    assert shown(file) == expected
    document = json.loads(run("report", "--format", "json", file).stdout)
    assert document["runs"][0]["host"] == os.uname().nodename


def test_one_that_was_killed(folder, tmp_path):
    """Read with its log, which stays as it is, in a directory where nothing can be written too."""
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
    file, victim, real = folder / "run.blklat", tmp_path / "victim", tmp_path / "wal"
    killed(file)
    named(file, "-wal").rename(real)
    plant(named(file, "-wal"), what, real)
    before = state(folder)
    for args in readings(file, tmp_path)[:5]:
        one_line(run(*args), 1, f"{file}-wal, which is not its own")
    assert state(folder) == before and not victim.exists()


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_a_log_of_somebody_else(folder, tmp_path):
    file = folder / "run.blklat"
    expected = killed(file)
    os.chown(named(file, "-wal"), NOBODY, NOBODY)
    for args in readings(file, tmp_path)[:5]:
        one_line(run(*args), 1, f"{file}-wal, which is not its own")
    # Both of another: it is his recording, and root may read it.
    os.chown(file, NOBODY, NOBODY)
    assert shown(file) == expected


@pytest.mark.parametrize("what", ["fifo", "folder", "link", "noise", "sparse"])
@pytest.mark.parametrize("end", ["-shm", "-mark"])
def test_beside_one_that_was_killed(folder, tmp_path, end, what):
    """There is an index of the log for whoever maps it, which we don't."""
    file, victim = folder / "run.blklat", tmp_path / "victim"
    expected = killed(file)
    victim.write_text("precious")
    plant(named(file, end), what, victim)
    before = state(folder)
    assert shown(file) == expected
    assert state(folder) == before


def intervals(file):
    """By SQLite, of a copy that it may change."""
    copy = file.with_name("copy")
    for end in ("", "-wal"):
        shutil.copy(named(file, end), named(copy, end))
    with contextlib.closing(sqlite3.connect(copy)) as db:
        n = db.execute("SELECT count(*) FROM interval").fetchone()[0] - 1
    for path in file.parent.glob("copy*"):
        path.unlink()
    return n


def test_logs_that_are_damaged(folder):
    """Cut at any length, with any byte changed: what SQLite takes from it is what we take."""
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
    """As a recorder does: read from a copy, that is gone, and of a file of holes takes no more than there is."""
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


def test_what_is_stored_is_not_run(file):
    """Views instead of tables, triggers, tables of modules, a schema without end."""
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON mark BEGIN DELETE FROM series; END")
        db.execute("CREATE VIEW v AS SELECT * FROM v2")
    assert shown(file)
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        for i in range(40):
            db.execute(f"CREATE TABLE large{i}(x DEFAULT '{'x' * 900000}')")
    assert run("live", "--replay", file).returncode in (0, 1)


# --- recording ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("end", BESIDE)
def test_nothing_is_made_beside_what_was_planted(folder, tmp_path, end, what):
    file, victim = folder / "run.blklat", tmp_path / "victim"
    victim.write_text("precious")
    plant(named(file, end), what, victim)
    before = state(folder)
    for more in ([], ["--overwrite"]):
        one_line(run("record", "--quiet", "--replay", NVME, "-o", file, *more), 2, f"{file}{end}: is there already")
        assert state(folder) == before and victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
@pytest.mark.parametrize("end", BESIDE)
def test_overwriting_beside_what_somebody_else_planted(file, end):
    named(file, end).write_bytes(b"")
    os.chown(named(file, end), NOBODY, NOBODY)
    before = state(file.parent)
    one_line(run("record", "--quiet", "--replay", NVME, "-o", file, "--overwrite"), 2, f"{file}{end}: is there already")
    assert state(file.parent) == before


def test_what_a_recording_leaves(folder):
    """One file, which others may read as the user's mask says."""
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o027, 0o640)):
        file = folder / f"{mode:o}"
        done = run("record", "--quiet", "--replay", NVME, "-o", file, umask=mask)
        assert (done.returncode, done.stderr) == (0, "")
        assert stat.S_IMODE(file.stat().st_mode) == mode
    assert sorted(p.name for p in folder.iterdir()) == ["600", "640", "644"]


# --- marks --------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def recorded(file):
    """The file as a recorder has it, but without one."""
    with open(file) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield named(file, "-mark")


def test_marks_go_to_the_recorder_alone(file, tmp_path):
    with recorded(file) as fifo:
        before = state(file.parent)
        one_line(run("mark", file, "x"), 1, "takes no marks")
        assert state(file.parent) == before
        os.mkfifo(fifo, 0o600)
        one_line(run("mark", file, "x"), 1, f"{fifo} can't be opened")
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert run("mark", file, "it is me").returncode == 0
            told = os.read(reader, 65536)
            assert told[16:].rstrip(b"\0") == b"it is me"
            # One that is full is not waited for.
            fill = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(fill, bytes(4096))
            one_line(run("mark", file, "x"), 1, "as many marks as it can take")
            os.close(fill)
        finally:
            os.close(reader)


@pytest.mark.parametrize("what", PLANTS)
def test_marks_are_not_written_elsewhere(file, tmp_path, what):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with recorded(file) as fifo:
        plant(fifo, what, victim)
        before = state(file.parent)
        done = run("mark", file, "x")
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and str(fifo) in done.stderr
        assert state(file.parent) == before and victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_marks_are_not_told_to_somebody_else(file):
    with recorded(file) as fifo:
        os.mkfifo(fifo)
        os.chown(fifo, NOBODY, NOBODY)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        one_line(run("mark", file, "secret"), 1, "is not its recorder's")
        assert os.read(reader, 4096) == b""
        os.close(reader)
