# SPDX-License-Identifier: GPL-2.0-only
"""A drive beside an array: --map."""
import json

import pytest

import synthetic
from recordings import blklat, recorded


def run(folder, name, devices, stage="total", p50_ns=100e3, iops=6000):
    """Equal depth: six times the latency, a sixth of the IOPS."""
    s = synthetic.Script(devices=devices, stage=stage)
    for _ in range(5):
        for device in devices:
            s.on(device, stage)
            s.peak("read", p50_ns, iops)
        s.tick()
    return recorded(s, folder / name)


@pytest.fixture(scope="module")
def drive_and_array(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    return (run(folder, "drive.blklat", ["nullb0", "sda"]),
            run(folder, "array.blklat", ["md0", "nullb0", "nullb1"], p50_ns=600e3, iops=1000))


def test_one_drive_and_a_triple_array_are_1_to_6_at_p90(drive_and_array):
    document = json.loads(blklat("compare", "-f", "json", "--map", "nullb0=md0", *drive_and_array))
    [group] = [g for g in document["groups"] if g.get("pair") == "nullb0 -> md0"]
    base, other = group["runs"]
    assert (base["device"], other["device"], group["stage"]) == ("nullb0", "md0", "total")
    assert other["ratio"]["p90"] == pytest.approx(6, rel=0.02)      # bins are 1.1 % wide
    assert other["ratio"]["iops"] == pytest.approx(1 / 6, rel=1e-3)
    assert [u["device"] for u in document["unpaired"]] == ["nullb0", "nullb1"]


def test_text_and_markdown_say_the_pair(drive_and_array):
    assert "nullb0 -> md0 total, read\n" in blklat("compare", "--map", "nullb0=md0", *drive_and_array)
    assert "### nullb0 -> md0 total, read\n" in blklat("compare", "-f", "markdown", "--map", "nullb0=md0", *drive_and_array)
    both = blklat("compare", "--map", "nullb0=md0,sda=nullb1", *drive_and_array)
    assert both == blklat("compare", "--map", "nullb0=md0", "--map", "sda=nullb1", *drive_and_array)
    assert "sda -> nullb1" in both


def test_repeats_of_a_pair(drive_and_array):
    drive, array = drive_and_array
    text = blklat("compare", "--map", "nullb0=md0,sda=nullb1", "--fail-if", "read.p90 > +400% beyond noise", "--baseline",
                  drive, drive, "--", array, array, status=3)
    assert "nullb0 -> md0" in text


@pytest.mark.parametrize("pairs,sentence", [
    ("nullb9=md0", "has no 'nullb9'"), ("nullb0=md9", "has 'md9'"), ("nullb0", "must be"), ("=md0", "must be"), ("nullb0=", "must be"),
    ("nullb0=md0,", "must be"), ("nullb0=md0,nullb0=nullb1", "already"), ("nullb0=md0,sda=md0", "already"), ("a=b=c", "must be"),
])
def test_wrong_pairs(drive_and_array, pairs, sentence):
    text = blklat("compare", "--map", pairs, *drive_and_array, status=2)
    assert text.count("\n") == 1 and sentence in text


def test_unlike_stages_are_refused(drive_and_array, tmp_path):
    drive = run(tmp_path, "drive.blklat", ["nullb0"], stage="device")
    text = blklat("compare", "--map", "nullb0=md0", drive, drive_and_array[1], status=2)
    assert text.count("\n") == 1 and "--stage total" in text
