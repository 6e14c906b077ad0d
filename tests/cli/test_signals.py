# SPDX-License-Identifier: GPL-2.0-only
"""SIGINT and SIGTERM end every command soon, whatever it waits for, and leave nothing behind."""
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest
from command import REPLAY, run
from script import write_recording
from sql import query
from stalls import DEADLINE_S, STALLS, ended, full_pipe, readable, running, until_still
from waiting import wait_until

SIGNALS = [signal.SIGINT, signal.SIGTERM]
# Each output that takes nothing, and each signal.
ENDS = [(stall, signal.SIGTERM) for stall in STALLS] + [("pipe", signal.SIGINT)]
# Commands that watch end in order and with success; a signal kills the others like any program.
ORDERLY = ("live", "record", "serve")


@pytest.fixture
def tmp_path():
    """In memory: a recorder ends when its last interval is on the disk, and how long a busy disk takes is not what is tested."""
    with tempfile.TemporaryDirectory(prefix="blklat-test-", dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


def commands(folder):
    """For each command that writes to standard output, arguments that make it write."""
    replay, recording = folder / "long.blklat", folder / "run.blklat"
    return {
        "live": ["live", "--replay", replay],
        "live json": ["live", "--replay", replay, "--format", "json"],
        "live csv": ["live", "--replay", replay, "--format", "csv"],
        "record": ["record", "--replay", replay, "-o", recording],
        "report": ["report", REPLAY],
        "report json": ["report", "-f", "json", REPLAY],
        "compare": ["compare", REPLAY, REPLAY],
        "compare json": ["compare", "-f", "json", REPLAY, REPLAY],
        "list": ["list"],
        "check": ["check"],
        "help": ["--help"],
        "live help": ["live", "--help"],
    }


def expected(command, number):
    return 0 if command.split()[0] in ORDERLY and "help" not in command else -number


def assert_whole(recording):
    """SQLite and blklat both find what was committed."""
    assert query(recording, "PRAGMA integrity_check") == [("ok",)]
    assert query(recording, "SELECT value FROM meta WHERE key = 'finished'") == [(1,)]
    r = run("report", "-f", "json", recording)
    assert (r.returncode, r.stderr) == (0, b"")
    assert json.loads(r.stdout)["runs"]


@pytest.mark.parametrize("stall,number", ENDS, ids=lambda v: getattr(v, "name", v))
@pytest.mark.parametrize("command", ["live", "live json", "record", "report json", "compare", "list", "check", "help"])
def test_output_that_nobody_takes(tmp_path, long_replay, command, stall, number):
    with STALLS[stall]() as (out, _), running(*commands(tmp_path)[command], stdout=out) as p:
        until_still(p)
        assert ended(p, number) == expected(command, number)
        assert p.stderr.read() == b"" or command in ("record", "check")
    assert {f.name for f in tmp_path.iterdir()} == {"long.blklat"} | ({"run.blklat"} if command == "record" else set())
    if command == "record":
        assert_whole(tmp_path / "run.blklat")


@pytest.mark.parametrize("stall,number", ENDS, ids=lambda v: getattr(v, "name", v))
@pytest.mark.parametrize("command", ["live", "record", "compare"])
def test_neither_output_nor_messages_are_taken(tmp_path, long_replay, command, stall, number):
    with STALLS[stall]() as (out, _), running(*commands(tmp_path)[command], stdout=out, stderr=out) as p:
        until_still(p)
        assert ended(p, number) == expected(command, number)
    if command == "record":
        assert_whole(tmp_path / "run.blklat")


@pytest.mark.parametrize("stall", [s for s in STALLS if s != "terminal"])
@pytest.mark.parametrize("command", ["live", "live json", "live csv", "record", "report", "report json", "compare", "help",
                                     "live help"])
def test_output_that_is_taken_late(tmp_path, long_replay, command, stall):
    """The command waits for a slow reader, even on a non-blocking pipe. The reader gets everything, and the pipe's mode is unchanged."""
    args = commands(tmp_path)[command]
    wanted = run(*args).stdout
    (tmp_path / "run.blklat").unlink(missing_ok=True)
    with STALLS[stall]() as (out, taken), running(*args, stdout=out) as p:
        flags = fcntl.fcntl(out, fcntl.F_GETFL)
        until_still(p)
        text = b""
        while len(text.lstrip(b"#")) < len(wanted):
            text += os.read(taken, 65536)
        assert p.wait(DEADLINE_S) == 0
        assert fcntl.fcntl(out, fcntl.F_GETFL) == flags
    assert text.lstrip(b"#") == wanted


@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_a_reader_that_trickles(long_replay, number):
    """A reader that keeps taking a little, too slowly ever to get everything."""
    with full_pipe() as (out, taken), running("live", "--replay", long_replay, stdout=out) as p, \
            subprocess.Popen(["sh", "-c", "while :; do head -c 4096 >/dev/null; sleep 0.3; done"], stdin=taken) as reader:
        try:
            until_still(p, 0.1)
            assert ended(p, number) == 0
        finally:
            reader.kill()


def test_what_is_taken_in_time_is_whole(long_replay):
    """A slow reader that takes everything once the signal has come gets whole intervals and the summary."""
    with full_pipe() as (out, taken), running("live", "--replay", long_replay, stdout=out) as p:
        until_still(p)
        p.send_signal(signal.SIGTERM)
        text = b""
        while p.poll() is None or readable(taken):
            text += os.read(taken, 65536) if readable(taken) else b""
        assert p.returncode == 0
    text = text.lstrip(b"#").decode()
    seconds = re.search(r"^summary of ([\d.]+) s", text, re.M)[1]
    assert text == run("live", "--replay", long_replay, "--count", str(int(float(seconds)))).stdout.decode()


def test_what_is_taken_slowly_is_whole(tmp_path):
    """40 summaries for a reader that takes 4 KiB each 0.1 s, for longer than the command waits for one that takes nothing."""
    file = write_recording("blklat-replay 1\n" + "".join(f"device sd{i} size=1048576\nwatch sd{i} device\n" for i in range(40)) +
                           ("".join(f"on sd{i} device\nio read 60us 4096 x9\n" for i in range(40)) + "tick 1\n") * 50,
                           tmp_path / "many.blklat")
    for _ in range(5):
        with full_pipe() as (out, taken), running("live", "--replay", file, stdout=out) as p:
            until_still(p)
            p.send_signal(signal.SIGTERM)
            asked, text = time.monotonic(), b""
            for _ in range(8):
                time.sleep(0.1)
                text += os.read(taken, 4096)
            late = time.monotonic() - asked > 1
            while p.poll() is None or readable(taken):
                text += os.read(taken, 65536) if readable(taken) else b""
            assert p.returncode == 0
        if not late:  # on a busy machine the reader is late, and its output may have been cut off
            break
    text = text.lstrip(b"#").decode()
    seconds = re.search(r"^summary of ([\d.]+) s", text, re.M)[1]
    assert text == run("live", "--replay", file, "--count", str(int(float(seconds)))).stdout.decode()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
@pytest.mark.parametrize("args", [
    ["serve", "--replay", REPLAY, "--web-config", "FIFO"], ["report", REPLAY, "-o", "FIFO"], ["report", "-f", "json", REPLAY, "-o", "FIFO"],
], ids=lambda a: " ".join(getattr(w, "name", w) for w in a))
def test_fifo_that_nobody_opens(tmp_path, args, number):
    """Nothing has begun, and nothing is left."""
    os.mkfifo(tmp_path / "FIFO")
    with running(*args, cwd=tmp_path) as p:
        until_still(p)
        assert ended(p, number) == -number
        assert p.stderr.read() == b""
    assert [f.name for f in tmp_path.iterdir()] == ["FIFO"]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_fifo_whose_reader_stops(tmp_path, number):
    fifo = tmp_path / "FIFO"
    os.mkfifo(fifo)
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb"), running("report", REPLAY, "-o", fifo) as p:
        until_still(p)
        assert ended(p, number) == -number


@pytest.mark.parametrize("number", [*SIGNALS, signal.SIGHUP], ids=lambda n: n.name)
def test_report_that_is_being_written(tmp_path, long_replay, number):
    """The file is as it was, and there is no other; or the signal came too late, and it is complete."""
    file = tmp_path / "report.json"
    file.write_text("before")
    with running("report", "-f", "json", long_replay, "-o", file) as p:
        wait_until(lambda: len(list(tmp_path.iterdir())) > 2 or p.poll() is not None, "the temporary file", every_s=0)
        status = ended(p, number)
    assert {f.name for f in tmp_path.iterdir()} == {"long.blklat", "report.json"}
    text = file.read_text()
    assert (status, text) == (-number, "before") or json.loads(text)["runs"]
