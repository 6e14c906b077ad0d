// SPDX-License-Identifier: GPL-2.0-only
// What charts say, from their plots alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";
import { op, run, watch } from "./documents.mjs";

const { heatMap } = await load("charts/heat.ts");
const { iops } = await load("charts/iops.ts");
const { busy, inFlight, queueDepth, throughput } = await load("charts/load.ts");
const { ninesChart, percentile } = await load("charts/percentile.ts");
const { makeLines } = await load("lines.ts");

function lines(ios, more) {
    return makeLines([run([watch("sda", "device", [op("read", ios, () => 1e5)])], more)]);
}

test("an average lower than every dot stands where the logarithmic axis says", () => {
    for (const [ios, mean] of [[[12000, 0], 6000], [[0, 0, 0, 0, 50, 0, 0, 0, 0, 0], 5]]) {
        const { levels, y, series } = iops(lines(ios), "run", null), { value } = y;
        assert.ok(Math.abs(value(levels[0].y) / mean - 1) < 1e-9, `${value(levels[0].y)}`);
        assert.deepEqual(series[0].ys.map((place) => Math.round(value(place))), ios);
    }
});

test("a band follows the curve beside that of the whole run, within what is seen, and has no line", () => {
    const all = lines(Array.from({ length: 600 }, () => 100));
    assert.equal(iops(all, "run", null).levels.length, 1);
    all[0].op.iops_moving = { mean: all[0].op.ios.map((_, i) => i < 15 ? null : 200 + i), deviation: all[0].op.ios.map(() => 10) };
    const { levels, y } = iops(all, "run", null), [whole, ...moving] = levels;
    assert.ok(whole.faint && Number.isFinite(whole.y));
    // Two intervals per box, which shows the figures of the first.
    assert.equal(moving.length, 300 - 8);
    assert.deepEqual(moving[0].x, [16, 18]);
    assert.ok(moving.every((level) => !level.faint && Number.isNaN(level.y)));
    for (const [i, at] of [[0, 16], [200, 416]])
        assert.deepEqual(moving[i].band.map((place) => Math.round(y.value(place))), [190 + at, 210 + at]);
    const seen = iops(all, "run", [100, 201]).levels.slice(1);
    assert.deepEqual([seen[0].x, seen[seen.length - 1].x], [[100, 102], [200, 201]]);
    assert.equal(iops(all, "steady-log", null).levels.length, 1);
});

test("the heat map's key has three digits, as all figures", () => {
    const all = lines([12012], { length_s: [1.0001], duration_s: 1.0001 });
    all[0].op.heat.columns = [[100, 12, 101, 12000]];
    const { least, most } = heatMap(all, all[0]).cells;
    assert.deepEqual([least, most], ["12", "12.0k"]);
});

test("in flight: samples are dots, the mean depth is the line, both of one axis", () => {
    const all = lines([10, 10, 10]);
    all[0].watch.in_flight = [4, 0, 9];
    all[0].watch.queue_depth = [2.5, 3.5, 1];
    const { series, y } = inFlight(all);
    assert.deepEqual(series.map((s) => [s.kind, s.name, s.note, s.ys.map((place) => y.value(place))]), [
        ["dots", "sda", "highest 9", [4, 0, 9]], ["line", "sda, mean depth", "", [2.5, 3.5, 1]]]);
});

test("busy: of devices where it is known, the mean of the window, else the report's, else of the time in which it was there", () => {
    const all = makeLines([run(["sda", "sdb"].map((name) => watch(name, "device", [op("read", [10, 10, 10], () => 1e5)])))]), { watch: known } = all[0];
    const said = (window) => busy(all, window).series.map(({ name, note, ys }) => [name, note, ys]);
    known.busy = [0.4, 1, 0.7];
    assert.deepEqual(said(null), [["sda", "mean 70\u00a0%", known.busy]]);
    assert.match(said([1, 3])[0][1], /^mean 85.%$/);
    known.there_s = [0.5, 1, 0];
    assert.match(said(null)[0][1], /^mean 80.%$/);
    known.busy_mean = 0.9;
    assert.match(said(null)[0][1], /^mean 90.%$/);
});

test("where the capture paused, no line is drawn, and an interval between two pauses is a dot", () => {
    const pieces = ({ xs, ys }) => ys.reduce((all, y, i) => y === null ? [...all, []] : [...all.slice(0, -1), [...all[all.length - 1], xs[i]]], [[]]);
    const paused = (starts) => lines(starts.map(() => 10), { start_s: starts, duration_s: starts[starts.length - 1] + 1 });
    // A late interval, and the rest of a rounded time, are no pauses.
    const once = paused([0, 1.2, 2.2000001, 9, 10]);
    for (const plot of [queueDepth(once, null), throughput(once, null), heatMap(once, once[0])])
        for (const one of plot.series)
            assert.deepEqual(pieces(one), [[0.5, 1.7, 2.7000001], [9.5, 10.5]], `${plot.title}, ${one.name}`);
    assert.deepEqual([once, paused([0, 1, 5, 9, 10])].map((all) => throughput(all, null).series[0].kind), ["line", "dots"]);
    // The table behind has a row for each, and none in between.
    assert.equal(queueDepth(once, null).table().rows.filter(([, , mean]) => mean !== "–").length, 5);
});

test("IOs that are all alike: the axis is no narrower than ten bins, and the line in its middle", () => {
    const [line] = makeLines([run([watch("sda", "device", [op("read", [9, 9], () => 1e5, { width: 1e-4 })])])]);
    const [[lower, upper]] = line.op.bins;
    for (const plot of [percentile([line], "ios"), ninesChart([line], "ios")]) {
        const [lo, hi] = plot.xSpan;
        assert.equal(line.op.bins.length, 1);
        assert.ok(hi - lo >= Math.log10(1.0109 ** 10) && hi - lo < 0.06, `${hi - lo}`);
        assert.ok((lo + hi) / 2 >= Math.log10(lower) && (lo + hi) / 2 <= Math.log10(upper), `${lo} ${hi}`);
    }
});
