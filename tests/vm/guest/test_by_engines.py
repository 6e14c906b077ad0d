# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by flags, depth, neighbour, process and priority. Each engine is the other's witness; so are the order in which IOs were sent, and the
letters that the kernel traces for each request.
"""
import contextlib
import os
import pathlib
import subprocess
import tempfile

import pytest
from aio import in_order
from devices import MIB, Delta, run, unmount
from engines import both
from faulty import null_blks
from guest import DEEP, at_least
from load import fio
from parts import BESIDE, DEPTHS, FLAGS, classes_in, depths_up_to, labels_of, of_op, parts_of
from senders import EVENTS, assert_senders, send
from slow import slow_of
from stack import file_loop
from tracing import traced_events

STAGES = "device", "total"
ALL_SLOW = "--slow", "1us", "--slow-max", "10000"


def divided(*devices, by, stages=STAGES, more=()):
    args = ("--by", by, *more)
    # Parts have many lines.
    return both(*devices, stage=",".join(stages), interval=1.5, bpf_args=args, kmod_args=args)


def assert_parts(engines, labels, device, stage, **wanted):
    engines.agree(device, stage)
    for b in engines:
        found = parts_of(b, labels, device, stage)
        assert {op: of_op(b, labels, device, stage, op) for op in wanted} == wanted, (stage, found)


# It takes so long that all of a row begin before the first one ends.
HELD = {"irqmode": 2, "completion_nsec": 1500000000, "max_sectors": 512}
# One tag, so IOs wait in the queue: the first one for so long that all of a row are sent.
ONE_TAG = {"irqmode": 2, "completion_nsec": 600000000, "hw_queue_depth": 1, "submit_queues": 1}
BUSY = {"irqmode": 2, "completion_nsec": 100000}
KINDS = [("write", 4096, "nothing"), ("write", 131072, "write"), ("read", 4096, "big write"), ("read", 65536, "big write")]


def test_depths():
    """How many were in flight when each began; and each by itself, if all are listed as slow ones, with the strongest of them."""
    with null_blks(HELD, ONE_TAG, BUSY) as (held, one_tag, busy):
        one_tag.setting("scheduler", "mq-deadline")
        one_tag.setting("nr_requests", 16)
        with divided(held, one_tag, busy, by="depth", stages=("device", "queue", "total"), more=ALL_SLOW) as engines:
            moved = Delta(held), Delta(one_tag)
            in_order(held, *(io[:2] for io in KINDS))
            in_order(held, *[("write", 4096)] * 40)
            in_order(held, ("read", 4096))
            in_order(one_tag, *[("read", 4096)] * 10)
            f = fio(busy, rw="randrw", bs=4096, number_ios=500, **DEEP | {"iodepth": 16})
            engines.settle()
        assert_busy(engines, busy, *moved)
    assert_depths_of_a_row(engines, held)
    assert_depths_of_a_queue(engines, one_tag)
    # The engines read the depth at different moments, so a few IOs near a bound may differ in part; none is deeper than fio.
    for stage in STAGES:
        engines.agree(busy, stage)
        for b in engines:
            assert sum(of_op(b, DEPTHS, busy, stage, "read").values()) == f.ios("read")
            assert parts_of(b, DEPTHS, busy, stage).keys() <= set(DEPTHS[:5])


def assert_busy(engines, busy, held, one_tag):
    """Three rows of 1.5 s, and ten IOs of 0.6 s one after the other, as the kernel has it too; of short IOs both engines say about the same."""
    def seconds(b, device, stage="device"):
        assert all(0 <= l.get("busy", 0) <= 1 for l in b.of(device, stage))
        return sum(l.get("busy", 0) * l["interval_s"] for l in b.of(device, stage))

    for b in engines:
        for moved, least_s in (held, 4.5), (one_tag, 6):
            assert least_s * 0.99 < seconds(b, moved.device) == pytest.approx(moved()["io_ms"] / 1000, rel=0.05)
        for stage in STAGES:
            assert seconds(b, busy, stage) == pytest.approx(seconds(engines.kmod, busy, stage), rel=0.2)


def assert_depths_of_a_row(engines, device):
    row = depths_up_to(40)
    listed = [(op, size, n, beside) for n, (op, size, beside) in enumerate(KINDS, 1)]
    listed += [("write", 4096, n, "write" if n > 1 else "nothing") for n in range(1, 41)] + [("read", 4096, 1, "nothing")]
    for stage in STAGES:
        assert_parts(engines, DEPTHS, device, stage, write=row | {"1": 2, "2": 2}, read={"1": 1, "3-4": 2})
        for slow in engines.slow(device, stage):
            assert sorted((io["op"], io["bytes"], io["depth"], io["beside"]) for io in slow) == sorted(listed)


def assert_depths_of_a_queue(engines, device):
    """It is deep, and the depth at the device is one."""
    assert_parts(engines, DEPTHS, device, "device", read={"1": 10})
    assert_parts(engines, DEPTHS, device, "total", read=depths_up_to(10))
    engines.agree(device, "queue")
    # The first is issued while the others are inserted, maybe by another CPU, and each engine looks at a slightly different
    # moment. So the next IO may find the same depth as the one before it.
    nine = depths_up_to(9)
    for b in engines:
        found = of_op(b, DEPTHS, device, "queue", "read")
        assert found in [depths_up_to(10), *(nine | {part: n + 1} for part, n in nine.items())]
        depths = sorted(io["depth"] for io in slow_of(b, device, "queue"))
        assert depths in [sorted([*range(1, 10), n]) for n in range(1, 11)]
        assert [(io["depth"], io["beside"]) for io in slow_of(b, device)] == [(1, "nothing")] * 10
        assert sorted((io["depth"], io["beside"]) for io in slow_of(b, device, "total")) == \
            [(1, "nothing")] + [(n, "read") for n in range(2, 11)]


def test_beside_in_order():
    """A read behind each kind in turn, and behind two; each slow IO has both facts here as well. While pauses are looked for, too."""
    with null_blks(HELD) as (device,), divided(device, by="beside", more=("--idle-gap", "0.05", *ALL_SLOW)) as engines:
        for others in [("write", 65536)], [("write", 131072)], [("read", 65536), ("write", 131072)]:
            in_order(device, *others, ("read", 4096))
        engines.settle()
    for stage in STAGES:
        assert_parts(engines, BESIDE, device, stage, read={"nothing": 1, "write": 1, "big write": 2},
                     write={"nothing": 2, "read": 1})
        for slow in engines.slow(device, stage):
            assert sorted((io["depth"], io["beside"]) for io in slow) == sorted(
                [(1, "nothing"), (2, "write"), (1, "nothing"), (2, "big write"), (1, "nothing"), (2, "read"), (3, "big write")])
            assert all(io["beside"] == io["part"]["label"] for io in slow)


def buffered(device):
    """Has pages of a device written back without waiting for it, and then others read ahead."""
    fd = os.open(device.path, os.O_RDWR)
    try:
        os.pwrite(fd, b"x" * 16384, 4 * MIB)
        os.posix_fadvise(fd, 4 * MIB, 16384, os.POSIX_FADV_DONTNEED)
        os.fsync(fd)
        os.posix_fadvise(fd, 8 * MIB, 65536, os.POSIX_FADV_WILLNEED)
        os.pread(fd, 65536, 8 * MIB)
    finally:
        os.close(fd)


def test_flags():
    """Of a device's user, and of a file system."""
    with contextlib.ExitStack() as undo:
        device = undo.enter_context(file_loop())
        run("modprobe", "ext4")
        run("mkfs.ext4", "-q", "-F", device.path)
        folder = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="blklat-test-")))
        with traced_events(device, "block_rq_issue") as lines, divided(device, by="flags", more=ALL_SLOW) as engines:
            for turn in range(2):
                run("mount", device.path, folder)
                try:
                    for n in range(8):
                        (folder / f"d{turn}.{n}").mkdir()
                        (folder / f"d{turn}.{n}/file").write_bytes(bytes(50000))
                    assert sum(len(p.read_bytes()) for p in folder.glob("d*/file")) == 400000 * (1 + turn)
                    subprocess.run(["sync", "-f", folder], check=True)
                finally:
                    unmount(folder)
            buffered(device)
            engines.settle()
            wanted = classes_in(lines())
    assert wanted.keys() >= set(FLAGS) - {"other"}
    for stage in STAGES:
        engines.agree(device, stage)
        bpf, kmod = (parts_of(b, FLAGS, device, stage) for b in engines)
        assert bpf == kmod, stage
        assert stage == "total" or {part: sum(ops.values()) for part, ops in bpf.items()} == wanted
        # Each IO by itself says the same. A bio's flags are noted beside its sender, so now and then they are not known.
        for b in engines:
            told = [(io["flags"], io["part"]["label"]) for io in slow_of(b, device, stage)]
            unknown = sum(flags is None for flags, _ in told)
            assert len(told) == b.total("ios", None, device, stage) and unknown <= (len(told) // 50 if stage == "total" else 0)
            assert all(flags in (None, label) for flags, label in told)


def test_processes():
    """Two at once, and one part more."""
    with file_loop() as device, divided(device, by="process", more=("--max-parts", "3")) as engines, \
            traced_events(device, *EVENTS.values()) as lines:
        done = send(device)
        engines.settle()
        seen = lines()
    for stage in STAGES:
        engines.agree(device, stage)
    for b in engines:
        assert_senders(b, device, done, seen)


def test_priorities():
    """Direct IO has its task's; that of the page cache has it since 6.0."""
    with null_blks(BUSY) as (device,), divided(device, by="priority") as engines:
        for n, options in enumerate([{"prioclass": 1, "prio": 3}, {"prioclass": 2, "prio": 0}, {"prioclass": 2, "prio": 7}, {"prioclass": 3}]):
            assert fio(device, number_ios=10 + n, rw="randread", **options).ios("read") == 10 + n
        run("ionice", "-c", "1", "-n", "5", "dd", f"if={device.path}", "of=/dev/null", "bs=4k", "count=32")
        engines.settle()
    direct = {"rt/3": 10, "be/0": 11, "be/7": 12, "idle": 13}
    for stage in STAGES:
        engines.agree(device, stage)
        for b in engines:
            found = of_op(b, labels_of(b), device, stage, "read")
            assert found.pop("rt/5" if at_least(6, 1) else "none") and found == direct
