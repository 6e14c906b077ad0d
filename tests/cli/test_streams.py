# SPDX-License-Identifier: GPL-2.0-only
"""Where the output goes: pipes that close, files that are closed, disks that are full."""
import json
import os
import stat
import subprocess

import pytest
from command import BLKLAT, ENV, REPLAY
from sql import query

JUDGED = [["report", "--format", "json", str(REPLAY)], ["compare", str(REPLAY), str(REPLAY)]]


@pytest.mark.parametrize("fmt", ["text", "json", "csv"])
def test_closed_pipe_ends_quietly(long_replay, fmt):
    with subprocess.Popen([BLKLAT, "live", "--replay", str(long_replay), "--format", fmt], env=ENV,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout.readline()
        p.stdout.close()
        assert p.wait(timeout=60) == 0
        assert p.stderr.read() == b""


@pytest.mark.parametrize("args", [["list"], ["list", "--format", "json"], ["--help"], ["live", "--help"], ["--version"], *JUDGED], ids=" ".join)
def test_pipe_that_nobody_reads(args):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        r = subprocess.run([BLKLAT, *args], stdout=out, stderr=subprocess.PIPE, env=ENV, timeout=60)
    assert (r.returncode, r.stderr) == (0, b"")


@pytest.mark.parametrize("args", [["live", "--replay", str(REPLAY)], ["list"], ["--help"]], ids=" ".join)
def test_output_that_is_closed(args):
    r = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', BLKLAT, *args], stderr=subprocess.PIPE, env=ENV, timeout=30)
    assert r.returncode == 1
    assert r.stderr.decode().count("Bad file descriptor") == 1, r.stderr


@pytest.mark.parametrize("closed,status", [("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_no_file_becomes_a_standard_stream(tmp_path, closed, status):
    """Output must not end up in a recording or a report, whichever descriptor the file gets."""
    file, report = tmp_path / "run.blklat", tmp_path / "report.json"

    def shell(words, *args):
        return subprocess.run(["sh", "-c", f'exec "$0" {words} {closed}', BLKLAT, *args], capture_output=True, env=ENV,
                              timeout=30).returncode

    assert shell('record --replay "$1" -o "$2"', REPLAY, file) == status
    assert query(file, "PRAGMA integrity_check") == [("ok",)]
    assert shell('report -f json -o "$2" "$1"', REPLAY, report) == 0
    assert json.loads(report.read_text())["runs"]


@pytest.mark.parametrize("args", [
    ["--replay", str(REPLAY)], ["--replay", str(REPLAY), "--format", "json"], ["--replay", str(REPLAY), "--format", "csv"],
    ["list"], ["list", "--format", "json"], ["check"], ["check", "--format", "json"], ["--help"], ["live", "--help"],
    ["list", "--help"], ["check", "--help"], ["live", "--version"], ["list", "--usage"], *JUDGED,
], ids=" ".join)
def test_full_disk(args):
    if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        r = subprocess.run([BLKLAT, *args], stdout=full, stderr=subprocess.PIPE, env=ENV, timeout=60)
    text = r.stderr.decode()
    assert r.returncode == 1, text
    # 'check' may also say that no engine works here; the full disk still has exactly one line.
    assert text.count("No space left on device") == 1
    assert text.count("\n") == 1 or args[0] == "check"
