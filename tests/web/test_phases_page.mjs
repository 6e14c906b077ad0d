// SPDX-License-Identifier: GPL-2.0-only
// Phases: the table, the charts by phase, and latency against IOPS.
import assert from "node:assert/strict";
import { test } from "node:test";
import { labelsFit, load, notingTexts, open, settled, useBrowser } from "./browser.mjs";
import { constant, documentOf, drive, op, run, watch } from "./documents.mjs";

useBrowser();

const { latencyByIops, phaseLines, phasesOf } = await load("charts/phases.ts");
const { makeLines } = await load("lines.ts");
const { latency } = await load("format.ts");
const { runsIn } = await load("data.ts");

/** A phase's figures for an op with so many IOPS for 10 s. */
function figures(name, iops, ns) {
    const { total, bins } = op(name, constant(iops), () => ns);
    return { op: name, ...total, bins };
}

function phase(name, at, ...ops) {
    return { name, from_s: at, to_s: at + 10, intervals: ops.length ? 10 : 0, length_s: ops.length ? 10 : 0, partial: false,
        watches: ops.length ? [{ device: "sda", stage: "device", queue_depth: 1, ops }] : [] };
}

/** QD 16 gives no more IOPS than QD 4, and QD 64 gives fewer. There are writes in one phase only. */
function sweep(more) {
    const device = watch("sda", "device", [op("read", constant(2000, 50), () => 200e3), op("write", constant(20, 50), () => 50e3)]);
    return run([device], { phases_left_out: 0, phases: [
        phase("QD 1", 0, figures("read", 1000, 100e3)), phase("QD 4", 10, figures("read", 3000, 130e3), figures("write", 100, 50e3)),
        phase("QD 16", 20, figures("read", 3000, 500e3)), phase("QD 64", 30, figures("read", 2900, 2e6)), phase("QD 1", 40)], ...more });
}

const linesOf = (...runs) => makeLines(runsIn(documentOf(...runs)));

test("latency against IOPS: p50 and p99 of each phase, in the order of the marks", () => {
    const [read, write] = linesOf(sweep()), plot = latencyByIops([read, write]);
    assert.deepEqual(plot.series.map((s) => s.name), ["read, p50", "read, p99", "write, p50", "write, p99"]);
    const [p50, p99] = plot.series;
    assert.deepEqual(p50.xs, [1000, 3000, 3000, 2900]);
    [100e3, 130e3, 500e3, 2e6].forEach((ns, i) => assert.ok(Math.abs(10 ** p50.ys[i] / ns - 1) < 0.03, `${i}`));
    p99.ys.forEach((y, i) => assert.ok(y > p50.ys[i]));
    assert.deepEqual(plot.spots.filter((s) => s.text).map((s) => s.text), ["QD 1", "QD 4", "QD 16", "QD 64", "QD 4"]);
    assert.deepEqual(plot.table().rows.map((row) => row.slice(0, 3)), [["read", "QD 1", "1.00k"], ["read", "QD 4", "3.00k"],
        ["read", "QD 16", "3.00k"], ["read", "QD 64", "2.90k"], ["write", "QD 4", "100"]]);
    write.on = false;
    assert.equal(latencyByIops([read, write]).series.length, 2);
});

test("lines of phases have the phases' own figures, and names that tell them apart", () => {
    const made = sweep();
    made.phases[4] = phase("QD 1", 40, figures("read", 990, 90e3));
    const [read, write] = linesOf(made), lines = phaseLines(read);
    assert.deepEqual(lines.map((line) => line.name), ["QD 1 (0 s)", "QD 4", "QD 16", "QD 64", "QD 1 (40 s)"]);
    assert.deepEqual(lines.map((line) => line.op.total.ios / line.run.duration_s), [1000, 3000, 3000, 2900, 990]);
    assert.equal(new Set(lines.map((line) => line.look.colour)).size, 5);
    assert.equal(phasesOf(write).length, 1);
});

test("parts of a watch are no phases of the whole", () => {
    const made = sweep();
    made.phases[0].watches.push({ ...made.phases[0].watches[0], part: { by: "size", label: "4 KiB" } });
    assert.equal(phasesOf(linesOf(made)[0]).length, 4);
});

test("the page: a chart, a table, a choice that draws the phases", async (t) => {
    const page = await open(t, documentOf(sweep({ phases_left_out: 3 })));
    const lines = (id) => page.locator(`#chart-${id}`).getAttribute("data-lines");
    assert.equal(await lines("phases"), "4");
    assert.equal(await page.locator("#chart-phases").getAttribute("data-points"), "10");
    assert.equal(await lines("distribution"), "2");
    // The line rises vertically from QD 4 to QD 16, so the name is to its left.
    const [name, points] = await page.evaluate(() => {
        const tree = new DOMParser().parseFromString(window.blklat.charts.phases.svg(window.blklat.theme), "image/svg+xml");
        return [Number([...tree.querySelectorAll("text")].find((e) => e.textContent === "QD 4").getAttribute("x")),
            [...tree.querySelectorAll("circle")].map((e) => Number(e.getAttribute("cx")))];
    });
    assert.ok(name + 4 * 3.2 < Math.max(...points), `${name}, ${points}`);
    // Both drawings of p50, which rises, go from QD 1 to QD 4, to QD 16, to QD 64, and not to QD 64 first.
    const [path, painted] = await page.evaluate(() => {
        const { us: [u], plot, figure } = window.blklat.charts.phases, [{ xs, ys }] = plot.series, canvas = figure.querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), rising = xs.map((_, i) => i).sort((a, b) => ys[a] - ys[b]);
        const at = (n) => [u.valToPos(xs[rising[n]], "x", true), u.valToPos(ys[rising[n]], "y", true)];
        const blue = (x, y) => data[4 * (y * canvas.width + x) + 2] > data[4 * (y * canvas.width + x)] + 60;
        const joined = (i, j) => ((x, y) => [-1, 0, 1].some((dy) => [-1, 0, 1].some((dx) => blue(x + dx, y + dy))))(...[0, 1].map((k) => Math.round((at(i)[k] + at(j)[k]) / 2)));
        const tree = new DOMParser().parseFromString(window.blklat.charts.phases.svg(window.blklat.theme), "image/svg+xml");
        return [tree.querySelector("path.series").getAttribute("d").slice(1).split("L").map((point) => Number(point.split(" ")[1])),
            [joined(0, 1), joined(1, 2), joined(2, 3), joined(0, 3)]];
    });
    assert.deepEqual(path, [...path].sort((a, b) => b - a));
    assert.deepEqual(painted, [true, true, true, false]);
    const text = (locator) => locator.allInnerTexts().then((all) => all.map((row) => row.replaceAll("\u00a0", " ").split("\t")));
    const phases = page.getByRole("table", { name: "Each run, device, stage and op by phase" });
    assert.deepEqual(await text(phases.locator("thead tr")), [["run, device, op", "phase", "from", "to", "IOPS", "MB/s", "mean queue depth", "mean", "p50", "p90", "p99", "p99.9", "max"]]);
    const rows = await text(phases.locator("tbody tr"));
    assert.deepEqual(rows.map((row) => row.slice(0, 7)), [
        ["sda device · read", "QD 1", "0 s", "10 s", "1.00k", "4.1", "0.1"], ["sda device · read", "QD 4", "10 s", "20 s", "3.00k", "12.3", "0.39"],
        ["sda device · read", "QD 16", "20 s", "30 s", "3.00k", "12.3", "1.51"], ["sda device · read", "QD 64", "30 s", "40 s", "2.90k", "11.9", "5.83"],
        ["sda device · write", "QD 4", "10 s", "20 s", "100", "0.41", "0.005"]]);
    const { total: { latency_ns } } = op("read", constant(1000), () => 100e3);
    assert.deepEqual(rows[0].slice(7), ["mean", "p50", "p90", "p99", "p99.9", "max"].map((level) => latency(latency_ns[level]).replace("\u00a0", " ")));
    await page.getByText("none in QD 1, 3 more phases are not shown").waitFor();
    await page.getByRole("combobox", { name: "by phase" }).selectOption({ label: "Phases of read" });
    await settled(page);
    for (const id of ["distribution", "percentile", "nines"])
        assert.equal(await lines(id), "4", id);
    assert.equal(await lines("iops"), "2");
    await page.getByRole("combobox", { name: "by phase" }).selectOption({ label: "All lines" });
    await settled(page);
    assert.equal(await lines("distribution"), "2");
});

test("no label stands on another, nothing is wider than the screen", async (t) => {
    const made = sweep();
    made.marks = made.phases.map(({ name, from_s }) => ({ t_s: from_s, text: name }));
    for (const width of [390, 800, 1200, 1400])
        await t.test(`${width}`, async (t2) =>
            labelsFit(await open(t2, documentOf(made, drive({ n: 50 })), { viewport: { width, height: 900 }, prepare: notingTexts }), 120));
});

test("a run without phases has neither", async (t) => {
    const page = await open(t, documentOf(sweep({ phases: [] })));
    assert.equal(await page.locator("#chart-phases").count(), 0);
    assert.equal(await page.getByRole("combobox", { name: "by phase" }).count(), 0);
});
