# SPDX-License-Identifier: GPL-2.0-only
"""Recordings by tests/script.py, which knows their format from its description: the program writes the same."""
import shutil

import pytest
from attacks import run
from script import SCRIPTS, recorded
from sql import change, query

TABLES = ("meta", "device", "lower", "identity", "watch", "op", "cell", "interval", "state", "series", "mark", "busy", "slow", "slow_found", "slow_file")
IDLE = 10  # the first column about IOs after a pause


def rows(file):
    there = {name for name, in query(file, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {table: sorted(query(file, f"SELECT * FROM {table}"), key=str) for table in TABLES if table in there}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_the_program_copies_each_row(script, tmp_path):
    """Also what no script has: devices that were replaced, what parts have in flight, and the files of slow IOs."""
    source = shutil.copy(recorded(script), tmp_path / "source")
    change(source, "UPDATE state SET replaced = gone, unsettled = interval % 2",
           "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) SELECT 1, id, id % 3, 5, 9 FROM watch WHERE part_of IS NOT NULL AND id % 3")
    if rows(source).get("slow"):
        change(source, "CREATE TABLE slow_file(n INTEGER PRIMARY KEY, pages TEXT, file_device TEXT, inode INTEGER, file TEXT)",
               "INSERT INTO slow_file SELECT n, 'file', '254:' || n, 1 + n, iif(n % 2, 'a/b', NULL) FROM slow WHERE n % 3")
    done = run("record", "--quiet", "--replay", source, "-o", tmp_path / "copy")
    shown = run("live", "--replay", source)
    assert (done.returncode, done.stderr.replace("blklat record", "blklat live")) == (shown.returncode, shown.stderr)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy", "source"]
    copy, source = rows(tmp_path / "copy"), rows(source)
    for of, was in zip(copy["series"], source["series"]):  # nor are IOs after a pause, where a longer IO casts doubt on the pause
        if script.stem == "pauses" and of[IDLE:] == (0, 0, b""):
            source["series"][source["series"].index(was)] = was[:IDLE] + of[IDLE:]
    assert copy == source
