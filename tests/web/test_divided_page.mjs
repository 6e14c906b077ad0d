// SPDX-License-Identifier: GPL-2.0-only
// IOs divided by size: their charts and table, beside those of the wholes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, load, onePage, open, saved, settled, useBrowser, words } from "./browser.mjs";
import { bound, constant, divided, documentOf, op, run, sized } from "./documents.mjs";

useBrowser();

const { partsHeat, partsLatency, partsOf, partsOverTime } = await load("charts/parts.ts");
const { runsIn } = await load("data.ts");
const { makeLines } = await load("lines.ts");
const { categories } = await load("axes.ts");
const { ioSize } = await load("format.ts");

const CHARTS = ["parts-latency", "parts-heat", "parts-time"];
const KIB = 1024;

/** 300 reads a second of 4 KiB at 80 us, 100 of 16 KiB at 400 us that stop in every other second; writes of 4 KiB. */
function parts() {
    return {
        "4 KiB": [sized(op("read", constant(300), () => 80e3), 4 * KIB), sized(op("write", constant(50), () => 30e3), 2 * KIB)],
        "8 KiB": [],
        "16 KiB": [sized(op("read", constant(100).map((ios, i) => i % 2 ? 0 : ios), () => 400e3), 16 * KIB)],
        "32 KiB": [],
    };
}

function example(more) {
    return run(divided("sda", "device", parts()), more);
}

const ofExample = onePage(() => documentOf(example()));

function linesOf(...runs) {
    return makeLines(runsIn(documentOf(...runs)));
}

test("a run's watches are wholes, which have their parts", () => {
    const [made] = runsIn(documentOf(example()));
    assert.equal(made.watches.length, 1);
    assert.deepEqual(made.watches[0].parts.map(({ part }) => part.label), ["4 KiB", "8 KiB", "16 KiB", "32 KiB"]);
    const lines = makeLines([made]);
    assert.deepEqual(lines.map((line) => line.name), ["read", "write"]);
    assert.deepEqual(lines.map((line) => partsOf(line).map(({ part, op: o }) => [part.label, o.total.ios])),
        [[["4 KiB", 3000], ["16 KiB", 500]], [["4 KiB", 500]]]);
});

test("the heat map: a column for each size up to the last, each IO once, shares of its column", () => {
    const lines = linesOf(example()), [four, sixteen] = partsOf(lines[0]);
    // Three bins that share one row of eight, and one on its own.
    four.op.bins = [[bound(320), bound(321), 1000], [bound(321), bound(322), 500], [bound(327), bound(328), 1200], [bound(400), bound(401), 300]];
    sixteen.op.bins = [[0, bound(0), 100], [128e9, null, 400]];
    const { cells, series, x, xSpan, table } = partsHeat(lines[0]);
    const places = cells.boxes.map(({ x0, x1, y0, y1, rank }) => [x0, x1, Math.round(10 ** y0), Math.round(10 ** y1), rank]);
    const rank = (share) => Math.log(share / 0.1) / Math.log(9);
    assert.deepEqual(places.map((p) => p.slice(0, 2)), [[-0.5, 0.5], [-0.5, 0.5], [1.5, 2.5], [1.5, 2.5]]);
    assert.deepEqual(places.slice(0, 2).map((p) => p.slice(2, 4)), [[bound(320), bound(328)], [bound(400), bound(408)]]);
    [0.9, 0.1, 0.2, 0.8].forEach((share, i) => assert.ok(Math.abs(places[i][4] - rank(share)) < 1e-9, `${share} ${places[i][4]}`));
    assert.deepEqual([cells.least, cells.most], ["10\u00a0%", "90\u00a0%"]);
    assert.deepEqual([xSpan, x.text(0.3), x.text(1), x.text(9)], [[-0.5, 2.5], "4 KiB", "8 KiB", "16 KiB"]);
    const p50 = series.find((s) => s.name === "p50");
    assert.deepEqual(p50.xs.map((at) => Math.round(Math.abs(at))), [0, 0, 1, 1, 2, 2]);
    assert.deepEqual(p50.ys.map((y) => y === null), [false, false, true, true, false, false]);
    assert.ok(Math.abs(10 ** p50.ys[0] / 80e3 - 1) < 0.03 && Math.abs(10 ** p50.ys[4] / 400e3 - 1) < 0.03);
    assert.deepEqual(table().rows.map((row) => row.slice(0, 3)), [["4 KiB", "3\u202f000", "85.71\u00a0%"], ["16 KiB", "500", "14.29\u00a0%"]]);
    four.op.bins = [[bound(320), bound(321), 1], [bound(400), bound(401), 2999999]];
    four.op.total.ios = 3000000;
    assert.equal(partsHeat(lines[0]).cells.least, "0.000033\u00a0%");
});

test("runs beside each other by size, lines that are on alone", () => {
    const lines = linesOf(example({ label: "a" }), example({ label: "b" }));
    lines.find((line) => line.name === "a · write").on = false;
    const { series, title, table } = partsLatency(lines, "p50");
    assert.equal(title, "p50 by IO size");
    assert.deepEqual(series.map((s) => s.name), ["a · read", "b · read", "b · write"]);
    assert.deepEqual(table().head, ["IO size", "a · read", "b · read", "b · write"]);
    assert.deepEqual(table().rows.map((row) => row[0]), ["4 KiB", "8 KiB", "16 KiB"]);
    assert.deepEqual(table().rows.map((row) => row[3] === "–"), [false, true, true]);
    lines.forEach((line) => { line.on = false; });
    assert.deepEqual(partsLatency(lines, "p50").series, []);
});

test("over time: a line for each size, dots where no two intervals follow each other", () => {
    const lines = linesOf(example({ marks: [{ t_s: 3, text: "x" }] })), { series, marks, y } = partsOverTime(lines, lines[0], "p99");
    assert.deepEqual(series.map((s) => [s.name, s.kind, s.note.replaceAll("\u00a0", " ")]), [
        ["4 KiB", "line", "85.71 % of the IOs, 54.55 % of their time"], ["16 KiB", "dots", "14.29 % of the IOs, 45.45 % of their time"]]);
    assert.deepEqual(series[1].ys.map((place) => place === null), constant(0).map((_, i) => i % 2 === 1));
    assert.ok(series[0].ys.every((place) => y.value(place) > 80e3 && y.value(place) < 130e3));
    assert.deepEqual(marks, [{ x: 3, text: "x" }]);
    assert.notEqual(series[0].colour, series[1].colour);
});

/** Sixteen cgroups: the later ones have slower reads, and the slowest has few IOs. */
function cgroups() {
    const kinds = Object.fromEntries(Array.from({ length: 14 }, (_, i) => [`/system.slice/s${i}.service`,
        [sized(op("read", constant(100), () => (i + 1) * 100e3), 4 * KIB)]]));
    const container = "3f2a9d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234";
    kinds[`/docker/${container}`] = [sized(op("read", constant(1), () => 500e6), 4 * KIB)];
    kinds.none = [sized(op("read", constant(10), () => 50e3), 4 * KIB)];
    const made = divided("sda", "device", kinds);
    for (const { part } of made.slice(1)) {
        part.by = "cgroup";
        if (part.label.startsWith("/docker"))
            part.container = container;
        else if (part.label !== "none")
            part.unit = part.label.split("/").pop();
    }
    return run(made);
}

test("cgroups are ranked by what their IOs took, and the first twelve are drawn", async (t) => {
    const lines = linesOf(cgroups()), { x, table } = partsLatency(lines, "p99"), heat = partsHeat(lines[0]);
    const wanted = ["3f2a9d5b7c1e", ...Array.from({ length: 11 }, (_, i) => `s${13 - i}.service`)];
    assert.deepEqual(x.ticks(-0.5, 11.5, 12).map(({ text }) => text), wanted);
    // Beside the cursor there is room for the whole name.
    assert.equal(x.text(99), "/system.slice/s3.service");
    assert.equal(table().rows.length, 12);
    assert.ok(heat.cells.boxes.every(({ x0 }) => x0 >= -0.5 && x0 < 12));
    assert.equal(heat.table().rows.length, 16);
    // 10 IOs have no percentiles, here or over time.
    assert.deepEqual(heat.table().rows[0].slice(3, 5), ["too few IOs", "too few IOs"]);
    assert.deepEqual(partsOverTime(lines, lines[0], "p99").series.map(({ name }) => name), [...wanted.slice(1), "s2.service"]);
    const page = await open(t, documentOf(cgroups())), rows = page.getByRole("region", { name: "Figures by cgroup" }).locator("tbody tr");
    assert.equal(await rows.count(), 16);
    // 10 IOs of 500 ms are 5 s of 15.5 s.
    assert.match(await words(rows.nth(0)), /^sda device · read \/docker\/3f2a\w{60} 10 0.07 % 0.07 % 3\d.\d+ % /);
    assert.match(await words(rows.nth(15)), /^sda device · read none 100 0.71 % 0.71 % 0.03\d* % /);
});

test("names of columns as there is room for, sizes in powers of 1024", () => {
    const axis = categories("IO size", ["a", "b", "c", "d", "e"]);
    assert.deepEqual(axis.ticks(-0.5, 4.5, 5).map(({ text }) => text), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(axis.ticks(-0.5, 4.5, 3).map(({ text }) => text), ["a", "", "c", "", "e"]);
    assert.deepEqual(axis.ticks(0.5, 3.5, 9).map(({ at, text }) => [at, text]), [[1, "b"], [2, "c"], [3, "d"]]);
    assert.deepEqual([0, 512, 1023.7, 4096, 131072, 5 << 20].map((n) => ioSize(n).replace("\u00a0", " ")),
        ["0 B", "512 B", "1.00 KiB", "4.00 KiB", "128 KiB", "5.00 MiB"]);
});

test("the page: wholes as they are without parts, and what parts add", async (t) => {
    const plain = example(), with_parts = example();
    plain.watches = plain.watches.filter((watch) => !watch.part);
    const look = (page) => page.evaluate(() => Object.fromEntries(Object.entries(window.blklat.charts).map(([id, chart]) =>
        [id, chart.svg(window.blklat.theme).replaceAll(/clip[^"]*"/g, "")])));
    const want = await look(await open(t, documentOf(plain))), page = await open(t, documentOf(with_parts)), got = await look(page);
    assert.deepEqual(Object.keys(got), [...Object.keys(want), ...CHARTS]);
    for (const id of Object.keys(want))
        assert.equal(got[id], want[id], id);
    assert.equal(await page.getByRole("heading", { name: "By IO size", exact: true }).count(), 2);
    for (const id of CHARTS) {
        await page.locator(`#chart-${id} .behind summary`).click();
        const { texts } = await saved(page, id);
        assert.ok(texts.every((text) => !/NaN|Infinity|undefined|null/.test(text)), `${id}: ${texts.join(" | ")}`);
    }
    assert.ok(!/NaN|Infinity|undefined|\bnull\b/.test(await page.locator("body").innerText()));
});

ofExample("the table by size: shares of the IOs and bytes of each line, mean sizes", async (page) => {
    const rows = page.getByRole("region", { name: "Figures by IO size" }).locator("tbody tr");
    assert.equal(await rows.count(), 3);
    // 3000 IOs of 4 KiB are 12000 KiB, 500 of 16 KiB are 8000 KiB.
    assert.match(await words(rows.nth(0)), /^sda device · read 4 KiB 3 000 85.71 % 60 % 54.\d+ % 4.00 KiB 300 1.23 8\d\.\d us 80\.\d us /);
    assert.match(await words(rows.nth(1)), /^sda device · read 16 KiB 500 14.29 % 40 % 45.\d+ % 16.0 KiB 50 0.82 4\d\d us /);
    assert.match(await words(rows.nth(2)), /^sda device · write 4 KiB 500 100 % 100 % 100 % 2.00 KiB 50 0.1 /);
    const head = page.getByRole("region", { name: "Figures by IO size" }).locator("thead th");
    assert.equal(await head.count(), await rows.nth(0).locator("th, td").count());
});

ofExample("the line and the percentile that the charts show", async (page) => {
    const titles = () => page.evaluate((ids) => ids.map((id) => window.blklat.charts[id].current().title), CHARTS);
    assert.deepEqual(await titles(), ["p99 by IO size", "Latency by IO size, read", "p99 over time by IO size, read"]);
    await page.getByLabel("percentile of the parts").getByRole("button", { name: "p50" }).click();
    await page.getByLabel("line of the parts").selectOption("write");
    await settled(page);
    assert.deepEqual(await titles(), ["p50 by IO size", "Latency by IO size, write", "p50 over time by IO size, write"]);
    assert.deepEqual((await saved(page, "parts-time")).lines.map((line) => line.name), ["4 KiB"]);
    // What is switched in the side bar shows in the chart of all lines.
    await click(page.locator("aside [data-key]").nth(0));
    assert.deepEqual((await saved(page, "parts-latency")).lines.map((line) => line.name), ["write"]);
});

test("one run of two is divided, on a phone too", async (t) => {
    const plain = example({ label: "plain" });
    plain.watches = plain.watches.filter((watch) => !watch.part);
    const page = await open(t, documentOf(plain, example({ label: "divided" })), { viewport: { width: 360, height: 740 } });
    assert.deepEqual(await page.getByLabel("line of the parts").locator("option").allInnerTexts(), ["divided · read", "divided · write"]);
    assert.deepEqual((await saved(page, "parts-latency")).lines.map((line) => line.name), ["divided · read", "divided · write"]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
});
