# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of real loads compared: a drive and an array of three."""
import json

import pytest
from devices import run
from guest import at_least, null_blk
from load import BLKLAT, fio_argv
from recorder import record
from stack import md

MS = 1000000
DEPTH = 16
# Long beside what an emulated CPU takes for an IO when it has to share its host, so that the device is what limits.
IO_NS = 40 * MS
# One IO at a time each, so that more wait the longer.
SLOW = {"irqmode": 2, "completion_nsec": IO_NS, "submit_queues": 1, "hw_queue_depth": 1}


def recorded(device, file, *args, **load):
    done = record(device, file, "--quiet", "--stage", "total", *args, command=fio_argv(device, rw="randread", **load))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return file, json.loads(done.stdout)["jobs"][0]["read"]["total_ios"]


def test_a_drive_and_an_array_at_the_same_depth(tmp_path):
    """Three drives do up to three times as much, so at the same depth an IO takes up to a third of the time. They rarely rest."""
    load = {"numjobs": DEPTH, "time_based": 1, "runtime": 8}
    with null_blk(nr_devices=3, **SLOW) as drives:
        drive, drive_ios = recorded(drives[0], tmp_path / "drive.blklat", **load)
        with md(0, *drives) as array:
            both, array_ios = recorded(array, tmp_path / "array.blklat", *(word for d in drives for word in ("--dev", d.name)), **load)
    document = json.loads(run(BLKLAT, "compare", "--format", "json", "--map", "nullb0=md0", drive, both))
    [group] = [g for g in document["groups"] if g.get("pair") == "nullb0 -> md0" and g["op"] == "read"]
    of_drive, of_array = group["runs"]
    assert (of_drive["ios"], of_array["ios"]) == (drive_ios, array_ios)
    for side in of_drive, of_array:
        # By Little's law. Between an IO and its next one a job waits for a CPU, which takes a part of the time when others want it, too.
        assert 0.75 * DEPTH < side["iops"] * side["latency_ns"]["mean"] / 1e9 < 1.02 * DEPTH
    assert of_drive["latency_ns"]["mean"] >= 0.9 * DEPTH * IO_NS
    ratio = of_array["ratio"]
    assert 2 < ratio["iops"] < 3.2 and 0.75 < ratio["mean"] * ratio["iops"] < 1.1
    assert ratio["p90"] < 0.75      # IOs that wait for a tag may be served out of order, so it may be less than a third
    assert sorted(u["device"] for u in document["unpaired"]) == ["nullb0", "nullb1", "nullb2"]
    # The members' depths add up to the array's, except where it passes bios on as they are: the kernel traces each once.
    report = json.loads(run(BLKLAT, "report", "--format", "json", both))
    [stack] = report["runs"][0]["stacks"]
    depth = stack["queue_depth"]
    assert sum(depth[d.name] for d in drives) == pytest.approx(depth["md0"] if at_least(6, 1) else 0, rel=0.1)
