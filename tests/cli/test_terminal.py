# SPDX-License-Identifier: GPL-2.0-only
"""What a terminal gets: colours if it has them and nothing forbids them, and lines that fit its width."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from attacks import BLKLAT, ENV
from script import TESTS, recorded

REPLAY = recorded(TESTS / "cli/replay/mixed.txt")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def shown(columns=80, **env):
    """The output to a terminal of @columns columns."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([BLKLAT, "live", "--replay", str(REPLAY)], stdout=terminal, env={**ENV, **env}) as p:
        os.close(terminal)
        parts = []
        try:
            while part := os.read(reader, 65536):
                parts.append(part)
        except OSError:
            pass    # the other end was closed
        os.close(reader)
        assert p.wait(timeout=30) == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("env,coloured", [
    ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": ""}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ({"TERM": "dumb"}, False), ({"TERM": ""}, False), ({}, False),
], ids=str)
def test_colour(env, coloured):
    text = shown(**env)
    assert bool(COLOUR.search(text)) == coloured
    piped = subprocess.run([BLKLAT, "live", "--replay", str(REPLAY)], capture_output=True, text=True, env={**ENV, **env}, timeout=30)
    assert COLOUR.sub("", text) == piped.stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_lines_fit(columns):
    """The summary's histogram is never narrower than 55 columns."""
    lines = (shown(columns) if columns > 55 else shown(columns).partition("\n\n")[2].partition("\nsummary")[0]).splitlines()
    assert max(map(len, lines)) <= columns
    assert "p99.99" in " ".join(lines)
