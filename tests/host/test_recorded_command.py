# SPDX-License-Identifier: GPL-2.0-only
"""A recorded command gets what a shell would give it, and its end is the run's."""
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from kernel_objects import bpf_objects, leaves_nothing
from load import BLKLAT, DEADLINE_S, wait_until
from needs import need
from recorder import Recorder, assert_one_plain_file, intervals, record, record_argv, until_there, value
from screen import Screen


def test_device_interval_and_count_as_arguments(loop, file):
    """Until the count, or the end of the command."""
    argv = [BLKLAT, "record", "-q", "-o", file, "--overwrite", loop.name]
    for more, status, n in (["0.1", "3"], 0, 3), (["600", "--", "sh", "-c", "exit 7"], 7, 1):
        assert subprocess.run([*argv, *more], timeout=DEADLINE_S).returncode == status
        assert (intervals(file), value(file, "SELECT name FROM device")) == (n, loop.name)


@pytest.mark.parametrize("late", [False, True])
def test_commands_that_can_not_begin(loop, folder, late):
    """No file is made, and an existing one is not touched if the failure could be known before."""
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
    """The standard streams and whatever else we inherited, but nothing of our own; no signal blocked or ignored."""
    words = ["sh", "-c", "cat; ls /proc/self/fd; ulimit -Sn; exec grep -E 'Sig(Blk|Ign|Pnd)' /proc/self/status"]

    def printed(argv):
        done = subprocess.run(["sh", "-c", 'ulimit -Sn 123; exec "$@"', "sh", *map(str, argv)], input="hello", capture_output=True, text=True,
                              timeout=DEADLINE_S)
        # Without the realtime signals: posix_spawn() of glibc ignores the two that are its own.
        return re.sub(r"\b[0-9a-f]{16}$", lambda m: f"{int(m[0], 16) & 0x7fffffff:x}", done.stdout, flags=re.M)

    plain = printed(words)
    assert plain.startswith("hello") and "\n123\n" in plain and "SigIgn" in plain
    assert printed(record_argv(loop, file, command=words)) == plain


def test_duration_ends_the_command(loop, file):
    """It gets SIGTERM, however long it would run; the status is 0."""
    script = "trap 'echo asked; exit 9' TERM; while :; do sleep 0.01; done"
    began = time.monotonic()
    done = record(loop, file, "--duration", "2.5", command=["sh", "-c", script])
    took_s = time.monotonic() - began
    assert (done.returncode, done.stdout) == (0, "asked\n")
    assert 2.5 <= value(file, "SELECT sum(interval_s) FROM interval_time") <= took_s


@pytest.fixture
def tmux():
    need(shutil.which("tmux"), "no tmux")


def test_ctrl_c_is_the_commands_too(tmux, loop, file, folder):
    """The command ends in its own time, with its output and its status; the recording goes on until then."""
    over = folder / "over"
    ending = f"echo asked; {until_there(over)}; echo summary; exit 5"
    script = f"trap '{ending}' INT; echo ready; while :; do sleep 0.01; done"
    with Screen(*record_argv(loop, file, "--quiet", command=["sh", "-c", script])) as s:
        s.until("ready")
        s.keys("C-c")
        s.until("asked")
        before = intervals(file)
        wait_until(lambda: intervals(file) >= before + 3, "three intervals more")
        over.touch()
        text = "\n".join(s.assert_restored(status=5))
    assert text.count("asked") == 1 and text.count("summary") == 1
    over.unlink()
    assert_one_plain_file(file)


def test_killed_recorder_leaves_the_command(loop, file, folder):
    over = folder / "over"
    with Recorder(loop, file, "--quiet", command=["sh", "-c", f"echo ready; {until_there(over)}; echo lives"]) as r:
        r.until(lambda: r.lines, "ready")
        r.process.kill()
        assert r.process.wait(DEADLINE_S) == -signal.SIGKILL
        over.touch()
        r.wait()
    assert r.lines == ["ready\n", "lives\n"]


def test_device_goes_away(removable_loop, file, folder):
    """The recording ends, complete and with status 1; the command may run on."""
    device, remove = removable_loop
    over = folder / "over"
    with Recorder(device, file, "--quiet", command=["sh", "-c", f"echo ready; {until_there(over)}; echo over"]) as r:
        r.until(lambda: r.lines, "ready")
        remove()
        r.until(lambda: "waiting for 'sh'" in r.stderr, "that it waits")
        assert r.lines == ["ready\n"]
        assert_one_plain_file(file)
        over.touch()
        assert r.wait() == 1
    assert r.lines == ["ready\n", "over\n"]
    assert f"{device.name} went away" in r.stderr and "no watched device is left" in r.stderr


def test_nothing_is_left(loop, file):
    with Recorder(loop, file, "--quiet", command=["sleep", "60"]) as r, leaves_nothing(r.pid):
        child = int(pathlib.Path(f"/proc/{r.pid}/task/{r.pid}/children").read_text())
        assert bpf_objects(child) == {"prog": set(), "map": set()}
        assert r.stop(signal.SIGTERM) == 128 + signal.SIGTERM
        assert not pathlib.Path(f"/proc/{child}").exists()
