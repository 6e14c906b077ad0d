# SPDX-License-Identifier: GPL-2.0-only
"""The time in which at least one IO was in flight, against sums and the union of the same IOs' times."""
import pathlib

import load
import pytest
from load import Blklat, assert_all_counted, exact, fio
from recorder import Recorder, query, value


@pytest.fixture(params=[False, True], ids=("guarded", "unguarded"))
def kernel(request, monkeypatch, tmp_path):
    """This one, or one whose types lack what came with 05b24ff9b2cf, 6.1: then there are no standbys, and no row for them."""
    if not request.param:
        return
    types, program = tmp_path / "types", tmp_path / "blklat"
    types.write_bytes(pathlib.Path("/sys/kernel/btf/vmlinux").read_bytes().replace(b"bpf_prog_inc_misses_", b"xpf_prog_inc_misses_"))
    bind = f"mount --bind {types} /sys/kernel/btf/vmlinux && exec {load.BLKLAT}"
    program.write_text(f"#!/bin/sh\nexec unshare -m sh -c '{bind} \"$@\"' sh \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setattr(load, "BLKLAT", str(program))


@exact
def test_one_at_a_time(loop, kernel):
    """At depth 1 it is the sum of the latencies (Little's law), and no more than fio waited."""
    with Blklat(loop, stage="device,total", args=("--by", "depth")) as b:
        f = fio(loop, rw="randread", bs=4096, number_ios=500, thinktime=500)
        b.next(n=2)
    for stage in "device", "total":
        assert_all_counted(b, loop, stage)
        lines = b.of(loop, stage)
        sum_s = sum(o["latency_ns"]["mean"] * o["ios"] for l in lines for o in l["ops"]) / 1e9
        assert sum(l.get("busy", 0) * l["interval_s"] for l in lines) == pytest.approx(sum_s, abs=len(lines) * 2e-6)
        assert sum_s <= f.mean_ns("read", "lat_ns") * f.ios("read") / 1e9
        assert all(0 <= l.get("busy", 0) <= 1 for l in lines)
        assert not [l for l in b.lines if "part" in l and "busy" in l]


def union_ns(times):
    busy = until = 0
    for begin, end in sorted(times):
        busy += max(end - max(begin, until), 0)
        until = max(until, end)
    return busy


@pytest.mark.parametrize("by", ("depth", "beside"))
def test_many_at_once(loop, tmp_path, by):
    """Bursts of reads and writes: the union of the times of all IOs, each of which is listed as a slow one."""
    file = tmp_path / "r.blklat"
    with Recorder(loop, file, "--by", by, "--slow", "1us", "--slow-max", "10000", interval=0.5) as r:
        fio(loop, rw="randrw", bs=4096, number_ios=1000, ioengine="libaio", iodepth=32, iodepth_batch=32, numjobs=2,
            thinktime=20000, thinktime_blocks=64)
        r.more(2)
        assert r.stop() == 0
    times = [(end - ns, end) for end, ns in query(file, "SELECT end_wall_ns, latency_ns FROM slow")]
    assert len(times) == value(file, "SELECT sum(ios) FROM series")
    union, busy = union_ns(times), value(file, "SELECT sum(busy_ns) FROM busy")
    assert busy == pytest.approx(union, rel=0.02, abs=5e6)
    assert union < 0.9 * sum(end - begin for begin, end in times)
