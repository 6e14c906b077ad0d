# SPDX-License-Identifier: GPL-2.0-only
"""
How fast this machine's time-stamp counter runs, which an emulated CPU reads, too.

A guest calibrates it by a timer as it boots. If the host takes the CPU away meanwhile, the result can be wrong by a factor
of five, as was seen, and then all its clocks are.
"""
import ctypes
import mmap
import platform
import time

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
MEASURE_S = 0.2
TRIES = 50


def reader():
    """A function that returns the counter, for as long as it is kept."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    read.page = page
    return read


def both(read):
    """The counter and the clock in ns at the same moment: the quickest of several readings."""
    readings = []
    for _ in range(TRIES):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        counter = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        readings.append((after - before, counter, (before + after) / 2))
    return min(readings)[1:]


def khz():
    """None on a machine without a counter; an emulated one then derives it from the clock."""
    if platform.machine() != "x86_64":
        return None
    read = reader()
    first = both(read)
    time.sleep(MEASURE_S)
    last = both(read)
    return round((last[0] - first[0]) / (last[1] - first[1]) * 1e6)
