# SPDX-License-Identifier: GPL-2.0-only
"""A service says what 'blklat live' says: its snapshot and its stream have the lines of live's JSON. On devices: test_serve_by_cgroup.py."""
import json
import subprocess

import pytest
from script import TESTS, recorded, write_recording
from service import BLKLAT, MIXED, Serve

SCRIPT = """blklat-replay 1
engine bpf
by size
slow-max 3
device sda size=480103981056
device sdb
watch sda device
watch sda total
watch sdb device
io read 30ms 4096 x9
slow read 30ms 4096 sector=8 pid=77 comm=dd cgroup=/a/b hw-queue=1 cpu=2 queue=1ms ago=20ms depth=12 "beside=big write" flags=readahead in="4 KiB" x5
on sda total
io write 40ms 131072
slow write 40ms 131072 error=7 thread=5 comm=kworker/0:1 in="128 KiB"
tick 0.2
on sdb device
io read 1ms 4096 x4
tick 0.2
slow read 1ms 4096 in="4 KiB" x4
io read 1ms 4096 x4
tick 0.2
"""


@pytest.fixture
def slow(tmp_path):
    return write_recording(SCRIPT, tmp_path / "slow.blklat")


def told(file, *args):
    """Live's lines, the answer that has the last interval's, and the stream's run and intervals."""
    live = subprocess.run([BLKLAT, "live", "--replay", file, "--format", "json", *args], capture_output=True, text=True, check=True, timeout=60)
    lines = live.stdout.splitlines()
    with Serve("--replay", file, *args) as s, s.stream() as stream:
        _, name, run = stream.event()
        assert name == "run"
        intervals = [data for _, data in stream.intervals(len({json.loads(line)["time"] for line in lines}))]
        s.replayed()
        return lines, s.request("/api/snapshot"), run, intervals


def assert_as_live(lines, answer, intervals):
    last = json.loads(lines[-1])["time"]
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    assert answer.text.splitlines() == [line for line in lines if json.loads(line)["time"] == last]
    watches = [(i["time"], w) for i in intervals for w in i["watches"]]
    for line, (time, w) in zip(map(json.loads, lines), watches, strict=True):
        assert time == line["time"]
        for key in ("device", "stage", "part", "slow", "slow_dropped"):
            assert w.get(key) == line.get(key)
        assert ("accounting" in w) == ("part" not in w)
        assert [(o["op"], o["ios"], o["bytes"]) for o in w["ops"]] == [(o["op"], o["ios"], o["bytes"]) for o in line["ops"]]


@pytest.mark.parametrize("more", [(), ("--bins",)], ids=" ".join)
def test_bins_are_for_the_snapshot(more):
    lines, answer, _, intervals = told(MIXED, *more)
    assert_as_live(lines, answer, intervals)
    assert all(('"bins"' in line) == bool(more) for line in lines)


def test_parts():
    """No device is reported twice."""
    lines, answer, run, intervals = told(recorded(TESTS / "cli/replay/sizes.txt"))
    assert_as_live(lines, answer, intervals)
    assert [d["name"] for d in run["devices"]] == ["nvme0n1", "sda"]


def test_slow_ios(slow):
    lines, answer, run, intervals = told(slow)
    assert_as_live(lines, answer, intervals)
    assert run["slow"] is True
    seen = [w for i in intervals for w in i["watches"] if w.get("slow")]
    assert [(len(w["slow"]), w["slow_dropped"]) for w in seen] == [(3, 2), (1, 0), (3, 1)]
    assert seen[0]["slow"][0] | {"time": ""} == {
        "time": "", "latency_ns": 30000000, "queue_ns": 1000000, "device_ns": None, "op": "read", "bytes": 4096, "sector": 8, "flags": "readahead", "error": None,
        "part": {"by": "size", "label": "4 KiB"}, "depth": 12, "beside": "big write", "hw_queue": 1, "start_cpu": 2, "end_cpu": 0, "pid": 77, "comm": "dd", "kernel_thread": False,
        "cgroup": "/a/b", "pages": None, "file_device": None, "inode": None, "file": None,
    }
