# SPDX-License-Identifier: GPL-2.0-only
"""The protocol of /dev/blklat, written from the description in include/blklat/abi.h."""
import ctypes
import fcntl
import mmap
import os

NODE = "/dev/blklat"
VERSION = 20
DEVICE, QUEUE, TOTAL = range(3)
OPS = 5
ACCOUNTS = 10
BY_SIZE, SIZE_PARTS = 1, 9
BY_CGROUP = 5


class Watch(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int32), ("stage", ctypes.c_uint32), ("queues", ctypes.c_uint32),
                ("stride", ctypes.c_uint32), ("first_slot", ctypes.c_uint32),
                ("number", ctypes.c_uint32), ("shared_tags", ctypes.c_uint32)]


class Setup(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("watches", ctypes.c_uint32), ("watch", ctypes.c_uint64),
                ("scale", ctypes.c_uint32), ("max_bios", ctypes.c_uint32), ("bytes", ctypes.c_uint64),
                ("idle_gap_ns", ctypes.c_uint64), ("by", ctypes.c_uint32), ("cgroups", ctypes.c_uint32),
                ("slow_places", ctypes.c_uint32), ("notes", ctypes.c_uint32), ("owners", ctypes.c_uint32),
                ("spare", ctypes.c_uint32), ("room", ctypes.c_uint32), ("slots", ctypes.c_uint32)]


class Move(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint32), ("queues", ctypes.c_uint32), ("stride", ctypes.c_uint32),
                ("first_slot", ctypes.c_uint32), ("shared_tags", ctypes.c_uint32)]


class Bios(ctypes.Structure):
    _fields_ = [("counts", ctypes.c_uint64), ("watches", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Cgroups(ctypes.Structure):
    _fields_ = [("cgroups", ctypes.c_uint64), ("n", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Leaving(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("number", ctypes.c_uint32), ("step", ctypes.c_uint32)]


class Leave(ctypes.Structure):
    _fields_ = [("leaving", ctypes.c_uint64), ("n", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Header(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64)] + [(name, ctypes.c_uint32) for name in (
        "version", "cpus", "watches", "scale", "series_bytes", "epoch", "series", "pad")] + [(name, ctypes.c_uint64) for name in (
            "series_offset", "own_offset", "accounts_offset", "slots_offset", "idle_offset", "slow_from_offset", "slow_untold_offset",
            "slow_ring_offset", "bytes")]


class Slow(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "end_ns", "latency_ns", "queue_ns", "device_ns", "sector", "cgroup")] + [(name, ctypes.c_uint32) for name in (
            "watch", "bytes", "error", "submitter")] + [(name, ctypes.c_uint16) for name in (
                "hw_queue", "start_cpu", "end_cpu")] + [("op", ctypes.c_uint8), ("known", ctypes.c_uint8), ("comm", ctypes.c_char * 16),
                                                        ("depth", ctypes.c_uint32), ("beside", ctypes.c_uint8),
                                                        ("flags", ctypes.c_uint8), ("pages", ctypes.c_uint8), ("pad1", ctypes.c_uint8),
                                                        ("inode", ctypes.c_uint64), ("file_dev", ctypes.c_uint32), ("names", ctypes.c_char * 132),
                                                        ("next", ctypes.c_uint32), ("pad", ctypes.c_uint32)]


def number(direction, n, size):
    """_IOC() of include/uapi/asm-generic/ioctl.h"""
    return direction << 30 | size << 16 | 0xb5 << 8 | n


IOC_VERSION = number(2, 0, 4)
IOC_SETUP = number(3, 1, ctypes.sizeof(Setup))
IOC_START = number(0, 2, 0)
IOC_BIOS = number(1, 3, ctypes.sizeof(Bios))
IOC_CGROUPS = number(1, 4, ctypes.sizeof(Cgroups))
IOC_LEAVE = number(1, 5, ctypes.sizeof(Leave))
IOC_WAIT = number(0, 6, 0)
IOC_ADD = number(1, 7, ctypes.sizeof(Watch))
IOC_REMOVE = number(0, 8, 0)
IOC_MOVE = number(1, 9, ctypes.sizeof(Move))


def a_watch(fd, stage=DEVICE, queues=8, stride=1024):
    return Watch(fd=fd, stage=stage) if stage == TOTAL else Watch(fd, stage, queues, stride)


class Session:
    """An open /dev/blklat."""

    def __init__(self, flags=os.O_RDWR):
        self.fd = os.open(NODE, flags | os.O_CLOEXEC)
        self.at = None
        self.given = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.at:
            self.at.close()
        os.close(self.fd)

    def ioctl(self, n, arg=0):
        return fcntl.ioctl(self.fd, n, arg)

    def setup(self, *watches, more_slots=0, **settings):
        """Numbers the watches and gives them slots, one after the other. Returns what the kernel wrote back."""
        slots = 0
        for i, watch in enumerate(watches):
            # The two stages of a device share their slots.
            [first, *_] = [w.first_slot for w in watches[:i] if w.fd == watch.fd and w.stage != TOTAL] + [slots]
            watch.number, watch.first_slot = i, 0 if watch.stage == TOTAL else first
            slots += watch.queues * watch.stride if first == slots else 0
        array = (Watch * max(len(watches), 1))(*watches)
        setup = Setup(**({"version": VERSION, "watches": len(watches), "watch": ctypes.addressof(array),
                          "max_bios": 1024, "slots": slots + more_slots} | settings))
        self.ioctl(IOC_SETUP, setup)
        return setup

    def map(self, size, flags=mmap.MAP_SHARED, offset=0):
        self.at = mmap.mmap(self.fd, size, flags, mmap.PROT_READ | mmap.PROT_WRITE, offset=offset)
        return self.at

    def begin(self, *watches, **settings):
        """Set-up, mapping and start: returns the mapping of a session that counts."""
        self.map(self.setup(*watches, **settings).bytes)
        self.ioctl(IOC_START)
        return self.at

    def add(self, watch, number, first_slot=0, clear=True):
        watch.number, watch.first_slot = number, first_slot
        if clear:
            self.clear_slots(first_slot, watch.queues * watch.stride)
        self.ioctl(IOC_ADD, watch)

    def move(self, number, first_slot, queues=8, stride=1024):
        self.clear_slots(first_slot, queues * stride)
        self.ioctl(IOC_MOVE, Move(number, queues, stride, first_slot))

    def clear_slots(self, first, n):
        at = self.header().slots_offset + first * 16
        self.at[at:at + n * 16] = bytes(n * 16)

    def header(self):
        return Header.from_buffer_copy(self.at)

    def words(self, offset, n):
        return list((ctypes.c_uint64 * n).from_buffer_copy(self.at, offset))

    def in_series(self, number):
        """Counted IOs: the sum of the bins, which begin after eight other cells."""
        h = self.header()
        return sum(self.words(h.series_offset + number * h.series_bytes + 64, 33 * 2 ** h.scale + 2))

    def ios(self, watch=0):
        """Counted IOs of a watch, in the shared series and in those that CPUs have, or had."""
        return sum(self.in_series(watch * OPS + op) for op in range(OPS)) + sum(self.in_series(n) for n, of in self.given if of == watch)

    def give(self, number, cpu, watch=0, op=0):
        """Gives a CPU a series of its own; 0 takes it back."""
        h = self.header()
        at = h.own_offset + (cpu * h.watches + watch) * 40 + op * 4
        self.at[at:at + 4] = number.to_bytes(4, "little")
        if number:
            self.given.add((number, watch))

    def all_slow(self):
        """All slow IOs from now on, of any watch and op."""
        h = self.header()
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(self.at, h.slow_from_offset)), 0, h.watches * OPS * 8)

    def told(self, places):
        """Takes everything from the ring."""
        at, told = self.header().slow_ring_offset, []
        number = int.from_bytes(self.at[at:at + 4], "little")
        while (io := Slow.from_buffer_copy(self.at, at + 128 + number % places * ctypes.sizeof(Slow))).next == (number + 1) % 2 ** 32:
            told.append(io)
            number = (number + 1) % 2 ** 32
            self.at[at:at + 4] = number.to_bytes(4, "little")
        return told

    def untold(self, watch=0):
        return self.words(self.header().slow_untold_offset + 8 * watch, 1)[0]

    def account(self, cell, watch=0):
        h = self.header()
        return sum(self.words(h.accounts_offset + ((cpu * h.watches + watch) * ACCOUNTS + cell) * 8, 1)[0]
                   for cpu in range(h.cpus))
