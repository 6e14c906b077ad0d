# SPDX-License-Identifier: GPL-2.0-only
"""Phases between marks: which intervals belong to them, and that their figures are of just these."""
import json

import pytest
from attacks import run
from script import START_NS, write_recording
from sql import change


def phases(tmp_path, marks, seconds, head=""):
    """The run of these seconds, each what happens in it or how many reads of 100 us there are."""
    text = "".join(f"io read 100us 4096 x{s}\ntick 1\n" if isinstance(s, int) else f"{s}\ntick 1\n" for s in seconds)
    file = write_recording(f"blklat-replay 1\n{head}device sda\ndevice sdb\nwatch sda device\nwatch sdb device\n{text}", tmp_path / "run.blklat")
    change(file, *[f"INSERT INTO mark VALUES({START_NS + round(at * 1e9)}, 1, '{name}')" for name, at in marks])
    done = run("report", "--format", "json", file)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["runs"][0]


def read_of(phase):
    return phase["watches"][0]["ops"][0]


def test_rates_are_over_the_time_of_the_ios(tmp_path):
    """The first load begins 0.75 s after its mark and ends 0.5 s before the next. The others have IOs in flight at a phase's end, so they last until there."""
    ios = [0, 100, 400, 400, 200, 250, 1000, 1000, 70, 100, 80]
    seconds = [f"in-flight {int(i in (7, 10))} oldest=1us\nio read 100us 4096 x{n}" for i, n in enumerate(ios)]
    of = phases(tmp_path, [("a", 1), ("b", 5), ("c", 8)], seconds)["phases"]
    assert [p["length_s"] for p in of] == [2.75, 2.25, 3]
    assert [read_of(p)["iops"] for p in of] == pytest.approx([400, 1000, 250 / 3], abs=0.05)


def test_marks_on_borders(tmp_path):
    """Of intervals, or off by less than a thousandth: nothing is left out."""
    a, b = phases(tmp_path, [("a", 0), ("b", 2.0005)], [1, 2, 3, 4, 5])["phases"]
    assert (read_of(a)["ios"], read_of(b)["ios"], b["to_s"]) == (1 + 2, 3 + 4 + 5, 5)


def test_short_ones(tmp_path):
    """Too short for a whole interval: takes the one whose middle it covers; below half an interval: no figures."""
    of = phases(tmp_path, [("most", 0.2), ("some", 1.1), ("pause", 1.3), ("two", 2.4), ("late", 3.9)], [10, 20, 30, 40])["phases"]
    assert [(p["name"], p["partial"], p["intervals"], len(p["watches"])) for p in of] == [
        ("most", True, 1, 1), ("some", False, 0, 0), ("two", True, 2, 1), ("late", False, 0, 0)]
    assert (read_of(of[0])["ios"], read_of(of[2])["ios"], read_of(of[2])["iops"]) == (10, 30 + 40, 35)


def test_a_whole_interval_takes_the_place_of_a_partial_one(tmp_path):
    """With all its figures."""
    first = "on sdb device\nio write 7ms 4096 x3\non sda device\nio read 9ms 4096 after-idle"
    phase, = phases(tmp_path, [("a", 0.4)], [first, 10, 20], "idle-gap 100ms\n")["phases"]
    read = read_of(phase)
    assert (phase["partial"], read["ios"], read["latency_ns"]["max"], sum(n for _, _, n in read["bins"])) == (False, 30, 100000, 30)
    assert [w["device"] for w in phase["watches"]] == ["sda"] and "after_idle" not in read


def test_rests(tmp_path):
    """A rest at either end of a phase is not part of it, one in its middle is. An IO that hangs is no rest."""
    seconds = [0, 0, 100, 0, 200, 0, 0, 0, "in-flight 1 oldest=500ms", "in-flight 0\nio read 1.2s 4096\nio read 1us 4096 x9"]
    a, b = phases(tmp_path, [("a", 0), ("b", 8)], seconds)["phases"]
    assert (a["intervals"], read_of(a)["iops"], read_of(a)["ios"], len(a["watches"])) == (3, 100, 300, 1)
    # It began with the IO that was in flight, 0.5 s before the first interval's end.
    assert (b["intervals"], b["length_s"]) == (2, 1.5)
    assert (read_of(b)["iops"], b["watches"][0]["queue_depth"]) == pytest.approx((10 / 1.5, (1.2 + 9e-6) / 1.5), abs=0.05)


def test_as_many_as_can_be_shown(tmp_path):
    of = phases(tmp_path, [("pause" if i == 3 else "again", i) for i in range(266)], [1] * 266)
    assert (len(of["phases"]), of["phases_left_out"]) == (256, 9)
