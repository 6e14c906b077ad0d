# SPDX-License-Identifier: GPL-2.0-only
"""
Devices that can be told to fail, to be slow or to go away, and what the kernel's own trace says of them.

None of Debian's kernels has CONFIG_FAULT_INJECTION, so null_blk's requeue= and timeout= do not exist there.
Its bandwidth limit (mbps) refuses requests after they were issued, and scsi_debug fails commands on demand.
"""
import contextlib
import os
import pathlib
import re
import time

import pytest
from devices import Delta, Device, run
from guest import DEEP, module
from load import Fio, read  # noqa: F401
from tracing import traced_events

SCSI_DEBUG = pathlib.Path("/sys/bus/pseudo/drivers/scsi_debug")
CONFIGFS = pathlib.Path("/sys/kernel/config")


# --- null_blk by configfs --------------------------------------------------------------------


class Null(Device):
    """A single null block device, made and removed while others stay."""

    def __init__(self, name, **attributes):
        super().__init__(name)
        self.folder = CONFIGFS / "nullb" / name
        self.attributes = {"size": 256, "irqmode": 0} | attributes
        self.make()

    def set(self, name, value):
        (self.folder / name).write_text(f"{value}\n")

    def make(self):
        self.folder.mkdir()
        for name, value in self.attributes.items():
            if not (self.folder / name).exists():
                self.folder.rmdir()
                pytest.skip(f"null_blk of this kernel has no {name}")
            self.set(name, value)
        self.set("power", 1)
        # Older kernels choose the name: this one, as long as devices are made in order.
        assert self.sysfs.exists()
        self.setting("scheduler", "none")

    def remove(self):
        self.folder.rmdir()


def need_configfs():
    run("modprobe", "configfs")
    if not os.path.ismount(CONFIGFS):
        run("mount", "-t", "configfs", "configfs", CONFIGFS)


@contextlib.contextmanager
def null_blks(*settings):
    """One device for each dictionary of attributes. Those that still exist at the end are removed."""
    need_configfs()
    with module("null_blk", nr_devices=0), contextlib.ExitStack() as undo:
        devices = []
        for i, attributes in enumerate(settings):
            devices.append(Null(f"nullb{i}", **attributes))
            undo.callback(lambda d=devices[-1]: d.folder.exists() and d.remove())
        yield devices


# --- scsi_debug ------------------------------------------------------------------------------

# drivers/scsi/scsi_debug.c, SDEBUG_OPT_*
MEDIUM_ERROR, IGNORED, SHORT, HOST_BUSY = 2, 4, 0x100, 0x8000
# Reads of these sectors fail, by default.
BAD_SECTORS = range(0x1234, 0x1234 + 10)


@contextlib.contextmanager
def scsi_fault(kind, every=0):
    """A fault in one of @every commands, or in all that touch the bad sectors."""
    (SCSI_DEBUG / "opts").write_text(f"{kind}\n")
    (SCSI_DEBUG / "every_nth").write_text(f"{every}\n")
    try:
        yield
    finally:
        (SCSI_DEBUG / "every_nth").write_text("0\n")
        (SCSI_DEBUG / "opts").write_text("0\n")


# --- the kernel's own trace ------------------------------------------------------------------


@contextlib.contextmanager
def traced(device, *names):
    """The same for a count of each event: {name: n}, of block_rq_NAME."""
    with traced_events(device, *(f"block_rq_{name}" for name in names)) as lines:
        def counted():
            found = re.findall(r": block_rq_(\w+): ", "\n".join(lines()))
            return {name: found.count(name) for name in names}
        yield counted


# --- meanwhile -------------------------------------------------------------------------------

ENDLESS = {"rw": "randrw", "time_based": 1, "runtime": 3600, "thread": 1, **DEEP}
ROUNDS, WHILE_S = 2, 2


def meanwhile(device, *steps, **load):
    """
    Takes these steps in turn while a load runs, for a minimum of rounds and of time, since a step may take any time on
    this machine. Then ends the load; returns what it did.
    """
    moved = Delta(device)
    with Fio(device, **ENDLESS | load) as running:
        running.until(lambda: moved()["ios"], "its first IO")
        began, rounds = time.monotonic(), 0
        while rounds < ROUNDS or time.monotonic() < began + WHILE_S:
            for step in steps:
                step()
                time.sleep(0.05)
            rounds += 1
        print(f"{rounds} rounds")
        return running.end()
