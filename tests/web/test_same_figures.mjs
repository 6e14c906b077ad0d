// SPDX-License-Identifier: GPL-2.0-only
// What the page has to compute as the program does: percentiles of bins, the grid's bounds, the figures of a window.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { load } from "./browser.mjs";
import { random } from "./documents.mjs";
import { BLKLAT, recordings } from "./live.mjs";

const { consistency } = await load("curves.ts");
const { figures } = await load("charts/iops.ts");
const { binsOf, lastCell, upperBound } = await load("grid.ts");
const { makeLines } = await load("lines.ts");
const { quantile } = await load("quantile.ts");
const { runsIn } = await load("data.ts");
const { coveredBy, windowed, withParts } = await load("windowed.ts");
const { overheads } = await load("figures.ts");

const folder = mkdtempSync(join(tmpdir(), "blklat-figures-")), next = random(5);
after(() => rmSync(folder, { recursive: true }));

const below = (n) => Math.floor(next() * n);
/** Up to a million, small numbers as often as large ones. */
const some = () => 1 + below(10 ** below(7));

function printed(...args) {
    return execFileSync(BLKLAT, args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** An interval of up to 40 latencies side by side or far apart, now and then of those outside of the grid. */
function histogram() {
    const lines = [], step = [1e-3, 0.02, 1][below(3)];
    for (let n = below(3) ? 1 + below(40) : 1, at = next() * 10.5; n; n--, at = Math.min(at + next() * step, 10.9))
        lines.push(`io read ${Math.round(10 ** at) + 14}ns 512 x${below(4) ? some() : 1}`);
    lines.push(...below(10) ? [] : [`io read ${below(15)}ns 512 x${some()}`], ...below(10) ? [] : [`io read ${130 + below(9)}s 512 x${some()}`]);
    return [...lines, "tick 1"];
}

test("percentiles of random histograms at every scale", () => {
    const shares = [0.01, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1, ...Array.from({ length: 6 }, () => (1 + below(9999)) / 10000)];
    const names = [...new Set(shares)].map((share) => [share, String(Math.round(share * 1e7) / 1e5)]);
    const scripts = Array.from({ length: 7 }, (_, scale) => ["blklat-replay 1", `scale ${scale}`, "device d", "watch d device",
        ...Array.from({ length: 200 }, histogram).flat()].join("\n"));
    const all = recordings(folder, ...scripts).flatMap((file) =>
        printed("live", "--replay", file, "--format", "json", "--bins", "--percentiles", names.map(([, name]) => name).join()).trim().split("\n"));
    const histograms = all.map((line) => JSON.parse(line).ops[0]), count = (of) => histograms.filter(of).length;
    for (const { bins, latency_ns: told } of histograms)
        for (const [share, name] of names) {
            const found = quantile(bins, share, told.min, told.max);
            // JSON has one decimal place.
            assert.ok(Math.abs(found - told[`p${name}`]) <= 0.0501, `${found} is not ${told[`p${name}`]}: ${name} of ${JSON.stringify({ bins, told })}`);
        }
    // They have what is special: few IOs, cells outside of the grid, extremes in one bin.
    assert.ok(count((h) => h.ios === 1) && count((h) => h.ios < 100 && h.ios > 1) && count((h) => h.ios > 1e6));
    assert.ok(count((h) => h.bins[0][0] === 0) && count((h) => h.bins.at(-1)[1] === null));
    assert.ok(count((h) => h.bins.length === 1 && h.latency_ns.min < h.latency_ns.max) && count((h) => h.bins.length > 30));
    assert.ok(Number.isNaN(quantile([], 0.5, 0, 0)));
});

test("every bound at every scale is floor(10^9 * 2^(k / 2^scale)), and bins lie between bounds", () => {
    for (let scale = 0; scale <= 6; scale++) {
        const last = lastCell(scale), power = 2n ** BigInt(scale), bounds = Array.from({ length: last }, (_, cell) => upperBound(scale, cell));
        assert.equal(last, 33 * 2 ** scale + 1);
        bounds.forEach((bound, k) => {
            // The 2^scale-th powers, times 2^(26 * 2^scale), as the grid begins at 2^-26 s.
            const exact = 10n ** (9n * power) << BigInt(k), of = (ns) => BigInt(ns) ** power << 26n * power;
            assert.ok(of(bound) <= exact && exact < of(bound + 1), `${bound} of cell ${k} at scale ${scale}`);
        });
        const cells = new Map(Array.from({ length: last + 1 }, (_, cell) => [cell, cell + 1]));
        assert.deepEqual(binsOf(cells, scale), [...cells.keys()].map((cell) => [bounds[cell - 1] ?? 0, bounds[cell] ?? null, cell + 1]));
    }
});

/**
 * 30 intervals of @step seconds, which end a little late unless they are @exact; some are merged, cut short or without an IO.
 * Of some the device comes within one of the first, and goes within one of the last.
 */
function script(step, exact, comes) {
    const rate = 10 ** (next() * 7 - 2), lines = ["blklat-replay 1", "device sda", "device sdb", `watch sda device${comes ? " later" : ""}`, "watch sdb device"];
    const come = comes ? 1 + below(8) : 0, gone = comes ? 20 + below(12) : 30;
    const length = () => step * (exact ? 1 : below(8) ? 1 + next() / 100 : below(2) ? 1 + below(4) : 0.01 + next());
    for (let i = 0; i < 30; i++)
        lines.push(...i < come || i > gone || (i > come && below(5) === 0) ? [] : [`io read 90us 4096 x${Math.ceil(rate * step * (0.5 + next()))}`],
            ...comes && i === come ? ["come"] : comes && i === gone ? ["gone"] : [], `tick ${length().toFixed(9)}`);
    return lines.join("\n");
}

function report(...args) {
    const done = spawnSync(BLKLAT, ["report", "--format", "json", ...args], { encoding: "utf8" });
    assert.ok(done.status === 0 || done.stderr.includes("no interval lies"), done.stderr);
    return done.status ? null : JSON.parse(done.stdout).runs;
}

/** The document's values are rounded, to one decimal place or, below 1000, to four. */
function same(found, told, what) {
    assert.equal(found === null, told === null, what);
    assert.ok(found === null || Math.abs(found - told) <= (found < 999 ? 0.500001e-4 : 0.500001e-1), `${found} is not ${told}: ${what}`);
}

test("a window has the figures that the report gives for it, and for the one that it found by itself", () => {
    const windows = [], scripts = Array.from({ length: 48 }, (_, i) => script([0.1, 1, 10, 1][i % 4], i % 2, i % 6 > 3));
    for (const [i, file] of recordings(folder, ...scripts).entries()) {
        const found = report(file), [run] = found, [line] = makeLines(found), { from_s, to_s } = line.op.steady;
        const own = figures(line, "steady-log", null), asked = figures(line, "steady-log", [from_s, to_s]);
        assert.deepEqual(Object.keys(asked).filter((name) => !(name in own)), []);
        for (const [name, value] of Object.entries(asked))
            same(value, own[name], `${name}: ${scripts[i]}`);
        // In the run or outside of it; where rounding leaves it as it is, also the exact middle of an interval.
        const middles = i % 2 ? run.start_s.map((at, k) => at + run.length_s[k] / 2) : [];
        const moment = () => middles.length && below(3) ? middles[below(30)] : (next() * 1.1 - 0.05) * run.duration_s;
        for (let n = 0; n < 5; n++) {
            const [from, to] = [moment(), moment()].map((at) => Number(Math.max(at, 0).toFixed(6))).sort((a, b) => a - b);
            if (from === to)
                continue;
            const c = consistency(run, line.op.ios, from, to, run.watches[0]), told = report(file, "--from", String(from), "--to", String(to));
            const what = `${from} to ${to} of ${scripts[i]}`, watch = told?.[0].watches[0], total = watch?.ops[0]?.total;
            // Within the window asked for alone, it cannot be told whether the device came in its first interval.
            if (watch?.there_from_s < run.watches[0].there_from_s)
                continue;
            assert.equal(c !== null, told !== null && watch.there_to_s > watch.there_from_s, what);
            windows.push({ c, from, to, intervals: told?.[0].start_s.length ?? 0, middles });
            if (!c || !total) {
                assert.equal(c?.iops_mean ?? 0, 0, what);
                continue;
            }
            // The report's rate has the intervals in which the device came and went.
            if (watch.there_from_s === told[0].start_s[0] && !watch.gone)
                same(c.iops_mean, total.iops, what);
            for (const name of ["iops_deviation", "iops_worst", "iops_worst_at_s"])
                same(c[name], total[name], `${name}: ${what}`);
            assert.equal(c.intervals_at_0, total.intervals_at_0, what);
        }
    }
    const count = (of) => windows.filter(of).length;
    assert.ok(count((w) => !w.c) && count((w) => w.intervals === 1) && count((w) => w.intervals > 20) && count((w) => w.c?.iops_worst === null));
    assert.ok(count((w) => w.c?.iops_mean === 0 || w.c?.intervals_at_0 > 3) && count((w) => w.middles.includes(w.from)) > 15 && count((w) => w.middles.includes(w.to)) > 15);
});

function runs(...args) {
    return runsIn({ schema: 1, runs: report(...args) });
}

/** 200 seconds of an op whose parts drift, each in its own way. */
function divided(by, names) {
    const io = (name, k, i) => `io ${k % 2 ? "write" : "read"} ${Math.round(5e4 * (1 + k) * (1 + (k % 3) * i / 100) * 10 ** (next() - 0.5))}ns ${4096 << k} x${20 + below(90)} in=${name}`;
    return ["blklat-replay 1", `by ${by}`, "device sda", "watch sda device",
        ...Array.from({ length: 200 }, (_, i) => [...names.flatMap((name, k) => [io(name, k, i), io(name, k, i), io(name, k + 1, i)]), "tick 1"]).flat()].join("\n");
}

test("percentiles of parts in a window are those of a report of its columns, to a bin of them", () => {
    const names = { size: ['"4 KiB"', '"8 KiB"'], depth: ["1", "2", "3-4"], beside: ["nothing", "read", "write"], cgroup: ["/a/b.service", "/a/c.service"] };
    for (const file of recordings(folder, ...Object.entries(names).map(([by, of]) => divided(by, of)))) {
        const found = runs(file), lines = makeLines(found), { heat } = found[0].watches[0].parts.flatMap(({ ops }) => ops)[0];
        const compared = new Set();
        assert.ok(heat.columns.length > 20 && heat.columns.length <= 32);
        for (const asked of [[3, 5], [40, 90], [100, 200]]) {
            const [from, to] = coveredBy(found[0], heat, asked), [told] = runs(file, "--from", String(from), "--to", String(to));
            assert.equal((to - from) % heat.per_column, 0);
            for (const line of lines)
                withParts(line, [from, to]).watch.parts.forEach((part, p) => {
                    const wanted = told.watches[0].parts[p];
                    assert.equal(part.all_ops === null, wanted.all_ops === null);
                    if (!part.all_ops)
                        return;
                    compared.add(part.part.label);
                    const near = (a, b, what) => assert.ok(Math.abs(a / b - 1) < 0.045, `${what}: ${a} is not ${b}`);
                    for (const [a, b] of [...part.ops.map((op, o) => [op.total, wanted.ops[o].total]), [part.all_ops, wanted.all_ops]]) {
                        assert.equal(a.ios, b.ios);
                        for (const name of ["mean", "p50", "p90", "p99"])
                            near(a.latency_ns[name], b.latency_ns[name], name);
                    }
                    // A ratio of two figures, each of which is right to a bin.
                    part.ops.forEach(({ against }, o) => assert.ok(!against || Math.abs(against.p99 / wanted.ops[o].against.p99 - 1) < 0.09));
                    if (part.all_ops.by_little)
                        near(part.all_ops.by_little.iops_least, wanted.all_ops.by_little.iops_least, "by Little's law");
                });
        }
        assert.ok(compared.size > 1);
    }
});

/** @n seconds of an array and its members, whose latencies drift. */
function array(n) {
    const io = (device, ns, ios) => [`on ${device} device`, ...Array.from({ length: 20 }, () => `io read ${Math.round(ns * 10 ** (next() - 0.5))}ns 4096 x${1 + below(ios)}`)];
    return ["blklat-replay 1", "device sda", "device sdb", "device md0 kind=md", ...["sda", "sdb", "md0"].map((name) => `watch ${name} device`),
        ...Array.from({ length: n }, (_, i) => [...io("sda", 8e4 + 200 * i, 9), ...io("sdb", 9e4, 9), ...io("md0", 1e5 + 100 * i, 18), "tick 1"]).flat()].join("\n");
}

test("latencies of a window, and what a layer adds in it, are those of a report of its columns, to a bin of them", () => {
    for (const [i, file] of recordings(folder, array(40), array(700)).entries()) {
        execFileSync("sqlite3", [file, "INSERT INTO lower SELECT a.id, b.id FROM device a, device b WHERE a.name = 'md0' AND b.name != 'md0'"]);
        const found = report(file), lines = makeLines(found), near = (a, b, what) => assert.ok(Math.abs(a / b - 1) < 0.045, `${what}: ${a} is not ${b}`);
        for (const asked of [[3, 5], [10, 37], i ? [351, 600] : [39.2, 39.4]]) {
            const [from, to] = coveredBy(lines[0].run, lines[0].op.heat, asked);
            assert.ok(i ? from <= asked[0] + 1 && to >= asked[1] - 1 && (to - from) % 2 === 0 : from === Math.floor(asked[0]));
            const [told] = report(file, "--from", String(from), "--to", String(to));
            for (const [k, line] of lines.entries()) {
                const { ios, iops, latency_ns: l } = windowed(line, asked).op.total, want = told.watches[k].ops[0].total;
                assert.equal(ios, want.ios);
                assert.ok(Math.abs(ios / iops - (to - from)) < 1e-6 && l.max === want.latency_ns.max && Math.abs(l.mean - want.latency_ns.mean) < 0.1, JSON.stringify([l, want]));
                for (const name of ["p50", "p90", "p95", "p99", "p99.9", "p99.99"])
                    near(l[name], want.latency_ns[name], `${name}, ${from} to ${to}`);
            }
            const [added] = overheads(found[0].stacks[0], lines, asked), [want] = told.stacks[0].ops, whole = told.watches.find(({ device }) => device === "md0").ops[0].total.latency_ns;
            assert.deepEqual([added.upper_ios, added.member_ios], [want.upper_ios, want.member_ios]);
            assert.ok(Math.abs(added.overhead_ns.mean - want.overhead_ns.mean) < 0.2);
            for (const name of ["p50", "p90", "p99"]) {
                // A difference of two figures, each of which is right to a bin: md0's, and its members'.
                const [a, b] = [added.overhead_ns[name], want.overhead_ns[name]], sum = 2 * whole[name] - b;
                assert.ok(Math.abs(a - b) < 0.045 * sum, `overhead, ${name}: ${a} is not ${b}`);
            }
        }
    }
});
