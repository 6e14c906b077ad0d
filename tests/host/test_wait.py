# SPDX-License-Identifier: GPL-2.0-only
"""
Stage wait: as many bios as wait in the kernel's own trace, for as long, whether they are merged or not; split ones are in the guests'
tests of both engines (test_wait_engines.py). And where the time goes.
"""
import subprocess

import pytest

from devices import Delta
from load import BLKLAT, Blklat, assert_all_counted, exact, fio
from recorder import Recorder
from tracing import traced_events
from waits import WAITS, sum_ns, waited

IOS = 4000
APART_NS = 3000		# a look at the clock by the trace, and one by the program behind it


def watched(device, **load):
    """Counts a load of IOS bios. Returns what the trace says, and the run."""
    with Blklat(device, stage="wait") as b, traced_events(device, *WAITS) as lines:
        fio(device, size=device.size, number_ios=IOS, ioengine="libaio", iodepth=32, **load)
        b.next(device, "wait", 2)
        seen = lines()
    assert_all_counted(b, device, "total")
    a = assert_all_counted(b, device, "wait")
    waits, merged = waited(seen)
    assert a["started"] == a["completed"] == len(waits) == IOS
    assert abs(sum_ns(b, device, "wait") - sum(waits)) < IOS * APART_NS
    return merged, b


@exact
def test_each_has_a_request(loop):
    merged, b = watched(loop, rw="randread")
    assert merged == 0
    assert b.ops(loop, "wait") == b.ops(loop, "total") == {"read": IOS}


@exact
def test_merged(loop):
    """What is merged into another request waits no longer."""
    loop.setting("scheduler", "mq-deadline")
    stat = Delta(loop)
    merged, b = watched(loop, rw="write", iodepth_batch_submit=16)
    assert merged >= stat()["write_merges"] > 0
    assert b.ops(loop, "wait") == b.ops(loop, "total") == {"write": IOS}


@exact
def test_where_the_time_goes(loop, tmp_path):
    """
    64 readers share 4 tags. Each stage is measured by itself, and none is longer than what contains it: fio's latency, total,
    and its stages. The tags bound the time at the device, so nearly all of the rest is waited for them.
    """
    loop.setting("nr_requests", 4)
    loop.setting("max_sectors_kb", 64)
    file = tmp_path / "run.blklat"
    with Blklat(loop, stage="wait,queue,device", interval=3600) as b, Recorder(loop, file, "--stage", "wait,queue,device", "--overwrite") as r:
        f = fio(loop, bs="64k", numjobs=64, number_ios=100)
        assert r.stop() == 0
    for stage in "wait", "device", "total":
        assert assert_all_counted(b, loop, stage)["started"] == f.ios("read") == 6400
    line, = b.of(loop, "total")
    shares, total = line["ops"][0]["shares"], sum_ns(b, loop, "total")
    times = {stage: sum_ns(b, loop, stage) for stage in ("wait", "queue", "device")}
    times["plug"] = total - sum(times.values())
    assert times["plug"] >= 0 and total <= f.ios("read") * f.mean_ns("read")
    assert times["device"] <= 4 * line["interval_s"] * 1e9
    assert shares == {"exact": True} | {stage: pytest.approx(ns / total, abs=0.001) for stage, ns in times.items()}
    assert round(sum(shares[stage] for stage in times), 9) == 1
    said = subprocess.run([BLKLAT, "report", "--format", "text", file], capture_output=True, text=True, check=True).stdout
    assert "of this time; the device has 4 tags" in " ".join(said.split())
