# SPDX-License-Identifier: GPL-2.0-only
"""A drive beside an array: --map."""

import pytest

import synthetic
from recordings import blklat, compared


# Published measurements: IOPS, median and 90th percentile of a drive, and of an array of three, both at queue depth 16.
DRIVE, ARRAY = (81e3, 100e3, 348e3), (300e3, 45e3, 58e3)


def run(folder, name, devices, stage="total", figures=DRIVE):
    iops, p50_ns, p90_ns = figures
    s = synthetic.Script(devices=devices, stage=stage)
    for _ in range(5):
        for device in devices:
            s.on(device, stage)
            s.io("read", p50_ns, round(0.85 * iops))
            s.io("read", p90_ns, round(0.15 * iops))
        s.tick()
    return s.write(folder / name)


@pytest.fixture(scope="module")
def drive_and_array(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    return run(folder, "drive.blklat", ["nullb0", "sda"]), run(folder, "array.blklat", ["md0", "nullb0", "nullb1"], figures=ARRAY)


def test_an_array_of_three_has_a_sixth_of_a_drives_p90(drive_and_array):
    document = compared("--map", "nullb0=md0", *drive_and_array)
    [group] = [g for g in document["groups"] if g.get("pair") == "nullb0 -> md0"]
    base, other = group["runs"]
    assert (base["device"], other["device"], group["stage"]) == ("nullb0", "md0", "total")
    assert other["ratio"]["p90"] == pytest.approx(1 / 6, rel=0.022)      # bins are 1.09 % wide
    assert other["ratio"]["iops"] == pytest.approx(300 / 81, rel=1e-3)
    assert [u["device"] for u in document["unpaired"]] == ["nullb0", "nullb1"]
    assert [[r and r["device"] for r in g["runs"]] for g in document["groups"]] == [["nullb0", "md0"], ["sda", None]]


def test_text_and_markdown_say_the_pair(drive_and_array):
    assert "nullb0 -> md0 total, read\n" in blklat("compare", "--map", "nullb0=md0", *drive_and_array)
    assert "### nullb0 -> md0 total, read\n" in blklat("compare", "-f", "markdown", "--map", "nullb0=md0", *drive_and_array)
    both = blklat("compare", "--map", "nullb0=md0,sda=nullb1", *drive_and_array)
    assert both == blklat("compare", "--map", "nullb0=md0", "--map", "sda=nullb1", *drive_and_array)
    assert "sda -> nullb1" in both


def test_repeats_of_a_pair(drive_and_array):
    drive, array = drive_and_array
    text = blklat("compare", "--map", "nullb0=md0,sda=nullb1", "--fail-if", "read.p90 < -83% beyond noise", "--baseline",
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
