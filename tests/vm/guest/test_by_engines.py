# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by flags, depth and neighbour. Each engine is the other's witness; so are the order in which IOs were sent, and the
letters that the kernel traces for each request.
"""
import contextlib
import pathlib
import subprocess
import tempfile

from devices import run, unmount
from engines import both
from faulty import null_blks
from guest import DEEP, null_blk
from load import fio, wait_until
from parts import BESIDE, DEPTHS, FLAGS, classes_in, dd, depths_up_to, in_flight, of_op, parts_of
from slow import slow_of
from stack import file_loop
from tracing import traced_events

STAGES = "device", "total"


def divided(*devices, by, stages=STAGES, more=()):
    args = ("--by", by, *more)
    return both(*devices, stage=",".join(stages), bpf_args=args, kmod_args=args)


def assert_parts(engines, labels, device, stage, **wanted):
    engines.agree(device, stage)
    for b in engines:
        found = parts_of(b, labels, device, stage)
        assert {op: of_op(b, labels, device, stage, op) for op in wanted} == wanted, (stage, found)


# Each takes so long that all begin before the first one ends.
SLOW = {"irqmode": 2, "completion_nsec": 3000000000}


def test_depths_in_order():
    """While pauses are looked for, too."""
    with null_blks(SLOW | {"completion_nsec": 1500000000}) as (device,), \
            divided(device, by="depth", more=("--idle-gap", "0.05")) as engines:
        fio(device, rw="randwrite", bs=4096, number_ios=40, ioengine="libaio", iodepth=40)
        fio(device, rw="read", bs=4096, number_ios=1)
        engines.settle()
    for stage in STAGES:
        assert_parts(engines, DEPTHS, device, stage, write=depths_up_to(40), read={"1": 1})


def test_depth_of_the_queue():
    """One tag, so IOs wait in the queue: it is deep, and the depth at the device is one."""
    with null_blk(scheduler="mq-deadline", irqmode=2, completion_nsec=300000000, hw_queue_depth=1, submit_queues=1) as (device,):
        device.setting("nr_requests", 16)
        with divided(device, by="depth", stages=("device", "queue", "total")) as engines:
            fio(device, rw="randread", bs=4096, number_ios=10, ioengine="libaio", iodepth=10)
            engines.settle()
    assert_parts(engines, DEPTHS, device, "device", read={"1": 10})
    assert_parts(engines, DEPTHS, device, "total", read=depths_up_to(10))
    engines.agree(device, "queue")
    # The first is issued while the others are inserted, maybe by another CPU, and each engine looks at a slightly different
    # moment. So the next IO may find the same depth as the one before it.
    nine = depths_up_to(9)
    for b in engines:
        found = of_op(b, DEPTHS, device, "queue", "read")
        assert found in [depths_up_to(10), *(nine | {part: n + 1} for part, n in nine.items())]


def test_depths_of_a_load():
    """The engines read the depth at different moments, so a few IOs near a bound may differ in part; none is deeper than fio."""
    with null_blk(irqmode=2, completion_nsec=100000) as (device,), divided(device, by="depth") as engines:
        f = fio(device, rw="randrw", bs=4096, number_ios=3000, **DEEP | {"iodepth": 16})
        engines.settle()
    for stage in STAGES:
        engines.agree(device, stage)
        for b in engines:
            assert sum(of_op(b, DEPTHS, device, stage, "read").values()) == f.ios("read")
            assert parts_of(b, DEPTHS, device, stage).keys() <= set(DEPTHS[:5])


def test_beside_in_order():
    """A read behind each kind in turn, and behind two."""
    with null_blks(SLOW | {"max_sectors": 512}) as (device,), divided(device, by="beside") as engines:
        for others in [("write", 65536)], [("write", 131072)], [("read", 65536), ("write", 131072)]:
            with contextlib.ExitStack() as load:
                for op, size in (*others, ("read", 4096)):
                    load.enter_context(dd(device, op, size))
            wait_until(lambda: not in_flight(device), "the end of all")
        engines.settle()
    for stage in STAGES:
        assert_parts(engines, BESIDE, device, stage, read={"nothing": 1, "write": 1, "big write": 2},
                     write={"nothing": 2, "read": 1})


def test_flags_of_a_file_system():
    with contextlib.ExitStack() as undo:
        device = undo.enter_context(file_loop())
        run("modprobe", "ext4")
        run("mkfs.ext4", "-q", "-F", device.path)
        folder = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="blklat-test-")))
        with traced_events(pathlib.Path("/sys/kernel/tracing"), device, "block_rq_issue") as lines, divided(device, by="flags", more=("--slow", "1us", "--slow-max", "10000")) as engines:
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
            engines.settle()
            wanted = classes_in(lines())
    assert {"FUA/flush", "metadata", "sync"} <= wanted.keys()
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
