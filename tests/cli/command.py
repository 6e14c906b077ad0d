# SPDX-License-Identifier: GPL-2.0-only
"""The command line as a shell runs it, its message for a bad one, and the machine's devices by a reader of our own."""
import contextlib
import pathlib
import re
import subprocess

import pytest
from asked import BLKLAT
from script import TESTS, recorded

REPLAY = recorded(TESTS / "cli/replay/nvme.txt")
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
# Far from any name that a machine's device may have.
NONE = "zzqqxxyyzzqqxxyy"


def run(*args, **kw):
    return subprocess.run([*kw.pop("before", []), kw.pop("binary", BLKLAT), *args], capture_output=True, env=ENV,
                          timeout=60, **kw)


def bad(sentence, *args, status=2, **kw):
    r = run(*args, **kw)
    text = r.stderr.decode()
    assert r.returncode == status, text
    assert r.stdout == b""
    assert text.count("\n") == 1 and text.endswith("\n"), text
    assert re.fullmatch(r"blklat( [a-z]+)?: .*[^.\s]\n", text), text
    assert "error:" not in text.lower() and not re.search(r"[\0-\x09\x0b-\x1f\x7f]", text)
    assert re.search(sentence, text), text
    return text


def names():
    block = pathlib.Path("/sys/class/block")
    return sorted(p.name.replace("!", "/") for p in block.iterdir()) if block.is_dir() else []


def usable():
    """Prefers a device that no other test takes away in the middle of this one."""
    for name in sorted(names(), key=lambda n: n.startswith(("loop", "zram"))):
        with contextlib.suppress(FileNotFoundError):
            if int((pathlib.Path("/sys/class/block") / name.replace("/", "!") / "size").read_text()):
                return name
    pytest.skip("no block device with a size here")
