# SPDX-License-Identifier: GPL-2.0-only
"""Very many IOs: 10^8 on this machine, 10^6 on each kernel of the guests, and there a thousand devices that come and go. None is missing that any program saw."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/host"), str(ROOT / "tests/vm")]

from devices import Delta, loop  # noqa: E402
from kernels import KERNELS  # noqa: E402
from load import Blklat, Fio, Unseen, assert_closed, missing  # noqa: E402

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
