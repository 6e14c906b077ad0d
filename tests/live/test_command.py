# SPDX-License-Identifier: GPL-2.0-only
"""A command that is recorded: it has what a shell would give it, and its end is the run's."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest
from conftest import need
from recorder import Recorder, assert_one_plain_file, record, record_argv, value
from test_life import bpf_objects, exists


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


def test_killed_recorder_leaves_the_command(loop, file):
    with Recorder(loop, file, "--quiet", command=["sh", "-c", "echo $$; sleep 1; echo lives"]) as r:
        r.until(lambda: r.lines, "its number")
        r.process.kill()
        assert r.wait() == -signal.SIGKILL
    assert r.lines[1:] == ["lives\n"]


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
