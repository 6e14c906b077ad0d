# SPDX-License-Identifier: GPL-2.0-only
"""IOs after a pause, on each kernel: the engines find the same ones, and counting them apart changes no other figure."""
import contextlib
import time

import pytest
from bursts import BURST, Bursts, after_idle, count, sure
from engines import both
from guest import DEEP, SINGLE, at_least, has_module, module, null_blk, virtio
from devices import partition, zram
from jitter import assert_histograms_agree
from load import assert_all_counted, fio
from stack import dm, scsi_debug

BURSTS = 3
REST_S = 0.6
GAP_S = 0.3
TIMER_S = 0.4


def watch(*devices, gap=GAP_S, **options):
    looking = "--idle-gap", str(gap)
    return both(*devices, bpf_args=looking, kmod_args=looking, **options)


def assert_same_pauses(engines, device, stage):
    for op in engines.kmod.ops(device, stage):
        bpf, kmod = (count(b, op, device, stage) for b in engines)
        assert bpf == kmod, (device.name, stage, op)


def rest_and_burst(wholes, *tops, stage):
    """
    Alternating bursts of reads and writes on each of the first devices, while the others rest; @wholes has what is below
    some of them, and sees the same. The first IO of each burst but the run's first is counted apart, and another one only if
    the emulated machine stood still before it.
    """
    with contextlib.ExitStack() as undo:
        bursts = {device: undo.enter_context(Bursts(device)) for device in tops}
        with watch(*tops, *wholes, stage=stage) as engines:
            for i in range(2 * BURSTS):
                for of_device in bursts.values():
                    of_device.burst("write" if i % 2 else "read")
                time.sleep(REST_S)
            engines.settle()
    for device, of_device in (bursts | {below: bursts[top] for below, top in wholes.items()}).items():
        for one in {l["stage"] for l in engines.kmod.of(device)}:
            for b in engines:
                assert_rests_told_apart(b, of_device, device, one)
            # The engines' intervals do not end at the same moment.
            if sure([True], of_device.done, GAP_S):
                assert_same_pauses(engines, device, one)


def assert_rests_told_apart(b, bursts, device, stage):
    assert_all_counted(b, device, stage)
    assert b.ops(device, stage) == {"read": BURST * BURSTS, "write": BURST * BURSTS}
    for op, rests in ("read", BURSTS - 1), ("write", BURSTS):
        ios, _, sum_ns = after_idle(b, op, device, stage)
        certain, possible = bursts.after_rest(op, GAP_S)
        assert rests <= len(certain)
        assert len(sure(certain, bursts.done, GAP_S)) <= ios <= len(possible), (device.name, stage, op)
        assert 0 < sum_ns <= sum(possible) * 1e9


def test_requests():
    """Before 5.12 a bio does not know its partition (see check_partitions()); requests always do."""
    with null_blk(nr_devices=2) as (null, disk), partition(disk, 1, 2 ** 20, 2 ** 26) as part, contextlib.ExitStack() as made:
        tops = [null, virtio(), part]
        if has_module("scsi_debug"):
            tops.append(made.enter_context(scsi_debug(ndelay=20000)))
        rest_and_burst({disk: part}, *tops, stage="device,total" if at_least(5, 12) else "device")


def test_bios():
    """Each level of a stack has pauses of its own."""
    with module("zram", num_devices=0), zram() as ram, null_blk() as (below,), dm("linear", below) as top:
        rest_and_burst({below: top}, ram, top, stage=None)


def waits(log):
    """For each IO in fio's log but the first: did it end a second or more after the one before, to within a few ms?"""
    ends = sorted(int(line.split(",")[0]) for line in log.read_text().splitlines())
    assert ends
    return [b - a > 990 for a, b in zip(ends, ends[1:])]


LOADS = SINGLE | {"number_ios": 500}, DEEP | {"number_ios": 1000}


@pytest.mark.before_release
@pytest.mark.parametrize("looking", ["bpf", "kmod"])
def test_busy(looking, tmp_path):
    """
    A busy device has IOs after a pause only where the emulated machine stood still: no more than the gaps in which fio saw no
    IO end. The other engine, which does not look for pauses, has the same IOs in the same bins.
    """
    with null_blk(nr_devices=2, irqmode=2, completion_nsec=1000000) as devices, \
            both(*devices, stage="device,total", **{f"{looking}_args": ("--idle-gap", "1")}) as engines:
        for device, load in zip(devices, LOADS):
            fio(device, rw="randrw", write_lat_log=tmp_path / device.name, **load)
        engines.settle()
    b = getattr(engines, looking)
    for device in devices:
        pauses = waits(tmp_path / f"{device.name}_lat.1.log").count(True)
        for stage in "device", "total":
            engines.agree(device, stage)
            assert_histograms_agree(engines, device, stage)
            assert count(b, "read", device, stage) + count(b, "write", device, stage) <= pauses


@pytest.mark.before_release
def test_an_end_is_use_too():
    """
    IOs of 400 ms, issued 800 ms apart: the device rests for half of that, which is less than the gap. The test goes on
    until that is certain for several of them, since an emulated machine stands still now and then.
    """
    gap = 0.7

    def possible():
        return len(bursts.after_rest("read", gap, least_s=0.95 * TIMER_S)[1])

    with null_blk(irqmode=2, completion_nsec=int(TIMER_S * 1e9)) as (device,), Bursts(device) as bursts, \
            watch(device, gap=gap, stage="device,total") as engines:
        while len(bursts.done) - possible() < 6:
            assert len(bursts.done) < 200
            assert bursts.io("read") > 0.95 * TIMER_S
            time.sleep(TIMER_S)
        engines.settle()
    for stage in "device", "total":
        for b in engines:
            assert b.ops(device, stage) == {"read": len(bursts.done)}
            assert count(b, "read", device, stage) <= possible()
        assert_same_pauses(engines, device, stage)
