# SPDX-License-Identifier: GPL-2.0-only
"""Hundreds of devices at once: each is counted, and the end is a plain one."""
import pytest
from devices import many_loops
from load import Blklat, assert_all_counted, exact, fio
from recorder import assert_one_plain_file, record, value

N = 250


@pytest.fixture(scope="module")
def many():
    with many_loops(N) as devices:
        yield devices


class Pattern:
    """Names all of them where a test's helpers want a device."""

    def __init__(self, many):
        self.name = many.pattern


@pytest.mark.parametrize("stages", ["device", "device,total", "device,queue,total"])
@exact
def test_each_is_counted(many, stages):
    """Those in use have their IOs, the others none, and the status is 0."""
    used = many[0], many[N // 2], many[-1]
    with Blklat(Pattern(many), stage=stages) as b:
        for i, device in enumerate(used):
            fio(device, number_ios=100 + i)
        b.next(used[-1], "device")
        assert b.stop() == 0
    assert b.stderr == ""
    assert {l["device"] for l in b.lines} == {d.name for d in many}
    for device in many:
        done = 100 + used.index(device) if device in used else 0
        for stage in stages.split(","):
            waited = done if stage != "queue" else 0  # requests without a scheduler go straight to the driver
            assert assert_all_counted(b, device, stage)["completed"] == b.total("ios", None, device, stage) == waited


def test_recorded_command(many, file):
    """The status is the command's."""
    done = record(Pattern(many), file, "--quiet", "--stage", "device,queue,total", command=["sh", "-c", "exit 3"])
    assert (done.returncode, done.stderr) == (3, "")
    assert_one_plain_file(file)
    assert value(file, "SELECT count(*) FROM watch") == 3 * N
