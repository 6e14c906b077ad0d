# SPDX-License-Identifier: GPL-2.0-only
"""What a report says of the phases between marks."""
import pytest

from phases import mark, sweep
import synthetic
from recordings import recorded


def test_each_phase_has_its_own_figures(tmp_path, report):
    run, = report(sweep(tmp_path / "run.blklat"))["runs"]
    assert [(p["name"], p["from_s"], p["to_s"], p["intervals"], p["partial"]) for p in run["phases"]] == [
        ("QD 1", 0.3, 5.3, 4, False), ("QD 4", 5.3, 10.3, 4, False), ("QD 16", 10.3, 14.6, 3, False)]
    assert run["phases_left_out"] == 0
    for p, iops, ns in zip(run["phases"], (10_000, 30_000, 30_000), (100_000, 4e9 / 30_000, 16e9 / 30_000)):
        watch, = p["watches"]
        op, = watch["ops"]
        assert (watch["device"], watch["stage"], op["op"]) == ("sda", "device", "read")
        assert op["iops"] == iops and op["iops_deviation"] == 0 and op["bytes_per_s"] == iops * 4096
        assert op["ios"] == iops * p["intervals"] == sum(count for _, _, count in op["bins"])
        for figure in ("mean", "p50", "p99", "p99.9", "max"):
            assert op["latency_ns"][figure] == pytest.approx(ns, abs=1)
        assert op["queue_depth"] == watch["queue_depth"] == pytest.approx(iops * ns / 1e9, rel=1e-3)


def test_without_marks_there_are_none(tmp_path, report):
    run, = report(recorded(synthetic.mixed(5), tmp_path / "run.blklat"))["runs"]
    assert run["phases"] == []


def test_some_are_without_figures(tmp_path, report):
    file = mark(recorded(synthetic.mixed(5), tmp_path / "run.blklat"),
                (0.01, "a"), (0.02, "b"), (1000, "beyond"))
    a, b = report(file)["runs"][0]["phases"]
    assert (a["name"], a["watches"], a["intervals"]) == ("a", [], 0)
    assert b["name"] == "b" and b["watches"]
