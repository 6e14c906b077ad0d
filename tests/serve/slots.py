# SPDX-License-Identifier: GPL-2.0-only
"""Loop devices that come and go, for a service that watches a pattern."""
import contextlib
import pathlib
import random
import subprocess
import time

from devices import LOOP_CTL_ADD, LOOP_CTL_REMOVE, MIB, Device, backing_file, loop_control, run
from service import DEADLINE_S


class Slots:
    """Ten loop devices with numbers that nobody else uses, and a pattern for them; tests attach them."""

    def __init__(self):
        self.base = 10 * random.randrange(1000, 9000)
        self.pattern = f"loop{self.base // 10}[0-9]"
        self.undo = contextlib.ExitStack()

    def attach(self, i):
        device = Device(f"loop{self.base + i}")
        if not device.sysfs.exists():
            loop_control(LOOP_CTL_ADD, device)
            self.undo.callback(self.remove, device)
        file = self.undo.enter_context(backing_file("/dev/shm", 8 * MIB))
        run("losetup", "--direct-io=on", device.path, file)
        device.setting("scheduler", "none")
        return device

    def detach_all(self):
        """For a test that is repeated."""
        for i in range(10):
            if pathlib.Path(f"/sys/block/loop{self.base + i}/loop").exists():
                run("losetup", "-d", f"/dev/loop{self.base + i}")

    @staticmethod
    def remove(device):
        subprocess.run(["losetup", "-d", device.path], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                return loop_control(LOOP_CTL_REMOVE, device)
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"{device.name} can't be removed")
