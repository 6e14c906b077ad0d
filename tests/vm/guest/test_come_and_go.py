# SPDX-License-Identifier: GPL-2.0-only
"""Devices come to an open capture and go from it again, in both engines, while another one is under load."""
import threading

from devices import Delta
from engines import both
from faulty import ENDLESS, null_blks, read
from guest import DEEP, has_module
from load import Fio, fio
from stack import scsi_debug

STAGES = "device", "queue", "total"
SLOW = {"irqmode": 2, "completion_nsec": 500000, "submit_queues": 2, "hw_queue_depth": 64}
# Of a small device and of a larger one: more than the capture has room for at a time.
LIVES = 3


class Everything:
    """As a device: an engine is told to watch all, whenever they come."""
    name = "all"


def until_told(e, device, what, times):
    for b in e:
        b.until(lambda b=b: b.stderr.count(f"{device.name} {what}\n") == times, f"{device.name} {what}")


def told(a):
    """All completions: those that the kernel skipped, where no standby was left, are told."""
    return a["completed"] + a["lost_by"].get("recursion", 0)


def at_rest(e, device):
    """
    Each engine's accounts when all has ended: nothing else is lost or left over. As many requests as by the kernel's count, which
    leaves out passthrough: a disk that has just come is still asked what it is.
    """
    accounts = []
    for b in e:
        b.next(device, "total", n=3)
        a = {stage: b.accounting(device, stage) for stage in STAGES}
        for stage in STAGES:
            assert a[stage]["in_flight"] == 0, (b.argv, stage, a)
            assert a[stage]["started"] == told(a[stage]), (b.argv, stage, a)
        assert 0 <= told(a["device"]) - a["device"]["kernel_ios"] <= b.ops(device, "device").get("other", 0), (b.argv, a)
        accounts.append(a)
    return accounts


def count_exactly(e, device):
    """Of a device at rest, each of fio's IOs."""
    before, stat = at_rest(e, device), Delta(device)
    f = fio(device, rw="randrw", number_ios=300, thread=1, **DEEP)
    ios = f.ios("read") + f.ios("write")
    for was, a in zip(before, at_rest(e, device)):
        counted = {stage: told(a[stage]) - told(was[stage]) for stage in STAGES}
        assert counted["device"] == stat()["ios"]
        assert counted["total"] == ios == 300


def under_load(e, device, times):
    """Comes with a load: what ends before it is watched is not counted, what starts afterwards is."""
    enough = threading.Event()

    def load():
        while not enough.is_set():
            read(device, 100)
    thread = threading.Thread(target=load)
    thread.start()
    try:
        until_told(e, device, "is watched now", times)
        for b in e:
            b.next(device, "total", n=2)
    finally:
        enough.set()
        thread.join()
    for a in at_rest(e, device):
        assert 0 < told(a["total"]) <= device.stat()["ios"]


def live(e, device, times):
    """A device that has just come, for the time of this number."""
    if times % 2:
        under_load(e, device, times)
    until_told(e, device, "is watched now", times)
    count_exactly(e, device)


def test_come_and_go():
    """One after the other, in places of those before; the one that stays loses none of its IOs."""
    with null_blks(SLOW, SLOW) as (stays, device):
        device.remove()
        stat = Delta(stays)
        with both(Everything, stage=",".join(STAGES), interval=0.25) as e:
            with Fio(stays, **ENDLESS) as load:
                load.until(lambda: stat()["ios"], "its first IO")
                for times in range(1, LIVES + 1):
                    device.make()
                    live(e, device, times)
                    device.remove()
                    until_told(e, device, "went away", times)
                for times in range(1, LIVES + 1) if has_module("scsi_debug") else ():
                    with scsi_debug(delay=1) as disk:
                        live(e, disk, times)
                    until_told(e, disk, "went away", times)
                done = load.end()
            accounts = at_rest(e, stays)
        for b, a in zip(e, accounts):
            assert "another capture" not in b.stderr, b.stderr
            assert told(a["device"]) == stat()["ios"]
            assert told(a["total"]) == done.ios("read") + done.ios("write")
