# SPDX-License-Identifier: GPL-2.0-only
"""The report's document against the JSON lines of the same run, evaluated by independent code."""
import collections
import json
import math
import statistics

import pytest
from script import TESTS, write_recording

import synthetic
from recordings import blklat

@pytest.fixture
def run(tmp_path, report):
    """A run's document, and its lines by (device, stage)."""
    file = synthetic.mixed().write(tmp_path / "run.blklat")
    lines = collections.defaultdict(list)
    percentiles = "50,90,95,99,99.9,99.99,99.999"
    for line in blklat("live", "--replay", file, "--format", "json", "--bins", "--percentiles", percentiles).splitlines():
        line = json.loads(line)
        lines[line["device"], line["stage"]].append(line)
    document = report(file)
    assert len(document["runs"]) == 1
    return document["runs"][0], lines


def of(line, op):
    """A line's figures of an op."""
    return next((o for o in line["ops"] if o["op"] == op), None)


def watches(run):
    document, lines = run
    assert [(w["device"], w["stage"]) for w in document["watches"]] == list(lines)
    for w in document["watches"]:
        yield w, lines[w["device"], w["stage"]]


def series(run):
    for w, lines in watches(run):
        ops = {o["op"] for line in lines for o in line["ops"]}
        assert {o["op"] for o in w["ops"]} == ops
        for o in w["ops"]:
            yield o, [of(line, o["op"]) for line in lines]


def test_time(run):
    document, lines = run
    lengths = [line["interval_s"] for line in next(iter(lines.values()))]
    assert document["length_s"] == pytest.approx(lengths, abs=1e-4)
    assert document["start_s"] == pytest.approx([sum(lengths[:i]) for i in range(len(lengths))], abs=1e-3)
    assert document["duration_s"] == pytest.approx(sum(lengths), abs=1e-3)


def test_of_each_device(run):
    for w, lines in watches(run):
        assert w["in_flight"] == [line["in_flight"]["ios"] for line in lines]
        assert w["oldest_ns"] == [line["in_flight"]["oldest_ns"] for line in lines]
        assert w["queue_depth"] == [line["queue_depth"] for line in lines]
        assert w["accounting"] == lines[-1]["accounting"]


def test_of_each_interval(run):
    for o, parts in series(run):
        assert o["ios"] == [p["ios"] if p else 0 for p in parts]
        assert o["bytes"] == [p["bytes"] if p else 0 for p in parts]
        assert o["max_ns"] == [p and p["latency_ns"]["max"] for p in parts]
        assert sorted(o["percentiles_ns"]) == ["p50", "p90", "p99", "p99.9"]
        for name, values in o["percentiles_ns"].items():
            assert values == pytest.approx([p and p["latency_ns"][name] for p in parts], abs=0.51)


def merged(parts):
    bins = collections.Counter()
    for p in filter(None, parts):
        for lower, upper, count in p["bins"]:
            bins[lower, upper] += count
    return [[lower, upper, count] for (lower, upper), count in sorted(bins.items())]


def test_total_is_the_sum_of_the_intervals(run):
    document, _ = run
    seconds = document["active"]["to_s"] - document["active"]["from_s"]
    for o, parts in series(run):
        there, total = [p for p in parts if p], o["total"]
        assert o["bins"] == merged(parts)
        for key in ("ios", "bytes", "errors"):
            assert total[key] == sum(p[key] for p in there)
        assert o.get("errors", [0] * len(parts)) == [p["errors"] if p else 0 for p in parts] and ("errors" in o) == (total["errors"] > 0)
        # Rates are rounded.
        assert total["ios"] / total["iops"] == pytest.approx(seconds, rel=1e-4)
        assert total["bytes_per_s"] == pytest.approx(total["bytes"] / seconds, rel=1e-6, abs=0.6)
        latency = total["latency_ns"]
        assert latency["min"] == min(p["latency_ns"]["min"] for p in there)
        assert latency["max"] == max(p["latency_ns"]["max"] for p in there)
        waited = sum(p["latency_ns"]["mean"] * p["ios"] for p in there)
        assert latency["mean"] == pytest.approx(waited / total["ios"], abs=0.2)
        assert total["queue_depth"] == pytest.approx(waited / 1e9 / seconds, rel=1e-4, abs=1e-3)


def test_percentiles_of_the_total_lie_in_the_bin_of_their_rank(run):
    for o, _ in series(run):
        for name in ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999"):
            rank = max(1, math.ceil(float(name[1:]) / 100 * o["total"]["ios"] - 1e-6))
            for lower, upper, count in o["bins"]:
                rank -= count
                if rank <= 0:
                    break
            assert lower <= o["total"]["latency_ns"][name] <= upper, name


def test_moving_band_of_two_levels(tmp_path, report):
    """The whole run's deviation includes the step between its levels; away from the step the moving band is as narrow as the noise."""
    s = synthetic.Script()
    for i in range(120):
        s.io("read", 100e3, (1000 if i < 60 else 200) + i % 2 * 2)
        s.tick()
    o = report(s.write(tmp_path / "run.blklat"))["runs"][0]["watches"][0]["ops"][0]
    assert o["total"]["iops_deviation"] == pytest.approx(400, abs=8)
    moving = o["iops_moving"]
    for i in (30, 90):
        assert moving["mean"][i] == pytest.approx(1001 if i < 60 else 201, abs=0.1)
        assert moving["deviation"][i] == pytest.approx(1, abs=0.01)
    assert moving["deviation"][60] > 300 and moving["mean"][5] is not None
    # The 31st of the intervals around the 45th is the first of the lower level.
    assert moving["mean"][44] > 1000 and moving["mean"][45] == pytest.approx((30 * 1001 + 200) / 31, abs=0.1)
    short = synthetic.steady(seconds=10)
    o = report(short.write(tmp_path / "short.blklat"))["runs"][0]["watches"][0]["ops"][0]
    assert o["iops_moving"] == {"mean": [None] * 10, "deviation": [None] * 10}


def test_steady_window_as_asked(tmp_path, report):
    file = synthetic.steady(seconds=60).write(tmp_path / "run.blklat")
    o = report(file, "--steady-from", "45")["runs"][0]["watches"][0]["ops"][0]
    assert (o["steady"]["from_s"], o["steady"]["to_s"]) == (45, 60)
    assert o["steady"]["iops_mean"] == pytest.approx(statistics.mean(o["ios"][45:60]), abs=0.06)
    assert o["steady"]["iops_deviation"] == pytest.approx(statistics.pstdev(o["ios"][45:60]), abs=0.06)


def test_after_idle(run):
    for o, parts in series(run):
        ios = sum(p["after_idle"]["ios"] for p in parts if p and p.get("after_idle"))
        if not ios:
            assert o["after_idle"] is None
            continue
        assert o["after_idle"]["ios"] == ios == sum(count for _, _, count in o["after_idle"]["bins"])


def row_of(ns, heat):
    """The row whose bounds hold a latency: lower exclusive, upper inclusive."""
    return max(0, math.ceil(round(2 ** heat["scale"] * math.log2(ns / heat["first_ns"]), 5)) - 1)


def test_heat_has_each_io_once(run):
    for o, parts in series(run):
        heat = o["heat"]
        per = heat["per_column"]
        assert len(heat["columns"]) == math.ceil(len(parts) / per) or o["ios"][-1] == 0
        for i, column in enumerate(heat["columns"]):
            want = collections.Counter()
            for _, upper, count in merged(parts[i * per:(i + 1) * per]):
                want[row_of(upper, heat)] += count
            got = dict(zip(column[::2], column[1::2]))
            assert got == dict(want)


def test_several_files_keep_their_order(tmp_path, report):
    files = [synthetic.steady(seconds=12, iops=n).write(tmp_path / f"{n}.blklat") for n in (300, 100, 200)]
    document = report(*files)
    assert [r["file"] for r in document["runs"]] == [str(f) for f in files]
    assert [round(r["watches"][0]["ops"][0]["total"]["iops"], -2) for r in document["runs"]] == [300, 100, 200]


def test_busy(tmp_path, report):
    """Of each interval, and over the active window, where the recording has it."""
    watch, = report(write_recording(TESTS / "cli/replay/depth.txt", tmp_path / "depth.blklat"))["runs"][0]["watches"]
    assert (watch["busy"], watch["busy_mean"]) == ([0.4, 1, 0.701], pytest.approx(2.101 / 3, abs=1e-6))
    watch = report(write_recording(TESTS / "cli/replay/sizes.txt", tmp_path / "sizes.blklat"))["runs"][0]["watches"][0]
    assert "busy" not in watch and "busy_mean" not in watch
