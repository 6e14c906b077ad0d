# SPDX-License-Identifier: GPL-2.0-only
"""A recording of limited size: what it keeps, that its counts add up, and that it never takes more room than it may."""
import bisect
import collections
import contextlib
import importlib.util
import json
import os
import random
import struct
import subprocess

import pytest
from attacks import BLKLAT, ENV, ROOT, named, record, run
from replayed import ticks, watch_of
from script import PARTS, TESTS, made_up, write_recording
from sql import change, query, repeated
from waiting import DEADLINE_S, wait_until

spec = importlib.util.spec_from_file_location("blklat_module", TESTS.parent / "packaging/python/blklat.py")
blklat = importlib.util.module_from_spec(spec)
spec.loader.exec_module(blklat)
MOST = 3            # slow IOs of an interval
SLOW_BYTES = 4096   # of one, in the limit
SECOND = 10**9


def least_bytes(watches, slow=0):
    return (2 << 20) + watches * (512 << 10) + slow * SLOW_BYTES


def script(intervals, cells, by=None, seed=7):
    """Intervals of one device, no two alike. Of some, a part completes that belongs to an IO of a later one; some rest."""
    any_ = random.Random(seed)
    lines = ["blklat-replay 1", f"by {by}" * bool(by), f"slow-max {MOST}", "idle-gap 100ms", "device loop0", "device below", "watch loop0 device"]
    for i in range(intervals):
        for op in ("read", "write"):
            for part in [f'"in={label}"' for label in PARTS[by][::2]] if by else [""]:
                for _ in range(cells if i % 7 else 0):
                    ns = 50000 + any_.randrange(1 << any_.randrange(10, 26))
                    lines.append(f"io {op} {ns}ns 4096 x{any_.randrange(1, 200)} {part} {'after-idle' * (ns % 50 == 0)}")
                if any_.random() < 0.3 and i + 1 < intervals:
                    lines.append(f"part {op} 512 errors=1 {part}")
        for k in range(i % 6 if i % 7 else 0):
            lines.append(f'slow read {10 * i + k + 1}us 4096 cpu={k} pid=7 comm=fio sector={i} cgroup=/a/b {part} depth=3')
        lines += [f"in-flight 32 oldest={i}us waited={9 * i}us", "busy 250ms", "tick 1"]
    return "\n".join(lines)


def limited(tmp_path, source, limit, *args):
    """Records it with the limit, on a disk that has room for that and no more if only root can make one."""
    file = tmp_path / "limited"
    if not ROOT:
        return record(file, source, "--max-size", str(limit), *args)
    (disk := tmp_path / "disk").mkdir()
    argv = [BLKLAT, "record", "--quiet", "--replay", source, "-o", disk / "run.blklat", "--max-size", limit, *args]
    steps = f'mount -t tmpfs -o size={limit} none {disk}; "$@"; cp {disk}/run.blklat {file}'
    done = subprocess.run(["unshare", "-m", "sh", "-ec", steps, "-", *map(str, argv)], capture_output=True, text=True, env=ENV, timeout=5 * DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return file


def assert_full(file, limit):
    """The room is used."""
    assert limit * 3 / 4 <= file.stat().st_size <= limit


def sums(line):
    """What adds up over intervals."""
    return collections.Counter({(o["op"], key): o[key] for o in line["ops"] for key in ("ios", "bytes", "errors")})


def extremes(lines):
    found = {}
    for o in (o for line in lines for o in line["ops"] if o["ios"]):
        low, high = found.get(o["op"], (o["latency_ns"]["min"], 0))
        found[o["op"]] = min(low, o["latency_ns"]["min"]), max(high, o["latency_ns"]["max"])
    return found


def bins(file, ends):
    """{(end, watch, op): {cell: IOs}} of the intervals that end at these times or since the one before; of some of these times."""
    ids, blobs, found = dict(query(file, "SELECT id, mono_ns FROM interval")), collections.Counter(), collections.defaultdict(collections.Counter)
    for interval, watch, op, blob in query(file, "SELECT interval, watch, op, bins FROM series WHERE ios"):
        at = bisect.bisect_left(ends, ids[interval])
        blobs[ends[at], watch, op, blob] += at % 8 == 0
    for (*key, blob), times in blobs.items():
        for cell, ios in blklat.cells(blob) if times else ():
            found[tuple(key)][cell] += times * ios
    return found


def shown(file):
    """What is shown of each interval."""
    return ticks([json.loads(line) for line in run("live", "--replay", file, "--format", "json").stdout.splitlines()])


@pytest.mark.parametrize("by, intervals, cells, times", [(None, 32, 2000, 170), ("size", 16, 250, 100)])
def test_oldest_give_way(tmp_path, by, intervals, cells, times):
    """
    Of the newest half of the intervals each stays as it was; older ones become sums of 2, 4 ... 64 of them, and then the start of the
    recording, which has what came before its first interval. Slow IOs stay with their interval, marks go with the time that they are of.
    """
    source = write_recording(script(intervals, cells, by), tmp_path / "source")
    n = intervals * times
    (begin,), = query(source, "SELECT min(mono_ns) FROM interval")
    change(source, "CREATE TABLE slow_file(n INTEGER PRIMARY KEY, pages TEXT, file_device TEXT, inode INTEGER, file TEXT)",
           "INSERT INTO slow_file SELECT n, 'file', '254:1', 1 + n, 'a/b' FROM slow WHERE n % 2")
    if by:  # what parts have in flight, at the end of some intervals
        change(source, "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) SELECT id, 1, 2, 5, 9 FROM interval WHERE id % 3 = 1")
    repeated(source, times)
    change(source, f"INSERT INTO mark VALUES({begin + SECOND}, 1, 'begin'), ({begin + 10**18}, 2, 'end')",
           "UPDATE meta SET value = 5 WHERE key = 'dropped'")
    limit = least_bytes(1 + 9 * bool(by), MOST)
    file = limited(tmp_path, source, limit)
    assert_full(file, limit)
    rows = query(file, "SELECT mono_ns, merged FROM interval ORDER BY id")
    (start, none), *kept = rows
    dropped = (start - begin) // SECOND
    lengths = [merged for _, merged in kept]
    assert none == 0 and (dropped > 0 or by) and dropped + sum(lengths) == n
    assert query(file, "SELECT value FROM meta WHERE key = 'dropped'") == [(5 + dropped,)]
    assert query(file, "SELECT text FROM mark") == [("begin",)] * (not dropped) + [("end",)]
    assert lengths == sorted(lengths, reverse=True)     # newer ones are shorter
    shares = {length: lengths.count(length) / len(lengths) for length in set(lengths)}
    if not by:
        assert 0.45 < shares.pop(1) < 0.55 and shares.keys() == {2 << i for i in range(6)}
        assert all(0.06 < share < 0.11 for share in shares.values())    # a twelfth each
    # Bins, also of what was counted before; and what is shown.
    ends = [end for end, _ in rows]
    assert bins(file, ends) == bins(source, ends)
    originals, first = shown(source), dropped
    for lines, length in zip(shown(file), lengths):
        for line in lines:
            were = [w for tick in originals[first:first + length] for w in tick if watch_of(w) == watch_of(line)]
            assert sums(line) == sum(map(sums, were), collections.Counter())
            assert extremes([line]) == extremes(were)
            last = [w for w in were if w["time"] == line["time"]] or [{**line, "in_flight": {"ios": 0, "oldest_ns": 0}}]    # a part that rests has no line
            assert [line["in_flight"], line.get("accounting")] == [last[0]["in_flight"], last[0].get("accounting")]
        first += length
    assert query(file, "SELECT sum(busy_ns) FROM busy") == [((n - dropped) * SECOND // 4,)]
    # Of slow IOs, as many as each original interval had, the slowest of it.
    at = f"interval IN (SELECT id FROM interval WHERE mono_ns > {start})"
    for sql in ("SELECT sum(found) FROM slow_found WHERE " + at, f"SELECT latency_ns, sector, pid, cgroup, end_wall_ns FROM slow WHERE {at} ORDER BY n",
                f"SELECT s.latency_ns, inode, file FROM slow_file f JOIN slow s ON s.n = f.n WHERE {at} ORDER BY s.n"):
        assert query(file, sql) == query(source, sql) != []
    assert query(file, "SELECT count(*) FROM slow_file WHERE n NOT IN (SELECT n FROM slow)") == [(0,)]
    assert query(file, "SELECT count(*) FROM slow JOIN interval i ON i.id = interval "
                 f"WHERE end_wall_ns NOT BETWEEN wall_ns - merged * {SECOND} AND wall_ns") == [(0,)]
    # What came before goes on when it is recorded again.
    again = record(tmp_path / "again", file)
    same = ["SELECT mono_ns, wall_ns, skipped FROM interval", "SELECT * FROM meta", "SELECT * FROM mark"]
    same += [f"SELECT i.mono_ns, {columns} FROM {table} JOIN interval i ON i.id = interval {such} ORDER BY 1, 2, 3" for table, such, columns in (
        ("series", "", "watch, op, ios, bytes, errors, sum_ns, bins, idle_ios, idle_sum_ns, idle_bins"), ("busy", "", "watch, busy_ns"),
        ("state", "WHERE merged", "watch, started, in_flight, kernel_ios"), ("slow_found", "", "watch, found"))]
    for sql in same:
        assert query(again, sql) == query(file, sql), sql


def test_below_the_limit_nothing_is_merged(tmp_path):
    source = write_recording(script(40, 20), tmp_path / "source")
    sql = "SELECT id, mono_ns, merged FROM interval"
    assert query(limited(tmp_path, source, least_bytes(1, MOST)), sql) == query(source, sql)


def test_growing_intervals_find_room(tmp_path):
    """Of six watches, which suddenly take many times as much."""
    watches = [f"{d} {stage}" for d in ("a", "b") for stage in ("device", "queue", "total")]
    source = write_recording("\n".join(["blklat-replay 1", "device a", "device b", *[f"watch {w}" for w in watches], *[
        f"on {w}\nio read 60us 4096\nio write 60us 4096" for w in watches], "tick 1"]), tmp_path / "source")
    change(repeated(source, 900), f"UPDATE series SET {made_up(range(100, 2000, 2))} WHERE interval > 300")
    limit = least_bytes(len(watches))
    assert_full(limited(tmp_path, source, limit), limit)


@pytest.mark.parametrize("comes", [5, 990])
def test_a_device_that_comes(tmp_path, comes):
    """Before intervals are merged and dropped or behind; it has the name of another one."""
    n, io = 1000, "io read 60us 4096"
    each = [f"on a device\n{io}\n" + ("on b device\n" + "come\n" * (i == comes) + f"{io}\n") * (i >= comes) + "tick 1" for i in range(n)]
    source = write_recording("\n".join(["blklat-replay 1\ndevice a\ndevice b\nwatch a device\nwatch b device later", *each]), tmp_path / "source")
    change(source, f"UPDATE series SET {made_up(range(100, 2000, 2))}", "UPDATE device SET name = 'a'")
    file = limited(tmp_path, source, least_bytes(2))
    assert query(file, "SELECT min(merged), max(merged) > 1 FROM interval") == [(0, 1)]
    assert query(file, "SELECT sum(started) FROM state WHERE interval = (SELECT max(id) FROM interval)") == [(n + n - comes,)]
    assert shown(file)


def test_marks_of_a_replay_find_room(tmp_path):
    """They come with its intervals, and those of later times at the end. The last ones are kept."""
    n, many, size = 800, 8 * 800 + 200, 1000
    source = repeated(write_recording("blklat-replay 1\ndevice a\nwatch a device\nio read 60us 4096\ntick 1", tmp_path / "source"), n)
    change(source, f"UPDATE series SET {made_up(range(100, 2000))}", "INSERT INTO mark WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m LIMIT "
           f"{many}) SELECT mono_ns + i * {SECOND // 8}, i, printf('%.{size}c', 'm') FROM m, interval WHERE id = 0")
    limit = least_bytes(1)
    file = limited(tmp_path, source, limit)
    assert_full(file, limit)
    (kept, first, last), = query(file, "SELECT count(*), min(wall_ns), max(wall_ns) FROM mark")
    assert limit / 16 < kept * size < limit / 8 and (first, last) == (many - kept, many - 1)


def test_long_paths_find_room(tmp_path):
    """As many slow IOs as may be, all of whose paths are long, take most of what the last try gives up: half of the file."""
    most = 4000
    interval = f"io read 60us 4096 x{most}\nslow read 60us 4096 cpu=0 cgroup={'x' * 900} x{most}\ntick 1\n"
    source = write_recording(f"blklat-replay 1\nslow-max {most}\ndevice a\nwatch a device\n{interval * 8}", tmp_path / "source")
    for limit, status in ((least_bytes(1, most) - 1, 2), (least_bytes(1, most), 0)):
        done = run("record", "--quiet", "--replay", source, "-o", tmp_path / "file", "--max-size", limit)
        assert done.returncode == status, done.stderr
    assert query(tmp_path / "file", "SELECT count(*) FROM slow_io WHERE interval = (SELECT max(id) FROM interval)") == [(most,)]


def test_marks_of_others_find_room(tmp_path):
    """As many as can wait until an interval ends, again and again: more than the file has room for. What they say is made harmless."""
    source = repeated(write_recording("blklat-replay 1\ndevice a\nwatch a device\nio read 60us 4096\ntick 1", tmp_path / "source"), 800)
    change(source, f"UPDATE series SET {made_up(range(100, 2000))}")
    file, limit, mark = tmp_path / "run.blklat", least_bytes(1), struct.pack("=QQ", SECOND, SECOND) + b"\033m\xff" + b"m" * 997 + bytes(32)
    argv = [BLKLAT, "record", "--replay", source, "-o", file, "--max-size", str(limit), "--format", "csv"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
        wait_until(named(file, "-mark").exists, "recording")
        fifo = os.open(named(file, "-mark"), os.O_WRONLY | os.O_NONBLOCK)
        while recorder.stdout.read(1 << 15):    # it waits for its reader
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                while os.write(fifo, mark):
                    pass
        os.close(fifo)
    assert recorder.returncode == 0
    assert_full(file, limit)
    (kept, text), = query(file, "SELECT count(*), max(text) FROM mark")
    assert text == "?m?" + 997 * "m" and limit / 16 < kept * 1000 < limit / 8
