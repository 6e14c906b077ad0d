# SPDX-License-Identifier: GPL-2.0-only
"""Recordings made from replays: what comes out is what went in, and any failure is reported in one line."""
import contextlib
import os
import pathlib
import re
import shlex
import sqlite3
import subprocess
import time

import pytest
from asked import FORMATS
from attacks import NVME, one_line, record, run, shown
from command import BLKLAT
from sql import change, query
from stalls import cpu_and_states, full_pipe
from waiting import DEADLINE_S, wait_until

OUTPUTS = [[form, *more] for form in FORMATS for more in ([], ["--bins"]) if form != "text" or not more]


def meta(file):
    return dict(query(file, "SELECT key, value FROM meta"))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.blklat"


@pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)
def test_shown_meanwhile(output, file):
    """As live shows it; then one line about the file on standard error."""
    done = run("record", "--replay", NVME, "-o", file, "--format", *output)
    assert done.returncode == 0
    assert done.stdout == run("live", "--replay", NVME, "--format", *output).stdout
    intervals, = query(file, "SELECT count(*) FROM interval_time")[0]
    assert done.stderr.startswith(f"{file}: {intervals} interval")
    assert done.stderr.endswith(f"; 'blklat report {file} -o report.html' draws it\n")
    assert done.stderr.count("\n") == 1


def test_a_file_without_a_name_is_named_by_the_time(tmp_path):
    before = time.strftime("blklat-%Y%m%d-%H%M%S.blklat")
    done = run("record", "--replay", NVME, cwd=tmp_path)
    (made,) = os.listdir(tmp_path)
    assert before <= made <= time.strftime("blklat-%Y%m%d-%H%M%S.blklat") and done.stderr.startswith(f"{made}: ")


def test_size_that_is_told(file):
    done = run("record", "--replay", NVME, "-o", file)
    intervals, = query(file, "SELECT count(*) FROM interval WHERE merged")[0]
    told = re.search(r": (\d+) intervals of 1 device, ([\d.]+) KiB;", done.stderr)
    assert int(told[1]) == intervals and float(told[2]) == pytest.approx(file.stat().st_size / 1024, rel=0.005)


def test_recording_a_recording_keeps_its_origin(file, tmp_path):
    record(file, NVME, "--label", "first")
    change(file, "UPDATE meta SET value = 'elsewhere' WHERE key = 'host'", "UPDATE meta SET value = 100000000 WHERE key = 'idle_gap_ns'",
           "INSERT INTO mark SELECT mono_ns + 5, wall_ns + 5, 'half' FROM interval WHERE id = 1")
    again, renamed = record(tmp_path / "again", file), record(tmp_path / "renamed", file, "--label", "second")
    assert meta(again) == meta(file)
    assert meta(renamed) == meta(file) | {"label": "second"}
    for table in ("mark", "interval", "series", "state", "device", "watch"):
        rows = query(file, f"SELECT * FROM {table}")
        assert query(again, f"SELECT * FROM {table}") == rows and (rows or table == "lower")


def test_odd_names(tmp_path):
    for name in ("it's a run", "per%scent", "ümläut", "a;b", "quo\"te", "x?mode=ro#y", "-o"):
        file = tmp_path / name
        done = run("record", "--replay", NVME, "-o", file)
        assert done.returncode == 0, done.stderr
        assert f"blklat report {shlex.quote(str(file))} -o" in done.stderr or name in ("it's a run", "quo\"te", "ümläut")
        assert run("live", "--replay", file, "--format", "csv").stdout == run("live", "--replay", NVME, "--format", "csv").stdout
    for name in (":memory:", "file:a?mode=memory", "a%20b#c?d", "-x"):  # SQLite's words, where no folder is named
        done = run("record", "--quiet", "--replay", NVME, "-o", name, cwd=tmp_path)
        assert done.returncode == 0 and (tmp_path / name).exists(), done.stderr
        assert shown(tmp_path / name) == shown(NVME) == run("live", "--replay", name, "--format", "json", "--bins", cwd=tmp_path).stdout


# --- what can't be done -----------------------------------------------------------------------------------

def test_existing_file(file):
    for before in (b"precious", record(file).read_bytes()):
        file.write_bytes(before)
        one_line(run("record", "--replay", NVME, "-o", file), 2, f"{file}: already exists")
        assert file.read_bytes() == before
    one_line(run("record", "--replay", NVME, "-o", file.parent, "--overwrite"), 2, "is not a regular file")


def test_only_a_recording_is_replaced(file, tmp_path):
    """A file of another kind is not overwritten. What a killed recorder leaves is a recording only together with its log."""
    file.write_text("precious")
    one_line(run("record", "--replay", NVME, "-o", file, "--overwrite"), 2, "is not a recording")
    assert file.read_text() == "precious"
    other = change(tmp_path / "other.sqlite", "CREATE TABLE meta(key, value)")
    before = other.read_bytes()
    one_line(run("record", "--replay", NVME, "-o", other, "--overwrite"), 2, "is not a recording")
    assert other.read_bytes() == before
    for make in (lambda: file.write_bytes(b""), lambda: record(tmp_path / "first").rename(file), lambda: killed(file)):
        file.unlink(missing_ok=True)
        make()
        record(file, NVME, "--overwrite", "--label", "new")
        assert (meta(file)["finished"], meta(file)["label"]) == (1, "new")
        assert not list(tmp_path.glob("run.blklat-*"))


def killed(file):
    """The recording as it is if the machine goes down before anything moved from the log into the file."""
    source = record(file.with_name("source"), NVME, "--label", "old")
    with contextlib.closing(sqlite3.connect(source)) as whole, contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        with db:
            db.execute(f"PRAGMA application_id = {whole.execute('PRAGMA application_id').fetchone()[0]}")
            db.execute("CREATE TABLE meta(key, value)")
        saved = {name: file.with_name(name).read_bytes() for name in (file.name, file.name + "-wal")}
    assert saved[file.name][68:72] == bytes(4), "the file alone must not tell its kind"
    for name, content in saved.items():
        file.with_name(name).write_bytes(content)
    source.unlink()


@pytest.mark.parametrize("make,sentence", [
    (lambda d: d / "none" / "run", "can't be created: No such file or directory"), (lambda d: d, ""),
    (lambda d: pathlib.Path("/dev/null"), ""), (lambda d: d / ("x" * 300), "File name too long"),
])
def test_file_that_can_not_be_made(tmp_path, make, sentence):
    for more in ([], ["--overwrite"]):
        one_line(run("record", "--replay", NVME, "-o", make(tmp_path), *more), 2, sentence)
    assert list(tmp_path.iterdir()) == []


def test_size_that_is_too_small(file):
    one_line(run("record", "--replay", NVME, "-o", file, "--max-size", "2621439"), 2, "are too few for what is watched: at least 2621440 are needed")
    assert not file.exists()


def test_replay_into_itself(file, tmp_path):
    record(file)
    link = tmp_path / "link"
    link.symlink_to(file)
    before = file.read_bytes()
    for name in (file, link):
        one_line(run("record", "--replay", file, "-o", name, "--overwrite"), 2, "can't be replayed into itself")
    assert file.read_bytes() == before


def test_a_mark_waits_for_its_recording(file):
    """Which the same script has just begun. It has both times."""
    begin = time.monotonic_ns(), time.time_ns()
    with full_pipe() as (writer, _), subprocess.Popen([BLKLAT, "mark", file, "phase 1"]) as mark:
        wait_until(lambda: cpu_and_states(mark.pid)[1] == {"S"}, "the mark's wait")
        with subprocess.Popen([BLKLAT, "record", "--replay", NVME, "-o", file], stdout=writer, stderr=subprocess.DEVNULL) as recorder:
            assert mark.wait(DEADLINE_S) == 0
            recorder.terminate()
    (mono, wall, text), = query(file, "SELECT * FROM mark")
    assert text == "phase 1" and begin[0] < mono < time.monotonic_ns() and begin[1] < wall < time.time_ns()


def test_marks_that_can_not_be_noted(file, tmp_path):
    late = run("mark", file, "late")
    assert (late.returncode, late.stderr) == (1, f"blklat mark: {file} is not there yet: waiting up to 10 s for it\n"
                                                 f"blklat mark: {file}: can't be opened: No such file or directory\n")
    one_line(run("mark", tmp_path, "late"), 1, str(tmp_path))
    one_line(run("mark", __file__, "late"), 1, "is not a recording")
    record(file)
    before = file.read_bytes()
    one_line(run("mark", file, "late"), 1, "is not being recorded")
    assert file.read_bytes() == before
