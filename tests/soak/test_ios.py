# SPDX-License-Identifier: GPL-2.0-only
"""Very many IOs: 10^8 on this machine, 10^6 on each kernel of the guests, and there a thousand devices that come and go. None is missing that any program saw."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/host"), str(ROOT / "tests/vm")]

from devices import Delta, loop, many_loops  # noqa: E402
from kernels import KERNELS  # noqa: E402
from load import SERIES_BYTES, Blklat, Fio, Unseen, assert_closed, fio, least_memory, missing  # noqa: E402

HOST_IOS = 10 ** 8
GUEST_IOS = 10 ** 6
TASKS = 3
STAGES = "device", "queue", "total"


def test_host():
    with loop() as device:
        stat = Delta(device)
        with Unseen() as unseen, Blklat(device, stage=",".join(STAGES), interval=1) as b:
            with Fio(device, ioengine="io_uring", iodepth=64, numjobs=TASKS, norandommap=1, rw="randrw",
                     bssplit="4k/60:16k/30:64k/10", time_based=1, runtime=24 * 3600) as f:
                b.until(lambda: stat()["ios"] >= HOST_IOS, "so many IOs", within_s=1800, every_s=1)
                done = f.end()
            b.next(device, "total", n=2)
            hidden = unseen.of(device)
    ios = done.ios("read") + done.ios("write")
    assert stat()["ios"] == ios >= HOST_IOS
    for stage in "device", "total":
        a = assert_closed(b, device, stage)
        print(stage, a)
        assert a["started"] == ios
        assert missing(a) == hidden
        assert b.total("ios", None, device, stage) == ios - hidden


class Many:
    def __init__(self, devices):
        self.name, self.path = devices.pattern, ":".join(d.path for d in devices)


def test_tasks_that_move_with_few_series():
    """64 tasks move between 100 devices for a minute. Eight series are left for single CPUs, who take turns. Extremes are exact."""
    slow = "--slow", "p99.9", "--slow-max", "1000"
    with many_loops(100) as devices:
        many, stats = Many(devices), [Delta(d) for d in devices]
        with Unseen() as unseen, Blklat(many, interval=1, args=["--max-memory", least_memory(many, *slow) + 8 * SERIES_BYTES, *slow]) as b:
            done = fio(many, rw="randrw", numjobs=64, file_service_type="random", time_based=1, runtime=60, size="100%", norandommap=1)
            b.next(devices[-1], n=2)
        counted = [stat()["ios"] for stat in stats]
    started = compared = 0
    for device, ios in zip(devices, counted):
        a = assert_closed(b, device)
        assert a["started"] == a["kernel_ios"] == ios
        assert missing(a) == unseen.of(device)
        started += a["started"]
        lines = b.of(device)
        for line, following in zip(lines, lines[1:]):
            # A slow IO is reported on another way, perhaps an interval before it is counted.
            told = max((io["latency_ns"] for io in line["slow"]), default=0)
            longest = [max((o["latency_ns"]["max"] for o in l["ops"] if o["ios"]), default=0) for l in (line, following)]
            assert told <= max(longest)
            compared += told in longest
    assert started == done.ios("read") + done.ios("write") and compared > 100


# Emulated, another architecture takes three times as long.
GUESTS = [name for name, kernel in KERNELS.items() if kernel.arch.native]


def guest(kernel, chosen, passed):
    done = subprocess.run([ROOT / "tests/vm/vm.py", "test", kernel, "-k", chosen, "--timeout", "1800"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.endswith(f"{passed} passed, 0 failed, 0 skipped\n"), done.stdout


@pytest.mark.parametrize("kernel", GUESTS)
def test_guest(kernel, monkeypatch):
    monkeypatch.setenv("BLKLAT_TASK_IOS", str(-(-GUEST_IOS // TASKS)))
    guest(kernel, "test_tasks and null_blk and none-0", 1)


@pytest.mark.parametrize("kernel", GUESTS)
def test_a_thousand_come_and_go(kernel, monkeypatch):
    monkeypatch.setenv("BLKLAT_HOT_PLUGGED", "1000")
    guest(kernel, "test_hot_plugged", 3)
