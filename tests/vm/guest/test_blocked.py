# SPDX-License-Identifier: GPL-2.0-only
"""
A call of /dev/blklat may wait for a page of its caller's memory without a limit. Nobody else waits with it, neither
for the file nor for the address space, and it can be killed.
"""
import concurrent.futures
import contextlib
import ctypes
import errno
import mmap
import os
import pathlib
import signal

import abi
import pytest
from abi import Session, a_watch
from load import DEADLINE_S, wait_until
from uffd import NO_ADDRESS, Page, libc


def call(fd, number, address):
    """An ioctl; 0 or its errno."""
    return ctypes.get_errno() if libc.ioctl(fd, number, address) < 0 else 0


def map_shared(fd, size):
    at = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
    return ctypes.get_errno() if at == NO_ADDRESS else 0


@contextlib.contextmanager
def aside():
    """Makes calls in threads. One that never returns fails the test instead of blocking it."""
    pool = concurrent.futures.ThreadPoolExecutor(2)
    yield lambda *call: pool.submit(*call)
    pool.shutdown(wait=False)


class Call:
    """A SETUP or BIOS that waits for a page: for its argument, for the watches, to write an answer or the counts."""

    def __init__(self, where, disk):
        self.where, self.page = where, Page()
        self.watches = (abi.Watch * 1)(a_watch(disk, abi.TOTAL))
        self.setup = abi.Setup(version=abi.VERSION, watches=1, max_bios=1024, watch=ctypes.addressof(self.watches))
        self.number, self.address = abi.IOC_SETUP, ctypes.addressof(self.setup)
        if where in ("argument", "answer"):
            self.content, self.address = self.setup, self.page.at
        elif where == "watches":
            self.content, self.setup.watch = self.watches, self.page.at
        else:
            self.bios = abi.Bios(counts=self.page.at, watches=1)
            self.content, self.number, self.address = b"", abi.IOC_BIOS, ctypes.addressof(self.bios)

    def prepare(self, session):
        if self.where == "counts":
            assert call(session.fd, abi.IOC_SETUP, ctypes.addressof(self.setup)) == 0
        if self.where == "answer":
            self.page.give(self.content, writable=False)

    def go_on(self):
        if self.where == "answer":
            self.page.allow_writing()
        else:
            self.page.give(self.content)


PLACES = ["argument", "watches", "answer", "counts"]


def need(where):
    """Writing an answer waits for a page that is present but write-protected, which arm64 supports since 6.10."""
    page = Page()
    page.close()
    if where == "answer" and not page.can_protect:
        pytest.skip("this kernel's userfaultfd can't protect pages")


@pytest.mark.parametrize("where", PLACES)
def test_waits_alone(disk, where):
    """Another thread gets its answers at once; then the page comes, and the call ends as usual."""
    need(where)
    waiting = Call(where, disk)
    with Session() as s, aside() as start:
        waiting.prepare(s)
        first = start(call, s.fd, waiting.number, waiting.address)
        waiting.page.wait()
        answers = [start(*c).result(DEADLINE_S) for c in (
            (map_shared, s.fd, mmap.PAGESIZE),
            (call, s.fd, abi.IOC_SETUP, ctypes.addressof(waiting.setup)),
            (call, s.fd, abi.IOC_VERSION, ctypes.addressof(ctypes.c_uint32())),
            (call, s.fd, abi.IOC_START, None))]
        # A session that is not set up yet can neither be mapped nor started. In neither case can it be set up twice.
        assert answers == [errno.EINVAL, errno.EBUSY, 0, 0 if where == "counts" else errno.EINVAL]
        # This needs the address space exclusively, too.
        mmap.mmap(-1, mmap.PAGESIZE).close()
        assert not first.done()
        waiting.go_on()
        assert first.result(DEADLINE_S) == 0
        assert call(s.fd, abi.IOC_START, None) == (errno.EBUSY if where == "counts" else 0)
    waiting.page.close()


def wait_for_ever(disk, where, told):
    """Runs in a child process: one thread is in the call, another one maps meanwhile."""
    waiting = Call(where, disk)
    s = Session()
    waiting.prepare(s)
    with aside() as start:
        start(call, s.fd, waiting.number, waiting.address)
        waiting.page.wait()
        map_shared(s.fd, mmap.PAGESIZE)
        os.write(told, b"1")
        signal.pause()


@pytest.mark.parametrize("where", PLACES)
def test_killed(disk, where):
    """The page never comes. When killed, the process and its session end at once."""
    need(where)
    read_end, told = os.pipe()
    process = os.fork()
    if not process:
        with contextlib.suppress(BaseException):
            wait_for_ever(disk, where, told)
        os._exit(1)
    os.close(told)
    assert os.read(read_end, 1) == b"1"
    os.close(read_end)
    os.kill(process, signal.SIGKILL)
    status = wait_until(lambda: [s for pid, s in [os.waitpid(process, os.WNOHANG)] if pid], "end of the process")[0]
    assert os.WTERMSIG(status) == signal.SIGKILL
    wait_until(lambda: pathlib.Path("/sys/module/blklat/refcnt").read_text() == "0\n", "end of the session")
