# SPDX-License-Identifier: GPL-2.0-only
"""
Around every guest test: its name goes into the kernel's log and its outcome into $VM_OUT/results, one
line of JSON each, so that it is known in which test a guest died. A complaint of the kernel fails the test.

Guests that share the tests (tests/vm/vm.py test --share) take one file of them after the other.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parents[1] / level) for level in ("host", "serve", "vm", "cli"))]

from alarms import ALARM  # noqa: E402
from engines import blklat_module  # noqa: E402
from guest import null_blk  # noqa: E402
from skips import skips  # noqa: E402, F401

if "VM_OUT" not in os.environ:
    pytest.exit("these tests load modules and break devices: they run in a guest, tests/vm/vm.py test", 2)
RESULTS = pathlib.Path(os.environ["VM_OUT"]) / "results"
OUTCOMES = {}
# What the guests that share the tests have taken: a folder that is the same in all of them.
TAKEN = pathlib.Path("/run/taken")
SHARED = "VM_SHARED" in os.environ
if SHARED:
    TAKEN.mkdir()
    subprocess.run(["mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L", "taken", TAKEN], check=True)


@functools.cache
def take(name):
    """Whether a file of tests is this guest's."""
    if not SHARED:
        return True
    try:
        (TAKEN / name).mkdir()
    except FileExistsError:
        return False
    return True


def pytest_configure(config):
    config.addinivalue_line("markers", "before_release: not in 'make test', as other tests there state the same of another device, engine or kernel")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The programs that skip less are run on this machine, by tests/host."""
    for item in items:
        if getattr(item, "callspec", None) and item.callspec.params.get("skips") not in (None, "first_skipped"):
            item.add_marker("before_release")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Done, to pytest, is what another guest has taken."""
    return None if take(item.path.name) else True


def note(**entry):
    with open(RESULTS, "a") as f:
        f.write(json.dumps(entry) + "\n")


def pytest_runtest_logstart(nodeid):
    note(test=nodeid)
    pathlib.Path("/dev/kmsg").write_text(f"test: {nodeid}\n")


def pytest_collectreport(report):
    """A file that is skipped as a whole."""
    if report.skipped and take(pathlib.Path(report.nodeid).name):
        note(test=report.nodeid, outcome="skipped")


def pytest_runtest_logreport(report):
    """One each for set-up, test and tear-down: the worst counts."""
    worst = OUTCOMES.get(report.nodeid, "passed")
    if worst != "failed" and report.outcome != "passed":
        OUTCOMES[report.nodeid] = report.outcome


def pytest_runtest_logfinish(nodeid):
    note(test=nodeid, outcome=OUTCOMES.get(nodeid, "passed"))


class KernelLog:
    """What the kernel logs from now on. Reading it here costs a test less than a program would."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self):
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return
            # A call trace's lines are records of their own; what follows a line break is about the device.
            yield record.partition(";")[2].partition("\n")[0]


LOG = KernelLog()


@pytest.fixture(scope="module")
def device():
    """With the module loaded."""
    with blklat_module(), null_blk() as (nullb,):
        yield nullb


@pytest.fixture(scope="module")
def disk(device):
    """The device, open, as a file descriptor."""
    fd = os.open(device.path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture(autouse=True)
def quiet_kernel():
    """The kernel has nothing to complain about."""
    list(LOG.lines())
    yield
    assert [line for line in LOG.lines() if ALARM.search(line)] == []
