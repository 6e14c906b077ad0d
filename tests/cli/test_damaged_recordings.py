# SPDX-License-Identifier: GPL-2.0-only
"""Files that are not recordings, or no longer: each gets its sentence, and the reader takes nothing from them."""
import contextlib
import os
import shutil
import sqlite3

import pytest
from attacks import one_line, record, run
from script import write_recording

SCRIPT = """blklat-replay 1
scale 2
cpus 2
{}
device d
device e kind=md
watch d device
watch e total
io read 60us 4096 x1000
io write 1ms 4096 x10
tick 1
io read 61us 4096 x7
busy 20ms
tick 1
on e total
io read 2ms 512
tick 1
"""
SLOW_SCRIPT = "blklat-replay 1\nslow-max 3\ndevice d\nwatch d device\n" + "".join(
    "".join(f"io read {i}0{k}us 4096\nslow read {i}0{k}us 4096 cpu={k} " + f"sector={i} pid=7 comm=fio cgroup=/a depth={i} beside=flush flags=sync" * (k % 2)
            + "\n" for k in range(i % 6)) + "tick 1\n" for i in range(1, 13))
PUT_IN_FLIGHT = "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, "
LATER_SERIES = ("INSERT INTO series SELECT 4, watch, op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, idle_sum_ns, idle_bins "
                "FROM series WHERE interval = 2")
TOO_MANY_WATCHES = ("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 65536) "
                    "INSERT INTO watch(id, device, stage) SELECT i, 0, 'queue' FROM n")

# What the reader says, what was done to a good recording, and what each of these stands for {} in it.
FIGURES = [
    (": is an SQLite database, but not a recording", "PRAGMA application_id = 1"),
    (": is a recording of version 4, and this blklat reads version 3: use the one that recorded it", "PRAGMA user_version = 4"),
    (": is a recording of version 2, and this blklat reads version 3: record again", "PRAGMA user_version = 2"),
    (": is damaged: version 0 does not exist", "PRAGMA user_version = 0"),
    ("table mark is missing or altered", "DROP TABLE mark"),
    ("table series is missing or altered", "ALTER TABLE series ADD COLUMN more"),
    ("table state is missing or altered", "DROP TABLE state; CREATE VIEW state AS SELECT * FROM series"),
    (": has no intervals: it ended before the first one was complete", "DELETE FROM interval WHERE merged"),
    ("has no intervals", "DELETE FROM interval"),
    ("its scale is missing", "DELETE FROM meta WHERE key = 'scale'"),
    ("scale is not a number from 0 to 6", "UPDATE meta SET value = {} WHERE key = 'scale'", "7", "-1", "'2'"),
    ("interval 1 has an invalid row in table series", "UPDATE meta SET value = 3 WHERE key = 'scale'"),
    ("cpus is not a number from 0 to 65536", "UPDATE meta SET value = 65537 WHERE key = 'cpus'"),
    ("interval_s is not a duration", "UPDATE meta SET value = {} WHERE key = 'interval_s'", "0", "9e999"),
    ("label is not a text", "UPDATE meta SET value = x'00' WHERE key = 'label'"),
    ("engine is not a text", "UPDATE meta SET value = 1 WHERE key = 'engine'"),
    ("finished is not a number from 0 to 1", "UPDATE meta SET value = 2 WHERE key = 'finished'"),
    ("it has no device", "DELETE FROM device"),
    ("the ids in its table device have gaps or exceed", "UPDATE device SET id = {}", "7 WHERE id = 1", "-1 WHERE id = 0"),
    ("device 1 is invalid", "UPDATE device SET {} WHERE id = 1", "name = printf('%.*c', 64, 'x')", "name = ''", "parent = 2"),
    ("is a partition of a partition", "UPDATE device SET parent = 1 - id"),
    ("device 0 is invalid", "UPDATE device SET size_bytes = -1"),
    ("is of no device", "INSERT INTO identity VALUES({}, '', '', '', '', '')", "2", "-1"),
    ("the identity of e is invalid", "INSERT INTO identity VALUES(1, {}, '', '', '', '')", "NULL", "x'00'", "printf('%.*c', 64, 'x')"),
    ("table identity is missing or altered", "{}", "DROP TABLE identity; CREATE TABLE identity(device, serial)"),
    ("a device is stacked on one that does not exist", "INSERT INTO lower VALUES(0, 2)"),
    ("a device is stacked on itself", "INSERT INTO lower VALUES{}", "(0, 0)", "(0, 1), (1, 0)"),
    ("it has no watch", "DELETE FROM watch"),
    ("watch 1 is not a device and stage", "UPDATE watch SET device = 2 WHERE id = 1"),
    ("watch 0 is not a device and stage", "UPDATE watch SET stage = 'cpu'"),
    ("watch 1 is a duplicate", "UPDATE watch SET device = 0, stage = 'queue'"),
    ("watch 1 is part of another device or stage", "UPDATE watch SET part_of = 0, part_by = 'size', part = '4 KiB' WHERE id = 1"),
    ("the ids in its table watch have gaps or exceed 65535", TOO_MANY_WATCHES),
    ("mark 0 is invalid", "INSERT INTO mark VALUES({})", "-1, 0, 'x'", "1, 0, NULL", "1, 0, printf('%.*c', 1025, 'x')"),
    ("interval 2 is invalid", "UPDATE interval SET {} WHERE id = 2", "mono_ns = -1", "mono_ns = 1", "wall_ns = NULL", "skipped = 'x'", "merged = 0"),
    ("interval 3 is invalid", "UPDATE interval SET mono_ns = 1 << 62 | 1 WHERE id = 3"),
    ("interval 0 is invalid", "UPDATE interval SET merged = 1"),
    ("a row of its table interval has an invalid key", "UPDATE interval SET id = {}", "-1 WHERE id = 0", "1 << 62 | 1 WHERE id = 3"),
    ("interval 2 has 1 states, not 2", "DELETE FROM state WHERE interval = 2 AND watch = 1"),
    ("interval 2 has an invalid row in table state", "UPDATE state SET watch = 2 WHERE interval = 2 AND watch = 1"),
    ("interval 2 has an invalid row in table state", "UPDATE state SET {} WHERE interval = 2",
     "started = -1", "started = 1 << 59", "requeued = 1.5", "bios_started = NULL", "kernel_ios = 'many'", "kernel_in_flight = -1", "gone = 2",
     "replaced = 2", "waited_ns = -1", "unsettled = NULL"),
    ("interval 2 has an invalid row in table busy", "UPDATE busy SET {}", "busy_ns = -1", "busy_ns = 'long'", "watch = 7"),
    ("table busy is missing or altered", "DROP TABLE busy; CREATE TABLE busy(interval, watch, busy_ns)"),
    ("interval 1 has an invalid row in table series", "UPDATE series SET watch = 2 WHERE interval = 1"),
    ("a row of its table series has an invalid key", "UPDATE series SET op = NULL WHERE interval = 2"),
    ("an invalid row in table series", "UPDATE series SET bytes = 1 << 62 WHERE interval < 3"),
    ("interval 2 has an invalid row in table series", "UPDATE series SET {} WHERE interval = 2",
     "op = 5", "ios = ios + 1", "bytes = -1", "min_ns = max_ns + 1", "min_ns = min_ns / 2", "max_ns = max_ns * 2", "min_ns = NULL", "bins = NULL",
     "bins = CAST(bins AS TEXT)", "bins = bins || x'00'", "bins = CAST(bins || x'01' AS BLOB)", "idle_bins = x'02'"),
    ("string or blob too big", "UPDATE series SET bins = zeroblob(5000000) WHERE interval = 2"),
    ("its table series has rows after interval 3 that belong to no interval", LATER_SERIES),
    ("its table state has rows before interval 3", "DELETE FROM interval WHERE id = 2"),
    ("its table series has rows before interval 3 that belong to no interval",
     "DELETE FROM interval WHERE id = 2; DELETE FROM state WHERE interval = 2"),
]
# Watch 0 has parts 1 to 9, watch 10 has those from 11 on.
PARTS = [
    ("watch 5 is part of one that it does not follow", "UPDATE watch SET part_of = {} WHERE id = 5", "20", "1 << 40", "-1", "'x'", "5", "4", "10"),
    ("watch 0 is part of one that it does not follow", "UPDATE watch SET part_of = 0 WHERE id = 0"),
    ("watch 11 is part of another device or stage", "UPDATE watch SET part_of = 0 WHERE id = 11"),
    ("watch 5 is a duplicate", "UPDATE watch SET part_of = NULL WHERE id = 5"),
    ("watch 5 is part of another device or stage", "UPDATE watch SET {} WHERE id = 5", "device = 1", "stage = 'queue'"),
    ("watch 5 has no valid part", "UPDATE watch SET {} WHERE id = 5", "part_by = NULL", "part = printf('%.*c', 256, 'x')"),
    ("has a part '5' by 'size', which this blklat does not know: read it with the one that recorded it", "UPDATE watch SET part = 5 WHERE id = 5"),
    ("has a part '64 KiB' by 'weight', which", "UPDATE watch SET part_by = 'weight' WHERE id = 5"),
    ("has a part '' by 'size', which", "UPDATE watch SET part = '' WHERE id = 5"),
    ("has a part '64 KiB' by '', which", "UPDATE watch SET part_by = '' WHERE id = 5"),
    ("watch 5 is a duplicate part or out of order", "UPDATE watch SET part = '{} KiB' WHERE id = 5", "32", "4"),
    ("watch 6 is a duplicate part or out of order", "UPDATE watch SET part = iif(id = 5, '128 KiB', '64 KiB') WHERE id IN (5, 6)"),
    ("interval 1 has an invalid row in table series", "UPDATE series SET watch = 0 WHERE interval = 1 AND watch = 1"),
    ("interval 2 has an invalid row in table state", PUT_IN_FLIGHT + "{})", "1, 1, NULL", "-1, 1, 1"),
    ("interval 2 has 1 states, not 2", "DELETE FROM state WHERE interval = 2 AND watch = 0; " + PUT_IN_FLIGHT + "1, 1, 1)"),
]
SLOW = [
    ("is damaged", "UPDATE slow SET {}",
     "watch = 7", "op = 5", "latency_ns = -1", "latency_ns = 'long'", "bytes = 5000000000", "sector = x'00'", "hw_queue = 65536", "end_cpu = NULL",
     "pid = 1, comm = NULL", "kernel_thread = 2", "cgroup = printf('%2000s', '/')",
     "comm = 'a name of more than 15 bytes', pid = 1, kernel_thread = 0", "end_wall_ns = 1e300", "depth = 0", "depth = -1", "depth = 4294967296",
     "depth = 'deep'", "depth = 1.5", "beside = 'flood'", "beside = ''", "beside = 1", "beside = CAST('flush' AS BLOB)",
     "beside = printf('%1000s', 'flush')", "flags = 'flush'", "flags = ''", "flags = 1", "flags = CAST('sync' AS BLOB)",
     "flags = printf('%1000s', 'sync')", "interval = interval + 100", "interval = -5 WHERE n = 0"),
    ("is damaged", "UPDATE slow_found SET {}", "found = 0", "watch = 3", "interval = 99 WHERE interval = 5"),
    ("is damaged", "UPDATE slow_file SET {}", "pages = 'heap'", "file_device = '8:1:'", "file_device = '4096:1'", "inode = 0", "file = printf('%132s', 'x')"),
    ("is damaged", "UPDATE meta SET value = {} WHERE key = 'slow_most'", "10001", "'many'"),
    ("is damaged", "{}", "DROP VIEW slow_io; DROP TABLE slow", "DROP TABLE slow_found; CREATE TABLE slow_found(interval, watch, found)",
     "DROP VIEW slow_io; ALTER TABLE slow_file ADD COLUMN more"),
]
# What people may do to their recordings; some parts of a whole may be missing, or all those of one device.
ALLOWED = ["SELECT 1", "VACUUM", "CREATE INDEX mine ON series(ios)", "CREATE TABLE mine(x)", "DROP VIEW bin", "PRAGMA journal_mode = WAL",
           "PRAGMA page_size = 65536; VACUUM", "PRAGMA encoding = 'UTF-8'", "ANALYZE", "DELETE FROM mark", "DELETE FROM identity", "DROP TABLE identity",
           "INSERT INTO identity VALUES(0, 'S', 'W', 'F', 'P', 'V')", "UPDATE meta SET value = 'other' WHERE key = 'label'"]
ALLOWED_PARTS = ["SELECT 1", "DELETE FROM watch WHERE id = 19", "DELETE FROM watch WHERE id > 10; DELETE FROM series WHERE watch > 10",
                 PUT_IN_FLIGHT + "1, 1, 1)"]


def recording(tmp_path, script):
    return record(tmp_path / "good", write_recording(script, tmp_path / "source"))


def altered(good, sql):
    shutil.copy(good, file := good.with_name("altered"))
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript(sql)
    return file


def read(file):
    return run("report", "--format", "json", file)


@pytest.mark.parametrize("script, cases", [(SCRIPT.format(""), FIGURES), (SCRIPT.format("by size"), PARTS), (SLOW_SCRIPT, SLOW)],
                         ids=["figures", "parts", "slow IOs"])
def test_what_cannot_be(tmp_path, script, cases):
    good = recording(tmp_path, script)
    if cases is SLOW:
        good = altered(good, "INSERT INTO slow_file SELECT n, 'file', '8:1', 12, 'a/b' FROM slow WHERE pid").rename(good)
        assert read(good).returncode == 0
    for says, sql, *each in cases:
        for word in each or [""]:
            file = altered(good, sql.format(word))
            one_line(read(file), 1, says)
            assert read(file).stderr.startswith(f"blklat report: {file}")


@pytest.mark.parametrize("by, statements", [("", ALLOWED), ("by size", ALLOWED_PARTS)], ids=["whole", "parts"])
def test_what_is_allowed(tmp_path, by, statements):
    good = recording(tmp_path, SCRIPT.format(by))
    for sql in statements:
        done = read(altered(good, sql))
        assert (done.returncode, done.stderr) == (0, ""), sql


def test_truncated(tmp_path):
    """At many lengths, an odd number of bytes apart."""
    file = recording(tmp_path, SCRIPT.format(""))
    for length in range(file.stat().st_size - 1, -1, -1237):
        os.truncate(file, length)
        one_line(read(file), 1, "is not a recording" if length < 16 else "is damaged: ")
