// SPDX-License-Identifier: GPL-2.0-only
// What the page takes in headless Chromium, for 'make bench-web': a report of 2000 s of four series (aims on an idle machine:
// first paint below 1 s, a toggle below 100 ms), and an interval of the live page by the number of its devices.
import { test } from "node:test";
import { open, openAt, settled, useBrowser } from "../tests/web/browser.mjs";
import { documentOf, drive } from "../tests/web/documents.mjs";
import { script, serve, streamOf } from "../tests/web/live.mjs";

useBrowser();

const told = (name, all) => `${name}: ${all.map((ms) => ms.toFixed(0)).sort((a, b) => a - b).join(" ")} ms`;

test("a report of 2000 s and four series", async (t) => {
    const document = documentOf(drive(), drive({ label: "b", file: "b.blklat", seed: 4 }));
    const paints = [], toggles = [];
    let page;
    for (let i = 0; i < 3; i++) {
        page = await open(t, document, { drawn: false });
        await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
        paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        await settled(page);
    }
    for (let i = 0; i < 10; i++) {
        toggles.push(await page.evaluate(async (index) => {
            const begin = performance.now();
            document.querySelectorAll("aside [data-key]")[index % 4].click();
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            return performance.now() - begin;
        }, i));
        await settled(page);
    }
    t.diagnostic(`${told("first paint", paints)}; ${told("toggle", toggles)}`);
});

/** ms that an interval takes on a live page of @n devices, half of them idle. The median of nine. */
async function intervalOf(t, n) {
    const body = streamOf(Array.from({ length: n }, (_, i) => `nvme${i}n1`), 60, (i, d) => d % 2 ? [] : ["read", "write"]);
    const service = await serve(t, script(["nvme0n1"], 1, () => [])), page = await openAt(t, service.url);
    await page.route("**/api/stream", (route) => route.fulfill({ contentType: "text/event-stream", body }));
    await page.reload();
    await page.waitForFunction(() => window.blklat?.lines.length > 0);
    await settled(page);
    const took = await page.evaluate(() => Array.from({ length: 9 }, () => {
        const begin = performance.now();
        window.blklat.update();
        return performance.now() - begin;
    }));
    await page.close();
    return took.sort((a, b) => a - b)[4];
}

test("an interval of the live page, by devices", async (t) => {
    const counts = [2, 20, 200], ms = [];
    for (const n of counts)
        ms.push(await intervalOf(t, n));
    t.diagnostic(counts.map((n, i) => `${n}: ${ms[i].toFixed(1)} ms (x ${(ms[i] / ms[0]).toFixed(2)})`).join(", "));
});
