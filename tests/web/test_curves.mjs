// SPDX-License-Identifier: GPL-2.0-only
// The page's arithmetic, against numbers worked out by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./browser.mjs";
import { bell, bound, random } from "./documents.mjs";

const { density, cumulative, reach, nines, consistency } = await load("curves.ts");

function near(actual, expected, tolerance = 1e-9) {
    assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}

function sum(values) {
    return values.reduce((all, value) => all + value, 0);
}

test("density: a bin over one decade gives each of its hundred cells a hundredth", () => {
    const curve = density([[1e5, 1e6, 1000]], 1e5, 1e6, 10);
    assert.equal(curve.y.length, 102);
    assert.equal(curve.y[0], 0);
    assert.equal(curve.y[101], 0);
    curve.y.slice(1, 101).forEach((y) => near(y, 1));
    near(curve.x[1], 1e5 * 10 ** 0.005);
    near(curve.x[100], 1e5 * 10 ** 0.995);
});

test("density: a bin over parts of three cells", () => {
    // From the middle of one cell to a quarter of the next but one: 0.5, 1 and 0.25 cells.
    const curve = density([[10 ** 5.005, 10 ** 5.0225, 70]], 1e5, 2e5, 1);
    [0, 20, 40, 10, 0].forEach((y, i) => near(curve.y[i], y, 1e-6));
});

test("density: the area is the IOPS, whatever the bins", () => {
    const next = random(3);
    for (let round = 0; round < 200; round++) {
        const bins = [], from = 512 + Math.floor(next() * 400), width = [1, 2, 4, 64][round % 4];
        for (let k = from; k < from + 40 * width; k += width)
            if (next() < 0.7)
                bins.push([bound(k), bound(k + width), 1 + Math.floor(next() * 10 ** (1 + next() * 8))]);
        if (!bins.length)
            continue;
        const seconds = 0.5 + next() * 3600, iops = sum(bins.map((bin) => bin[2])) / seconds;
        const curve = density(bins, bins[0][0] + 1, bins[bins.length - 1][1], seconds);
        assert.ok(Math.abs(sum(curve.y) / iops - 1) < 1e-9);
        assert.ok(curve.x.every((x, i) => i === 0 || x > curve.x[i - 1]));
    }
});

test("density: cells below and above the grid end at the extremes", () => {
    const low = density([[0, 14, 5]], 10, 14, 1), high = density([[128e9, null, 5]], 130e9, 200e9, 1);
    near(sum(low.y), 5);
    near(sum(high.y), 5);
    assert.ok(low.x[1] > 8 && low.x[low.x.length - 2] < 14.2);
    assert.ok(high.x[1] > 127e9 && high.x[high.x.length - 2] < 203e9);
    near(sum(density([[0, 1, 3]], 1, 1, 1).y), 3);
});

test("density: nothing gives nothing", () => {
    assert.deepEqual(density([], 0, 0, 10), { x: [], y: [] });
    assert.deepEqual(density([[100, 200, 1]], 150, 150, 0).y.filter((y) => y !== 0), []);
});

const TWO = [[100, 200, 1], [200, 400, 3]];

test("cumulative, by IOs: at a bin's bound it is the share at or below", () => {
    assert.deepEqual(cumulative(TWO, 150, 390, "ios"), { x: [100, 200, 400], y: [0, 0.25, 1] });
    const bins = bell(90e3, 0.3, 123457), curve = cumulative(bins, bins[0][0] + 1, bins[bins.length - 1][1], "ios");
    let before = 0;
    for (const [, upper, count] of bins) {
        before += count;
        near(curve.y[curve.x.indexOf(upper)], before / 123457, 1e-12);
    }
});

test("cumulative: cells outside of the grid begin near the least and end at the greatest", () => {
    const { x, y } = cumulative([[0, bound(0), 10], [bound(100), bound(101), 10], [128e9, null, 10]], 9, 200e9, "ios");
    assert.ok(x[0] >= 7 && x[0] <= 9 && Math.abs(x[x.length - 1] - 200e9) < 1, x.join());
    near(y[1], 1 / 3);
});

test("cumulative, by time: an IO counts by its bin's geometric middle", () => {
    // The middles are 100 and 200 times the square root of 2: 1 x 1 against 3 x 2.
    const curve = cumulative(TWO, 150, 390, "time");
    assert.deepEqual(curve.x, [100, 200, 400]);
    near(curve.y[1], 1 / 7, 1e-12);
    assert.equal(curve.y[2], 1);
    // The middles are 200 and 600; arithmetic ones would be 250 and 650.
    near(cumulative([[100, 400, 1], [400, 900, 1]], 101, 900, "time").y[1], 1 / 4, 1e-12);
});

test("cumulative: level where no IO fell", () => {
    assert.deepEqual(cumulative([[100, 200, 1], [400, 800, 1], [800, 1600, 0]], 150, 700, "ios"),
        { x: [100, 200, 400, 800], y: [0, 0.5, 0.5, 1] });
    assert.deepEqual(cumulative([], 0, 0, "ios"), { x: [], y: [] });
});

test("where a share is reached", () => {
    const curve = cumulative(TWO, 150, 390, "ios");
    near(reach(curve, 0.25), 200);
    near(reach(curve, 0.625), 200 * Math.SQRT2);
    near(reach(curve, 1), 400);
    assert.ok(Number.isNaN(reach({ x: [], y: [] }, 0.5)));
});

test("nines", () => {
    near(nines(0.9), 1);
    near(nines(0.99), 2);
    near(nines(0.999999), 6, 1e-6);
    assert.equal(nines(1), Infinity);
    assert.equal(nines(0), -0);
});

test("consistency: a constant rate has no deviation, whatever doubles make of it", () => {
    const length_s = [0.1, 0.3, 0.7, 0.1, 0.3, 0.7], start_s = length_s.map((_, i) => sum(length_s.slice(0, i)));
    const c = consistency({ length_s, interval_s: 0.1, start_s }, [10, 30, 70, 10, 30, 70], 0, 3);
    near(c.iops_mean, 100);
    assert.equal(c.iops_deviation, 0);
});
