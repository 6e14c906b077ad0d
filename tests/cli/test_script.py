# SPDX-License-Identifier: GPL-2.0-only
"""Recordings by tests/script.py, which knows their format from its description: the program writes the same."""
import contextlib
import json
import sqlite3

import pytest
from attacks import run
from script import SCRIPTS, recorded

TABLES = ("device", "lower", "watch", "op", "cell", "interval", "state", "series", "mark", "slow", "slow_found")
IDLE = 10  # the first column about IOs after a pause


def rows(file):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        there = {name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        return {table: sorted(db.execute(f"SELECT * FROM {table}"), key=str) for table in TABLES if table in there}


def document(file):
    [run_] = json.loads(run("report", "--format", "json", file).stdout)["runs"]
    return {key: value for key, value in run_.items() if key not in ("file", "host", "kernel", "version", "command")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_the_program_copies_each_row(script, tmp_path):
    done = run("record", "--quiet", "--replay", recorded(script), "-o", tmp_path / "copy")
    assert done.stderr == "" or "no watched device is left" in done.stderr
    copy, source = rows(tmp_path / "copy"), rows(recorded(script))
    if done.stderr:  # what comes behind the end of the last device is not copied
        source |= {table: [row for row in source[table] if row[0] < len(copy["interval"])] for table in ("interval", "series")}
    for of, was in zip(copy["series"], source["series"]):  # nor are IOs after a pause, where a longer IO casts doubt on the pause
        if script.stem == "pauses" and of[IDLE:] == (0, 0, b""):
            source["series"][source["series"].index(was)] = was[:IDLE] + of[IDLE:]
    assert copy == source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_the_program_reads_the_same_from_the_script(script, tmp_path):
    for output in (["json", "--bins"], ["csv", "--bins"], ["json", "--bins", "--scale", "0"]):
        a, b = (run("live", "--format", *output, "--replay", source) for source in (script, recorded(script)))
        assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)
    run("record", "--quiet", "--replay", script, "-o", tmp_path / "run")
    assert document(tmp_path / "run") == document(recorded(script))
