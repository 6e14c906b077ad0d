# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of real loads compared: a drive and an array of three, and repeats that differ or do not."""
import json
import subprocess

import pytest
from guest import at_least, null_blk
from load import BLKLAT, fio_argv
from recorder import record
from stack import md

MS = 1000000
DEPTH = 16
# Long beside what an emulated CPU takes for an IO when it has to share its host, so that the device is what limits.
IO_NS = 20 * MS
# One IO at a time each, so that more wait the longer.
SLOW = {"irqmode": 2, "completion_nsec": IO_NS, "submit_queues": 1, "hw_queue_depth": 1}


def recorded(device, file, *args, **load):
    done = record(device, file, "--quiet", "--stage", "total", *args, command=fio_argv(device, rw="randread", **load))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return file, json.loads(done.stdout)["jobs"][0]["read"]["total_ios"]


def compare(*args, status=0):
    done = subprocess.run([BLKLAT, "compare", "--format", "json", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status and not done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


def test_a_drive_and_an_array_at_the_same_depth(folder):
    """Three drives do up to three times as much, so at the same depth an IO takes up to a third of the time. They rarely rest."""
    load = {"numjobs": DEPTH, "time_based": 1, "runtime": 8}
    with null_blk(nr_devices=3, **SLOW) as drives:
        drive, drive_ios = recorded(drives[0], folder / "drive.blklat", **load)
        with md(0, *drives) as array:
            both, array_ios = recorded(array, folder / "array.blklat", *(word for d in drives for word in ("--dev", d.name)), **load)
    document = compare("--map", "nullb0=md0", drive, both)
    [group] = [g for g in document["groups"] if g.get("pair") == "nullb0 -> md0" and g["op"] == "read"]
    of_drive, of_array = group["runs"]
    assert (of_drive["ios"], of_array["ios"]) == (drive_ios, array_ios)
    for run in of_drive, of_array:
        assert run["iops"] * run["latency_ns"]["mean"] / 1e9 == pytest.approx(DEPTH, rel=0.1)
    assert of_drive["latency_ns"]["mean"] >= 0.9 * DEPTH * IO_NS
    ratio = of_array["ratio"]
    assert 2 < ratio["iops"] < 3.2 and ratio["mean"] * ratio["iops"] == pytest.approx(1, rel=0.1)
    assert ratio["p90"] < 0.75      # IOs that wait for a tag may be served out of order, so it may be less than a third
    assert sorted(u["device"] for u in document["unpaired"]) == ["nullb0", "nullb1", "nullb2"]
    # The members' depths add up to the array's, except where it passes bios on as they are: the kernel traces each once.
    report = json.loads(subprocess.check_output([BLKLAT, "report", "--format", "json", both]))
    [stack] = report["runs"][0]["stacks"]
    depth = stack["queue_depth"]
    assert sum(depth[d.name] for d in drives) == pytest.approx(depth["md0"] if at_least(6, 1) else 0, rel=0.1)


def test_repeats_of_one_job_pass_and_a_slower_one_fails(folder):
    """A timer makes the latency: the same on both sides, then twice as long on one."""
    def repeats(name, io_ns, n):
        with null_blk(**SLOW | {"completion_nsec": io_ns}) as (device,):
            return [recorded(device, folder / f"{name}{i}.blklat", number_ios=75)[0] for i in range(n)]
    base, same, slow = repeats("a", IO_NS, 2), repeats("b", IO_NS, 2), repeats("c", 2 * IO_NS, 3)
    gate = ("--fail-if", "read.p50 > +10% beyond noise")
    assert not compare(*gate, "--baseline", *base, "--", *same)["failed"]
    document = compare(*gate, "--baseline", *base, "--", *slow, status=3)
    [verdict] = document["fail_if"]
    assert verdict["holds"] and verdict["text"].endswith("beyond noise")
    figure = document["groups"][0]["repeats"]["p50"]
    assert figure["base"]["median"] >= IO_NS and figure["other"]["median"] >= 2 * IO_NS
    assert 1.1 < figure["ratio_low"] < figure["ratio"] < 2.1 and figure["p"] < 0.05
