# SPDX-License-Identifier: GPL-2.0-only
"""Recordings in directories where others may put any files, and recordings that others made.

A reader changes nothing, plays nothing back, waits for nothing, and uses no neighbouring file that does not belong to the
recording. Decoys show whether root's eyes could be borrowed to read or delete somebody's file.
"""
import contextlib
import json
import os
import shutil
import sqlite3
import struct

import pytest
from attacks import BESIDE, NOBODY, NVME, PLANTS, ROOT, named, one_line, plant, readings, run, shown, state
from sql import change

PAGE = 4096


def journal(file, victim):
    """A journal that would have to be played back into the file; its super-journal is a file of the attacker's choice."""
    name = str(victim).encode()
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, file.stat().st_size // PAGE, 512, PAGE)
    super_page = 0x40000000 // PAGE + 1
    return head.ljust(512, b"\0") + struct.pack(">I", super_page) + name + \
        struct.pack(">II", len(name), sum(name)) + \
        bytes.fromhex("d9d505f920a163d7")


def test_the_decoy_works(file, victim):
    """SQLite itself deletes what the journal names; otherwise the next test would prove nothing."""
    named(file, "-journal").write_bytes(journal(file, victim))
    change(file, "SELECT count(*) FROM sqlite_master")
    assert not victim.exists()


def test_reading_deletes_nothing(file, victim, tmp_path):
    named(file, "-journal").write_bytes(journal(file, victim))
    before = state(file.parent)
    for args in readings(file, tmp_path):
        done = run(*args)
        assert done.returncode and done.stderr.count("\n") == 1, args
        if args[0] != "mark" and args[-1] != file:
            assert "left" in done.stderr and f"{file}-journal" in done.stderr
        assert victim.read_text() == "precious", args
        assert state(file.parent) == before, args


def test_overwriting_deletes_only_what_it_replaces(file, victim):
    named(file, "-journal").write_bytes(journal(file, victim))
    one_line(run("record", "--quiet", "--replay", NVME, "-o", file, "--overwrite"), 2, "is not a recording")
    assert victim.read_text() == "precious"


@pytest.mark.skipif(not ROOT, reason="files of two users: only root makes them")
def test_a_journal_of_somebody_else(file, victim):
    """It cannot belong to the file, so it does not prevent reading."""
    expected = shown(file)
    named(file, "-journal").write_bytes(journal(file, victim))
    os.chown(named(file, "-journal"), NOBODY, NOBODY)
    before = state(file.parent)
    assert shown(file) == expected
    assert victim.exists() and state(file.parent) == before


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("end", BESIDE)
def test_beside_a_recording_that_ended(file, victim, tmp_path, end, what):
    """A single plain file: whatever lies beside it is left alone and not read."""
    expected = shown(file)
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
    """Valid, with the same owner, but with other contents: it does not belong to the file."""
    expected, other = shown(file), file.with_name("other")
    shutil.copy(file, other)
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("UPDATE meta SET value = 'forged' WHERE key = 'host'")
        shutil.copy(named(other, "-wal"), named(file, "-wal"))
    assert shown(file) == expected
    document = json.loads(run("report", "--format", "json", file).stdout)
    assert document["runs"][0]["host"] == "a-host"


def test_what_is_stored_is_not_run(file):
    """Views instead of tables, triggers, tables of modules, a schema without end."""
    change(file, "CREATE TRIGGER t AFTER INSERT ON mark BEGIN DELETE FROM series; END", "CREATE VIEW v AS SELECT * FROM v2")
    assert shown(file)
    change(file, *(f"CREATE TABLE large{i}(x DEFAULT '{'x' * 900000}')" for i in range(40)))
    assert run("live", "--replay", file).returncode in (0, 1)
