# SPDX-License-Identifier: GPL-2.0-only
"""Outputs that take nothing, and programs that wait for them."""
import contextlib
import fcntl
import os
import pathlib
import pty
import select
import signal
import socket
import subprocess
import termios
import time
import tty

from command import BLKLAT, ENV
from waiting import DEADLINE_S

# A shell that runs the tests in the background ignores it, and every program started here would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The promise is two seconds; a busy machine takes some more to clean up a process.
END_S = 5


def fill(fd):
    """Writes until it takes no more, and leaves its O_NONBLOCK flag as it was."""
    own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        for size in 65536, 1:
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(own, b"#" * size)
    finally:
        os.close(own)


@contextlib.contextmanager
def full_pipe():
    """Yields (what to write to, what to read from)."""
    reader, writer = os.pipe()
    try:
        fill(writer)
        yield writer, reader
    finally:
        os.close(reader)
        os.close(writer)


@contextlib.contextmanager
def full_socket():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with contextlib.suppress(BlockingIOError):
            while True:
                theirs.send(b"#" * 4096, socket.MSG_DONTWAIT)
        yield theirs.fileno(), ours.fileno()


@contextlib.contextmanager
def stopped_terminal():
    """A terminal stopped as by Ctrl-S."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        termios.tcflow(slave, termios.TCOOFF)
        yield slave, master
    finally:
        os.close(master)
        os.close(slave)


@contextlib.contextmanager
def non_blocking(stall):
    """Non-blocking, as a parent may have made it for all who share it. Neither this nor a blocking mode may change."""
    with stall() as (writer, reader):
        flags = fcntl.fcntl(writer, fcntl.F_GETFL)
        fcntl.fcntl(writer, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        yield writer, reader


STALLS = {
    "pipe": full_pipe, "socket": full_socket, "terminal": stopped_terminal,
    "non-blocking pipe": lambda: non_blocking(full_pipe), "non-blocking socket": lambda: non_blocking(full_socket),
}


def readable(fd):
    return bool(select.select([fd], [], [], 0)[0])


def cpu_and_states(pid):
    """Of each thread: one that waits for another is at rest, while that may be at work."""
    threads = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    return [(t / "schedstat").read_text().split()[0] for t in threads], {(t / "stat").read_text().rsplit(")", 1)[1].split()[0] for t in threads}


def until_still(process, for_s=0.3):
    """Waits until looks at the process have found nothing but waiting for a while. Waiting for the disk (D) counts as work."""
    deadline, still, before, every_s = time.monotonic() + DEADLINE_S, 0, None, 0.02
    while still * every_s < for_s:  # by looks, not by time: this process may be held up as well
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        assert time.monotonic() < deadline, f"{process.args} does not come to rest"
        now = cpu_and_states(process.pid)
        still = still + 1 if now == before and now[1] == {"S"} else 0
        before = now
        time.sleep(every_s)


def ended(process, *numbers):
    """Sends signals and returns the exit status; asserts that the program ends within the promised time."""
    began = time.monotonic()
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.05 if len(numbers) > 1 else 0)
    status = process.wait(END_S)
    print(f"{' '.join(map(str, process.args[1:]))}: {time.monotonic() - began:.2f} s")
    return status


def running(*args, **kw):
    """blklat with these arguments, as running_program()."""
    kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENV} | kw
    return running_program(os.path.abspath(BLKLAT), *args, **kw)


@contextlib.contextmanager
def running_program(*argv, **kw):
    """It is killed at the end, whatever happens."""
    with subprocess.Popen([*map(str, argv)], **kw) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
