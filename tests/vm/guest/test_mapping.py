# SPDX-License-Identifier: GPL-2.0-only
"""A session's mapping: who may have it, in which way, and to whom its memory is charged."""
import contextlib
import ctypes
import errno
import mmap
import os
import pathlib
import re
import subprocess

import abi
import pytest
from abi import NODE, Session, a_watch
from cgroups import enter, hierarchy
from guest import at_least
from load import BLKLAT, DEADLINE_S, fio
from needs import need
from uffd import NO_ADDRESS, libc

PAGE = mmap.PAGESIZE
SHARED = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED
NO_ACCESS = 0
MAYMOVE, FIXED = 1, 2
DOFORK = 11
MIB = 1 << 20
# What a cgroup may seem to have more or less: charges come in batches of 64 pages a CPU.
LEFT = max(2 * MIB, MIB + 64 * os.cpu_count() * PAGE)
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 2, ctypes.c_int, ctypes.c_void_p]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def error(returned):
    return ctypes.get_errno() if returned in (-1, NO_ADDRESS) else 0


def map_at(fd, size, protection, flags):
    return libc.mmap(None, size, protection, flags, fd, 0)


@contextlib.contextmanager
def mapped(disk):
    """A session that counts, the address of its mapping, and its size."""
    with Session() as s:
        size = s.setup(a_watch(disk)).bytes
        at = map_at(s.fd, size, *SHARED)
        assert at != NO_ADDRESS
        try:
            assert s.ioctl(abi.IOC_START) == 0
            yield s, at, size
        finally:
            libc.munmap(at, size)


def flags_of(at):
    """The kernel's flags of the mapping there, in letters (proc(5), VmFlags)."""
    found = re.search(rf"^{at:x}-.*?^VmFlags: (.*?)$", pathlib.Path("/proc/self/smaps").read_text(), re.M | re.S)
    return set(found[1].split())


def magic(at):
    return ctypes.string_at(at, 6)


# --- who may have it ---------------------------------------------------------------------------


def test_never_executed(disk):
    """Neither from the start nor later."""
    with Session() as s:
        size = s.setup(a_watch(disk)).bytes
        assert error(map_at(s.fd, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED)) == errno.EACCES
        at = map_at(s.fd, size, *SHARED)
        for protection in mmap.PROT_EXEC, mmap.PROT_READ | mmap.PROT_EXEC, 7:
            assert error(libc.mprotect(at, size, protection)) == errno.EACCES
        assert magic(at) == b"blklat"
        libc.munmap(at, size)


def child_has_it():
    """Whether a forked process finds the mapping in its address space."""
    process = os.fork()
    if not process:
        os._exit(NODE in pathlib.Path("/proc/self/maps").read_text())
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_no_child_inherits_it(disk):
    """Even if its owner asks for it."""
    with mapped(disk) as (_, at, size):
        assert NODE in pathlib.Path("/proc/self/maps").read_text()
        assert child_has_it() == 0
        assert error(libc.madvise(at, size, DOFORK)) == errno.EINVAL
        assert error(libc.madvise(at, PAGE, DOFORK)) == errno.EINVAL
        assert child_has_it() == 0
        assert {"sh", "io", "dc", "de", "dd"} <= flags_of(at) and not {"ex", "me"} & flags_of(at)


def test_second_mapping(disk):
    """A session can be mapped once in its life, whatever became of the mapping."""
    with mapped(disk) as (s, at, size):
        assert error(map_at(s.fd, size, *SHARED)) == errno.EBUSY
        assert error(libc.mremap(at, 0, size, MAYMOVE, None)) == errno.EFAULT
        assert error(libc.mremap(at, size, size + PAGE, MAYMOVE, None)) == errno.EFAULT
        libc.munmap(at, size)
        assert error(map_at(s.fd, size, *SHARED)) == errno.EBUSY


def test_moved_and_cut(device, disk):
    """It can be moved, and unmapped in part; the rest goes on counting."""
    with mapped(disk) as (s, at, size):
        room = libc.mmap(None, size, NO_ACCESS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert libc.mremap(at, size, size, MAYMOVE | FIXED, room) == room
        assert magic(room) == b"blklat"
        s.at = (ctypes.c_char * size).from_address(room)
        fio(device, rw="randread", number_ios=100, thread=1)
        counted = s.ios()
        assert counted >= 100
        # The slots come last.
        cut = s.header().slots_offset
        assert libc.munmap(room + cut, size - cut) == 0
        fio(device, rw="randread", number_ios=100, thread=1)
        assert s.ios() >= counted + 100
        s.at = None
        assert libc.munmap(room, cut) == 0
        fio(device, rw="randread", number_ios=100, thread=1)


# --- whose memory it is ------------------------------------------------------------------------


def figure(group, file, name=None):
    text = (group / file).read_text()
    return int(text if name is None else dict(line.split() for line in text.splitlines())[name])


def in_group(group, function):
    """Calls a function in a process in the cgroup; returns its result, which has to be a number."""
    read_end, write_end = os.pipe()
    process = os.fork()
    if not process:
        with contextlib.suppress(BaseException):
            enter(group)()
            os.write(write_end, str(function()).encode())
        os._exit(0)
    os.close(write_end)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    with open(read_end) as answer:
        return int(answer.read())


def big_watch(disk):
    """32 MiB of slots."""
    return a_watch(disk, queues=128, stride=16384)


def test_memory_is_its_users(disk):
    """A session's memory is charged to the cgroup of the process that sets it up, and returned at its end."""
    with hierarchy() as make:
        group = make("group")
        def growth(*watches, **settings):
            """How much the cgroup grows beyond the session's own figure."""
            def one():
                with Session() as s:
                    before = figure(group, "memory.current")
                    size = s.setup(*watches, **settings).bytes
                    return figure(group, "memory.current") - before - (size if at_least(5, 11) else 0)
            return in_group(group, one)
        assert abs(growth(big_watch(disk))) < LEFT
        # A table of bios has about two places of 32 bytes, each with a key, for every bio that it may hold.
        assert 60 * MIB < growth(a_watch(disk, abi.TOTAL), max_bios=1 << 20) < 130 * MIB
        assert figure(group, "memory.current") < LEFT


def test_no_memory_in_the_cgroup(disk):
    """ENOMEM and nothing else: nobody is killed, nothing is left, and with less it works."""
    with hierarchy() as make:
        group = make("group")
        (group / "memory.max").write_text(str(16 * MIB))

        def tried():
            with Session() as s:
                try:
                    s.setup(big_watch(disk) if at_least(5, 11) else a_watch(disk, abi.TOTAL), max_bios=1 << 20)
                except OSError as e:
                    s.setup(a_watch(disk))
                    return e.errno
            return 0
        assert in_group(group, tried) == errno.ENOMEM
        assert figure(group, "memory.events", "oom_kill") == 0 < figure(group, "memory.events", "max")
        assert figure(group, "memory.current") < LEFT


@pytest.mark.parametrize("engine", ["kmod", "bpf"])
def test_no_memory_for_blklat(device, engine):
    need(engine == "kmod" or at_least(5, 11), "maps that are charged to the cgroup")
    with hierarchy() as make:
        group = make("group")
        (group / "memory.max").write_text(str(48 * MIB))
        refused = subprocess.run([BLKLAT, "--engine", engine, "--dev", device.name, "--stage", "total", "--count", "1",
                                  "--max-bios", "1000000", "--max-memory", "900M"], capture_output=True, text=True,
                                 timeout=DEADLINE_S, preexec_fn=enter(group))
        assert figure(group, "memory.events", "oom_kill") == 0
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch("blklat live: the kernel, or this process's memory cgroup, has too little memory for the counters, [0-9]+K: "
                        "lower --max-memory or --max-bios, or watch fewer devices\n", refused.stderr), refused.stderr
