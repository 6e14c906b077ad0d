# SPDX-License-Identifier: GPL-2.0-only
"""The report's document against the JSON lines of the same run, evaluated by independent code."""
import collections
import json
import math
import statistics

import pytest

import synthetic
from recordings import blklat

RUNS = {"stall": synthetic.stall, "duty": lambda: synthetic.duty_cycle(cycles=20), "peaks": synthetic.two_peaks,
        "mixed": synthetic.mixed}


@pytest.fixture(params=sorted(RUNS))
def run(request, tmp_path, report):
    """A run's document, and its lines by (device, stage)."""
    file = RUNS[request.param]().write(tmp_path / "run.blklat")
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
            yield o, [of(line, o["op"]) for line in lines], lines


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
    for o, parts, _ in series(run):
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


def active(run):
    """
    For how long each interval counts, of those with IO, or with one in flight, on a device whose IOs matter. In the first
    and the last, each op takes as long as at its rate, or queue depth if that is steadier, in the interval beside it.
    """
    _, lines = run
    ios = {who: [sum(o["ios"] for o in line["ops"]) for line in of] for who, of in lines.items()}
    everything = sum(map(sum, ios.values()))
    lengths = [line["interval_s"] for line in next(iter(lines.values()))]
    rates = [sum(ios[who][i] for who in lines) / length for i, length in enumerate(lengths)]
    least = everything / sum(length for rate, length in zip(rates, lengths) if rate) / 100
    oldest = [max(of[i]["in_flight"]["oldest_ns"] for who, of in lines.items() if sum(ios[who]) >= everything / 100) / 1e9 for i in range(len(rates))]
    busy = [i for i, rate in enumerate(rates) if rate >= least or oldest[i]]
    time = {i: lengths[i] for i in range(busy[0], busy[-1] + 1)}
    of_ios = [[p["ios"] if p else 0 for p in parts] for _, parts, _ in series(run)]
    of_time = [[p["ios"] * p["latency_ns"]["mean"] if p else 0 for p in parts] for _, parts, _ in series(run)]
    inner = [[sum(n[i] for n in of) / lengths[i] for i in list(time)[1:-1]] for of in (of_ios, of_time)]
    by_ios, by_time = (statistics.pstdev(of) / statistics.mean(of) for of in inner)
    each = of_time if by_time < by_ios else of_ios
    for i, beside in (busy[0], busy[0] + 1), (busy[-1], busy[-1] - 1):
        takes = [n[i] * min(lengths[i], n[i] * lengths[beside] / n[beside] if n[beside] else math.inf) for n in each]
        if i == busy[0] or not oldest[i]:
            time[i] = min(max(sum(takes) / sum(n[i] for n in each), oldest[i]), lengths[i])
    return time


def whole(run):
    """The intervals of which all counts."""
    return [i for i, seconds in active(run).items() if seconds > run[0]["length_s"][i] * (1 - 1e-9)]


def test_active_window(run):
    document, _ = run
    time, (first, *_, last) = active(run), active(run)
    begins, ends = document["start_s"][first] + document["length_s"][first] - time[first], document["start_s"][last] + time[last]
    assert (document["active"]["from_s"], document["active"]["to_s"]) == pytest.approx((begins, ends), abs=1e-3)
    assert (document["active"]["left_out"], document["active"]["asked"]) == (len(time) - len(whole(run)), False)


def test_ios_over_iops_is_the_time_that_is_stated(run):
    document, _ = run
    seconds = document["active"]["to_s"] - document["active"]["from_s"]
    for w in document["watches"]:
        for o in w["ops"]:
            assert o["total"]["ios"] / o["total"]["iops"] == pytest.approx(seconds, rel=1e-4)    # of IOPS as they are rounded


def test_total_is_the_sum_of_the_intervals(run):
    for o, parts, lines in series(run):
        chosen = active(run)
        there = [p for p in parts if p]
        total, seconds = o["total"], sum(chosen.values())
        assert o["bins"] == merged(parts)
        for key in ("ios", "bytes", "errors"):
            assert total[key] == sum(p[key] for p in there)
        assert total["iops"] == pytest.approx(sum(o["ios"][i] for i in chosen) / seconds, rel=1e-6, abs=0.06)
        assert total["bytes_per_s"] == pytest.approx(sum(o["bytes"][i] for i in chosen) / seconds, rel=1e-6, abs=0.6)
        latency = total["latency_ns"]
        assert latency["min"] == min(p["latency_ns"]["min"] for p in there)
        assert latency["max"] == max(p["latency_ns"]["max"] for p in there)
        mean = sum(p["latency_ns"]["mean"] * p["ios"] for p in there) / total["ios"]
        assert latency["mean"] == pytest.approx(mean, abs=0.2)
        waited = sum(parts[i]["latency_ns"]["mean"] * parts[i]["ios"] for i in chosen if parts[i])
        assert total["queue_depth"] == pytest.approx(waited / 1e9 / seconds, rel=1e-4, abs=1e-3)


def test_percentiles_of_the_total_lie_in_the_bin_of_their_rank(run):
    for o, _, _ in series(run):
        for name in ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999"):
            rank = max(1, math.ceil(float(name[1:]) / 100 * o["total"]["ios"] - 1e-6))
            for lower, upper, count in o["bins"]:
                rank -= count
                if rank <= 0:
                    break
            assert lower <= o["total"]["latency_ns"][name] <= upper, name


def spread(o, lines, chosen):
    """IOPS weighted by interval length: mean, deviation, the worst full interval, and how many are at 0."""
    weights = [lines[i]["interval_s"] for i in chosen]
    iops = [o["ios"][i] / lines[i]["interval_s"] for i in chosen]
    mean = sum(o["ios"][i] for i in chosen) / sum(weights)
    deviation = math.sqrt(sum(w * (x - mean) ** 2 for w, x in zip(weights, iops)) / sum(weights))
    return mean, deviation, iops


def test_consistency(run):
    document, _ = run
    for o, _, lines in series(run):
        chosen = whole(run)
        _, deviation, iops = spread(o, lines, chosen)
        iops = dict(zip(chosen, iops))
        assert o["total"]["iops_deviation"] == pytest.approx(deviation, rel=1e-4, abs=0.1)
        long = [i for i in chosen if lines[i]["interval_s"] >= 0.5 * document["interval_s"]]
        worst = min(long, key=lambda i: iops[i])
        assert o["total"]["iops_worst"] == pytest.approx(iops[worst], rel=1e-4, abs=0.06)
        assert o["total"]["iops_worst_at_s"] == pytest.approx(document["start_s"][worst], abs=2e-3)
        assert o["total"]["intervals_at_0"] == sum(o["ios"][i] == 0 for i in long)


def test_moving_consistency(run):
    """Over 15 intervals to either side, as far as they exist."""
    chosen = whole(run)
    for o, _, lines in series(run):
        moving = o["iops_moving"]
        assert len(moving["mean"]) == len(moving["deviation"]) == len(lines)
        for i, got in enumerate(zip(moving["mean"], moving["deviation"])):
            around = [k for k in chosen if abs(k - i) <= 15]
            if i not in chosen or len(around) < 10:
                assert got == (None, None), i
            else:
                mean, deviation, _ = spread(o, lines, around)
                assert got == (pytest.approx(mean, rel=1e-4, abs=0.06), pytest.approx(deviation, rel=1e-4, abs=0.1)), i


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
    short = synthetic.steady(seconds=10)
    o = report(short.write(tmp_path / "short.blklat"))["runs"][0]["watches"][0]["ops"][0]
    assert o["iops_moving"] == {"mean": [None] * 10, "deviation": [None] * 10}


def test_steady_window_is_the_second_half(run):
    document, _ = run
    chosen_of_all = whole(run)
    half = (document["start_s"][chosen_of_all[0]] + document["start_s"][chosen_of_all[-1]] + document["length_s"][chosen_of_all[-1]]) / 2
    for o, _, lines in series(run):
        steady = o["steady"]
        assert steady["rule"] == "second half"
        chosen = [i for i in chosen_of_all if document["start_s"][i] + document["length_s"][i] / 2 >= half - 1e-6]
        assert steady["from_s"] == pytest.approx(document["start_s"][chosen[0]], abs=1e-3)
        mean, deviation, _ = spread(o, lines, chosen)
        assert steady["iops_mean"] == pytest.approx(mean, rel=1e-4, abs=0.06)
        assert steady["iops_deviation"] == pytest.approx(deviation, rel=1e-4, abs=0.1)


def test_steady_window_as_asked(tmp_path, report):
    file = synthetic.steady(seconds=60).write(tmp_path / "run.blklat")
    o = report(file, "--steady-from", "45")["runs"][0]["watches"][0]["ops"][0]
    assert (o["steady"]["from_s"], o["steady"]["to_s"]) == (45, 60)
    assert o["steady"]["iops_mean"] == pytest.approx(statistics.mean(o["ios"][45:60]), abs=0.06)
    assert o["steady"]["iops_deviation"] == pytest.approx(statistics.pstdev(o["ios"][45:60]), abs=0.06)


def test_after_idle(run):
    for o, parts, _ in series(run):
        ios = sum(p["after_idle"]["ios"] for p in parts if p and p.get("after_idle"))
        if not ios:
            assert o["after_idle"] is None
            continue
        assert o["after_idle"]["ios"] == ios == sum(count for _, _, count in o["after_idle"]["bins"])


def row_of(ns, heat):
    """The row whose bounds hold a latency: lower exclusive, upper inclusive."""
    return max(0, math.ceil(round(2 ** heat["scale"] * math.log2(ns / heat["first_ns"]), 9)) - 1)


def test_heat_has_each_io_once(run):
    for o, parts, _ in series(run):
        heat = o["heat"]
        per = heat["per_column"]
        assert len(heat["columns"]) == math.ceil(len(parts) / per) or o["ios"][-1] == 0
        for i, column in enumerate(heat["columns"]):
            want = collections.Counter()
            for _, upper, count in merged(parts[i * per:(i + 1) * per]):
                want[row_of(upper, heat)] += count
            got = dict(zip(column[::2], column[1::2]))
            assert got == dict(want)


def test_long_runs_have_wider_columns(tmp_path, report):
    file = synthetic.filled_up().write(tmp_path / "run.blklat")
    o = report(file)["runs"][0]["watches"][0]["ops"][0]
    assert o["heat"]["per_column"] == 2 and len(o["heat"]["columns"]) == 1000
    assert sum(sum(c[1::2]) for c in o["heat"]["columns"]) == o["total"]["ios"]


def test_several_files_keep_their_order(tmp_path, report):
    files = [synthetic.steady(seconds=12, iops=n).write(tmp_path / f"{n}.blklat") for n in (300, 100, 200)]
    document = report(*files)
    assert [r["file"] for r in document["runs"]] == [str(f) for f in files]
    assert [round(r["watches"][0]["ops"][0]["total"]["iops"], -2) for r in document["runs"]] == [300, 100, 200]
