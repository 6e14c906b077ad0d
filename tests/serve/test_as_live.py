# SPDX-License-Identifier: GPL-2.0-only
"""A service that reports slow IOs: the same as 'blklat live', each once. On devices: test_serve_by_cgroup.py."""
import json
import subprocess

from script import write_recording
from service import BLKLAT, Serve

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


def test_as_live_tells_it(tmp_path):
    """The snapshot has the lines of live's JSON, the stream their slow IOs."""
    file = write_recording(SCRIPT, tmp_path / "slow.blklat")
    r = subprocess.run([BLKLAT, "live", "--replay", file, "--format", "json"], capture_output=True, check=True, timeout=60)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    with Serve("--replay", file) as s, s.stream() as stream:
        _, name, told = stream.event()
        assert name == "run" and told["slow"] is True
        intervals = [data for _, data in stream.intervals(3)]
        s.replayed()
        assert s.snapshot() == [line for line in lines if line["time"] == lines[-1]["time"]]
    seen = [(i["time"], w["device"], w["stage"], w["slow"], w["slow_dropped"]) for i in intervals for w in i["watches"] if "slow" in w]
    assert seen == [(l["time"], l["device"], l["stage"], l["slow"], l["slow_dropped"]) for l in lines if "slow" in l]
    assert [(len(slow), dropped) for *_, slow, dropped in seen if slow] == [(3, 2), (1, 0), (3, 1)]
    assert seen[0][3][0] | {"time": ""} == {
        "time": "", "latency_ns": 30000000, "queue_ns": 1000000, "device_ns": None, "op": "read", "bytes": 4096, "sector": 8, "flags": "readahead", "error": None,
        "part": {"by": "size", "label": "4 KiB"}, "depth": 12, "beside": "big write", "hw_queue": 1, "start_cpu": 2, "end_cpu": 0, "pid": 77, "comm": "dd", "kernel_thread": False,
        "cgroup": "/a/b",
    }
