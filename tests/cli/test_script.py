# SPDX-License-Identifier: GPL-2.0-only
"""Recordings by tests/script.py, which knows their format from its description: the program writes the same."""
import pytest
from attacks import run
from script import SCRIPTS, recorded
from sql import query

TABLES = ("meta", "device", "lower", "identity", "watch", "op", "cell", "interval", "state", "series", "mark", "slow", "slow_found")
IDLE = 10  # the first column about IOs after a pause


def rows(file):
    there = {name for name, in query(file, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {table: sorted(query(file, f"SELECT * FROM {table}"), key=str) for table in TABLES if table in there}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_the_program_copies_each_row(script, tmp_path):
    done = run("record", "--quiet", "--replay", recorded(script), "-o", tmp_path / "copy")
    shown = run("live", "--replay", recorded(script))
    assert (done.returncode, done.stderr.replace("blklat record", "blklat live")) == (shown.returncode, shown.stderr)
    assert [file.name for file in tmp_path.iterdir()] == ["copy"]
    copy, source = rows(tmp_path / "copy"), rows(recorded(script))
    for of, was in zip(copy["series"], source["series"]):  # nor are IOs after a pause, where a longer IO casts doubt on the pause
        if script.stem == "pauses" and of[IDLE:] == (0, 0, b""):
            source["series"][source["series"].index(was)] = was[:IDLE] + of[IDLE:]
    assert copy == source
