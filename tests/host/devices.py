# SPDX-License-Identifier: GPL-2.0-only
"""Devices for the host tests, made for one test each and always taken down again."""
import contextlib
import errno
import fcntl
import os
import pathlib
import random
import subprocess
import tempfile

from waiting import wait_until

MIB = 2 ** 20
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81  # include/uapi/linux/loop.h
STAT = ("reads", "read_merges", "read_sectors", "read_ms", "writes", "write_merges", "write_sectors", "write_ms",
        "in_flight", "io_ms", "weighted_ms", "discards", "discard_merges", "discard_sectors", "discard_ms",
        "flushes", "flush_ms")


def run(*argv):
    """Runs a command; returns what it printed. A failure shows the command's own words."""
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, argv))}: {done.stderr}"
    return done.stdout.strip()


def when_free(act):
    """Repeats what the kernel refuses while somebody has the device open: udev for a moment, or a process that is ending."""
    def done():
        try:
            act()
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
            return False
        return True

    wait_until(done, "end of its use", every_s=0.05)


def unmount(folder):
    """The same for a file system: a loop device on it may still be closing."""
    def act():
        done = subprocess.run(["umount", str(folder)], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            raise OSError(errno.EBUSY if "busy" in done.stderr else errno.EIO, done.stderr)
    when_free(act)


class Device:
    def __init__(self, name, sysfs=None):
        self.name = name
        self.path = f"/dev/{name}"
        self.sysfs = pathlib.Path(sysfs or f"/sys/block/{name}")
        self.before = {}

    @property
    def number(self):
        return (self.sysfs / "dev").read_text().strip()

    @property
    def size(self):
        return int((self.sysfs / "size").read_text()) * 512

    def stat(self):
        """The kernel's own figures, by name; ios is the number of IOs of all kinds."""
        s = dict(zip(STAT, map(int, (self.sysfs / "stat").read_text().split())))
        s["ios"] = s["reads"] + s["writes"] + s["discards"] + s["flushes"]
        return s

    def setting(self, name, value=None):
        """The content of a queue attribute; if @value is given it is written first."""
        file = self.sysfs / "queue" / name
        if value is not None:
            was = file.read_text().strip()
            self.before.setdefault(name, was.partition("[")[2].partition("]")[0] or was)  # one of several is in brackets
            file.write_text(f"{value}\n")
        return file.read_text().strip()

    def set_back(self):
        """A loop device keeps its queue, so the next one with its number would inherit all settings."""
        for name, value in reversed(self.before.items()):
            (self.sysfs / "queue" / name).write_text(f"{value}\n")


class Delta:
    """What a device's stat file has counted since then."""

    def __init__(self, device):
        self.device = device
        self.before = device.stat()

    def __call__(self):
        return {k: v - self.before[k] for k, v in self.device.stat().items()}


@contextlib.contextmanager
def _locked(path):
    """Keeps udev, where there is one, from reading the device (systemd.io/BLOCK_DEVICE_LOCKING)."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def backing_file(folder, size):
    fd, path = tempfile.mkstemp(prefix="blklat-test-", dir=folder)
    try:
        os.ftruncate(fd, size)
        # Written once, so that reads copy data like those of a real device.
        os.lseek(fd, 0, os.SEEK_SET)
        for _ in range(size // MIB):
            os.write(fd, b"\xa5" * MIB)
        os.close(fd)
        yield pathlib.Path(path)
    finally:
        pathlib.Path(path).unlink(missing_ok=True)


def backing(device):
    """The file of a loop device; None if it has none."""
    with contextlib.suppress(OSError):
        return (device.sysfs / "loop/backing_file").read_text().strip().removesuffix(" (deleted)")


@contextlib.contextmanager
def loop_on(file, direct=True, lock=True):
    name = run("losetup", f"--direct-io={'on' if direct else 'off'}", "--show", "-f", file).removeprefix("/dev/")
    device = Device(name)
    ours = backing(device)
    try:
        assert device.size, f"{name} is on {ours} and has no size"
        # A killed test may have left another one.
        device.setting("scheduler", "none")
        device.setting("nomerges", 0)
        device.before.clear()
        with _locked(device.path) if lock else contextlib.nullcontext():
            yield device
    finally:
        # The test may have detached it itself, and somebody else may have attached another file since.
        if backing(device) == ours:
            try:
                device.set_back()
            finally:
                subprocess.run(["losetup", "-d", device.path], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def loop(size=64 * MIB, folder="/dev/shm"):
    """A loop device on a file in memory: requests, 128 tags, a write cache, discards."""
    with backing_file(folder, size) as file, loop_on(file) as device:
        device.file = file
        yield device


@contextlib.contextmanager
def zram(size=64 * MIB, lock=True):
    """A zram device of its own: bios, no requests."""
    number = int(pathlib.Path("/sys/class/zram-control/hot_add").read_text())
    device = Device(f"zram{number}")
    device.removed = False
    try:
        (device.sysfs / "disksize").write_text(str(size))
        # Off by default on newer kernels, though the driver counts all the same.
        device.setting("iostats", 1)
        with _locked(device.path) if lock else contextlib.nullcontext():
            yield device
    finally:
        # Once removed, its number may be another's.
        if not device.removed and device.sysfs.exists():
            remove_zram(device)


def remove_zram(device):
    device.removed = True
    when_free(lambda: (device.sysfs / "reset").write_text("1"))
    when_free(lambda: pathlib.Path("/sys/class/zram-control/hot_remove").write_text(device.name.removeprefix("zram")))


def loop_control(request, device):
    with open("/dev/loop-control") as control:
        when_free(lambda: fcntl.ioctl(control, request, int(device.name.removeprefix("loop"))))


@contextlib.contextmanager
def removable_loop():
    """A loop device that nobody holds, and a function that removes the device itself."""
    with backing_file("/dev/shm", MIB) as file, loop_on(file, lock=False) as device:
        device.file = file

        def remove():
            run("losetup", "-d", device.path)
            loop_control(LOOP_CTL_REMOVE, device)
        try:
            yield device, remove
        finally:
            if not device.sysfs.exists():
                loop_control(LOOP_CTL_ADD, device)


class ManyLoops(list):
    """@n loop devices on one small file, with numbers that nobody else uses, and a pattern that matches them."""

    def __init__(self, n):
        self.base = 1000 * random.randrange(100, 1000)
        self.pattern = f"loop{self.base // 1000}[0-9][0-9][0-9]"
        super().__init__(Device(f"loop{self.base + i}") for i in range(n))

    def attach(self, device):
        loop_control(LOOP_CTL_ADD, device)
        run("losetup", "--direct-io=on", device.path, self.file)

    @staticmethod
    def remove(device):
        subprocess.run(["losetup", "-d", device.path], stderr=subprocess.DEVNULL)
        loop_control(LOOP_CTL_REMOVE, device)


@contextlib.contextmanager
def many_loops(n):
    devices = ManyLoops(n)
    with backing_file("/dev/shm", MIB) as devices.file:
        try:
            for device in devices:
                devices.attach(device)
            yield devices
        finally:
            for device in devices:
                if device.sysfs.exists():
                    devices.remove(device)


@contextlib.contextmanager
def removable_zram():
    with zram(MIB, lock=False) as device:
        yield device, lambda: remove_zram(device)


@contextlib.contextmanager
def partition(disk, number, start, size):
    """Part of a disk, in bytes, made known to the kernel without a table on the disk."""
    run("addpart", disk.path, number, start // 512, size // 512)
    name = f"{disk.name}p{number}"
    try:
        yield Device(name, disk.sysfs / name)
    finally:
        run("delpart", disk.path, number)


@contextlib.contextmanager
def frozen_folder(size):
    """A folder in a file system of its own that can be frozen: gives it, a function that holds back its writes, and one that releases them."""
    with contextlib.ExitStack() as undo:
        lower = undo.enter_context(loop(size))
        run("mkfs.ext4", "-q", "-F", lower.path)
        folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="blklat-test-"))
        run("mount", lower.path, folder)
        undo.callback(unmount, folder)
        # Whatever happens, no process may be left waiting for it.
        undo.callback(subprocess.run, ["fsfreeze", "-u", folder], stderr=subprocess.DEVNULL)
        yield pathlib.Path(folder), lambda: run("fsfreeze", "-f", folder), lambda: run("fsfreeze", "-u", folder)


@contextlib.contextmanager
def frozen_loop(size=32 * MIB):
    """A loop device on a file in such a folder, and what holds its writes back and releases them."""
    with frozen_folder(2 * size) as (folder, freeze, thaw), backing_file(folder, size) as file, loop_on(file, direct=False) as device:
        try:
            yield device, freeze, thaw
        finally:
            subprocess.run(["fsfreeze", "-u", folder], stderr=subprocess.DEVNULL)
