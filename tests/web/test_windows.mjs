// SPDX-License-Identifier: GPL-2.0-only
// The figures of a window that the reader chose are the program's: figures.c says what those are of random runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { computed, load } from "./browser.mjs";

const { consistency } = await load("curves.ts");
const { amount } = await load("format.ts");
const { runs } = computed();

function same(found, expected, what) {
    if (found === null || expected === null)
        assert.equal(found, expected, what);
    else
        // A square by a power and one by a product may differ in the last bits of a double; what is no deviation, too.
        assert.ok(Math.abs(found - expected) <= 1e-9 * Math.max(1e-3, expected), `${found} is not ${expected}: ${what}`);
}

test("windows of random runs, to the last digit that is shown", () => {
    for (const run of runs)
        for (const { from, to, intervals, mean, deviation, worst, worst_at, at_0 } of run.windows) {
            const c = consistency(run, run.ios, from, to ?? Infinity), what = `${from} to ${to} of ${JSON.stringify({ ...run, windows: [] })}`;
            assert.equal(c !== null, intervals > 0, what);
            if (!c)
                continue;
            same(c.iops_mean, mean, what);
            same(c.iops_deviation, deviation, what);
            same(c.iops_worst, worst, what);
            assert.deepEqual([c.iops_worst_at_s, c.intervals_at_0], [worst_at, at_0], what);
            assert.deepEqual([c.iops_mean, c.iops_worst].map((v) => amount(v)), [mean, worst].map((v) => amount(v)), what);
            if (intervals > 1)
                assert.equal(amount(c.iops_deviation), amount(deviation), what);
        }
});

test("these windows have what is special: none, one interval, rests only, zeros, bounds in the middle of an interval", () => {
    const all = runs.flatMap((run) => run.windows.map((window) => ({ ...window, run })));
    const count = (of) => all.filter(of).length, middle = (run, t) => run.start_s.some((start, i) => start + run.length_s[i] / 2 === t);
    assert.ok(all.length >= 2000);
    assert.ok(count((w) => w.intervals === 0) && count((w) => w.intervals === 1) && count((w) => w.intervals > 30) && count((w) => w.to === null));
    assert.ok(count((w) => w.intervals && w.worst === null) && count((w) => w.at_0 > 3) && count((w) => w.worst > 0));
    assert.ok(count((w) => middle(w.run, w.from)) > 50 && count((w) => middle(w.run, w.to)) > 50);
});
