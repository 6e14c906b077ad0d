# SPDX-License-Identifier: GPL-2.0-only
"""Asynchronous direct IOs by io_submit(2): reads that must not wait (RWF_NOWAIT), and how each ended; IOs in a certain order."""
import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
# All architectures newer than x86 use include/uapi/asm-generic/unistd.h.
IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT = (206, 207, 208, 209) if os.uname().machine == "x86_64" else (0, 1, 4, 2)
PREAD, PWRITE = 0, 1
NOWAIT = 8
BYTES = 4096


class Control(ctypes.Structure):
    """struct iocb of include/uapi/linux/aio_abi.h"""
    _fields_ = [("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("rw_flags", ctypes.c_int32),
                ("opcode", ctypes.c_uint16), ("reqprio", ctypes.c_int16), ("fildes", ctypes.c_uint32),
                ("buf", ctypes.c_uint64), ("nbytes", ctypes.c_uint64), ("offset", ctypes.c_int64),
                ("reserved2", ctypes.c_uint64), ("flags", ctypes.c_uint32), ("resfd", ctypes.c_uint32)]


class Event(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("obj", ctypes.c_uint64), ("res", ctypes.c_int64), ("res2", ctypes.c_int64)]


def system(number, *args):
    done = libc.syscall(ctypes.c_long(number), *args)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


class Reads:
    """A device's reads, with a limit on how many are in flight."""

    def __init__(self, device, room):
        self.fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
        self.page = mmap.mmap(-1, BYTES)
        self.context = ctypes.c_ulong()
        self.events = (Event * room)()
        self.sent = 0
        self.results = {}
        system(IO_SETUP, ctypes.c_uint(room), ctypes.byref(self.context))

    def _controls(self, n, flags):
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        # Not adjacent, or they would be merged.
        return (Control * n)(*(Control(data=i, rw_flags=flags, opcode=PREAD, fildes=self.fd, buf=at, nbytes=BYTES,
                                       offset=2 * i % 10000 * BYTES) for i in range(self.sent, self.sent + n)))

    def send(self, n, flags=0):
        controls = self._controls(n, flags)
        pointers = (ctypes.c_void_p * n)(*(ctypes.addressof(c) for c in controls))
        done = 0
        while done < n:
            try:
                done += system(IO_SUBMIT, self.context, ctypes.c_long(n - done),
                               ctypes.byref(pointers, done * ctypes.sizeof(ctypes.c_void_p)))
            except BlockingIOError as e:
                # Some kernels report here a read that they refuse before it is queued.
                self.results[self.sent + done] = -e.errno
                done += 1
        self.sent += n

    def wait(self):
        """Until all reads that were sent have ended. Returns each one's result: its bytes or a negative errno."""
        left = self.sent - len(self.results)
        got = system(IO_GETEVENTS, self.context, ctypes.c_long(left), ctypes.c_long(left), self.events, None)
        self.results.update((e.data, e.res) for e in self.events[:got])
        assert sorted(self.results) == list(range(self.sent))
        results = [self.results[i] for i in range(self.sent)]
        self.sent, self.results = 0, {}
        return results

    def __enter__(self):
        return self

    def __exit__(self, *_):
        system(IO_DESTROY, self.context)
        os.close(self.fd)


def read_all(device, waits, waits_not):
    """
    Sends @waits reads at once, the first of which may wait for room in the device's queue, then @waits_not that must
    not wait. Returns each one's result.
    """
    with Reads(device, waits + waits_not) as reads:
        reads.send(waits)
        reads.send(waits_not, NOWAIT)
        return reads.wait()


def in_order(device, *ios):
    """Sends direct IOs of (op, size) in this order, as fast as one task can, and waits until all have ended."""
    fd = os.open(device.path, os.O_RDWR | os.O_DIRECT)
    context, events = ctypes.c_ulong(), (Event * len(ios))()
    system(IO_SETUP, ctypes.c_uint(len(ios)), ctypes.byref(context))
    page = mmap.mmap(-1, max(size for _, size in ios))
    try:
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        for i, (op, size) in enumerate(ios):
            control = Control(opcode=PREAD if op == "read" else PWRITE, fildes=fd, buf=at, nbytes=size, offset=i << 20)
            assert system(IO_SUBMIT, context, ctypes.c_long(1), ctypes.byref(ctypes.c_void_p(ctypes.addressof(control)))) == 1
        n = ctypes.c_long(len(ios))
        assert system(IO_GETEVENTS, context, n, n, events, None) == len(ios)
        assert sorted(e.res for e in events) == sorted(size for _, size in ios)
    finally:
        system(IO_DESTROY, context)
        os.close(fd)
