# SPDX-License-Identifier: GPL-2.0-only
"""
However a recording ends, even by SIGKILL, and while it still goes on: it opens, and has what was written. What can't be written is told in one
sentence.
"""
import fcntl
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

import pytest
from attacks import BLKLAT, ENV, NOBODY, NVME, ROOT, named, one_line, record, run
from script import write_recording
from sql import change, query, repeated
from stalls import DEADLINE_S, full_pipe, readable, running, until_still
from waiting import wait_until

LEAST = 3 << 20     # --max-size for two watches


@pytest.fixture
def source(tmp_path):
    """Two devices, thousands of intervals, so large that a recorder with a limit soon merges some."""
    any_ = random.Random(7)
    lines = [f"on {d} device\n" + "\n".join(f"io {op} {any_.randrange(50, 30000)}us 4096 x{any_.randrange(1, 200)}" for op in ("read", "write") for _ in range(200))
             + "\ntick 1" * (d == "b") for _ in range(10) for d in ("a", "b")]
    return repeated(write_recording("\n".join(["blklat-replay 1\ndevice a\ndevice b\nwatch a device\nwatch b device", *lines]), tmp_path / "source"), 3000)


class Recorder:
    """It plays the source. A thread counts the intervals that it shows, each of which it has written before; and rests @pause_s after each."""

    def __init__(self, source, file, *args):
        self.process = subprocess.Popen([BLKLAT, "record", "--replay", source, "-o", file, "--format", "csv", *map(str, args)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=ENV)
        fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        self.told, self.pause_s = 0, 0
        self.reader = threading.Thread(target=self.read)

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def read(self):
        for line in self.process.stdout:
            if ",b,device," in line and ",write," in line:
                self.told += 1
                time.sleep(self.pause_s)

    def until(self, n):
        wait_until(lambda: self.told >= n, f"{n} intervals")

    def kill(self):
        """Returns how many intervals it has shown."""
        self.process.kill()
        self.process.wait()
        self.pause_s = 0
        self.reader.join()
        return self.told


def assert_whole(file, source, least, most=10**9):
    """It has so many intervals, and up to its end the IOs of the source. Returns how many."""
    copy = record(file.with_name("copy"), file)
    (last,), = query(copy, "SELECT max(mono_ns) FROM interval")
    (n,), = query(source, f"SELECT count(*) FROM interval WHERE id AND mono_ns <= {last}")
    assert least <= n <= most
    sql = f"SELECT watch, op, sum(ios), sum(bytes), sum(sum_ns) FROM series JOIN interval i ON i.id = interval WHERE mono_ns <= {last} GROUP BY watch, op"
    assert query(copy, sql) == query(source, sql)
    copy.unlink()


@pytest.mark.parametrize("first, limit, times", [(1, (), 8), (2000, ("--max-size", LEAST), 3)], ids=["", "while it merges"])
def test_killed_at_random_moments(tmp_path, source, first, limit, times):
    for _ in range(times):
        with Recorder(source, tmp_path / "file", "--overwrite", *limit) as r:
            r.until(first)
            time.sleep(random.random() / 25)
            told = r.kill()
        assert_whole(tmp_path / "file", source, told, told + 1)


def test_read_while_another_records(tmp_path, source):
    """It is stopped at any point, be it in a transaction or while its log is moved into the file, and read while it goes on."""
    file, pause_s = tmp_path / "file", 0.01
    for _ in range(3):
        with Recorder(source, file, "--overwrite") as r:
            for n in range(1, 5):
                r.until(n)
                r.pause_s = pause_s
                least, done = r.told, run("record", "--quiet", "--overwrite", "--replay", file, "-o", tmp_path / "beside")
                if done.returncode:     # written to too fast to be copied: beside a recorder that pauses for as long as one does it can be
                    pause_s *= 2
                    assert pause_s < 1, done.stderr
                else:
                    assert_whole(tmp_path / "beside", source, least)
                r.pause_s = 0
                time.sleep(random.random() / 50)
                r.process.send_signal(signal.SIGSTOP)
                assert_whole(file, source, r.told)
                r.process.send_signal(signal.SIGCONT)


def test_copied_without_its_log(tmp_path, source):
    """What had reached the file by then is intact."""
    with Recorder(source, tmp_path / "file") as r:
        r.until(1000)   # beyond the first checkpoint
    for end in ("-wal", "-mark"):
        named(tmp_path / "file", end).unlink()
    assert_whole(tmp_path / "file", source, 1)


@pytest.mark.skipif(not ROOT, reason="reads as another user")
def test_where_nothing_can_be_written(source):
    """By a user without privileges, beside the log of one that was killed."""
    with tempfile.TemporaryDirectory(prefix="blklat-test-", dir="/dev/shm") as folder:
        file = pathlib.Path(folder) / "file"
        with Recorder(source, file) as r:
            r.until(5)
        os.chmod(folder, 0o555)
        done = run("live", "--replay", file, "--format", "csv", user=NOBODY, group=NOBODY, extra_groups=[])
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.count(",b,device,replay,write,") >= r.told


# --- where it can't be written ---------------------------------------------------------------------------------------------

def test_one_that_is_being_recorded(tmp_path, source):
    file = tmp_path / "file"
    with Recorder(source, file) as r:
        r.until(1)
        one_line(run("record", "--quiet", "--replay", NVME, "-o", file, "--overwrite"), 2, f"{file}: is being recorded")
        r.until(r.told + 1)


def test_one_that_was_deleted_meanwhile(tmp_path, source):
    file = tmp_path / "file"
    with Recorder(source, file) as r:
        r.until(1)
        file.unlink()
        assert r.process.wait(DEADLINE_S) == 1 and f"{file}: was deleted while it was being recorded" in r.process.stderr.read()
    assert not file.exists() and r.told < 29000


@pytest.mark.skipif(not ROOT, reason="mounts a file system")
def test_one_that_can_not_be_replaced(tmp_path):
    again = [BLKLAT, "record", "--quiet", "--overwrite", "--replay", NVME, "-o", tmp_path / "file"]
    done = subprocess.run(["unshare", "-m", "sh", "-ec", f'mount -t tmpfs none {tmp_path}; "$@"; mount -o remount,ro {tmp_path}; "$@"', "-", *map(str, again)],
                          capture_output=True, text=True, env=ENV)
    one_line(done, 2, f"{tmp_path}/file: can't be replaced: Read-only file system")


def limited(pid=0, most=32 + 170 * (24 + 4096)):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN) if not pid else None
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))


def test_larger_than_a_file_may_be(tmp_path, source):
    """To SQLite, a page of the log that is cut off is a full disk; that it is not comes from the file."""
    file = tmp_path / "file"
    done = run("record", "--replay", source, "-o", file, "--format", "csv", preexec_fn=limited)
    assert done.returncode == 1 and f"blklat record: {file}: can't be written: File too large" in done.stderr
    told = len(re.findall(",b,device,.*,write,", done.stdout))
    assert told > 1
    assert_whole(file, source, told, told)


def test_a_mark_that_finds_no_room_at_the_end(tmp_path):
    """It is lost, which is told; and the file does not claim to be whole."""
    file, source = tmp_path / "file", write_recording("blklat-replay 1\ndevice a\nwatch a device\ntick 1", tmp_path / "source")
    change(source, f"INSERT INTO mark VALUES({10**18}, 2, 'late')")
    with full_pipe() as (out, taken), running("record", "--replay", source, "-o", file, stdout=out,
                                              preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)) as p:
        until_still(p)
        limited(p.pid, 4096)
        wait_until(lambda: readable(p.stderr) or readable(taken) and not os.read(taken, 65536), "its end")
        assert f"{file}: can't be written: ".encode() in p.stderr.read() and p.wait(DEADLINE_S) == 1
    read = json.loads(run("report", "-f", "json", file).stdout)["runs"][0]
    assert (read["finished"], read["marks"], len(read["start_s"])) == (False, [], 1)


def test_devices_below_are_kept(tmp_path):
    """What is watched, everything below it, and the disks of these; nothing else."""
    source = write_recording("blklat-replay 1\ndevice dm-0\ndevice sda1\nwatch dm-0 total\nwatch sda1 device\ntick 1", tmp_path / "source")
    more = "'', '', '', '', 0, 0, 0, 1, 0, 0, NULL, 0, 0"
    change(source, f"INSERT INTO device VALUES(2, 'sda', {more}), (3, 'sdb', {more}), (4, 'sdc', {more}), (5, 'md0', {more})",
           "UPDATE device SET parent = 2 WHERE name = 'sda1'", "INSERT INTO lower VALUES(0, 5), (5, 1), (5, 3)")
    file = record(tmp_path / "file", source)
    names = "SELECT d.name, p.name FROM device d LEFT JOIN device p ON p.id = d.parent ORDER BY 1"
    assert query(file, names) == [("dm-0", None), ("md0", None), ("sda", None), ("sda1", "sda"), ("sdb", None)]
    assert query(file, "SELECT d.name, l.name FROM lower JOIN device d ON d.id = device JOIN device l ON l.id = lower ORDER BY 1, 2") == [
        ("dm-0", "md0"), ("md0", "sda1"), ("md0", "sdb")]
