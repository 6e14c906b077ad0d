// SPDX-License-Identifier: GPL-2.0-only
// The one legend of all charts in Chromium: always visible, whatever the width and however many devices.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, open, press, saved, useBrowser, words } from "./browser.mjs";
import { array, documentOf, drive, op, run, watch } from "./documents.mjs";
import { shown } from "./live.mjs";

useBrowser();

test("one legend for 64 devices: in sight at every chart, scrolled by itself, switched by keys in all charts", async (t) => {
    const names = Array.from({ length: 64 }, (_, i) => `nvme${i}n1`);
    const made = run(names.map((name) => watch(name, "device", ["read", "write"].map((of) => op(of, [9, 9], () => 1e5)))));
    made.devices.slice(0, 2).forEach((d, i) => d.identity = { serial: `S4X${i}`, wwid: "eui.1", firmware: "5B2Q" });
    const page = await open(t, documentOf(made));
    const told = await words(page.getByRole("region", { name: "Runs" }));
    assert.ok(told.includes(" nvme0n1 [S4X0], nvme1n1 [S4X1] (each Example SSD 980, firmware 5B2Q, "), told);
    assert.ok(told.includes("; nvme2n1, ") && told.includes(", nvme63n1 (each Example SSD 980, 1.00 TB, ") && told.split("SSD 980").length === 3, told);
    const legend = page.locator("aside"), rows = legend.locator("[data-key]");
    assert.equal(await rows.count(), 128);
    assert.equal(await page.locator("figure .legend .swatch").count(), 3);      // p50, p99 and max of the heat map
    for (const id of ["percentile", "oldest"]) {
        await page.evaluate((chart) => document.getElementById(`chart-${chart}`).scrollIntoView({ block: "end" }), id);
        const { y, height } = await legend.boundingBox();
        assert.ok(y >= 0 && y + height <= 900, `${id}: ${y} ${height}`);
    }
    const bottom = (at) => rows.nth(at).evaluate((e) => e.getBoundingClientRect().bottom);
    assert.ok(await bottom(127) > 900);
    const scrolled = await page.evaluate(() => scrollY);
    await rows.last().focus();      // two tab stops before it is its device's switch
    assert.ok(await bottom(127) <= 900);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    await press(page, "Enter");
    assert.equal(await page.evaluate(() => scrollY), scrolled);
    assert.equal(await words(legend.locator("[role=status]")), "126 of 128 lines shown");
    const charts = await shown(page);
    assert.deepEqual([charts.percentile[0], charts.iops[0], charts["steady-log"][0], charts.depth[0], charts.flight[0]], [126, 126, 126, 63, 126]);
    for (const id of ["percentile", "throughput"])
        assert.ok((await saved(page, id)).lines.every(({ name }) => !name.startsWith("nvme63n1")));
});

test("the figures, which need the legend's width, have the look of each line", async (t) => {
    const page = await open(t, documentOf(drive({ n: 50 }), array(10)));
    const strokes = (of) => page.locator(of).evaluateAll((all) => all.map((e) => [e.firstChild.getAttribute("stroke"), e.firstChild.getAttribute("stroke-dasharray")]));
    const both = async () => [await strokes("[aria-label=Figures] tbody th .swatch"), await strokes("aside [data-key] .swatch")];
    const [figures, legend] = await both();
    assert.ok(figures.length > 2 && new Set(figures.map(String)).size === figures.length);
    assert.deepEqual(figures, legend);
    await click(page.getByRole("button", { name: "Light / dark" }));
    const [dark, darkLegend] = await both();
    assert.notDeepEqual(dark, figures);
    assert.deepEqual(dark, darkLegend);
});

test("on 400 px the legend is a line at the top, which unfolds", async (t) => {
    const page = await open(t, documentOf(drive({ n: 50 }), array(10)), { viewport: { width: 400, height: 800 } }), legend = page.locator("aside");
    for (const id of ["percentile", "oldest"]) {
        await page.evaluate((chart) => document.getElementById(`chart-${chart}`).scrollIntoView(), id);
        const { y, height } = await legend.boundingBox(), title = await page.locator(`#chart-${id} h3`).boundingBox();
        assert.ok(y === 0 && height < 80 && title.y >= height, `${id}: ${y} ${height} ${title.y}`);
    }
    await page.getByRole("region", { name: "Figures" }).evaluate((e) => e.scrollIntoView());
    assert.equal((await legend.boundingBox()).y, 0);
    assert.match(await words(legend.locator("summary")), /^Lines QD 32 · nvme0n1 · device · read QD 32 · nvme0n1 · device · write /);
    await legend.locator("summary").focus();
    await page.keyboard.press("Enter");
    assert.equal(await legend.locator(".keys:visible").count(), 0);
    assert.ok((await legend.boundingBox()).height <= 480);
    await page.keyboard.press("Tab");       // All
    await page.keyboard.press("Tab");
    await press(page, "Enter");
    assert.equal((await shown(page)).percentile[0], 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
});
