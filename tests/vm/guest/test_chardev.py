# SPDX-License-Identifier: GPL-2.0-only
"""/dev/blklat itself: what it refuses, with which errno, and that sessions don't harm each other."""
import concurrent.futures
import contextlib
import ctypes
import errno
import mmap
import os
import random
import subprocess

import abi
import pytest
from abi import NODE, OPS, Session, a_watch
from guest import under_load, virtio
from load import BLKLAT, Blklat, assert_all_counted, fio

NOBODY = 65534


@contextlib.contextmanager
def refused(error, what=""):
    with pytest.raises(OSError) as e:
        yield
    assert errno.errorcode[e.value.errno] == error, what


@pytest.fixture
def other():
    """Another disk, open."""
    with open(virtio().path, "rb", buffering=0) as there:
        yield there.fileno()


# --- what it refuses ---------------------------------------------------------------------------


def test_version(device):
    with Session() as s:
        assert int.from_bytes(s.ioctl(abi.IOC_VERSION, bytes(4)), "little") == abi.VERSION


def test_who_may_open_it(device):
    for flags in os.O_RDONLY, os.O_WRONLY:
        with refused("EACCES"):
            Session(flags)
    assert os.stat(NODE).st_mode & 0o777 == 0o600
    tried = subprocess.run([BLKLAT, "--engine", "kmod", "--dev", device.name, "--count", "1"], capture_output=True,
                           text=True, user=NOBODY)
    assert tried.returncode == 2
    assert tried.stderr == "blklat live: not permitted to open /dev/blklat: run it as root\n"


# Each limit is in kmod/session_kunit.c; here is what only a system call can be given, and one refusal of each kind.
SETTINGS = {
    "another version": ({"version": abi.VERSION - 1}, "EPROTO"), "version 0": ({"version": 0}, "EPROTO"),
    "no address": ({"watch": 0}, "EFAULT"), "kernel address": ({"watch": 0xffffffff81000000}, "EFAULT"),
    "absurdly many": ({"watches": 2 ** 32 - 1}, "E2BIG"), "scale": ({"scale": 7}, "EINVAL"),
    "memory for notes": ({"slow_places": 2, "notes": 1 << 26}, "ENOMEM"),
}


def test_bad_setup(disk):
    for name, (settings, error) in SETTINGS.items():
        with Session() as s:
            with refused(error, name):
                s.setup(a_watch(disk), **settings)
            s.setup(a_watch(disk))  # nothing was done before


WATCHES = {
    "stage": ({"stage": 3}, "EINVAL"), "queues": ({"queues": 65537, "stride": 1 << 20}, "E2BIG"),
    "memory": ({"queues": 64, "stride": 1 << 20}, "ENOMEM"), "negative fd": ({"fd": -1}, "EBADF"), "closed fd": ({"fd": 1000}, "EBADF"),
}


def test_bad_watch(disk):
    for name, (fields, error) in WATCHES.items():
        watch = a_watch(disk)
        for key, value in fields.items():
            setattr(watch, key, value)
        with Session() as s:
            with refused(error, name):
                s.setup(watch)
            with refused(error, name):
                s.setup(watch, a_watch(disk, abi.TOTAL))
            s.setup(a_watch(disk))


def test_no_disk(device, tmp_path):
    (tmp_path / "file").write_text("")
    for path in "/dev/null", tmp_path, tmp_path / "file", NODE:
        fd = os.open(path, os.O_RDONLY if path != NODE else os.O_RDWR)
        with Session() as s, refused("ENOTBLK"):
            s.setup(a_watch(fd))
        os.close(fd)


def test_twice_the_same(disk):
    with Session() as s:
        with refused("EEXIST"):
            s.setup(a_watch(disk), a_watch(disk))
        with refused("EINVAL"):
            s.setup(a_watch(disk), a_watch(disk, abi.QUEUE, stride=256))
        s.setup(a_watch(disk), a_watch(disk, abi.QUEUE), a_watch(disk, abi.TOTAL))


def test_order_of_life(disk):
    with Session() as s:
        with refused("EINVAL"):
            s.ioctl(abi.IOC_START)
        with refused("EINVAL"):
            s.ioctl(abi.IOC_BIOS, abi.Bios())
        with refused("EINVAL"):
            s.ioctl(abi.IOC_WAIT)
        with refused("EINVAL"):
            s.map(mmap.PAGESIZE)
        with refused("ENOTTY"):
            s.ioctl(abi.number(0, 10, 0))
        s.setup(a_watch(disk))
        with refused("EBUSY"):
            s.setup(a_watch(disk))
        with refused("EINVAL"):
            s.ioctl(abi.IOC_BIOS, abi.Bios(watches=1))  # no stage total
        assert s.ioctl(abi.IOC_WAIT) == 0
        for number, argument in (abi.IOC_ADD, a_watch(disk)), (abi.IOC_REMOVE, 0), (abi.IOC_MOVE, abi.Move()):
            with refused("EINVAL"):
                s.ioctl(number, argument)
        s.ioctl(abi.IOC_START)
        with refused("EBUSY"):
            s.ioctl(abi.IOC_START)


# For a session that watches a disk at both stages of requests, with room for one watch and its slots.
ADDITIONS = {
    "number": ({"number": 3}, "EINVAL"), "used number": ({"number": 1}, "EEXIST"), "stage": ({"stage": 3}, "EINVAL"),
    "shared tags": ({"shared_tags": 2}, "EINVAL"), "queues": ({"queues": 1 << 17}, "E2BIG"), "slots": ({"first_slot": 8224}, "EINVAL"),
    "place": ({"first_slot": 8208}, "EINVAL"), "closed fd": ({"fd": 1000}, "EBADF"),
    "total": ({"stage": abi.TOTAL, "queues": 0, "stride": 0, "first_slot": 0}, "ENOSPC"),
}
MOVES = {
    "number": ({"number": 2}, "EINVAL"), "queues": ({"queues": 1 << 17}, "E2BIG"), "stride": ({"stride": 1000}, "EINVAL"),
    "shared tags": ({"shared_tags": 2}, "EINVAL"), "slots": ({"queues": 9}, "EINVAL"), "place": ({"first_slot": 8208}, "EINVAL"),
}


def changed(structure, fields):
    for key, value in fields.items():
        setattr(structure, key, value)
    return structure


def test_bad_changes(disk, other):
    with Session() as s:
        s.begin(a_watch(disk), a_watch(disk, abi.QUEUE), room=1, more_slots=8192)
        for name, (fields, error) in ADDITIONS.items():
            with refused(error, name):
                s.ioctl(abi.IOC_ADD, changed(a_watch(other), {"number": 2, "first_slot": 8192} | fields))
        with open("/dev/null") as null:
            for fd, error in (null.fileno(), "ENOTBLK"), (disk, "EEXIST"):
                with refused(error):
                    s.add(a_watch(fd), 2, 8192)
        for name, (fields, error) in MOVES.items():
            with refused(error, name):
                s.ioctl(abi.IOC_MOVE, changed(abi.Move(0, 8, 1024, 8192), fields))
        for number, argument, error in ((abi.IOC_ADD, 8, "EFAULT"), (abi.IOC_MOVE, 8, "EFAULT"), (abi.IOC_REMOVE, 2, "EINVAL")):
            with refused(error):
                s.ioctl(number, argument)
        s.add(a_watch(other), 2, 8192)
        s.ioctl(abi.IOC_REMOVE, 2)
        with refused("EINVAL"):
            s.ioctl(abi.IOC_REMOVE, 2)


def test_bad_mappings(disk):
    with Session() as s:
        size = s.setup(a_watch(disk)).bytes
        for arguments in ((size, mmap.MAP_PRIVATE), (size + mmap.PAGESIZE,), (size - mmap.PAGESIZE,),
                          (size, mmap.MAP_SHARED, mmap.PAGESIZE)):
            with refused("EINVAL"):
                s.map(*arguments)
        s.map(size)
        h = s.header()
        assert (h.magic.to_bytes(6, "little"), h.version, h.watches, h.scale, h.bytes) == (b"blklat", abi.VERSION, 1, 0, size)
        with refused("EBUSY"):
            mmap.mmap(s.fd, size)


def test_bad_bios(disk):
    with Session() as s:
        s.begin(a_watch(disk, abi.TOTAL))
        for bios, error in ((abi.Bios(watches=2), "EINVAL"), (abi.Bios(watches=1, reserved=1), "EINVAL"),
                            (abi.Bios(watches=1), "EFAULT")):
            with refused(error):
                s.ioctl(abi.IOC_BIOS, bios)


def test_bad_cgroups(disk):
    with Session() as s:
        with refused("EINVAL"):
            s.ioctl(abi.IOC_CGROUPS, abi.Cgroups(n=3))  # before SETUP
        s.begin(a_watch(disk), by=abi.BY_CGROUP, cgroups=3)
        for cgroups, error in ((abi.Cgroups(n=2), "EINVAL"), (abi.Cgroups(n=4), "EINVAL"), (abi.Cgroups(n=3, reserved=1), "EINVAL"),
                               (abi.Cgroups(n=3), "EFAULT")):
            with refused(error):
                s.ioctl(abi.IOC_CGROUPS, cgroups)
    with Session() as s:
        s.begin(a_watch(disk))
        with refused("EINVAL"):
            s.ioctl(abi.IOC_CGROUPS, abi.Cgroups(n=0))  # not divided so


def leaving(n=1, reserved=0, **entry):
    one = abi.Leaving(**{"id": 1, "number": 0, "step": 0} | entry)
    leave = abi.Leave(leaving=ctypes.addressof(one), n=n, reserved=reserved)
    leave.one = one  # for as long
    return leave


def test_bad_leaving_cgroups(disk):
    with Session() as s:
        with refused("EINVAL"):
            s.ioctl(abi.IOC_LEAVE, leaving())  # before SETUP
        s.begin(a_watch(disk), by=abi.BY_CGROUP, cgroups=3)
        for leave, error in ((leaving(n=0), "EINVAL"), (leaving(n=4), "EINVAL"), (leaving(reserved=1), "EINVAL"), (leaving(id=0), "EINVAL"),
                             (leaving(number=3), "EINVAL"), (leaving(step=3), "EINVAL"), (abi.Leave(n=1), "EFAULT")):
            with refused(error):
                s.ioctl(abi.IOC_LEAVE, leave)
        nobodys = leaving(number=2)
        s.ioctl(abi.IOC_LEAVE, nobodys)
        assert nobodys.one.step == 3
    with Session() as s:
        s.begin(a_watch(disk))
        with refused("EINVAL"):
            s.ioctl(abi.IOC_LEAVE, leaving())  # not divided so


# --- several at once ---------------------------------------------------------------------------


def test_sessions_side_by_side(device, disk):
    """Each counts all IO of its own device, from its own start to its own end."""
    with Session() as first, Session() as second, Session() as third:
        first.begin(a_watch(disk), scale=6)
        second.begin(a_watch(disk, abi.TOTAL), a_watch(disk), scale=0)
        fio(device, rw="randread", number_ios=1000, thread=1)
        third.begin(a_watch(disk), scale=3)
        fio(device, rw="randread", number_ios=500, thread=1)
        extra = first.ios() - 1500  # what opening and closing the device reads
        assert 0 <= extra < 20
        assert second.ios(0) == second.ios(1) == 1500 + extra
        assert 500 <= third.ios() <= 500 + extra
        first.close()
        first.fd = os.open("/dev/null", os.O_RDONLY)
        first.at = None
        fio(device, rw="randread", number_ios=100, thread=1)
        assert second.ios(1) >= 1600 + extra


def test_series_go_from_cpu_to_cpu(device, disk):
    """
    Each of two series belongs to a CPU, to none, to another CPU, at any moment of the load; only one CPU has it at a time, as
    is waited for in between. Nothing is lost.
    """
    with Session() as shared, Session() as s:
        shared.begin(a_watch(disk))
        s.begin(a_watch(disk), spare=2)
        shared_before, before = shared.ios(), s.ios()
        with under_load(device):
            for turn in range(100):
                for cpu in range(2):
                    s.give(0, cpu)
                s.ioctl(abi.IOC_WAIT)
                for cpu in range(2):
                    s.give(OPS + (cpu + turn) % 2, cpu)
                s.ioctl(abi.IOC_WAIT)  # as long as without series of their own
        assert s.ios() - before == shared.ios() - shared_before > 1000
        counted = [s.in_series(number) for number in (0, OPS, OPS + 1)]
        assert all(counted), counted


def test_come_and_go_under_load(device, disk, other):
    """A device under load enters, moves and leaves at any moment: none of its IOs is taken for lost. Then each is counted."""
    with Session() as alone, Session() as s:
        alone.begin(a_watch(disk), a_watch(disk, abi.TOTAL))
        s.begin(a_watch(other), a_watch(other, abi.TOTAL), room=2, more_slots=2 * 8192)
        with under_load(device):
            for turn in range(50):
                s.add(a_watch(disk), 2, 8192)
                s.add(a_watch(disk, abi.TOTAL), 3)
                s.move(2, 16384)
                if turn < 49:
                    s.ioctl(abi.IOC_REMOVE, 2 + turn % 2)
                    s.ioctl(abi.IOC_REMOVE, 3 - turn % 2)
        assert not any(s.account(cell, watch) for cell in (1, 2, 4) for watch in (2, 3))  # lost, but for lack of a slot
        assert s.account(8, 3) == s.ios(3) > 1000  # started
        before = [(alone.ios(i), s.ios(2 + i)) for i in range(2)]
        fio(device, rw="randread", number_ios=1000, thread=1)
        counted = [(alone.ios(i) - before[i][0], s.ios(2 + i) - before[i][1]) for i in range(2)]
        assert counted[0][0] == counted[0][1] == counted[1][0] == counted[1][1] >= 1000, counted


def test_changes_at_once(device, disk, other):
    """Threads add, move and remove the same watch beside calls that read. Each change is done or refused as a whole."""
    done = dict.fromkeys((abi.IOC_ADD, abi.IOC_MOVE, abi.IOC_REMOVE), 0)

    def change(s, seed):
        chance = random.Random(seed)
        for _ in range(100):
            number, argument = chance.choice(((abi.IOC_ADD, changed(a_watch(other), {"number": 1, "first_slot": 8192})),
                                              (abi.IOC_MOVE, abi.Move(1, 8, 1024, 16384)), (abi.IOC_REMOVE, 1)))
            try:
                s.ioctl(number, argument)
                done[number] += 1
            except OSError as e:
                assert e.errno == (errno.EEXIST if number == abi.IOC_ADD else errno.EINVAL)
            s.ioctl(abi.IOC_WAIT)

    with Session() as alone, Session() as s:
        alone.begin(a_watch(disk))
        s.begin(a_watch(disk), room=1, more_slots=2 * 8192)
        before = alone.ios(), s.ios()
        with under_load(device), concurrent.futures.ThreadPoolExecutor() as pool:
            for result in [pool.submit(change, s, seed) for seed in range(4)]:
                result.result()
        assert alone.ios() - before[0] == s.ios() - before[1] > 1000
        assert 0 <= done[abi.IOC_ADD] - done[abi.IOC_REMOVE] <= 1 <= done[abi.IOC_MOVE], done


def test_garbage_in_the_mapping(device, disk):
    """The figures belong to userspace, not to the kernel: random bytes all over them harm nobody else."""
    with Session() as good, Session() as spoiled, under_load(device):
        good.begin(a_watch(disk), a_watch(disk, abi.QUEUE), a_watch(disk, abi.TOTAL))
        at = spoiled.begin(a_watch(disk), a_watch(disk, abi.QUEUE), a_watch(disk, abi.TOTAL))
        for seed in range(20):
            at[:] = random.Random(seed).randbytes(len(at))
        at[:] = b"\xff" * len(at)
        at[:] = bytes(len(at))
        assert good.ios(0) > 0
        assert sum(good.account(cell) for cell in (1, 2, 3, 4)) == 0  # lost, for any reason
    with Blklat(device, args=("--engine", "kmod")) as b:
        fio(device, rw="randread", number_ios=1000, thread=1)
        b.next()
    assert_all_counted(b)
    assert b.ops() == {"read": 1000}
