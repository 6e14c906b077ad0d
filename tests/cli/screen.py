# SPDX-License-Identifier: GPL-2.0-only
"""A terminal to type into and to read from: each has its own tmux server, on its own socket."""
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from waiting import DEADLINE_S, wait_until

from command import BLKLAT

ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "HOME": "/nonexistent"}


class Screen:
    """Runs @argv; when it has ended, the screen shows 'ended with' and its status."""

    def __init__(self, *argv, columns=80, rows=24, more="", **env):
        self.folder = tempfile.mkdtemp(prefix="blklat-screen-")
        self.env = ENV | {"TMUX_TMPDIR": self.folder}
        program = ["env", *(f"{k}={v}" for k, v in env.items()), *map(str, argv)]
        # echo belongs to the shell: files are made by it alone, whichever of its children is killed meanwhile.
        line = f'trap : INT; echo "$(stty -g)" >{self.folder}/before; {shlex.join(program)}{more}; ' \
               f'echo ended with $?; echo "$(stty -g)" >{self.folder}/after; exec sleep 60'
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), line)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-L", "test", *args], env=self.env, check=True, capture_output=True, text=True, timeout=DEADLINE_S).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Programs that still run are killed first: a leak check that the terminal's end interrupts hangs, or reports
        # itself. The shell goes on then; nothing else comes into the folder once its last file is written.
        def over():
            for pid in self.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return self.has_ended()

        wait_until(over, "end of the shell's work", self, every_s=0.02)
        self.tmux("kill-server")
        shutil.rmtree(self.folder)

    def over(self):
        """What it shows stays when its program has ended."""
        return False

    def __str__(self):
        return f"the screen shows\n{self.text()}"

    def has_ended(self):
        """The program has ended, and the terminal's state was written down."""
        return os.path.exists(f"{self.folder}/after") and os.path.getsize(f"{self.folder}/after")

    def lines(self, *args):
        return self.tmux("capture-pane", "-p", *args).split("\n")[:-1]

    def text(self, *args):
        return "\n".join(self.lines(*args))

    def until(self, condition, what=""):
        """Waits until @condition is true of the screen's text; a word is true when it is shown. Returns the lines."""
        holds = condition if callable(condition) else lambda text: condition in text

        def shown():
            text = self.text()
            if not holds(text):
                return None
            time.sleep(0.02)  # it may be half drawn
            return text.split("\n") if self.text() == text else None

        return wait_until(shown, what or condition, self, every_s=0.02)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def told(self, what):
        """A tmux variable of the pane: cursor_flag, alternate_on, ..."""
        return self.tmux("display-message", "-p", f"#{{{what}}}").strip()

    def children(self):
        shell = int(self.told("pane_pid"))
        with open(f"/proc/{shell}/task/{shell}/children") as f:
            return [int(pid) for pid in f.read().split()]

    def program(self):
        """The process under test."""
        return self.children()[0]

    def signal(self, number=signal.SIGINT):
        os.kill(self.program(), number)

    def assert_restored(self, status=0):
        """The program ended with this status and restored the terminal."""
        lines = self.until("ended with")
        assert f"ended with {status}" in lines, "\n".join(lines)
        wait_until(self.has_ended, "the terminal's state", self)
        with open(f"{self.folder}/before") as before, open(f"{self.folder}/after") as after:
            assert before.read() == after.read()
        assert (self.told("alternate_on"), self.told("cursor_flag"), self.told("keypad_flag")) == ("0", "1", "0")
        return lines


def top(file, *args, interval="50ms", **kw):
    """blklat top, at a pace that is not the recording's."""
    return Screen(BLKLAT, "top", "--replay", file, "--interval", interval, *args, **kw)
