// SPDX-License-Identifier: GPL-2.0-only
// Watches a live page for some time: a line of JSON every ten seconds with what the page holds once its garbage is collected.
// usage: page.mjs URL SECONDS
import { test } from "node:test";
import { openAt, settled, useBrowser } from "../web/browser.mjs";

const STEP_S = 10;
const [url, seconds] = [process.argv[2], Number(process.argv[3])];

useBrowser();

// openAt() fails the test when the page says a word on the console.
test("a live page for a long time", async (t) => {
    const page = await openAt(t, url), session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    await page.waitForFunction(() => window.blklat?.feed.intervals.length > 0);
    for (let passed_s = 0; passed_s <= seconds; passed_s += STEP_S) {
        await settled(page);
        await session.send("HeapProfiler.collectGarbage");
        const { usedSize } = await session.send("Runtime.getHeapUsage");
        const { metrics } = await session.send("Performance.getMetrics");
        const [nodes, listeners] = ["Nodes", "JSEventListeners"].map((name) => metrics.find((m) => m.name === name).value);
        const [intervals, cells] = await page.evaluate(() => {
            const { intervals: kept } = window.blklat.feed;
            return [kept.length, kept.flatMap((i) => i.watches).flatMap((w) => w.ops).reduce((sum, op) => sum + op.cells.length / 2, 0)];
        });
        console.log(JSON.stringify({ passed_s, heap_bytes: usedSize, nodes, listeners, intervals, cells }));
        await page.waitForTimeout(1000 * STEP_S);
    }
});
