#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""
The first process of a user-mode kernel with KASAN and lockdep, into which the module is built. It tests /dev/blklat, probes
and removal with real IO on null block devices. Each function below is a case; what a case prints is its failure. uml.py
boots it, and reads the lines, which are a suite's, and the kernel's log. It is one process of one thread: at a fork user-mode Linux 6.1 walks the
process's memory without its lock (force_flush_all()), which lockdep would report.
"""
import contextlib
import ctypes
import errno
import mmap
import os
import pathlib
import random
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/vm/guest"))

import abi  # noqa: E402
import aio  # noqa: E402
from abi import Session, a_watch  # noqa: E402

CONFIG = pathlib.Path("/sys/kernel/config")
POWER_OFF = 0x4321fedc
REQUEUED, NO_START, OVERWRITTEN, TABLE_FULL, BEFORE = 0, 1, 2, 4, 5
STARTED = 8
# Timers complete the IOs, some time after the calls.
SLOW = {"size": 256, "irqmode": 2, "completion_nsec": 5000000, "hw_queue_depth": 64}
BATCH = 64
PLACES = 128
STAGES = abi.DEVICE, abi.QUEUE, abi.TOTAL
libc = ctypes.CDLL(None, use_errno=True)


def mount():
    for kind, at in ("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("configfs", CONFIG), ("tmpfs", "/tmp"):
        if libc.mount(b"none", str(at).encode(), kind.encode(), 0, None):
            raise OSError(ctypes.get_errno(), f"mount {kind}")


class Null:
    """A single null block device."""

    def __init__(self, name, **attributes):
        self.name, self.path = name, f"/dev/{name}"
        self.folder = CONFIG / "nullb" / name
        self.folder.mkdir()
        for key, value in (SLOW | attributes | {"power": 1}).items():
            (self.folder / key).write_text(f"{value}\n")
        self.set_scheduler("none")

    def set_scheduler(self, name):
        pathlib.Path(f"/sys/block/{self.name}/queue/scheduler").write_text(name)

    def remove(self):
        self.folder.rmdir()

    def reads(self):
        return int(pathlib.Path(f"/sys/block/{self.name}/stat").read_text().split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.folder.exists():
            self.remove()


@contextlib.contextmanager
def opened(device):
    fd = os.open(device.path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


class Load:
    """Reads that end in interrupts, in the middle of whatever happens meanwhile."""

    def __init__(self, *devices):
        self.reads = [aio.Reads(device, BATCH) for device in devices]
        self.more()

    def more(self):
        """Sends the next batch."""
        for reads in self.reads:
            reads.wait()
            reads.send(BATCH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for reads in self.reads:
            reads.__exit__()


def all_stages(fd):
    return [a_watch(fd, stage, queues=4, stride=256) for stage in STAGES]


def lost(session, watch):
    return sum(session.account(cell, watch) for cell in range(NO_START, TABLE_FULL + 1))


def read(device, n):
    fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
    with open(fd, "rb", buffering=0), mmap.mmap(-1, 4096) as page:
        for i in range(n):
            assert os.preadv(fd, [page], i * 4096) == 4096


# --- cases -------------------------------------------------------------------------------------


def exact():
    """Exactly what was read is counted, at every stage that it passes."""
    with Null("nullb0") as device, opened(device) as fd, Session() as s, Session() as parted, Session() as slow:
        s.begin(*all_stages(fd), idle_gap_ns=50000000)
        slow.begin(*all_stages(fd), slow_places=PLACES, notes=256, owners=1)
        slow.all_slow()
        parted.begin(*all_stages(fd), idle_gap_ns=50000000, by=abi.BY_SIZE)
        for _ in range(4):
            read(device, 50)
            time.sleep(0.1)
        results = aio.read_all(device, 64, 200)
        done, again = results.count(aio.BYTES), results.count(-errno.EAGAIN)
        assert done + again == 264 and again > 0, (done, again)
        assert (s.ios(0), s.ios(2)) == (200 + done, 200 + done), (s.ios(0), s.ios(2), done)
        assert s.account(REQUEUED, 2) == again and s.account(STARTED, 2) == 200 + done + again
        assert not any(lost(s, watch) for watch in range(3))
        # All have 4 KiB, which is the first part.
        rows = [parted.ios(row) for row in range(3 * (1 + abi.SIZE_PARTS))]
        wanted = {stage * (1 + abi.SIZE_PARTS) + 1: s.ios(stage) for stage in range(3)}
        assert rows == [wanted.get(row, 0) for row in range(len(rows))], rows
        assert not any(lost(parted, row) for row in range(len(rows)))
        told = slow.told(PLACES)
        assert [slow.untold(watch) + sum(io.watch == watch for io in told) for watch in range(3)] == [s.ios(watch) for watch in range(3)]
        assert len(told) == PLACES and {(io.submitter, io.bytes) for io in told} == {(os.getpid(), 4096)}


def sessions_come_and_go():
    """Sessions are set up, mapped, read and closed at any moment, with IO in flight that began before and ends after."""
    chance = random.Random(1)
    with Null("nullb0") as one, Null("nullb1") as other, opened(one) as a, opened(other) as b, Load(one, other) as load:
        other.set_scheduler("mq-deadline")
        for i in range(60):
            load.more()
            with Session() as s:
                slow = {"slow_places": 64, "notes": 64, "owners": 1} if i % 3 else {}
                setup = s.setup(*all_stages(a), *all_stages(b), scale=i % 7, idle_gap_ns=i % 2 * 1000000, **slow)
                if chance.random() < 0.2:
                    continue
                s.map(setup.bytes)
                if chance.random() < 0.2:
                    continue
                s.ioctl(abi.IOC_START)
                for _ in range(4):
                    load.more()
                    s.ioctl(abi.IOC_BIOS, abi.Bios(ctypes.addressof((ctypes.c_uint64 * 18)()), 6, 0))
                assert min(s.ios(watch) for watch in (0, 2, 3, 4, 5)) >= 3 * BATCH
                assert not any(lost(s, watch) for watch in range(6))


def spoiled_mapping():
    """Garbage in one session's memory harms no other session."""
    with Null("nullb0") as device, opened(device) as fd, Load(device) as load, Session() as good, Session() as spoiled:
        good.begin(*all_stages(fd), idle_gap_ns=1000)
        at = spoiled.begin(*all_stages(fd), idle_gap_ns=1000, by=abi.BY_SIZE, slow_places=64, notes=64, owners=1)
        for seed in range(10):
            load.more()
            at[:] = random.Random(seed).randbytes(len(at))
        at[:] = b"\xff" * len(at)
        assert good.ios(0) >= 9 * BATCH and not any(lost(good, watch) for watch in range(3))


def removed_under_load():
    """A device with sessions is removed; what comes at its address is not counted for it."""
    with Null("nullb0") as stays, opened(stays) as fd, Session() as old:
        with Null("nullb1") as device, opened(device) as gone:
            old.begin(*all_stages(fd), *all_stages(gone))
            read(device, 10)
        counted = old.ios(3)
        assert counted >= 10
        for _ in range(15):
            with Null("nullb1") as device, Load(device) as load, Session() as s:
                with opened(device) as there:
                    s.begin(*all_stages(fd), *all_stages(there), idle_gap_ns=1000000)
                    read(stays, 5)
                    load.more()
                device.remove()
                assert s.ios(3) >= BATCH and not any(lost(s, watch) for watch in range(6))
            assert old.ios(3) == counted
        assert old.ios(0) >= 75


def own_series():
    """The CPU gets series for itself, and loses them, at any moment. Nothing is lost."""
    chance = random.Random(2)
    with Null("nullb0") as device, opened(device) as fd, Session() as shared, Session() as s:
        try:
            s.ioctl(abi.IOC_WAIT)
        except OSError as error:
            assert error.errno == errno.EINVAL
        else:
            raise AssertionError("waits without a session")
        shared.begin(*all_stages(fd))
        s.begin(*all_stages(fd), spare=6)
        with Load(device) as load:
            for _ in range(40):
                load.more()
                watch = chance.randrange(3)
                s.give(chance.choice((0, 15 + watch, 18 + watch)), 0, watch)
                if chance.random() < 0.5:
                    s.ioctl(abi.IOC_WAIT)
        own = [s.in_series(number) for number in range(15, 21)]
        assert [s.ios(watch) for watch in range(3)] == [shared.ios(watch) for watch in range(3)]
        # Stage queue is not passed without a scheduler.
        assert s.ios(0) >= 40 * BATCH and all(own[i] for i in (0, 2, 3, 5)), own


def devices_come_and_go():
    """A session that counts gets devices, loses them, removed or not, and moves them, all under load. The one that stays is exact."""
    chance = random.Random(3)
    with Null("nullb0") as stays, opened(stays) as fd, Session() as alone, Session() as s:
        stays.set_scheduler("mq-deadline")
        alone.begin(*all_stages(fd))
        s.begin(*all_stages(fd), room=3, more_slots=4 * 1024)
        with Load(stays) as load:
            for turn in range(30):
                before = [s.ios(watch) for watch in range(3, 6)]
                with Null("nullb1") as device, Load(device) as more:
                    with opened(device) as there:
                        s.clear_slots(2048, 1024)
                        for watch in chance.sample(all_stages(there), 3):
                            s.add(watch, 3 + watch.stage, 2048 if watch.queues else 0, clear=False)
                    for i in range(3):
                        load.more()
                        more.more()
                        # The requests in flight then are counted as begun before.
                        if i == 0 and chance.random() < 0.5:
                            s.move(chance.choice((3, 4)), 4096, queues=4, stride=256)
                    if turn % 2:
                        device.remove()
                    for number in chance.sample((3, 4, 5), 3):
                        s.ioctl(abi.IOC_REMOVE, number)
                counted = [s.ios(watch) - before[watch - 3] for watch in range(3, 6)]
                assert counted[0] >= BATCH and counted[2] >= 2 * BATCH and not counted[1], counted
                assert not any(s.account(cell, watch) for cell in (NO_START, OVERWRITTEN, TABLE_FULL) for watch in range(3, 6))
        assert [s.ios(watch) for watch in range(3)] == [alone.ios(watch) for watch in range(3)]
        assert s.ios(0) >= 90 * BATCH and not any(lost(s, watch) for watch in range(3))


CASES = exact, sessions_come_and_go, spoiled_mapping, removed_under_load, own_series, devices_come_and_go


def main():
    mount()
    print(f"    # Subtest: real_load\n    1..{len(CASES)}")
    for number, case in enumerate(CASES, 1):
        try:
            case()
            verdict = "ok"
        except Exception:
            traceback.print_exc(file=sys.stdout)
            verdict = "not ok"
        print(f"    {verdict} {number} {case.__name__}", flush=True)
    print("ok 1 real_load")


if __name__ == "__main__":
    try:
        main()
    finally:
        sys.stdout.flush()
        libc.reboot(POWER_OFF)
