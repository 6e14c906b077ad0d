# SPDX-License-Identifier: GPL-2.0-only
"""What the program says of itself: its commands, their options, and the values that these take."""
import os
import re
import subprocess

from script import TESTS

BLKLAT = os.environ.get("BLKLAT", str(TESTS.parent / "build/blklat"))


def answer(*args):
    return subprocess.run([BLKLAT, *args], capture_output=True, text=True, timeout=60)


def commands():
    return re.findall(r"^  (\w+) {2,}\S", answer("--help").stdout, re.M)


def options(command):
    """{(short or None, long, name of its value or None)} of a command's help."""
    shown = answer(command, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?:=(\w+))?(?=\s|$)", shown.stdout, re.M)
    return {(short or None, long, value or None) for short, long, value in found}


def values(command, option):
    """The values that an option takes, as told to whoever gives it another one."""
    said = answer(command, option, "no-such", "x").stderr
    words = re.search(r"must be (.*)", said)
    assert words, said
    return re.split(r", | or ", words[1].strip())


FORMATS = values("live", "--format")
WAYS = values("live", "--by")
