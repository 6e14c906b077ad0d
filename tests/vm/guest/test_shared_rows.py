# SPDX-License-Identifier: GPL-2.0-only
"""
Where two programs, or two runs of one, may interrupt each other's writes, no addition is lost. Between an addition's load
and its store is a ns or two, in which an interrupt hardly ever comes. The programs of tests/vm/altered.h stretch that gap,
so interrupts hit it many times a second. Plain additions then lose some, which shows that the test would notice.
"""
import contextlib
import os
import time

import load
import pytest
from devices import MIB, run
from engines import both
from guest import KERNEL, null_blk
from cgroups import cgroup, fios_in
from skips import ALTERED
from stack import SECTOR, file_loop, mapped, traffic

WITHIN_S = 60 * float(os.environ.get("BLKLAT_SLOW", 1))
TASKS = {"ioengine": "libaio", "iodepth": 64, "numjobs": 3, "rw": "randread", "bssplit": "4k/60:16k/30:64k/10",
         "norandommap": 1, "number_ios": 1000}
ROUNDS = 5
pytestmark = pytest.mark.skipif((6, 0) < KERNEL < (7, 0),
                                reason="here one on top of itself is skipped, and told; two that are not meet too seldom to wait for")


@contextlib.contextmanager
def two_ends():
    """A device with two halves: IOs of one end in an interrupt, IOs of the other in their sender, which the former interrupt."""
    half = 256 * MIB // SECTOR
    run("modprobe", "dm_zero")
    with null_blk(irqmode=2, completion_nsec=20000) as (member,), \
            mapped(f"0 {half} linear {member.path} 0", f"{half} {half} zero") as device:
        yield device


def lost(e, device):
    """Additions that bpf misses, by counter; the module skips nothing and shares nothing."""
    def total(engine, key):
        return sum(e.totals(engine, key, device, "total").values())
    return {key: total(e.kmod, key) - total(e.bpf, key) for key in ("ios", "bytes")}


@pytest.fixture(params=["two_ends", "loop"])
def device(request):
    with {"two_ends": two_ends, "loop": file_loop}[request.param]() as device:
        yield device


def test_no_addition_is_lost(device, monkeypatch):
    monkeypatch.setattr(load, "BLKLAT", str(ALTERED / "atomic/blklat"))
    with both(device, stage="total") as e:
        for _ in range(ROUNDS):
            traffic(device, TASKS)
        e.settle()
    assert lost(e, device) == {"ios": 0, "bytes": 0}
    e.agree(device, "total")


def test_no_start_is_lost_under_a_limit(monkeypatch):
    """The program on the function that may hold bios back, and the one on block_bio_queue, count the starts of one device."""
    monkeypatch.setattr(load, "BLKLAT", str(ALTERED / "atomic/blklat"))
    with null_blk() as (device,), cgroup({device: "riops=1000000"}) as group, both(device, stage="total") as e:
        for _ in range(ROUNDS):
            fios_in(group, {device: TASKS})
        e.settle()
    assert e.agree(device, "total")["started"] == ROUNDS * TASKS["numjobs"] * TASKS["number_ios"]


def test_plain_additions_are_lost(monkeypatch):
    """Within a minute."""
    monkeypatch.setattr(load, "BLKLAT", str(ALTERED / "plain/blklat"))
    with two_ends() as device, both(device, stage="total") as e:
        deadline, rounds = time.monotonic() + WITHIN_S, 0
        while not (rounds and any(lost(e, device).values())):
            assert time.monotonic() < deadline, f"nothing was lost in {rounds} rounds"
            traffic(device, TASKS)
            e.settle()
            rounds += 1
    print(f"lost in {rounds} rounds: {lost(e, device)}")
    # Only lost additions differ: there can't be more of them than happened.
    assert all(n >= 0 for n in lost(e, device).values())
