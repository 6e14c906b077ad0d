# SPDX-License-Identifier: GPL-2.0-only
"""A layer and what it lies on, as the report has them. Expected figures are worked out by hand."""
import json

import pytest
from attacks import run
from script import write_recording
from sql import change


def stacks(tmp_path, watches, ios, lower, *more):
    """@watches: "NAME STAGE"; @ios of these; @lower: what lies on what, by the numbers of devices."""
    devices = dict.fromkeys(w.split()[0] for w in watches)
    script = ["blklat-replay 1", *[f"device {d}" for d in devices], *[f"watch {w}" for w in watches], *[f"on {watch}\nio {io}" for watch, io in ios], "tick 1"]
    file = change(write_recording("\n".join(script), tmp_path / "run.blklat"), *more, *[f"INSERT INTO lower VALUES{pair}" for pair in lower])
    done = run("report", "--format", "json", file)
    assert (done.returncode, done.stderr) == (0, "")
    [stack] = json.loads(done.stdout)["runs"][0]["stacks"]
    return stack


def another(number, name, kind="", parent="NULL"):
    """A device that is not watched."""
    return f"INSERT INTO device VALUES({number}, '{name}', '', '{kind}', '', '', 0, 0, 0, 1, 0, 0, {parent}, 0, 0)"


def test_array_and_members(tmp_path):
    """md0 on sdb and on a partition of sdc, where the disk is watched; sdd lies on nothing."""
    ios = [("md0 total", "read 100us 4096 x300"), ("sdb total", "read 80us 4096 x100"), ("sdc total", "read 90us 4096 x200"),
           ("md0 total", "write 100us 4096 x10"), ("sdd device", "write 5us 4096 x10")]
    stack = stacks(tmp_path, ["md0 total", "sdb total", "sdc total", "sdd device"], ios, [(0, 1), (0, 4)], another(4, "sdc1", "partition", 2))
    assert (stack["upper"], stack["upper_stage"], stack["members"]) == ("md0", "total", ["sdb", "sdc"])
    read = next(op for op in stack["ops"] if op["op"] == "read")
    assert (read["upper_ios"], read["member_ios"]) == (300, 300)
    assert read["overhead_ns"]["mean"] == pytest.approx(100000 - 26e6 / 300, abs=0.1)
    # Rank 150 of 300 is one of the 90 us, as is the last; bins are 1.09 % wide.
    assert all(9000 < read["overhead_ns"][p] < 11000 for p in ("p50", "p99"))
    assert stack["queue_depth"]["sdc"] == pytest.approx(0.018, abs=1e-9)


def test_through_what_is_not_watched(tmp_path):
    """dm-0 on dm-1 on sda."""
    ios = [("dm-0 device", "read 9us 4096"), ("sda device", "read 8us 4096")]
    assert stacks(tmp_path, ["dm-0 device", "sda device"], ios, [(0, 2), (2, 1)], another(2, "dm-1"))["members"] == ["sda"]


def test_unlike_stages_are_not_subtracted(tmp_path):
    """The array's total less its member's device stage would be 414 us of waiting that is not the array's doing."""
    stack = stacks(tmp_path, ["md0 total", "sda device"], [("md0 total", "read 500us 4096 x10"), ("sda device", "read 86us 4096 x10")], [(0, 1)])
    assert (stack["members"], stack["ops"]) == (["sda"], [])


def test_members_share_a_stage(tmp_path):
    """Those that have only stage total in common are compared there."""
    ios = [("md0 total", "read 9us 4096 x4"), ("sda device", "read 9us 4096 x50"), ("sdb total", "read 9us 4096"), ("sda total", "read 9us 4096 x3")]
    stack = stacks(tmp_path, [w for w, _ in ios], ios, [(0, 1), (0, 2)])
    assert (stack["members"], stack["ops"][0]["member_ios"]) == (["sda", "sdb"], 3 + 1)
