// SPDX-License-Identifier: GPL-2.0-only
// Slow IOs on the report's page: a dot each, what is known of the one under the cursor, a table that sorts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, open, settled, useBrowser } from "./browser.mjs";
import { documentOf, op, random, run, watch } from "./documents.mjs";

useBrowser();

const { COLUMNS, slowDots, slowOf, sorted, told } = await load("charts/slow.ts");
const { runsIn } = await load("data.ts");
const { makeLines } = await load("lines.ts");

const N = 20;

function slowIo(more = {}) {
    return {
        time: "2026-11-21T07:35:04.500Z", t_s: 4.5, latency_ns: 30e6, queue_ns: null, device_ns: null, op: "read", bytes: 4096, sector: 8, flags: null, error: null, depth: null, beside: null,
        hw_queue: 1, start_cpu: 0, end_cpu: 1, pid: 77, comm: "dd", kernel_thread: false, cgroup: "/a/b",
        pages: null, file_device: null, inode: null, file: null, ...more,
    };
}

function example(ios, more = {}) {
    const made = watch("sda", "device", [op("read", Array(N).fill(300), () => 80e3), op("write", Array(N).fill(100), () => 90e3)]);
    made.slow = {
        found: ios.length, common: [{ by: "op", value: "read", ios: 2, of: 3, share_of_all: 0.1, p: 0.02 }, { by: "bytes", value: "4096", ios: 3, of: 3, share_of_all: null, p: null }],
        ios, ...more,
    };
    return documentOf(run([made]));
}

const three = () => [
    slowIo({ op: "write", error: "medium", latency_ns: 1e6, t_s: 9, pid: null, comm: null, kernel_thread: null, sector: null }),
    slowIo({ latency_ns: 40e6, t_s: 12.25 }), slowIo(),
];

test("dots stand where the IOs ended, each in its line's look, failed ones in another", () => {
    const lines = makeLines(runsIn(example(three()))), { series } = slowDots(lines);
    assert.deepEqual(series.map(({ name, kind, xs, ys }) => [name, kind, xs, ys.map((y) => Math.round(10 ** y))]), [
        ["read", "dots", [4.5, 12.25], [30e6, 40e6]], ["write, failed", "dots", [9], [1e6]],
    ]);
    assert.equal(series[0].colour, lines[0].look.colour);
    assert.ok(!lines.some(({ look }) => look.colour === series[1].colour));
    lines[0].on = false;
    assert.deepEqual(slowDots(lines).series.map(({ name }) => name), ["write, failed"]);
});

test("many of one moment all have a dot", () => {
    const { series: [{ xs, ys }] } = slowDots(makeLines(runsIn(example(Array.from({ length: 500 }, (_, i) => slowIo({ latency_ns: 1e6 + i }))))));
    assert.equal(new Set(xs).size, 500);
    assert.equal(ys.length, 500);
    assert.ok(xs[499] - xs[0] < 1e-6);
});

test("the file is its names, or its inode, or that there is none", () => {
    const said = (more) => told(slowIo(more)).find((line) => line.startsWith("file"));
    assert.equal(said({}), undefined);
    assert.equal(said({ pages: "file", file_device: "8:1", inode: 12, file: null }), "file 8:1 inode 12");
    assert.equal(said({ pages: "file", file_device: "8:1", inode: 12, file: "a/<b>" }), "file a/<b>");
    assert.equal(said({ pages: "direct" }), "file direct");
});

test("all that is known is said, and no more", () => {
    assert.deepEqual(told(slowIo({ queue_ns: 2e6, device_ns: 28e6, part: { by: "beside", label: "flush" }, flags: "metadata", kernel_thread: true, comm: "kworker/0:1H", error: "timeout" })), [
        "30.0\u00a0ms, ended at 4.5\u00a0s, 07:35:04.500 UTC", "read 4.00\u00a0KiB, sector 8, flags metadata", "failed: timeout", "queue 2.00\u00a0ms, device 28.0\u00a0ms", "beside flush",
        "by [kworker/0:1H] 77", "cgroup /a/b", "hardware queue 1, CPU 0, ended on CPU 1",
    ]);
    assert.deepEqual(told(slowIo({ sector: null, pid: null, comm: null, cgroup: null, hw_queue: null, start_cpu: null })),
        ["30.0\u00a0ms, ended at 4.5\u00a0s, 07:35:04.500 UTC", "read 4.00\u00a0KiB", "ended on CPU 1"]);
});

test("depth, neighbour and flags are said once each, as exactly as they are known", () => {
    const part = COLUMNS.find(({ head }) => head === "part"), said = (io) => [told(slowIo(io)).filter((line) => /depth|beside|flush|size|flags/.test(line)), part.key(slowIo(io))];
    const depth = { by: "depth", label: "9-16" }, beside = { by: "beside", label: "flush" }, size = { by: "size", label: "4 KiB" };
    assert.deepEqual(said({ part: depth }), [["depth 9-16"], "depth 9-16"]);
    assert.deepEqual(said({ part: depth, depth: 12, beside: "flush" }), [["depth 12, beside flush"], null]);
    assert.deepEqual(said({ part: beside, depth: 12, beside: "flush" }), [["depth 12, beside flush"], null]);
    assert.deepEqual(said({ part: beside, depth: 12 }), [["depth 12, beside flush"], "beside flush"]);
    assert.deepEqual(said({ part: size, depth: 12, beside: "flush" }), [["depth 12, beside flush, size 4 KiB"], "size 4 KiB"]);
    assert.deepEqual(said({ part: { by: "cgroup", label: "/a/b" } }), [[], null]);
    const flags = { by: "flags", label: "sync" };
    assert.deepEqual(said({ part: flags }), [["flags sync"], "flags sync"]);
    assert.deepEqual(said({ part: flags, flags: "sync" }), [["read 4.00\u00a0KiB, sector 8, flags sync"], null]);
    assert.deepEqual(said({ part: { by: "size", label: "4 KiB" }, flags: "sync" }), [["read 4.00\u00a0KiB, sector 8, flags sync", "size 4 KiB"], "size 4 KiB"]);
});

test("each column sorts both ways, what is not known comes last", () => {
    const lines = makeLines(runsIn(example(three()))), all = slowOf(lines), of = (name, up) => sorted(all, COLUMNS.findIndex(({ head }) => head === name), up).map(({ io }) => io.t_s);
    assert.deepEqual(of("latency", false), [12.25, 4.5, 9]);
    assert.deepEqual(of("latency", true), [9, 4.5, 12.25]);
    assert.deepEqual(of("sector", true).at(-1), 9);
    assert.deepEqual(of("sector", false).at(-1), 9);
    assert.deepEqual(slowOf(lines, [4, 10]).map(({ io }) => io.t_s), [4.5, 9]);
});

const rows = (page) => page.locator(".slow tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));

test("the page: dots, the tip, what they have in common, a table that sorts and follows the window", async (t) => {
    const page = await open(t, example(three(), { found: 1234 }));
    const chart = page.locator("#chart-slow");
    assert.equal(await chart.getAttribute("data-points"), "3");
    const common = page.getByRole("region", { name: /^In common/ });
    assert.deepEqual(await common.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent))), [
        ["op", "read", "66.67\u00a0% of 3", "10\u00a0%", "0.0200"], ["size", "4.00\u00a0KiB", "100\u00a0% of 3", "not counted", "–"],
    ]);
    assert.deepEqual(await common.locator("thead th").allTextContents(), ["sda", "most telling value", "of the slow ones", "of all IOs", "p, by chance"]);
    // Queue, device, flags and part are unknown.
    assert.deepEqual(await page.locator(".slow thead th").allTextContents(),
        ["line", "time", "latency", "op", "size", "sector", "error", "sent by", "cgroup", "hardware queue", "CPU"]);
    assert.deepEqual((await rows(page)).map((row) => row[2]), ["40.0\u00a0ms", "30.0\u00a0ms", "1.00\u00a0ms"]);
    assert.match(await page.locator(".slow [role=status]").textContent(), /^3 shown here; of 1.234 that were found the report has 3: /);
    await page.locator(".slow").getByRole("button", { name: "latency" }).click();
    assert.deepEqual((await rows(page)).map((row) => row[2]), ["1.00\u00a0ms", "30.0\u00a0ms", "40.0\u00a0ms"]);
    assert.equal(await page.locator('.slow th[aria-sort="ascending"]').textContent(), "latency");
    await page.locator(".slow").getByRole("button", { name: "error" }).click();
    assert.deepEqual((await rows(page)).map((row) => row[6]), ["medium", "–", "–"]);

    await chart.scrollIntoViewIfNeeded();
    const box = await chart.locator(".u-over").boundingBox(), at = await page.evaluate(() => {
        const { us: [u] } = window.blklat.charts.slow;
        return { x: u.valToPos(12.25, "x"), y: u.valToPos(Math.log10(40e6), "y") };
    });
    await page.mouse.move(box.x + at.x + 8, box.y + at.y + 5);
    assert.deepEqual(await chart.locator(".tip li").allTextContents(), told(slowIo({ latency_ns: 40e6, t_s: 12.25 })));
    await page.mouse.move(box.x + at.x - 60, box.y + at.y + 5);
    assert.equal(await chart.locator(".tip").count(), 0);

    const to = page.getByRole("spinbutton", { name: "window to, seconds" });
    await to.fill("10");
    await to.press("Enter");
    await settled(page);
    assert.deepEqual((await rows(page)).map((row) => row[1]), ["9.000\u00a0s", "4.500\u00a0s"]);
    assert.equal(await chart.getAttribute("data-points"), "2");
    assert.ok(!await common.isVisible());
    await page.locator(".lines").getByRole("button", { name: "write" }).first().click();
    assert.deepEqual((await rows(page)).map((row) => row[1]), ["4.500\u00a0s"]);
});

test("depth, neighbour and flags have columns that sort, where any is known", async (t) => {
    const by = (label) => ({ by: "beside", label }), known = [
        [[slowIo({ depth: 9, beside: "write", part: by("write") }), slowIo({ depth: 128, beside: "flush", part: by("flush") }), slowIo()],
            ["depth", "beside"], { depth: ["128", "9"], beside: ["flush", "write"] }],
        [[slowIo({ flags: "sync" }), slowIo(), slowIo({ flags: "metadata", error: "medium" })], ["flags", "error"], { flags: ["metadata", "sync"] }],
    ];
    for (const [ios, columns, sorts] of known) {
        const page = await open(t, example(ios)), heads = await page.locator(".slow thead th").allTextContents();
        assert.deepEqual(heads, ["line", "time", "latency", "op", "size", "sector", ...columns, "sent by", "cgroup", "hardware queue", "CPU"]);
        for (const [name, values] of Object.entries(sorts))
            for (const order of [values, [...values].reverse()]) {
                await page.locator(".slow").getByRole("button", { name }).click();
                assert.deepEqual((await rows(page)).map((row) => row[heads.indexOf(name)]), [...order, "–"]);
            }
    }
});

test("5000 dots: all are there, the table grows on demand, nothing is wider than the screen", async (t) => {
    const chance = random(7), ios = Array.from({ length: 5000 }, (_, i) => slowIo({ t_s: chance() * N, latency_ns: Math.round(1e6 * 10 ** (2 * chance())), cgroup: `/kubepods/${"x".repeat(300)}${i}` }));
    const page = await open(t, example(ios), { viewport: { width: 390, height: 900 } });
    assert.equal(await page.locator("#chart-slow").getAttribute("data-points"), "5000");
    assert.equal((await rows(page)).length, 100);
    await page.locator(".slow").getByRole("button", { name: /^Show 1.000 more of 5.000/ }).click();
    assert.equal((await rows(page)).length, 1100);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0);
});

test("a hostile command is a text", async (t) => {
    const page = await open(t, example([slowIo({ comm: '<img src=x onerror="alert(1)">' })]));
    assert.equal(await page.locator(".slow img").count(), 0);
    assert.equal((await rows(page))[0][6], '<img src=x onerror="alert(1)"> 77');
});

test("a run of which none were looked for has no such section, one without any an empty chart", async (t) => {
    const page = await open(t, documentOf(run([watch("sda", "device", [op("read", [300], () => 80e3)])])));
    assert.equal(await page.locator("#chart-slow").count(), 0);
    const none = await open(t, example([], { common: [] }));
    assert.equal(await none.locator("#chart-slow").getAttribute("data-points"), "0");
    assert.equal((await rows(none)).length, 0);
});
