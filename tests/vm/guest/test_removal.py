# SPDX-License-Identifier: GPL-2.0-only
"""The device behind a name goes away, comes back or is replaced, under load and with both engines watching."""
import contextlib
import errno
import os
import pathlib
import threading
import time

from abi import Session, a_watch
from devices import Delta
from engines import blklat_module, both
from faulty import ENDLESS, SCSI_DEBUG, meanwhile, null_blks, read
from guest import DEEP, at_least, nvme
from load import Fio, fio, wait_until
from stack import scsi_debug

# Long enough that something is always in flight.
SLOW = {"irqmode": 2, "completion_nsec": 2000000}
LOST = range(1, 5)  # BLKLAT_NO_START to BLKLAT_TABLE_FULL


def cpu(number, online):
    pathlib.Path(f"/sys/devices/system/cpu/cpu{number}/online").write_text(f"{int(online)}\n")


# --- changed ---------------------------------------------------------------------------------


def assert_counted(e, device, stat, done):
    """All of fio's IO is counted, no matter what happened meanwhile."""
    ios, size = (sum(getattr(f, of)(op) for f in done for op in ("read", "write")) for of in ("ios", "bytes"))
    s = stat()
    assert not any(f.errors for f in done)
    a = e.agree(device, "device")
    assert a["started"] == a["completed"] == a["kernel_ios"] == s["ios"] == ios - s["read_merges"] - s["write_merges"]
    assert e.agree(device, "total")["completed"] == ios
    for stage in "device", "total":
        assert e.kmod.total("bytes", None, device, stage) == size
    print(a)


@contextlib.contextmanager
def restored_nvme():
    """The nvme disk and a function that removes it; at the end the disk is there again for the next test."""
    device = nvme()
    pci = (device.sysfs / "device/device").resolve()

    def remove():
        (pci / "remove").write_text("1\n")
    try:
        yield device, remove
    finally:
        if pci.exists() and not device.sysfs.exists():
            remove()
        pathlib.Path("/sys/bus/pci/rescan").write_text("1\n")
        nvme()


def change_queues(device, n):
    """Besides these there may be others for polled IO, which stay."""
    def hardware_queues():
        return len(list((device.sysfs / "mq").iterdir()))

    others = hardware_queues() - int((device.folder / "submit_queues").read_text())
    device.set("submit_queues", n)
    assert hardware_queues() == n + others


def keeps_its_queues(device):
    """As null_blk of older kernels does."""
    with contextlib.suppress(OSError):
        change_queues(device, 2)
        return False
    return True


def reset(device):
    controller = (device.sysfs / "device").resolve()
    (controller / "reset_controller").write_text("1\n")
    wait_until(lambda: (controller / "state").read_text().strip() == "live", "live controller")


def test_changed_under_load():
    """
    A device's number of queues; a CPU goes and comes back; a drive is reset: IO in flight is issued again, and the controller's
    queues are made anew. 5.10 loses an IO when this disk is reset under load, watched or not, and then gives the disk up.
    """
    cpus = [lambda: cpu(1, False), lambda: cpu(1, True)]
    with null_blks(SLOW | {"submit_queues": 1}, SLOW | {"submit_queues": 2}) as (null, two_queues), restored_nvme() as (drive, _):
        changes = [(two_queues, cpus), (drive, cpus)]
        if not keeps_its_queues(null):
            changes.append((null, [lambda: change_queues(null, 1), lambda: change_queues(null, 2)]))
        if at_least(6, 1):
            changes.append((drive, [lambda: reset(drive), lambda: time.sleep(0.5)]))
        stats = {device: Delta(device) for device, _ in changes}
        done = {device: [] for device in stats}
        try:
            with both(*stats, stage="device,total") as e:
                for device, steps in changes:
                    done[device].append(meanwhile(device, *steps))
                e.settle()
        finally:
            cpu(1, True)
        for device, stat in stats.items():
            assert_counted(e, device, stat, done[device])


# --- removed ---------------------------------------------------------------------------------


@contextlib.contextmanager
def removables():
    """A null_blk that stays, and devices of several kinds with a function that removes each."""
    with null_blks(SLOW, SLOW) as (stays, null), scsi_debug(delay=1) as scsi, restored_nvme() as (drive, unplug):
        yield stays, {null: null.remove, scsi: lambda: (SCSI_DEBUG / "add_host").write_text("-1\n"), drive: unplug}


def assert_gone(e, device):
    """Both reported it once and counted nothing afterwards; until then each interval added up."""
    for b in e:
        assert b.stderr.count(f"{device.name} went away") == 1
        for line in b.of(device):
            a = line["accounting"]
            assert abs(a["started"] - a["completed"] - a["in_flight"]) <= a["moved"], line
            assert (a["lost"], a["lost_by"]) == (0, {}), line
        assert b.of(device)[-1]["accounting"]["completed"] > 0


def remove_under_load(e, device, remove, stays):
    """Returns how many lines each engine had for the device once both had noticed."""
    stat = Delta(device)
    with Fio(device, **ENDLESS) as load:
        for b in e:
            b.next(device)
        wait_until(lambda: stat()["ios"] and device.stat()["in_flight"], "an IO that has ended, and one in flight")
        remove()
        # All its IO fails from now on. It may hang until the last one has.
        load.wait()
    for b in e:
        b.until(lambda b=b: f"{device.name} went away" in b.stderr, "notice")
        # The notice takes another path than the lines of the same interval.
        b.next(stays)
    return [len(b.of(device)) for b in e]


def finish(e):
    """The last device is gone: both end by themselves."""
    for b in e:
        assert b.wait() == 1
        assert b.stderr.endswith("no watched device is left\n"), b.stderr


def test_removed_under_load():
    """They go one by one. The one that stays is counted exactly before and after, then it goes too."""
    with removables() as (stays, removals):
        stat = Delta(stays)
        with both(stays, *removals, interval=0.25) as e:
            read(stays, 100)
            told = {}
            for device, remove in removals.items():
                told[device] = remove_under_load(e, device, remove, stays)
                fio(stays, rw="randrw", number_ios=500, thread=1, **DEEP)
            e.settle()
            for device, lines in told.items():
                assert [len(b.of(device)) for b in e] == lines
            assert e.agree(stays)["started"] == stat()["ios"] == 100 + 500 * len(removals)
            stays.remove()
            finish(e)
        for device in removals:
            assert_gone(e, device)


# --- made again ------------------------------------------------------------------------------


def memory():
    """Bytes that the kernel has allocated: in large areas, such as a session's region, and in small ones."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
    figures = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    return [int(figures[name].split()[0]) * 1024 for name in ("VmallocUsed", "Slab")]


def begin(session, *devices):
    """Starts a session; the devices are open only until it counts."""
    with contextlib.ExitStack() as undo:
        files = [undo.enter_context(open(d.path, "rb", buffering=0)) for d in devices]
        session.begin(*(a_watch(f.fileno()) for f in files))


def one_life(stays, device, *old):
    """Makes a device and reads from it: a new session counts that, older ones do not. Returns the new session's size."""
    device.make()
    counted = [s.ios(1) for s in old]
    with Session() as s:
        begin(s, stays, device)
        before, reads = s.ios(1), device.stat()["reads"]
        read(device, 20)
        assert device.stat()["reads"] - reads == s.ios(1) - before == 20
        assert not any(s.account(cell, 1) for cell in LOST)
        device.remove()
        assert s.ios(1) - before == 20
        assert [o.ios(1) for o in old] == counted
        return s.header().bytes


def test_new_device_at_an_old_address():
    """20 times: the watched device goes, and its successor is not counted for it. In the end no memory is left allocated."""
    with null_blks({}, {}) as (stays, device), blklat_module(), Session() as old:
        without = memory()
        begin(old, stays, device)
        # A session that is left over would show.
        assert memory()[0] - without[0] > old.header().bytes / 2
        read(device, 20)
        assert old.ios(1) == 20
        device.remove()
        for _ in range(3):
            one_life(stays, device, old)
        before = memory()
        size = [one_life(stays, device, old) for _ in range(20)][0]
        read(stays, 20)
        assert (old.ios(0), old.ios(1)) == (20, 20)
        grown = [b - a for a, b in zip(before, memory())]
        print(f"session {size}, grown {grown}")
        assert grown[0] < 4 * size and grown[1] < 10 * size


def test_new_device_within_an_interval():
    """In one interval a device goes after 100 reads, and another comes and has 1000: only the first 100 are counted."""
    with null_blks({}, {}) as (stays, device):
        # However slow the machine, only the end of the run ends the interval.
        with both(stays, device, interval=600) as e:
            read(device, 100)
            device.remove()
            # How fast they notice is not tested here.
            time.sleep(0.5)
            device.make()
            read(device, 1000)
        assert_gone(e, device)
        assert [b.ops(device) for b in e] == [{"read": 100}] * 2
        assert [len(b.of(device)) for b in e] == [1, 1]


def set_up_and_remove(stays, device):
    """Both at about the same moment. Returns whether there was a session; it must count nothing of the next device."""
    device.make()
    removal = threading.Thread(target=device.remove)
    with Session() as s, open(stays.path, "rb", buffering=0) as there:
        fd = os.open(device.path, os.O_RDONLY)
        removal.start()
        try:
            s.begin(a_watch(there.fileno()), a_watch(fd))
        except OSError as e:
            assert e.errno == errno.ENODEV
            return False
        finally:
            removal.join()
            os.close(fd)
        counted = s.ios(1)
        device.make()
        read(device, 10)
        device.remove()
        assert s.ios(1) == counted
        return True


def test_set_up_while_it_is_removed():
    with null_blks({}, {}) as (stays, device), blklat_module():
        device.remove()
        done = [set_up_and_remove(stays, device) for _ in range(40)]
        print(f"{done.count(True)} set up, {done.count(False)} refused")


def test_new_device_is_not_the_old_one():
    """The same for blklat: once it has noticed the removal, a device of the same name is another one."""
    with null_blks({}, {}) as (stays, device):
        stat = Delta(stays)
        with both(stays, device, interval=0.25) as e:
            read(device, 20)
            e.settle()
            device.remove()
            for b in e:
                b.until(lambda b=b: f"{device.name} went away" in b.stderr, "notice")
            for _ in range(20):
                device.make()
                read(device, 5)
                read(stays, 5)
                device.remove()
            e.settle()
        assert_gone(e, device)
        assert [b.ops(device) for b in e] == [{"read": 20}] * 2
        assert e.agree(stays)["started"] == stat()["ios"] == 100
