# SPDX-License-Identifier: GPL-2.0-only
"""Asynchronous direct reads by io_submit(2) that must not wait (RWF_NOWAIT), and what became of each."""
import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT = 206, 207, 208, 209
PREAD = 0
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


def read_all(device, waits, waits_not):
    """
    So many reads at once of which the first may wait for room in the device's queue, and then so many that must not.
    They are not neighbours, which would be merged. Returns for each what it gave: its bytes or a negative errno.
    """
    n = waits + waits_not
    fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, BYTES)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    context = ctypes.c_ulong()
    system(IO_SETUP, ctypes.c_uint(n), ctypes.byref(context))
    try:
        controls = (Control * n)(*(Control(data=i, rw_flags=NOWAIT if i >= waits else 0, opcode=PREAD, fildes=fd, buf=at,
                                           nbytes=BYTES, offset=2 * i * BYTES) for i in range(n)))
        pointers = (ctypes.c_void_p * n)(*(ctypes.addressof(c) for c in controls))
        sent = 0
        results = {}
        while sent < n:
            try:
                sent += system(IO_SUBMIT, context, ctypes.c_long(n - sent),
                               ctypes.byref(pointers, sent * ctypes.sizeof(ctypes.c_void_p)))
            except BlockingIOError as e:
                # One that is refused before it is queued, by kernels that say so here.
                results[sent] = -e.errno
                sent += 1
        events = (Event * n)()
        got = system(IO_GETEVENTS, context, ctypes.c_long(n - len(results)), ctypes.c_long(n), events, None)
        results.update((e.data, e.res) for e in events[:got])
        assert sorted(results) == list(range(n))
        return [results[i] for i in range(n)]
    finally:
        system(IO_DESTROY, context)
        os.close(fd)
