# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of stacked devices, each by one of the engines, and what the report says of them: it knows no engine."""
import json
import pathlib
import platform
import tempfile

import pytest
from devices import Delta, partition, run
from engines import PREPARED
from guest import DEEP, null_blk
from load import BIN, BLKLAT, FioResult, fio_argv
from recorder import record
from stack import dm

MS = 1000000


def report(engine, devices, **options):
    """Records a load on the first of the devices; returns the recording's report and fio's result."""
    with PREPARED[engine](), tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        file = pathlib.Path(folder) / "run.blklat"
        command = fio_argv(devices[0], thread=1, **options)
        others = [word for d in devices[1:] for word in ("--dev", d.name)]
        done = record(devices[0], file, "--quiet", "--engine", engine, *others, command=command)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        r = json.loads(run(BLKLAT, "report", "--format", "json", file))["runs"][0]
        assert r["engine"] == engine and r["finished"]
        # fio's output went through unchanged.
        return r, FioResult(json.loads(done.stdout)["jobs"][0])


def watches(r):
    """The watches at stage total, which members have because their array is named too."""
    assert {(w["device"], w["stage"]) for w in r["watches"]} == {
        (d, s) for d in r["stacks"][0]["members"] for s in ("device", "total")} | {(r["stacks"][0]["upper"], "total")}
    return {w["device"]: w for w in r["watches"] if w["stage"] == "total"}


def ops(w):
    return {o["op"]: o["total"]["ios"] for o in w["ops"]}


def test_the_layer_is_what_costs():
    """
    A delay of the upper device is all overhead. It is measured in ticks, of which an emulated CPU misses some. fio sees
    that wait from outside, a little longer.
    """
    delay_ms = 100
    with null_blk() as (below,), dm("delay", below, delay_ms) as top:
        stat = Delta(below)
        r, f = report("bpf", [top, below], rw="randread", number_ios=320, lat_percentiles=1, **DEEP)
        assert ops(watches(r)[top.name]) == ops(watches(r)[below.name]) == {"read": stat()["reads"]} == {"read": 320}
    [stack] = r["stacks"]
    assert (stack["upper"], stack["upper_stage"], stack["members"]) == (top.name, "total", [below.name])
    [read] = stack["ops"]
    assert (read["upper_ios"], read["member_ios"]) == (320, 320)
    assert delay_ms * MS / 2 <= read["overhead_ns"]["p50"] <= f.clat_ns("read", 50, "lat_ns") * BIN ** 2
    # Nearly all of the time is spent in the layer.
    depth = stack["queue_depth"]
    assert depth[below.name] < 0.2 * depth[top.name]
    [total] = [o["total"] for o in watches(r)[top.name]["ops"] if o["op"] == "read"]
    depth_s = depth[top.name] * (r["active"]["to_s"] - r["active"]["from_s"])
    spent_s = total["ios"] * total["latency_ns"]["mean"] / 1e9
    assert 0.99 * spent_s <= depth_s <= 1.01 * spent_s


def test_an_array_on_a_partition():
    """The partition has stage total like a disk, so the two can be subtracted; the rest of its disk is not in it."""
    with null_blk() as (below,), partition(below, 1, 1 << 20, 64 << 20) as part, dm("linear", part) as top:
        if platform.release().startswith("5.10"):   # no stage total there: it records without it, and says so
            with pytest.raises(AssertionError, match=f"partition '{part.name}' needs Linux 5.12 or later: watch its disk"):
                report("kmod", [top, part], rw="randread", number_ios=320, **DEEP)
            return
        r, _ = report("kmod", [top, part], rw="randread", number_ios=320, **DEEP)
        assert ops(watches(r)[top.name]) == ops(watches(r)[part.name]) == {"read": 320}
    [stack] = r["stacks"]
    assert (stack["upper_stage"], stack["members"]) == ("total", [part.name])
    [read] = stack["ops"]
    assert (read["upper_ios"], read["member_ios"]) == (320, 320) and read["overhead_ns"]["mean"] >= 0
