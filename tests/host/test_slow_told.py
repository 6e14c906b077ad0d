# SPDX-License-Identifier: GPL-2.0-only
"""Reports of slow IOs: all that there were, each with the facts that its sender knows."""
import os
import pathlib
import shutil
import subprocess

from devices import loop_on, run, unmount
from groups import ours
from load import assert_all_counted, exact
from needs import need
from slow import dd, dropped, slow_of, watch

STAGES = "device", "queue", "total"


def of_op(b, device, op, stage="device"):
    """All that is reported about an op: its slow IOs, and the sums of what was counted."""
    counted = [o for l in b.of(device, stage) for o in l["ops"] if o["op"] == op]
    return [io for io in slow_of(b, device, stage) if io["op"] == op], counted


@exact
def test_all_that_there_was(loop):
    """Everything is slow, so the single reports add up to the counts."""
    with watch(loop, "1us", stage="device,total") as b:
        pids = [dd(loop, "read", 4096, 20, offset=7), dd(loop, "write", 65536, 10), dd(loop, "read", 4096, 5)]
        b.next(loop, n=2)
    assert_all_counted(b, loop, "device")
    for stage in "device", "total":
        for op, n in ("read", 25), ("write", 10):
            slow, counted = of_op(b, loop, op, stage)
            assert len(slow) == sum(o["ios"] for o in counted) == n and dropped(b, loop, stage) == 0
            assert sum(io["bytes"] for io in slow) == sum(o["bytes"] for o in counted)
            assert max(io["latency_ns"] for io in slow) == max(o["latency_ns"]["max"] for o in counted)
            assert min(io["latency_ns"] for io in slow) == min(o["latency_ns"]["min"] for o in counted)
            mean = sum(o["latency_ns"]["mean"] * o["ios"] for o in counted) / n
            assert abs(sum(io["latency_ns"] for io in slow) / n - mean) < 1
        assert sorted((io["pid"], io["sector"], io["bytes"]) for io in slow_of(b, loop, stage)) == \
            sorted([(pids[0], 8 * (7 + i), 4096) for i in range(20)] + [(pids[1], 128 * i, 65536) for i in range(10)] +
                   [(pids[2], 8 * i, 4096) for i in range(5)])
        for io in slow_of(b, loop, stage):
            assert (io["comm"], io["kernel_thread"], io["error"], io["cgroup"], io["flags"]) == ("dd", False, None, ours(), "sync"), io


@exact
def test_what_the_stages_took(loop):
    """The total of an IO is the sum of its stages, and of what lies between them."""
    loop.setting("scheduler", "mq-deadline")
    with watch(loop, "1us", stage=",".join(STAGES)) as b:
        dd(loop, "read", 4096, 50)
        b.next(loop, n=2)
    assert_all_counted(b, loop, "device")
    by_sector = {stage: {io["sector"]: io for io in slow_of(b, loop, stage)} for stage in STAGES}
    assert len(by_sector["total"]) == len(by_sector["device"]) == 50
    for sector, io in by_sector["total"].items():
        device = by_sector["device"][sector]
        assert io["device_ns"] == device["latency_ns"] <= io["latency_ns"]
        assert io["queue_ns"] == device["queue_ns"]
        assert (io["queue_ns"] or 0) + io["device_ns"] <= io["latency_ns"]
        # An IO below the limit in a stage is not slow there.
        queued = by_sector["queue"].get(sector)
        assert queued["latency_ns"] == io["queue_ns"] if queued else io["queue_ns"] < 1000


@exact
def test_kernel_threads_are_named_as_such(loop):
    """A kernel thread does the upper device's work, which is charged to the process that caused it."""
    with loop_on(loop.path) as upper, watch(loop, "1us") as b:
        dd(upper, "read", 4096, 30)
        b.next(loop, n=2)
        assert_all_counted(b, loop)
    slow = [io for io in slow_of(b, loop) if io["op"] == "read"]
    assert sorted(io["sector"] for io in slow) == [8 * i for i in range(30)]
    assert all(io["kernel_thread"] and io["comm"].startswith("kworker") and io["cgroup"] == ours() for io in slow), slow


def test_file(loop, tmp_path):
    """A file that is read through the page cache: the inode is that of stat, the name the end of its path."""
    need(shutil.which("mkfs.ext4") and "\text4\n" in pathlib.Path("/proc/filesystems").read_text(), "no ext4")
    run("mkfs.ext4", "-q", "-F", loop.path)
    run("mount", loop.path, tmp_path)
    try:
        file = tmp_path / "a/b/c/file"
        file.parent.mkdir(parents=True)
        file.write_bytes(os.urandom(65536))
        run("sync", "-f", tmp_path)
        run("dd", f"of={file}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0")
        with watch(loop, "1us") as b:
            reader = subprocess.Popen(["dd", f"if={file}", "of=/dev/null", "status=none"])
            assert reader.wait(60) == 0
            b.next(loop, n=2)
        ios = [io for io in slow_of(b, loop) if io["pid"] == reader.pid and io["pages"] != "device"]
        device = os.stat(loop.path).st_rdev
        assert sum(io["bytes"] for io in ios) == 65536
        assert {(io["pages"], io["file_device"], io["inode"], io["file"]) for io in ios} == \
            {("file", f"{os.major(device)}:{os.minor(device)}", file.stat().st_ino, "b/c/file")}
    finally:
        unmount(tmp_path)
