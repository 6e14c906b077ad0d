# SPDX-License-Identifier: GPL-2.0-only
"""
A bio that is larger than its device takes is split, and ends with the slowest of its pieces, wherever that lies. The two
engines share the rule, so fio's own latencies are the witness.
"""
import contextlib
import errno

import pytest
from devices import MIB, Device, loop_on, run
from engines import both, histogram
from guest import SINGLE, at_least, module, need_module, null_blk, nvme
from load import assert_closed, fio, read_errors
from stack import SECTOR, mapped, md

KIB = 1024
PIECE = 128 * KIB
DELAY_MS = 100
IOS = 8
MS = 1e6


@contextlib.contextmanager
def partly_slow(below, slow, failing=()):
    """A loop device that takes PIECE at a time. The pieces in the range @slow take DELAY_MS, those that are failing fail at once."""
    run("modprobe", "dm_delay")
    here = f"{below.path} {{at}}"
    regions = sorted([(slow.start, len(slow), f"delay {here} {DELAY_MS}"), *((piece, 1, "error") for piece in failing)])
    lines, end = [], 0

    def line(until, target):
        if until > end:
            lines.append(f"{end} {until - end} {target.format(at=end)}")
        return until

    for first, n, target in regions:
        end = line(first * PIECE // SECTOR, f"linear {here}")
        end = line((first + n) * PIECE // SECTOR, target)
    line(below.size // SECTOR, f"linear {here}")
    with mapped(*lines, name=f"slow-{below.name}") as device, loop_on(device.path) as top:
        top.setting("max_sectors_kb", PIECE // KIB)
        yield top


@pytest.fixture(autouse=True)
def loops():
    with module("loop"):
        yield


def read(device, at, size):
    """Reads there, as one IO, IOS times."""
    return fio(device, rw="read", offset=at, size=size, bs=size, loops=IOS, **SINGLE)


def figures(b, device):
    """
    Stage total of a run's reads: IOs, their mean in ms, those that were delayed, and the seconds that they were in flight. A
    delay is measured in ticks, and may be shorter where an emulated CPU missed some.
    """
    lines = b.of(device, "total")
    ops = [o for line in lines for o in line["ops"] if o["op"] == "read"]
    ios = sum(o["ios"] for o in ops)
    slow = sum(n for (_, upper), n in histogram(b, "read", device, "total").items() if upper > DELAY_MS / 2 * MS)
    return ios, sum(o["latency_ns"]["mean"] * o["ios"] for o in ops) / ios / MS, slow, \
        sum(line["queue_depth"] * line["interval_s"] for line in lines)


def assert_as_fio(e, device, reads, slow):
    """@slow: how many of the reads have a slow piece."""
    fio_ms = sum(f.mean_ns("read", "lat_ns") for f in reads) / len(reads) / MS
    for b in e:
        ios, mean_ms, seen_slow, busy_s = figures(b, device)
        assert ios == sum(f.ios("read") for f in reads) == IOS * len(reads)
        assert seen_slow >= slow
        # fio's latency has the way to the block layer and back on top, which a busy emulator makes longer.
        assert 0.75 * fio_ms - 10 < mean_ms < fio_ms
        # A bio is in flight until its last piece ends.
        assert busy_s * 1000 == pytest.approx(ios * mean_ms, rel=0.05, abs=10)
        assert_closed(b, device, "total")


def test_pieces():
    """
    Of reads in pieces the first is slow, a middle one, the last, none. Where one fails, the IO does, but not before its last
    piece ends: the slow one comes after the one that fails, then before it. A drive splits them as well.
    """
    cases = [(4, 2), (3, 3), (2, 3), (0, 3)]
    drive = nvme()
    drive.setting("max_sectors_kb", 16)
    with null_blk(nr_devices=2) as below, partly_slow(below[0], range(4, 5)) as slow, \
            partly_slow(below[1], range(4, 5), failing=(3, 5)) as failing:
        with both(slow, failing, drive, stage="device,total") as e:
            reads = [read(slow, first * PIECE, n * PIECE) for first, n in cases]
            assert {read_errors(failing, first * PIECE, 2 * PIECE) for first in (3, 4) for _ in range(IOS)} == {errno.EIO}
            of_drive = [read(drive, 0, 2 * PIECE)]
            e.settle()
    drive.set_back()
    assert_as_fio(e, slow, reads, slow=3 * IOS)
    assert_as_fio(e, drive, of_drive, slow=0)
    for b in e:
        assert b.total("ios", "read", slow, "device") == IOS * sum(n for _, n in cases)
        assert b.total("ios", "read", drive, "device") == IOS * 2 * PIECE // (16 * KIB)
        ios, _, seen_slow, _ = figures(b, failing)
        assert seen_slow == ios == b.total("errors", "read", failing, "total") == 2 * IOS
        assert_closed(b, failing, "total")


@pytest.mark.before_release
def test_raid0():
    """
    Two chunks of 64 KiB, one on the slow member, which comes first or second. The array's bios end with requests of its
    members, and these split each chunk again.
    """
    with null_blk(nr_devices=2) as below, contextlib.ExitStack() as stack:
        members = [stack.enter_context(partly_slow(below[0], range(below[0].size // PIECE))),
                   stack.enter_context(partly_slow(below[1], range(1)))]
        for m in members:
            m.setting("max_sectors_kb", 16)
        top = stack.enter_context(md(0, *members))
        # From 5.14 on, an array that counts its IOs clones them, and clones end by themselves.
        if at_least(5, 14):
            top.setting("iostats", 0)
        with both(top, *members, stage="total") as e:
            reads = [read(top, 4 * PIECE + offset, PIECE) for offset in (0, PIECE // 2)]
            e.settle()
    assert_as_fio(e, top, reads, slow=2 * IOS)


@pytest.mark.before_release
def test_raid5():
    for name in "raid456", "brd":
        need_module(name)
    # Superblocks are read back, which null_blk does not allow before 5.11.
    with module("brd", rd_nr=3, rd_size=MIB * 64 // KIB), contextlib.ExitStack() as stack:
        below = [Device(f"ram{i}") for i in range(3)]
        slow = stack.enter_context(partly_slow(below[0], range(below[0].size // PIECE)))
        top = stack.enter_context(md(5, slow, *below[1:]))
        with both(top, stage="total") as e:
            reads = [read(top, 0, 2 * PIECE)]
            e.settle()
    assert_as_fio(e, top, reads, slow=IOS)
