// SPDX-License-Identifier: GPL-2.0-only
// The page's percentiles equal the program's, which figures.c computes for random histograms.
import assert from "node:assert/strict";
import { test } from "node:test";
import { computed, load } from "./browser.mjs";

const { quantile } = await load("quantile.ts");
const { latency } = await load("format.ts");
const { histograms } = computed();

test("percentiles of random histograms, to the last digit that is shown", () => {
    assert.ok(histograms.length >= 1000);
    for (const { bins, min, max, quantiles } of histograms)
        for (const [share, expected] of quantiles) {
            const found = quantile(bins, share, min, max), what = `${share} of ${JSON.stringify({ bins, min, max })}`;
            // Their powers may differ in the last bits of a double.
            assert.ok(Math.abs(found - expected) <= 1e-12 * expected, `${found} is not ${expected}: ${what}`);
            assert.equal(latency(found), latency(expected), what);
        }
});

test("these histograms have what is special: few IOs, cells outside of the grid, extremes in one bin, every scale", () => {
    const count = (of) => histograms.filter(of).length, ios = ({ bins }) => bins.reduce((sum, bin) => sum + bin[2], 0);
    assert.ok(count((h) => ios(h) === 1) && count((h) => ios(h) < 100 && ios(h) > 1) && count((h) => ios(h) > 1e6));
    assert.ok(count((h) => h.bins[0][0] === 0) && count((h) => h.bins.at(-1)[1] === null));
    assert.ok(count((h) => h.bins.length === 1 && h.min < h.max) && count((h) => h.bins.length > 30));
});

test("no IO has no percentile", () => assert.ok(Number.isNaN(quantile([], 0.5, 0, 0))));
