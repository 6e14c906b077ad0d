# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of this machine: everything that happened is in the file, whatever ends the run."""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import pytest
from devices import Delta, run, unmount
from load import BLKLAT, DEADLINE_S, FioResult, Missing, deep, exact, fio_argv
from needs import need
from recorder import Recorder, assert_one_plain_file, intervals, ios, meta, query, record, replayed


def assert_complete(file, f, op="read"):
    """fio's own totals, the device's and the recording's agree."""
    lines = replayed(file)
    a = lines[-1]["accounting"]
    if a["lost"] + a["in_flight"]:
        raise Missing(a)
    assert ios(file)[op] == (f.ios(op), f.bytes(op), 0)
    assert sum(o["ios"] for l in lines for o in l["ops"] if o["op"] == op) == f.ios(op)
    assert a["started"] == a["completed"]
    return lines


@exact
def test_all_of_the_command_is_recorded(loop, file):
    """From its first IO to its last; the interval that its end cuts short is there."""
    file.unlink(missing_ok=True)
    delta = Delta(loop)
    command = fio_argv(loop, **deep(1.1, rate_iops=20000))
    began = time.monotonic()
    done = record(loop, file, "--label", "a run", command=command)
    ended = time.monotonic()
    assert done.returncode == 0, done.stderr
    f = FioResult(json.loads(done.stdout)["jobs"][0])  # standard output is fio's alone
    lines = assert_complete(file, f)
    assert delta()["reads"] == f.ios("read") == lines[-1]["accounting"]["kernel_ios"]
    assert_one_plain_file(file)
    # As long as it ran. A late end makes an interval longer and shortens the next, so not all of them are above.
    lengths = [l["interval_s"] for l in lines]
    assert f.runtime_s <= sum(lengths) <= ended - began
    assert len(lines) >= 3 and min(lengths[:-1]) <= 0.25
    assert all(sum(lengths[:n]) >= 0.2 * n - 1e-5 for n in range(1, len(lines)))
    # The text for people is on the other stream, and so is a last line about the file.
    assert "IOPS" in done.stderr and loop.name in done.stderr
    assert re.search(rf"{re.escape(file.name)}: {len(lines)} intervals of 1 device", done.stderr.splitlines()[-1])
    assert (meta(file, "label"), meta(file, "host"), meta(file, "kernel")) == ("a run", os.uname().nodename, os.uname().release)
    assert meta(file, "command").startswith("blklat record --dev ")
    assert " -- fio " in meta(file, "command")


def test_nobody_holds_the_recorder_up(loop, file):
    """Neither a lock on the file, which any reader could take, nor a log that can't restart holds it up."""
    with Recorder(loop, file, "--quiet", interval=0.02) as r:
        for sql in ("SELECT count(*) FROM interval", "BEGIN IMMEDIATE", "PRAGMA journal_mode = DELETE"):
            with contextlib.closing(sqlite3.connect(file, timeout=0)) as db, pytest.raises(sqlite3.OperationalError):
                db.execute(sql).fetchall()
        assert not [p for p in file.parent.iterdir() if p.name not in (file.name, f"{file.name}-wal", f"{file.name}-mark")]
        r.more(5)
        assert r.stop() == 0
    assert_one_plain_file(file)


def test_marks_of_many_at_once(loop, file):
    with Recorder(loop, file, "--quiet", interval=0.01) as r:
        several = [subprocess.Popen([BLKLAT, "mark", file, f"mark {n}"], stderr=subprocess.PIPE) for n in range(24)]
        said = [(p.communicate(timeout=DEADLINE_S)[1], p.returncode) for p in several]
        assert r.stop() == 0
    assert said == [(b"", 0)] * 24
    assert {text for text, in query(file, "SELECT text FROM mark")} == {f"mark {n}" for n in range(24)}


class OneLine(Recorder):
    """A recorder of which one line is read."""

    def _read_stdout(self):
        self.take(self.process.stdout.readline())
        self.process.stdout.close()


def test_reader_of_the_live_output_leaves(loop, file):
    """The recording goes on without its reader."""
    with OneLine(loop, file, "--format", "json", interval=0.05) as r:
        r.until(lambda: r.process.stdout.closed, "interval")
        r.more(8)
        assert r.stop() == 0
    assert [json.loads(line)["device"] for line in r.lines] == [loop.name]
    # Only the last line about the file, no complaint.
    assert r.stderr.startswith(f"{file}: {intervals(file)} intervals ") and r.stderr.count("\n") == 1


def test_file_on_what_is_watched(loop, folder):
    """Its own writes would be measured, which is reported once."""
    need(shutil.which("mkfs.ext4"), "no mkfs.ext4")
    run("mkfs.ext4", "-q", "-F", loop.path)
    disk = folder / "disk"
    disk.mkdir()
    run("mount", loop.path, disk)
    try:
        done = record(loop, disk / "run.blklat", "--count", "2", "--quiet")
        assert done.returncode == 0
        assert done.stderr.count("\n") == 1 and f"is on {loop.name}" in done.stderr
        # The warning is right: each interval makes a flush.
        assert ios(disk / "run.blklat")["write"][0] > 0
        assert record(loop, folder / "run.blklat", "--count", "1", "--quiet").stderr == ""
    finally:
        unmount(disk)
