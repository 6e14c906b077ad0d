// SPDX-License-Identifier: GPL-2.0-only
// Slow IOs on the live page: dots and a table of the last minutes, latest first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, openAt, useBrowser } from "./browser.mjs";
import { holdAt, script, serve, steady } from "./live.mjs";

useBrowser();

const DEVICES = ["nvme0n1", "nvme1n1"];

/** Slow IOs of the first device: two in each interval; from the fourth on one of them failed. */
function slowScript(n, seconds = 0.2) {
    const statements = (i, d) => [...steady(i, d), ...d ? [] : [
        `slow read ${10 + i}ms 4096 sector=${i} pid=7 comm=postgres cgroup=/db ago=50ms`, `slow write 5ms 16384 pid=8 comm="<b>" ago=20ms${i > 2 ? " error=7" : ""}`,
    ]];
    return script(DEVICES, n, statements, seconds).replace("engine bpf\n", "engine bpf\nslow-max 5\n");
}

const rows = (page) => page.locator(".slow tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));

test("dots and a table, the last first, that grow with each interval", async (t) => {
    const service = await serve(t, slowScript(300));
    await service.hold();     // the table has a hundred rows, and a page may take longer to open than the service for as many
    const page = await openAt(t, service.url);
    await holdAt(page, service, 5);
    const n = await page.evaluate(() => window.blklat.feed.intervals.length);
    const chart = page.locator("#chart-slow");
    assert.equal(await chart.getAttribute("data-points"), String(2 * n));
    const all = await rows(page);
    assert.deepEqual(all.slice(0, 2).map((row) => [row[2], row[3], row.includes("medium"), row.includes("<b> 8"), row.includes("postgres 7")]), [
        ["5.00\u00a0ms", "write", true, true, false], [`${(9 + n).toFixed(n < 1 ? 2 : 1)}\u00a0ms`, "read", false, false, true],
    ]);
    assert.equal(all.length, 2 * n);
    assert.match(all[0][1], /^\d\d:\d\d:\d\d\.\d{3}$/);
    // Each lies before its interval's end, by 20 and 50 ms.
    const at = await page.evaluate(() => window.blklat.lines.find(({ watch, op }) => watch.slow && op.op === "write").watch.slow.ios.slice(-2).map(({ t_s }) => t_s));
    assert.ok(Math.abs(at[0] - at[1] - 0.03) < 1e-6, String(at));
    assert.equal(await page.locator(".slow b").count(), 0);
    await holdAt(page, service, n + 2);
    await page.locator(".slow").getByRole("button", { name: "latency" }).click();
    const sortedNow = (await rows(page)).map((row) => parseFloat(row[2]));
    assert.deepEqual(sortedNow, [...sortedNow].sort((a, b) => b - a));
    // The order stays when more come, and so does the focus.
    await holdAt(page, service, sortedNow.length / 2 + 2);
    const later = (await rows(page)).map((row) => parseFloat(row[2]));
    assert.ok(later.length >= sortedNow.length + 4);
    assert.deepEqual(later, [...later].sort((a, b) => b - a));
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "latency");
});

test("they are those of the devices that are shown", async (t) => {
    const service = await serve(t, slowScript(300)), page = await openAt(t, service.url);
    await holdAt(page, service, 4);
    await click(page.locator(".devices").getByRole("button", { name: /nvme1n1/ }));
    assert.equal((await rows(page)).length, 0);
    assert.equal(await page.locator("#chart-slow").getAttribute("data-points"), "0");
});
