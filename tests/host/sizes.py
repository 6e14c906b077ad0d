# SPDX-License-Identifier: GPL-2.0-only
"""Loads of several block sizes at once, and which part of --by size an IO is in, by arithmetic of its own."""
import contextlib

from load import Fio

BY_SIZE = ("--by", "size")
LABELS = ("4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB+")
APART = 2 ** 18


def label(size):
    return next((name for i, name in enumerate(LABELS) if size <= 4096 << i), LABELS[-1])


def at_once(device, *sizes, **options):
    """
    A fio of each size, all at the same time. IOs begin at multiples of APART, so none has a neighbour to be merged with.
    Returns {part: result}.
    """
    apart = {"rw": "randrw", "norandommap": 1, "blockalign": APART}
    with contextlib.ExitStack() as stack:
        jobs = {label(size): stack.enter_context(Fio(device, bs=size, **apart | options)) for size in sizes}
        return {part: job.result() for part, job in jobs.items()}


def done_by(results):
    """{part: {op: (IOs, bytes)}} of what at_once() returned."""
    return {part: {op: (f.ios(op), f.bytes(op)) for op in ("read", "write", "trim") if f.ios(op)} for part, f in results.items()}


def parts_of(b, device=None, stage=None):
    """{part: {op: (IOs, bytes)}} of all parts that had IOs."""
    told = {part: {op: (ios, b.total("bytes", op, device, stage, part)) for op, ios in b.ops(device, stage, part).items()}
            for part in LABELS}
    return {part: ops for part, ops in told.items() if ops}


def assert_parts(b, wanted, device=None, stage=None):
    """Each part has these IOs and bytes and no other has any; and the whole is their sum."""
    found = parts_of(b, device, stage)
    assert found == wanted, (device, stage, found, wanted)
    whole = {}
    for ops in wanted.values():
        for op, (ios, size) in ops.items():
            whole[op] = whole.get(op, (0, 0))[0] + ios, whole.get(op, (0, 0))[1] + size
    assert {op: (ios, b.total("bytes", op, device, stage)) for op, ios in b.ops(device, stage).items()} == whole, (device, stage)
