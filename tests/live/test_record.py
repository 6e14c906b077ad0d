# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of this machine: all that a command did is in the file, whatever ends the run."""
import contextlib
import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time

import pytest
from conftest import need
from devices import MIB, Delta, run
from load import (BLKLAT, BURST, Fio, FioResult, Missing, Process, blklat_argv, deep, exact, fio, fio_argv, watching)
from test_life import bpf_objects, exists


@pytest.fixture
def folder():
    """In memory: a disk's fsync is nothing to wait for here."""
    with tempfile.TemporaryDirectory(prefix="blklat-test-", dir="/dev/shm") as path:
        yield pathlib.Path(path)


@pytest.fixture
def file(folder):
    return folder / "run.blklat"


def record_argv(device, file, *args, interval=0.2, command=()):
    argv = [BLKLAT, "record", *blklat_argv(device)[1:], "-o", file, "--interval", interval, *args]
    return [str(a) for a in argv + (["--", *command] if command else [])]


def record(device, file, *args, **kw):
    """Runs it to its end."""
    return subprocess.run(record_argv(device, file, *args, **kw), capture_output=True, text=True, timeout=60)


class Recorder(Process):
    """In the background; in a with block it is recording already."""

    def __init__(self, device, file, *args, **kw):
        self.file = file
        self.lines = []
        super().__init__(record_argv(device, file, *args, **kw))

    def take(self, line):
        self.lines.append(line)

    def __enter__(self):
        try:
            self.until(lambda: watching(self) and self.file.exists(), "recording")
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self, number=signal.SIGINT):
        self.signal(number)
        return self.wait()


def end(load):
    """fio ends its jobs by itself when asked; killed, it would leave them."""
    load.signal(signal.SIGTERM)
    load.wait()


def query(file, sql):
    """Rows by SQLite alone."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def value(file, sql):
    return query(file, sql)[0][0]


def ios(file):
    """{op: (IOs, bytes, errors)} of the whole recording."""
    rows = query(file, "SELECT op.name, sum(ios), sum(bytes), sum(errors) FROM series JOIN op ON op.id = series.op "
                       "GROUP BY op.name HAVING sum(ios)")
    return {name: tuple(rest) for name, *rest in rows}


def meta(file, key):
    return value(file, f"SELECT value FROM meta WHERE key = '{key}'")


def replayed(file, *args):
    """What blklat itself reads from it."""
    done = subprocess.run([BLKLAT, "live", "--replay", str(file), "--format", "json", *args], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_one_plain_file(file):
    assert sorted(p.name for p in file.parent.iterdir()) == [file.name]
    assert meta(file, "finished") == 1
    assert value(file, "PRAGMA integrity_check") == "ok"


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
    command = fio_argv(loop, **deep(1.1))
    done = record(loop, file, "--label", "a run", command=command)
    assert done.returncode == 0, done.stderr
    f = FioResult(json.loads(done.stdout)["jobs"][0])  # the standard output is fio's alone
    lines = assert_complete(file, f)
    assert delta()["reads"] == f.ios("read") == lines[-1]["accounting"]["kernel_ios"]
    assert_one_plain_file(file)
    assert len(lines) >= 5
    assert statistics.median(l["interval_s"] for l in lines) == pytest.approx(0.2, abs=0.05)
    # What a person reads meanwhile is on the other stream, and a last line of what there is now.
    assert "IOPS" in done.stderr and loop.name in done.stderr
    assert re.search(rf"{re.escape(file.name)}: {len(lines)} intervals of 1 device", done.stderr.splitlines()[-1])
    assert (meta(file, "label"), meta(file, "host"), meta(file, "kernel")) == ("a run", os.uname().nodename, os.uname().release)
    assert meta(file, "command").startswith("blklat record --dev ")
    assert " -- fio " in meta(file, "command")


@exact
def test_quiet(loop, file):
    file.unlink(missing_ok=True)
    done = record(loop, file, "--quiet", command=fio_argv(loop, number_ios=500))
    assert (done.returncode, done.stderr) == (0, "")
    assert_complete(file, FioResult(json.loads(done.stdout)["jobs"][0]))


@exact
def test_until_ctrl_c(loop, file):
    """Without a command it is as live is: the intervals on the standard output, an end by a signal."""
    file.unlink(missing_ok=True)
    with Recorder(loop, file, "--format", "json") as r:
        f = fio(loop, number_ios=3000)
        assert r.stop() == 0
    lines = assert_complete(file, f)
    shown = [json.loads(line) for line in r.lines]
    assert lines == shown


@pytest.mark.parametrize("script,status", [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)])
def test_exit_status_is_the_commands(loop, file, script, status):
    done = record(loop, file, command=["sh", "-c", script])
    assert done.returncode == status
    assert_one_plain_file(file)
    assert value(file, "SELECT count(*) FROM interval_time") == 1


@pytest.mark.parametrize("late", [False, True])
def test_commands_that_can_not_begin(loop, folder, late):
    """No file is made, and one that was there is not touched by what could be known before."""
    script = folder / "script"
    script.write_text("#!/no/such/interpreter\n" if late else "exit 0\n")
    script.chmod(0o755 if late else 0o644)
    status, words = (127, "interpreter does not exist") if late else (126, "Permission denied")
    done = record(loop, folder / "run.blklat", "--quiet", command=[script])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    assert words in done.stderr
    done = record(loop, folder / "run.blklat", command=["zzqqxxyy"])
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "blklat record: 'zzqqxxyy': command not found\n"
    assert list(folder.iterdir()) == [script]


def test_the_command_has_what_a_shell_gives(loop, file):
    """The standard streams and whatever else we were given; nothing of ours, no signal blocked or ignored."""
    words = ["sh", "-c", "cat; ls /proc/self/fd; exec grep -E 'Sig(Blk|Ign|Pnd)' /proc/self/status"]

    def printed(argv):
        done = subprocess.run([str(a) for a in argv], input="hello", capture_output=True, text=True, timeout=60)
        # Without the realtime signals: posix_spawn() of glibc ignores the two that are its own.
        return re.sub(r"\b[0-9a-f]{16}$", lambda m: f"{int(m[0], 16) & 0x7fffffff:x}", done.stdout, flags=re.M)

    plain = printed(words)
    assert plain.startswith("hello") and "SigIgn" in plain
    assert printed(record_argv(loop, file, command=words)) == plain


def test_duration_ends_the_command(loop, file):
    """It gets SIGTERM; the status is 0."""
    began = time.monotonic()
    done = record(loop, file, "--duration", "0.5", command=["sh", "-c", "trap 'echo asked; exit 9' TERM; while :; do sleep 0.01; done"])
    assert (done.returncode, done.stdout) == (0, "asked\n")
    assert time.monotonic() - began < 5
    assert value(file, "SELECT sum(interval_s) FROM interval_time") == pytest.approx(0.5, abs=0.05)


def test_count_ends_the_command(loop, file):
    done = record(loop, file, "--count", "2", command=["sleep", "60"])
    assert done.returncode == 0
    assert value(file, "SELECT count(*) FROM interval_time") == 2


class Terminal:
    """A recorder on a terminal of its own, so that Ctrl-C is the terminal's."""

    def __init__(self, argv):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execv(argv[0], argv)

    def read(self, seconds):
        """Reads for some time or until the end; returns False at the end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    data = os.read(self.fd, 4096)
                except OSError:  # the last one has closed it
                    data = b""
                if not data:
                    return False
                self.text += data
        return True

    def until(self, words):
        end = time.monotonic() + 20
        while words not in self.text and time.monotonic() < end and self.read(0.05):
            pass
        assert words in self.text, self.text

    def ctrl_c(self):
        os.write(self.fd, b"\x03")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def wait(self):
        while self.read(1):
            pass
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_ctrl_c_is_the_commands_too(loop, file):
    """It ends in its own time, has its say and its status; the recording goes on until then."""
    script = "trap 'echo asked; sleep 0.7; echo summary; exit 5' INT; echo ready; while :; do sleep 0.01; done"
    with Terminal(record_argv(loop, file, "--quiet", command=["sh", "-c", script])) as t:
        t.until(b"ready")
        before = value(file, "SELECT count(*) FROM interval_time")
        t.ctrl_c()
        assert t.wait() == 5
    assert t.text.count(b"asked") == 1 and t.text.count(b"summary") == 1
    assert value(file, "SELECT count(*) FROM interval_time") >= before + 3
    assert_one_plain_file(file)


def test_ctrl_c_again_is_firmer(loop, file):
    script = "trap 'echo asked' INT; trap 'echo told; exit 6' TERM; echo ready; while :; do sleep 0.01; done"
    with Terminal(record_argv(loop, file, "--quiet", command=["sh", "-c", script])) as t:
        t.until(b"ready")
        t.ctrl_c()
        t.until(b"asked")
        t.ctrl_c()
        assert t.wait() == 6
    assert t.text.count(b"told") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on(loop, file, number):
    script = f"trap 'echo got; exit 40' {number.name[3:]}; echo ready; while :; do sleep 0.01; done"
    with Recorder(loop, file, "--quiet", command=["sh", "-c", script]) as r:
        r.until(lambda: "ready\n" in r.lines, "ready")
        assert r.stop(number) == 40
    assert r.lines == ["ready\n", "got\n"]
    assert_one_plain_file(file)


def test_nohup(loop, file):
    """A terminal that goes away does not end what was told to stay."""
    argv = ["nohup", *record_argv(loop, file, "--quiet")]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        try:
            while not (file.exists() and watching(p)):
                time.sleep(0.01)
            p.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert p.poll() is None
            p.send_signal(signal.SIGTERM)
            assert p.wait(10) == 0
        finally:
            p.kill()


def test_killed_recorder_leaves_the_command(loop, file):
    with Recorder(loop, file, "--quiet", command=["sh", "-c", "echo $$; sleep 1; echo lives"]) as r:
        r.until(lambda: r.lines, "its number")
        r.process.kill()
        assert r.wait() == -signal.SIGKILL
    assert r.lines[1:] == ["lives\n"]


def test_marks(loop, file):
    """Noted at the time when they were made, of both clocks."""
    made = []
    with Recorder(loop, file, "--quiet") as r:
        for text in ("QD 16 starts", "it's → over"):
            time.sleep(0.15)
            begin = time.monotonic_ns(), time.time_ns()
            done = subprocess.run([BLKLAT, "mark", file, text], capture_output=True, text=True, timeout=10)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
            made.append((begin, (time.monotonic_ns(), time.time_ns()), text))
        assert r.stop() == 0
    rows = query(file, "SELECT mono_ns, wall_ns, text FROM mark ORDER BY mono_ns")
    assert [text for *_, text in rows] == [text for *_, text in made]
    for (mono, wall, _), (begin, end, _) in zip(rows, made):
        assert begin[0] <= mono <= end[0] and begin[1] <= wall <= end[1]
        assert end[0] - begin[0] < 50e6, "a mark takes long"
    assert_one_plain_file(file)


def test_marks_of_many_at_once(loop, file):
    with Recorder(loop, file, "--quiet", interval=0.01) as r:
        several = [subprocess.Popen([BLKLAT, "mark", file, f"mark {n}"], stderr=subprocess.PIPE) for n in range(24)]
        said = [(p.communicate(timeout=30)[1], p.returncode) for p in several]
        assert r.stop() == 0
    assert said == [(b"", 0)] * 24
    assert {text for text, in query(file, "SELECT text FROM mark")} == {f"mark {n}" for n in range(24)}


def test_mark_needs_a_recorder(loop, file):
    def mark():
        done = subprocess.run([BLKLAT, "mark", file, "late"], capture_output=True, text=True, timeout=10)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert str(file) in done.stderr
        return done.stderr

    mark()
    with Recorder(loop, file, "--quiet") as r:
        r.process.kill()
    assert "recorded" in mark()
    assert value(file, "SELECT count(*) FROM mark") == 0


def assert_intervals_add_up(lines):
    """What an interval has is what completed since the one before; what was before the first is not known."""
    for before, line in zip(lines, lines[1:]):
        assert sum(o["ios"] for o in line["ops"]) == line["accounting"]["completed"] - before["accounting"]["completed"]
    assert lines[-1]["accounting"]["completed"] > 0


def test_replayed_while_it_is_made(loop, file):
    """One consistent state, and the recorder is not held up by it."""
    with Fio(loop, **deep(30)) as load, Recorder(loop, file, "--quiet", interval=0.05) as r:
        counts = []
        for _ in range(5):
            time.sleep(0.15)
            lines = replayed(file)
            assert_intervals_add_up(lines)
            counts.append(len(lines))
        assert counts == sorted(set(counts))
        assert r.stop() == 0
        end(load)
    assert value(file, "SELECT count(*) FROM interval_time") >= counts[-1]


def test_killed_at_random_moments(loop, file):
    """It always opens, and lacks at most the interval that was being made."""
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    print(f"seed {seed}")
    with Fio(loop, **deep(30)) as load:
        for _ in range(20):
            with Recorder(loop, file, "--format", "json", "--overwrite", interval=0.02) as r:
                time.sleep(0.1 + moments.random() * 0.3)
                r.process.kill()
                r.wait()
            shown = [json.loads(line) for line in r.lines if line.endswith("\n")]
            assert value(file, "PRAGMA integrity_check") == "ok"
            lines = replayed(file)
            assert shown and lines[:len(shown)] == shown
            assert len(lines) <= len(shown) + 1
            assert_intervals_add_up(lines)
        end(load)


@pytest.fixture
def small_disk(folder):
    """A file system of 1 MiB."""
    disk = folder / "small"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=1m", "none", disk)
    yield disk
    run("umount", disk)


def test_disk_full(loop, small_disk):
    """One line, status 1; what was written stays. The command is not ended by it."""
    file = small_disk / "run.blklat"
    with Fio(loop, rw="randrw", **deep(30)) as load:
        done = record(loop, file, "--quiet", interval=0.005, command=["sh", "-c", "sleep 3; echo over"])
        end(load)
    assert (done.returncode, done.stdout) == (1, "over\n")
    said = [line for line in done.stderr.splitlines() if str(file) in line]
    assert len(said) == 1 and re.search("full|No space left", said[0]), done.stderr
    lines = replayed(file)
    assert len(lines) > 50
    assert_intervals_add_up(lines)
    assert value(file, "PRAGMA integrity_check") == "ok"


def test_file_deleted_meanwhile(loop, file):
    with Recorder(loop, file, "--quiet", interval=0.05) as r:
        file.unlink()
        assert r.wait() == 1
    assert r.stderr.count("\n") == 1 and str(file) in r.stderr


def test_device_goes_away(removable_loop, file):
    """The recording ends, whole, with status 1; the command ends when it likes."""
    device, remove = removable_loop
    with Recorder(device, file, "--quiet", command=["sh", "-c", "echo ready; sleep 1.5; echo over"]) as r:
        r.until(lambda: r.lines, "ready")
        remove()
        r.until(lambda: "waiting for 'sh'" in r.stderr, "that it waits")
        assert r.lines == ["ready\n"]
        assert_one_plain_file(file)
        assert r.wait() == 1
    assert r.lines == ["ready\n", "over\n"]
    assert f"{device.name} went away" in r.stderr and "no watched device is left" in r.stderr


def test_reader_of_the_live_output_leaves(loop, file):
    """The recording is what was asked for; who looks on may go."""
    with subprocess.Popen(record_argv(loop, file, "--format", "json", interval=0.05), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as p:
        try:
            assert json.loads(p.stdout.readline())["device"] == loop.name
            p.stdout.close()
            time.sleep(0.5)
            assert p.poll() is None
            p.send_signal(signal.SIGINT)
            assert p.wait(10) == 0
        finally:
            p.kill()
    assert value(file, "SELECT count(*) FROM interval_time") > 8


def test_file_on_what_is_watched(loop, folder):
    """Its own writes would be measured: said once."""
    need(shutil.which("mkfs.ext4"), "no mkfs.ext4")
    run("mkfs.ext4", "-q", "-F", loop.path)
    disk = folder / "disk"
    disk.mkdir()
    run("mount", loop.path, disk)
    try:
        done = record(loop, disk / "run.blklat", "--count", "2", "--quiet")
        assert done.returncode == 0
        assert done.stderr.count("\n") == 1 and f"lies on {loop.name}" in done.stderr
        # It is right: each interval is a flush.
        assert ios(disk / "run.blklat")["write"][0] > 0
        assert record(loop, folder / "run.blklat", "--count", "1", "--quiet").stderr == ""
    finally:
        run("umount", disk)


def test_nothing_is_left(loop, file):
    need(shutil.which("bpftool"), "no bpftool")
    with Recorder(loop, file, "--quiet", command=["sleep", "60"]) as r:
        child = int(pathlib.Path(f"/proc/{r.pid}/task/{r.pid}/children").read_text())
        held = bpf_objects(r.pid)
        assert len(held["prog"]) >= 2
        assert bpf_objects(child) == {"prog": set(), "map": set()}
        assert r.stop(signal.SIGTERM) == 128 + signal.SIGTERM
    assert not pathlib.Path(f"/proc/{child}").exists()
    deadline = time.monotonic() + 2
    while any(exists(kind, n) for kind in held for n in held[kind]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(exists(kind, n) for kind in held for n in held[kind])
