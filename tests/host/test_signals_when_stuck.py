# SPDX-License-Identifier: GPL-2.0-only
"""SIGINT and SIGTERM end commands that watch, even after a file system hung, and nothing stays in the kernel."""
import pathlib
import signal
import subprocess
import time

import pytest
from kernel_objects import leaves_nothing
from load import BLKLAT, DEADLINE_S, blklat_argv, wait_until
from recorder import Recorder, intervals, record_argv, replayed, value
from stalls import END_S, full_pipe, running_program, until_still


def is_held(pid):
    """Whether the process waits in the kernel, where no signal reaches it."""
    return pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "D"


def test_command_whose_recorder_can_not_show(loop, file):
    """The signal gets to the command, and its end is in the recording."""
    script = "trap 'sleep 1; exit 40' INT; while :; do sleep 0.01; done"
    argv = record_argv(loop, file, command=["sh", "-c", script])
    with full_pipe() as (out, _), running_program(*argv, stderr=out) as p:
        wait_until(file.exists, "the file")
        until_still(p)
        with leaves_nothing(p.pid):
            p.send_signal(signal.SIGINT)
            assert p.wait(END_S + 1) == 40
    assert value(file, "SELECT value FROM meta WHERE key = 'finished'") == 1
    # The command ran on for a second, all of which is recorded.
    assert sum(l["interval_s"] for l in replayed(file)) > 1
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_frozen_file_system_under_a_recording(loop, disk):
    """It ends in order as soon as the kernel lets go, however often it was asked."""
    folder, freeze, thaw = disk
    with Recorder(loop, folder / "run.blklat", "--quiet") as r:
        r.more(3)
        freeze()
        wait_until(lambda: is_held(r.pid), "a write that is held back")
        with leaves_nothing(r.pid):
            r.signal(signal.SIGTERM)
            r.signal(signal.SIGTERM)
            thaw()
            assert r.wait() == 0
    assert r.stderr == ""
    assert intervals(r.file) >= 4 and value(r.file, "PRAGMA integrity_check") == "ok"
    assert value(r.file, "SELECT value FROM meta WHERE key = 'finished'") == 1
    report = subprocess.run([BLKLAT, "report", "-f", "json", r.file], capture_output=True, timeout=DEADLINE_S)
    assert (report.returncode, report.stderr) == (0, b"")


def test_frozen_file_system_under_the_output(loop, disk):
    folder, freeze, thaw = disk
    with open(folder / "out", "wb") as out, running_program(*blklat_argv(loop), "--interval", "0.05", stdout=out,
                                                    stderr=subprocess.PIPE) as p:
        wait_until(lambda: (folder / "out").stat().st_size, "output")
        freeze()
        wait_until(lambda: is_held(p.pid), "a write that is held back")
        with leaves_nothing(p.pid):
            p.send_signal(signal.SIGINT)
            thaw()
            assert p.wait(END_S) == 0
    assert "\nsummary of " in (folder / "out").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_another_signal_ends_it_at_once(loop, disk, number):
    """It dies by that signal without waiting for the last interval; what was committed before is there."""
    folder, freeze, thaw = disk
    with Recorder(loop, folder / "run.blklat", "--quiet", interval=0.5) as r:
        r.more(2)
        r.process.send_signal(signal.SIGSTOP)
        freeze()
        r.signal(number)
        r.process.send_signal(signal.SIGCONT)
        wait_until(lambda: is_held(r.pid), "a write that is held back")
        r.signal(number)
        time.sleep(0.5)
        thaw()
        assert r.wait() == -number
    assert r.stderr == ""
    assert intervals(r.file) >= 2 and value(r.file, "PRAGMA integrity_check") == "ok"
