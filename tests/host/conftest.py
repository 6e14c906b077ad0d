# SPDX-License-Identifier: GPL-2.0-only
"""Needs of the host tests, stated; what cannot run is skipped and says why."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "cli"))

import devices  # noqa: E402
import load  # noqa: E402
from needs import need, need_zram  # noqa: E402
from skips import skips  # noqa: E402, F401

ALARM = re.compile(r"WARNING:|BUG:|Oops|Call Trace|general protection|stall|hung task|lockdep|KASAN", re.I)


# A shell that runs the tests in the background, or nohup, ignores these, and every program started here would inherit that.
for number in signal.SIGINT, signal.SIGHUP:
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def unmet():
    """What this machine lacks that every host test needs."""
    if os.geteuid() != 0:
        return "not root"
    for program in ("fio", "losetup"):
        if not shutil.which(program):
            return f"no {program}"
    if not os.path.exists("/dev/loop-control"):
        return "no loop devices"
    if not os.access("/dev/shm", os.W_OK):
        return "no tmpfs at /dev/shm"
    if not os.path.exists(load.BLKLAT):
        return f"{load.BLKLAT} is not built"
    return None


@pytest.fixture(scope="session", autouse=True)
def machine():
    reason = unmet()
    need(not reason, reason)


def kernel_log():
    done = subprocess.run(["dmesg"], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


@pytest.fixture(scope="module", autouse=True)
def quiet_kernel(machine):
    """After each test module the kernel's log has no complaint."""
    before = set(kernel_log())
    yield
    assert [line for line in kernel_log() if line not in before and ALARM.search(line)] == []


@pytest.fixture
def loop():
    with devices.loop() as device:
        yield device


@pytest.fixture
def removable_zram():
    need_zram()
    with devices.removable_zram() as device:
        yield device


@pytest.fixture
def removable_loop():
    with devices.removable_loop() as device:
        yield device


@pytest.fixture
def partition(loop):
    """The second quarter of the loop device."""
    need(shutil.which("addpart"), "no addpart")
    with devices.partition(loop, 1, loop.size // 4, loop.size // 4) as p:
        yield p


def need_fsfreeze():
    for program in ("mkfs.ext4", "mount", "fsfreeze"):
        need(shutil.which(program), f"no {program}")
    need("\text4\n" in pathlib.Path("/proc/filesystems").read_text(), "no ext4")


@pytest.fixture
def frozen():
    """A loop device whose writes can be held back, and how to do so and undo it."""
    need_fsfreeze()
    with devices.frozen_loop() as device:
        yield device


@pytest.fixture
def disk():
    """A folder in a file system of its own, and how to freeze that and undo it."""
    need_fsfreeze()
    with devices.frozen_folder(64 * devices.MIB) as folder:
        yield folder


@pytest.fixture
def witness_program():
    need(os.path.exists(load.WITNESS), f"{load.WITNESS} is not built")


@pytest.fixture
def folder():
    """In memory, so that no test waits for a disk's fsync."""
    with tempfile.TemporaryDirectory(prefix="blklat-test-", dir="/dev/shm") as path:
        yield pathlib.Path(path)


@pytest.fixture
def file(folder):
    return folder / "run.blklat"
