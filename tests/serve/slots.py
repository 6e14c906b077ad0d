# SPDX-License-Identifier: GPL-2.0-only
"""Loop devices that come and go, for a service that watches a pattern."""
import contextlib
import pathlib
import random
import subprocess

from devices import LOOP_CTL_ADD, LOOP_CTL_REMOVE, MIB, Device, backing_file, loop_control, run
from load import wait_until


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
        """Also for a test that is repeated. A device that others still have open is detached when they close it."""
        for i in range(10):
            attached = pathlib.Path(f"/sys/block/loop{self.base + i}/loop")
            if attached.exists():
                run("losetup", "-d", f"/dev/loop{self.base + i}")
                wait_until(lambda file=attached: not file.exists(), f"end of loop{self.base + i}")

    @staticmethod
    def remove(device):
        def gone():
            with contextlib.suppress(OSError):  # others still have it open
                loop_control(LOOP_CTL_REMOVE, device)
                return True
        subprocess.run(["losetup", "-d", device.path], stderr=subprocess.DEVNULL)
        wait_until(gone, f"end of {device.name}")
