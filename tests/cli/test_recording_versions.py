# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of older versions (tests/cli/version1 and 2, made at that time) still give what their replay scripts give."""
import contextlib
import json
import pathlib
import sqlite3

import pytest
from attacks import DUMPS, run
from replayed import by_op, counted, replay, summed, ticks, wholes

HERE = pathlib.Path(__file__).parent
OF_THE_FILE = ("file", "host", "kernel", "command", "version")


@pytest.fixture(params=DUMPS, ids=lambda d: d.stem)
def old(request, tmp_path):
    """(recording, its script: beside it, unless it is one of today's)"""
    file, beside = tmp_path / "old.blklat", request.param.with_suffix(".txt")
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript(request.param.read_text())
    assert ask(file, "PRAGMA user_version") == [(int(request.param.parent.name.removeprefix("version")),)]
    return file, beside if beside.exists() else HERE / "replay" / beside.name


def ask(file, sql):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def shown(*args):
    done = run(*args)
    return done.returncode, done.stdout, done.stderr


def test_replay(old):
    file, script = old
    for output in (["text"], ["json", "--bins"], ["csv", "--bins"]):
        args = ["live", "--format", *output]
        assert shown(*args, "--replay", file) == shown(*args, "--scale", "1", "--replay", script)


def copy(file, source, *args):
    """A copy of @source as a recording of the current version."""
    done = run("record", "--quiet", "--replay", source, "-o", file, *args)
    assert done.returncode == 0 or "no watched device is left" in done.stderr, done.stderr
    return file


def report(file):
    document = json.loads(run("report", "--format", "json", file).stdout)
    for r in document["runs"]:
        for key in OF_THE_FILE:
            r.pop(key, None)
    return document


def test_report(old, tmp_path):
    """Reports of it, of a copy, and of today's recording of its script are the same, except for their source."""
    file, script = old
    expected = report(copy(tmp_path / "new.blklat", script, "--scale", "1"))
    assert len(expected["runs"]) == 1 and expected["runs"][0]
    assert report(file) == expected
    again = copy(tmp_path / "again.blklat", file)
    assert ask(again, "PRAGMA user_version") == [(3,)]
    assert report(again) == expected
    assert run("report", "--format", "json", again).stdout.replace(str(again), str(file)) == \
        run("report", "--format", "json", file).stdout


def test_views(old):
    """The file has its own views, unchanged."""
    file, script = old
    lines = replay(script, "--scale", "1")
    for (device, stage, op, part), found in by_op(counted(lines)).items():
        of = f"device = '{device}' AND stage = '{stage}' AND op = '{op}'" + (f" AND part = '{part}'" if part else "")
        assert ask(file, f"SELECT ios FROM op_interval WHERE ios AND {of} ORDER BY interval") == [(o["ios"],) for _, o in found]
        assert {(low, high): n for low, high, n in ask(file, f"SELECT lower_ns, upper_ns, count FROM run_bin WHERE {of}")} == \
            summed([o for _, o in found])
    expected = [(line["device"], line["stage"], line["in_flight"]["ios"]) for tick in ticks(wholes(lines))
                for line in sorted(tick, key=lambda x: (x["device"], x["stage"]))]
    assert ask(file, "SELECT device, stage, in_flight FROM watch_interval ORDER BY interval, device, stage") == expected
    slow = [(io["time"], line["device"], line["stage"], io["op"], io["part"]["label"], io["latency_ns"], io["sector"], io["error"], io["comm"], io["cgroup"])
            for line in lines for io in line.get("slow", [])]
    columns = "time, device, stage, op, part, latency_ns, sector, error, comm, cgroup"
    assert not slow or ask(file, f"SELECT {columns} FROM slow_io") == slow
