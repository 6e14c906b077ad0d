# SPDX-License-Identifier: GPL-2.0-only
"""
No file makes a reader take more than --max-memory. Long runs are drawn, coarser if need be; the rest is refused. It is always
the program without sanitizers, which would take several times as much.
"""
import json
import os
import subprocess
import sys

from script import write_recording
from sql import change

from recordings import BLKLAT, ENV

MIB = 1 << 20
PROGRAM_BYTES = 48 * MIB  # the program's own memory, whatever it reads
PLAIN = os.environ.get("BLKLAT_PLAIN", BLKLAT)
OPS = ("read", "write", "flush", "discard", "other")
SCRIPT = "blklat-replay 1\ndevice d0\nwatch d0 device\n" + "".join(f"io {op} 60us 0 x1\n" for op in OPS) + "tick 1\ntick 1\n"


# A child's peak counts from the fork on, so a small program forks it, not this one.
MEASURE = """
import os, sys
pid = os.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, file=sys.stderr)
"""


def run(*args, out=subprocess.DEVNULL):
    """Its status, its messages, and its peak memory in bytes."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, PLAIN, *map(str, args)], stdout=out,
                          stderr=subprocess.PIPE, text=True, env=ENV, timeout=600, check=True)
    *said, measured = done.stderr.splitlines(keepends=True)
    status, kib = map(int, measured.split())
    return status, "".join(said), kib * 1024


def assert_bounded(used, limit):
    assert used < limit + PROGRAM_BYTES, f"{used / MIB:.0f} MiB"


def assert_refused(done, limit, sentence, expected=1):
    status, said, used = done
    assert (status, said.count("\n")) == (expected, 1), said
    assert sentence in said and "raise --max-memory" in said
    assert_bounded(used, limit)


def assert_merged(done, limit):
    """It is still drawn, but coarser."""
    status, said, used = done
    assert (status, said.count("\n")) == (0, 1), said
    assert "are merged into one" in said and "raise --max-memory" in said
    assert_bounded(used, limit)


def make(folder, *statements, script=SCRIPT):
    """A recording of two intervals, the second without IO, then changed by SQL."""
    return change(write_recording(script, folder / "run.blklat"), *statements)


def numbers(n):
    return f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})"


def devices(n, stages=("device", "queue", "total")):
    """Makes it @n devices like the first, each at these stages."""
    copied = "mapper, kind, model, scheduler, major, minor, size_bytes, hw_queues, tags, nr_requests, parent, iostats, hidden"
    names = ", ".join(f"('{s}')" for s in stages)
    return [f"{numbers(n - 1)} INSERT INTO device SELECT i, 'd' || i, {copied} FROM n, device WHERE id = 0",
            f"WITH s(name) AS (VALUES {names}) INSERT INTO watch(id, device, stage) SELECT (SELECT max(id) FROM watch) + "
            "row_number() OVER (ORDER BY d.id, s.name), d.id, s.name FROM device d, s WHERE d.id OR s.name != 'device'"]


# No IO and an unknown count of the kernel, for a device that exists and for one that is gone.
STATE, GONE_STATE = (", ".join(["0"] * 14 + ["NULL", "NULL", gone] + ["0"] * 3) for gone in "01")
GONE = f"INSERT OR REPLACE INTO state SELECT 0, id, {GONE_STATE} FROM watch WHERE id"


def intervals(n):
    """Adds @n intervals after the second, in which only the first watch is left."""
    return [f"{numbers(n)} INSERT INTO interval SELECT i + 2, i * 1000000000 + mono_ns, i * 1000000000 + wall_ns, 0, 1 "
            "FROM n, interval WHERE id = 2", f"{numbers(n)} INSERT INTO state SELECT i + 2, 0, {STATE} FROM n"]


def of_all_watches(table, interval):
    with_watch = {"state": "", "series": "op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, idle_sum_ns, idle_bins"}
    if table == "state":
        return f"INSERT OR REPLACE INTO state SELECT {interval}, id, {STATE} FROM watch"
    return f"INSERT INTO series SELECT {interval}, w.id, {with_watch[table]} FROM series s, watch w WHERE s.interval = 1 AND " \
        "s.watch = 0 AND w.id"


def small_file_with_large_charts(folder, n_devices=34, n=600):
    """Each series has one IO, in the first interval; afterwards all devices but one are gone."""
    return make(folder, *devices(n_devices), of_all_watches("state", 0), of_all_watches("state", 1),
                of_all_watches("series", 1), of_all_watches("state", 2),
                "UPDATE state SET gone = 1 WHERE interval = 2 AND watch", *intervals(n))


def test_a_small_file_with_large_charts(tmp_path):
    """510 series whose charts would take 2.5 MiB each: 1.3 GB from a file that contains nothing else."""
    file = small_file_with_large_charts(tmp_path)
    assert file.stat().st_size < MIB
    for what in (["--format", "json"], ["-o", "/dev/null"]):
        assert_refused(run("report", *what, "--max-memory", "150M", file), 150 * MIB, str(file))
    assert_merged(run("compare", "--max-memory", "150M", file, file), 150 * MIB)


def test_intervals_of_devices_that_are_gone(tmp_path):
    """An interval of 40 bytes takes 40 bytes for every watch, even if the watch is not in it."""
    file = make(tmp_path, *devices(34), GONE, *intervals(3000))
    assert file.stat().st_size < MIB
    assert_merged(run("report", "--format", "json", "--max-memory", "30M", file), 30 * MIB)
    assert_merged(run("compare", file, "--max-memory", "10M", file), 10 * MIB)


def test_more_watches_than_there_is_room_for(tmp_path):
    file = make(tmp_path, *devices(400), GONE)
    assert file.stat().st_size < MIB
    sentence = "its 1200 watches need 9150K of memory, and"
    for args in (["report", "--format", "json"], ["compare", file]):
        assert_refused(run(*args, file, "--max-memory", "6M"), 6 * MIB, sentence)
    # As where a device's counters need more than the limit.
    for args in (["live"], ["record", "--quiet", "-o", tmp_path / "again"]):
        assert_refused(run(*args, "--replay", file, "--max-memory", "6M"), 6 * MIB, sentence, expected=2)
    assert not (tmp_path / "again").exists()
    # The first device has IOs, whose histograms no longer fit.
    assert_refused(run("live", "--replay", file, "--max-memory", "9M"), 9 * MIB, "what its 1200 watches count does not fit in the memory limit")
    # Only histograms of what has IOs take memory: all of them would need 650 MiB.
    for args in (["report", "--format", "json"], ["live", "--replay"]):
        status, said, used = run(*args, file, "--max-memory", "64M")
        assert (status, said) == (0, "")
        assert_bounded(used, 64 * MIB)


def test_slow_ios(tmp_path):
    """One interval has 40 MB of paths, half of which would be dropped again."""
    script = SCRIPT.replace("device d0\n", "slow-max 10000\ndevice d0\n", 1).replace("tick", "slow read 60us 0 pid=3 comm=x cgroup=/y\ntick", 1)
    paths = f"{numbers(20000)} INSERT INTO slow SELECT interval, n + i, watch, end_wall_ns, latency_ns, queue_ns, device_ns, op, bytes, sector, error, " \
        "hw_queue, start_cpu, end_cpu, pid, comm, kernel_thread, printf('/%.*c', 900, 'x'), depth, beside, flags FROM n, slow WHERE n = (SELECT min(n) FROM slow)"
    file = make(tmp_path, paths, "UPDATE slow_found SET found = 20001", script=script)
    for args in (["report", "--format", "json"], ["compare", file], ["live", "--replay"]):
        assert_refused(run(*args, file, "--max-memory", "16M"), 16 * MIB, "the slow IOs of interval 1 exceed their share")
    assert run("compare", file, file, "--max-memory", "200M")[:2] == (0, "")


def test_a_schema_without_end(tmp_path):
    """Any reader makes SQLite hold the schema in memory."""
    file = make(tmp_path, *(f"CREATE TABLE large{i}(x DEFAULT '{'x' * 900000}')" for i in range(100)))
    for args in (["report", "--format", "json"], ["compare", file], ["live", "--replay"]):
        status, said, used = run(*args, file)
        assert (status, said.count("\n")) == (1, 1) and "Cannot allocate memory" in said
        assert_bounded(used, 64 * MIB)


def test_more_than_a_thousand_watches(tmp_path):
    """They are read as written: 400 devices at three stages, each with its IOs."""
    file = make(tmp_path, *devices(400), *(of_all_watches("state", i) for i in range(3)), of_all_watches("series", 1))
    with open(tmp_path / "json", "w") as out:
        assert run("report", "--format", "json", file, out=out)[:2] == (0, "")
    watches = json.loads((tmp_path / "json").read_text())["runs"][0]["watches"]
    assert len(watches) == 1200
    assert all(len(w["ops"]) == 5 and all(o["ios"] == [1, 0] for o in w["ops"]) for w in watches)
