# SPDX-License-Identifier: GPL-2.0-only
"""A page of memory that is missing or write-protected until it is released: whoever touches it waits (userfaultfd(2))."""
import ctypes
import mmap
import os
import select

from guest import KERNEL
from load import DEADLINE_S

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
ON_AMD64 = os.uname().machine == "x86_64"
SYS_USERFAULTFD = 323 if ON_AMD64 else 282
API, MISSING, WRITE_PROTECT = 0xaa, 1, 2
CAN_PROTECT = 1
# arm64 can since 6.10; 5.10 says so nevertheless, and lets the write through.
MAY_PROTECT = ON_AMD64 or KERNEL >= (6, 10)
NO_ADDRESS = ctypes.c_void_p(-1).value


def number(n, words):
    return 3 << 30 | words * 8 << 16 | 0xaa << 8 | n


class Page:
    def __init__(self):
        self.at = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE,
                            mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert self.at not in (None, NO_ADDRESS)
        self.fd = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
        assert self.fd >= 0
        _, features, _ = self._ioctl(0x3f, API, 0, 0)
        self.can_protect = MAY_PROTECT and bool(features & CAN_PROTECT)
        self._ioctl(0x00, self.at, mmap.PAGESIZE, MISSING | (WRITE_PROTECT if self.can_protect else 0), 0)

    def _ioctl(self, n, *words):
        array = (ctypes.c_uint64 * len(words))(*words)
        assert libc.ioctl(self.fd, number(n, len(words)), ctypes.byref(array)) == 0, os.strerror(ctypes.get_errno())
        return array

    def wait(self):
        """Returns once somebody waits for it."""
        assert select.select([self.fd], [], [], DEADLINE_S)[0], "nobody touched the page"
        os.read(self.fd, 32)

    def give(self, content, writable=True):
        """Makes the page present; whoever waits for it goes on."""
        page = (ctypes.c_char * mmap.PAGESIZE)(*[bytes([b]) for b in bytes(content)])
        self._ioctl(0x03, self.at, ctypes.addressof(page), mmap.PAGESIZE, 0 if writable else 2, 0)

    def allow_writing(self):
        self._ioctl(0x06, self.at, mmap.PAGESIZE, 0)

    def close(self):
        os.close(self.fd)
        libc.munmap(ctypes.c_void_p(self.at), mmap.PAGESIZE)
