# SPDX-License-Identifier: GPL-2.0-only
"""Which devices of two runs are compared: by --map, else the drive, else the name, else what is left."""
import json

import pytest
from attacks import run
from script import write_recording
from sql import change


def recording(file, devices, *sql):
    """@devices: "NAME" or "NAME WWID"."""
    names = [d.split()[0] for d in devices]
    lines = [f"device {d.replace(' ', ' wwid=')}" for d in devices] + [f"watch {n} device" for n in names] + [f"on {n} device\nio read 9us 4096" for n in names]
    return change(write_recording("\n".join(["blklat-replay 1", *lines, "tick 1"]), file), *sql)


def pairs(a, b, *maps):
    done = run("compare", "--format", "json", *(word for m in maps for word in ("--map", m)), a, b)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    each = [[of and of["device"] for of in group["runs"]] for group in document["groups"]]
    return {tuple(pair) for pair in each if None not in pair}


DRIVES = ["sda naa.0", "sdb naa.1", "sdc naa.2", "sdd naa.3"]


@pytest.mark.parametrize("a, b, maps, expected", [
    (["sda", "sdb", "sdc"], ["sdc", "sda", "nvme0n1"], [], "sda=sda sdc=sdc sdb=nvme0n1"),      # the last is what is left, once in each
    (["sda", "sdb", "sdc"], ["nvme0n1", "nvme1n1", "sda"], [], "sda=sda"),                      # two are left: ambiguous
    # Pairs that were asked for have no other partner, even if both runs have the name.
    (["sda", "sdb"], ["sda", "md0"], ["sda=md0"], "sda=md0 sdb=sda"), (["sda", "sdb"], ["sda", "md0"], ["sdb=sda"], "sdb=sda sda=md0"),
    # The drive before the name, but not before what --map says; a name before whatever is left.
    (DRIVES, ["sda naa.1", "sdb naa.2", "sdc naa.3", "sdd naa.0"], [], "sda=sdd sdb=sda sdc=sdb sdd=sdc"),
    (DRIVES, ["sda naa.1", "sdb naa.2", "sdc naa.3", "sdd naa.0"], ["sda=sda"], "sda=sda sdc=sdb sdd=sdc sdb=sdd"),
    # Two paths to one drive: that of the same name.
    (DRIVES, ["sda naa.3", "sdb naa.2", "sdc naa.9", "sdd naa.3"], [], "sdd=sdd sdc=sdb sda=sda sdb=sdc")])
def test_pairs(tmp_path, a, b, maps, expected):
    assert pairs(recording(tmp_path / "a", a), recording(tmp_path / "b", b), *maps) == {tuple(pair.split("=")) for pair in expected.split()}


def test_other_stages_and_the_same_name_twice(tmp_path):
    a = recording(tmp_path / "a", ["sda"])
    done = run("compare", a, recording(tmp_path / "b", ["sda"], "UPDATE watch SET stage = 'total'"))
    assert "1 / 2" not in done.stdout and "2 / 1" not in done.stdout
    twice = recording(tmp_path / "twice", ["sda", "sdb"], "UPDATE device SET name = 'sda'")
    assert pairs(twice, twice) == {("sda", "sda")} == pairs(a, twice)
