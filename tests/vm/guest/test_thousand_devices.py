# SPDX-License-Identifier: GPL-2.0-only
"""A thousand devices at three stages: both engines agree on those in use, and the others cost nothing."""
import pytest
from engines import PREPARED
from guest import All, null_blk
from load import Blklat, assert_all_counted, fio

N = 1000
STAGES = "device,queue,total"


# What a guest of 1 GiB can spare; the default is less there.
MEMORY = "200M"


pytestmark = pytest.mark.before_release


@pytest.fixture(scope="module")
def many():
    with null_blk(nr_devices=N, submit_queues=1, hw_queue_depth=64, no_sched=1) as devices:
        yield devices


@pytest.mark.parametrize("engine", PREPARED)
def test_each_is_counted(many, engine):
    used = many[0], many[N // 2], many[-1]
    with PREPARED[engine](), Blklat(All, stage=STAGES, interval=2, args=["--engine", engine, "--max-memory", MEMORY, "--scale", "3"]) as b:
        for i, device in enumerate(used):
            fio(device, number_ios=200 + i)
        b.next(used[-1], "total")
    lines = {(l["device"], l["stage"]): l for l in b.lines}
    assert len(lines) == 3 * N
    for device in many:
        done = 200 + used.index(device) if device in used else 0
        for stage in "device", "total":
            line = lines[device.name, stage]["accounting"]
            assert (line["completed"], line["in_flight"], line["lost"]) == (done, 0, 0), device.name
    for device in used:
        assert assert_all_counted(b, device, "device")["kernel_ios"] == 200 + used.index(device)
