# SPDX-License-Identifier: GPL-2.0-only
"""What a report says about the phases between marks."""
import json

import pytest
from sql import change

from phases import mark, sweep
import synthetic
from recordings import blklat, compared


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


def test_levels_of_a_sweep_are_no_finding(tmp_path, report):
    """They are what the user set, unless one of them lies at no mark."""
    file = sweep(tmp_path / "run.blklat", seconds=8)

    def changes(*marks):
        return [f["kind"] for f in report(mark(change(file, "DELETE FROM mark"), *marks))["runs"][0]["findings"]].count("level_change")

    assert changes((8.3, "QD 4"), (16.3, "QD 16")) == 0
    assert changes() == changes((8.3, "QD 4")) == 2


def levels(path, rates=(400, 1600, 400), seconds=12, rest=3):
    """Levels of IOPS at one latency, the first after a rest; no marks."""
    script = synthetic.Script()
    for _ in range(rest):
        script.tick(1)
    for rate in rates:
        for _ in range(seconds):
            script.io("read", 100_000, rate)
            script.io("write", 2_000_000, 10)
            script.tick(1)
    return script.write(path)


def test_levels_are_phases_where_nobody_marked(tmp_path):
    file = levels(tmp_path / "run.blklat")
    run, = json.loads(blklat("report", "--format", "json", "--phases", "auto", file))["runs"]
    assert [(p["name"], p["from_s"], p["to_s"]) for p in run["phases"]] == [("level 1", 3, 15), ("level 2", 15, 27), ("level 3", 27, 39)]
    assert [m["text"] for m in run["marks"]] == ["level 1", "level 2", "level 3"]
    for p, iops in zip(run["phases"], (400, 1600, 400)):
        read, write = p["watches"][0]["ops"]
        assert (read["iops"], read["iops_deviation"], write["iops"]) == (iops, 0, 10) and p["intervals"] == 12
    # Marks take precedence, and a single level is no phase.
    assert json.loads(blklat("report", "--format", "json", file))["runs"][0]["phases"] == []
    even = levels(tmp_path / "even.blklat", rates=(400,))
    assert json.loads(blklat("report", "--format", "json", "--phases", "auto", even))["runs"][0]["phases"] == []
    marked = json.loads(blklat("report", "--format", "json", "--phases", "auto", mark(file, (5, "mine"))))["runs"][0]
    assert [p["name"] for p in marked["phases"]] == ["mine"]


def test_a_run_from_mark_to_mark_counts_the_rest_that_its_phase_does_not(tmp_path):
    file = mark(levels(tmp_path / "run.blklat", rates=(400,)), (0, "a"), (15, "end"))
    window = ("--from", "a", "--to", "end", file)
    run, = json.loads(blklat("report", "--format", "json", *window))["runs"]
    whole, phase = run["watches"][0]["ops"][0]["total"], run["phases"][0]["watches"][0]["ops"][0]
    assert (whole["ios"], whole["iops"], phase["ios"], phase["iops"]) == (4800, 320, 4800, 400)
    said = " ".join(blklat("report", "--format", "text", *window).split())
    assert "rates over 0.0 s to 15.0 s, as asked " in said and said.endswith("Rates of a phase are over the time from its first IO to its last, those above over all that was asked for.")


def test_levels_are_compared(tmp_path):
    before, after = levels(tmp_path / "a.blklat"), levels(tmp_path / "b.blklat", rates=(400, 1200, 400))
    document = compared("--phases", "auto", before, after, "--fail-if", "level 2: read.iops < -20%", status=3)
    assert [[run["iops"] for run in p["groups"][0]["runs"]] for p in document["phases"]] == [[400, 400], [1600, 1200], [400, 400]]


def test_how_phases_are_told(tmp_path):
    file = levels(tmp_path / "run.blklat", rates=(400,))
    assert "marks" in blklat("report", "--phases", "none", file, status=2) and "--phases" in blklat("compare", "--phases", "x", file, file, status=2)


def test_some_are_without_figures(tmp_path, report):
    file = mark(synthetic.mixed(5).write(tmp_path / "run.blklat"), (0.01, "a"), (0.02, "b"), (1000, "beyond"))
    a, b = report(file)["runs"][0]["phases"]
    assert (a["name"], a["watches"], a["intervals"]) == ("a", [], 0)
    assert b["name"] == "b" and b["watches"]


def test_compare_pairs_phases_by_name(tmp_path):
    """Latency is half as high again at each depth; a depth that one run lacks is listed separately."""
    before = sweep(tmp_path / "before.blklat", depths=(1, 4, 16))
    after = sweep(tmp_path / "after.blklat", depths=(16, 4, 32), service_ns=150_000, most=20_000)
    limits = ("QD 16: read.p99 > +49.9%", "QD 16: read.p99 > +50.1%", "QD 4:read.iops < 20001", "read.iops < 1")
    args = [a for limit in limits for a in ("--fail-if", limit)]
    document = compared(before, after, *args, status=3)
    assert [p["name"] for p in document["phases"]] == ["QD 4", "QD 16"]
    for phase in document["phases"]:
        group, = phase["groups"]
        base, other = group["runs"]
        assert (base["iops"], other["iops"]) == (30_000, 20_000) and other["ks"] == 1
        assert other["ratio"]["p99"] == pytest.approx(1.5, rel=1e-4)
    assert [(u["file"], u["name"]) for u in document["unpaired_phases"]] == [(str(before), "QD 1"), (str(after), "QD 32")]
    assert [(f["condition"], f["run"], f["holds"]) for f in document["fail_if"]] == list(
        zip(limits, (1, 1, 1, 1), (True, False, True, False)))
    assert document["fail_if"][0]["text"] == ("QD 16: read.p99 of sda is 800 us, 50.0 % above the baseline's 533 us "
                                              "(QD 16: read.p99 > +49.9%)")
    text = blklat("compare", before, after, "--fail-if", limits[0], status=3)
    assert text.count("\nphase QD") == 4 and "phase QD 32 of 2 is not in all" in text and "FAIL    QD 16: read.p99 of sda" in text
    markdown = blklat("compare", "--format", "markdown", before, after)
    assert "## phase QD 16\n\n### sda device, read\n" in markdown and markdown.count("is not in all\n") == 2


def test_a_run_without_phases_is_said_once(tmp_path):
    first, other = sweep(tmp_path / "before.blklat"), synthetic.steady(10).write(tmp_path / "after.blklat")
    assert [line for line in blklat("compare", first, other).splitlines() if "phase" in line] == ["phases are not compared: 2 has none"]


def test_a_run_alone_is_judged_by_phase(tmp_path):
    file = sweep(tmp_path / "run.blklat")
    assert "ok " in blklat("compare", file, "--fail-if", "QD 1: read.max > 101us")
    blklat("compare", file, "--fail-if", "QD 4: read.max > 101us", status=3)
    said = blklat("compare", file, "--fail-if", "QD 5: read.max > 101us", status=1)
    assert said == f"blklat compare: --fail-if 'QD 5: read.max > 101us': there is no phase 'QD 5' with IO in {file}\n"
    assert "not for a phase" in blklat("compare", file, "--fail-if", "QD 4: total.lost > 0", status=2)


def test_phases_of_one_name_are_compared_in_order(tmp_path):
    def twice(name, first, second):
        script = synthetic.Script()
        for ns in (first, second):
            for _ in range(3):
                script.io("read", ns, 10)
                script.tick()
        return mark(script.write(tmp_path / name), (0, "a"), (3, "a"))

    document = compared(twice("1.blklat", 1e5, 1e6), twice("2.blklat", 2e5, 3e6))
    ratios = [p["groups"][0]["runs"][1]["ratio"]["p50"] for p in document["phases"]]
    assert ratios == pytest.approx([2, 3], rel=1e-3)
