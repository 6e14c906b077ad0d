// SPDX-License-Identifier: GPL-2.0-only
// The figures of a window that the reader chose equal the program's, which figures.c computes for random runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { computed, load } from "./browser.mjs";
import { random } from "./documents.mjs";
import { recordings } from "./live.mjs";

const { consistency } = await load("curves.ts");
const { figures } = await load("charts/iops.ts");
const { amount } = await load("format.ts");
const { makeLines } = await load("lines.ts");
const { runs } = computed();

function same(found, expected, what) {
    if (found === null || expected === null)
        assert.equal(found, expected, what);
    else
        // A square by a power and one by a product may differ in the last bits of a double; so may a deviation of 0.
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

/** 30 intervals, each ending a little late. */
function script(next, step) {
    const rate = 10 ** (next() * 7 - 2), lines = ["blklat-replay 1", "device sda", "watch sda device"];
    for (let i = 0; i < 30; i++)
        lines.push(...i && next() < 0.1 ? [] : [`io read 90us 4096 x${Math.ceil(rate * step * (0.5 + next()))}`], `tick ${(step * (1 + next() / 100)).toFixed(9)}`);
    return `${lines.join("\n")}\n`;
}

test("who asks for the window that the report found gets the report's figures", (t) => {
    const folder = mkdtempSync(join(tmpdir(), "blklat-windows-")), next = random(5);
    t.after(() => rmSync(folder, { recursive: true }));
    const scripts = Array.from({ length: 60 }, (_, i) => script(next, [0.01, 0.1, 1, 10][i % 4]));
    for (const [i, file] of recordings(folder, ...scripts).entries()) {
        const { runs: found } = JSON.parse(execFileSync(process.env.BLKLAT ?? "build/blklat", ["report", file, "--format", "json"], { encoding: "utf8" }));
        const [line] = makeLines(found), { from_s, to_s } = line.op.steady;
        const own = figures(line, "steady-log", null), asked = figures(line, "steady-log", [from_s, to_s]);
        assert.deepEqual(Object.keys(asked).filter((name) => !(name in own)), []);
        // The document's values are rounded, to one decimal place or, below 1000, to four.
        for (const [name, value] of Object.entries(asked))
            assert.ok(Math.abs(value - own[name]) <= (value < 999 ? 0.500001e-4 : 0.500001e-1), `${name}: ${value} is not ${own[name]}: ${scripts[i]}`);
    }
});
