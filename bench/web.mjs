// SPDX-License-Identifier: GPL-2.0-only
// What the page takes in headless Chromium, for 'make bench-web': a report of 2000 s of four series (goals on an idle machine:
// first paint below 1 s, a toggle below 100 ms), one with as many slow IOs as a report can have and one of 64 owners (a click or
// a move below 100 ms), and an interval of the live page by the number of its devices.
import { test } from "node:test";
import { open, openAt, settled, useBrowser } from "../tests/web/browser.mjs";
import { divided, documentOf, drive, op, random, run } from "../tests/web/documents.mjs";
import { script, serve, streamOf } from "../tests/web/live.mjs";

useBrowser();

const told = (name, all) => `${name}: ${all.map((ms) => ms.toFixed(0)).sort((a, b) => a - b).join(" ")} ms`;

/** Opens it three times; the last page stays open. */
async function painted(t, document) {
    const paints = [];
    let page;
    for (let i = 0; i < 3; i++) {
        await page?.close();
        page = await open(t, document, { drawn: false });
        await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
        paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        await settled(page);
    }
    return { page, paints };
}

/** ms from clicks on each in turn, an even number of times, until the page has visibly followed. */
async function clicks(page, selector, count = 12) {
    const took = [];
    for (let i = 0; i < count; i++) {
        took.push(await page.evaluate(async ([elements, index]) => {
            const all = document.querySelectorAll(elements), one = all[index % all.length], begin = performance.now();
            one.click();
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            return performance.now() - begin;
        }, [selector, i]));
        await settled(page);
    }
    return took;
}

/** ms that it takes to move the cursor across a chart, from place to place. */
async function moves(page, id) {
    await page.locator(`#chart-${id} .u-over`).hover();    // otherwise there would be no tooltip
    return page.evaluate(async (chart) => {
        const over = document.querySelector(`#chart-${chart} .u-over`), box = over.getBoundingClientRect(), took = [];
        for (let i = 0; i < 20; i++) {
            const begin = performance.now();
            over.dispatchEvent(new MouseEvent("mousemove", { clientX: box.left + box.width * i / 20, clientY: box.top + box.height * (i % 5) / 5, bubbles: true }));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            took.push(performance.now() - begin);
        }
        if (!document.querySelector(`#chart-${chart} .tip`))
            throw new Error("the cursor has no tip");
        return took;
    }, id);
}

test("a report of 2000 s and four series", async (t) => {
    const { page, paints } = await painted(t, documentOf(drive(), drive({ label: "b", file: "b.blklat", seed: 4 })));
    t.diagnostic(`${told("first paint", paints)}; ${told("toggle", await clicks(page, "aside [data-key]"))}`);
});

test("a report of 2000 s with 5000 slow IOs", async (t) => {
    const next = random(9), made = drive(), [whole] = made.watches;
    const ios = Array.from({ length: 5000 }, (_, i) => ({
        time: "2026-11-21T07:35:04.500Z", t_s: 2000 * next(), latency_ns: Math.round(1e7 * 10 ** (2 * next())), queue_ns: null, device_ns: null, op: i % 2 ? "read" : "write", bytes: 4096,
        sector: Math.floor(1e9 * next()), flags: "sync", error: i % 100 ? null : "medium", depth: 1 + i % 32, beside: "write", hw_queue: i % 8, start_cpu: i % 64, end_cpu: i % 64, pid: i, comm: "postgres", kernel_thread: false,
        cgroup: `/system.slice/unit${i % 20}.service`,
    }));
    whole.slow = { found: 1e6, common: [], ios };
    const { page, paints } = await painted(t, documentOf(made));
    const toggles = await clicks(page, "aside [data-key]"), sorts = await clicks(page, ".slow thead button"), cursor = await moves(page, "slow");
    t.diagnostic(`${told("first paint", paints)}; ${told("toggle", toggles)}; ${told("sort", sorts)}; ${told("cursor", cursor)}`);
});

test("a report of 600 s of 64 owners", async (t) => {
    const seconds = Array.from({ length: 600 }), owners = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`/system.slice/unit${i}.service`, ["read", "write"].map((name) =>
        op(name, seconds.map((_, s) => 1 + (s * (i + 7)) % 97), () => 80e3 * (1 + i % 5)))]));
    const { page, paints } = await painted(t, documentOf(run(divided("sda", "device", owners, "cgroup"))));
    const sorts = await clicks(page, ".owners thead button"), figures = await clicks(page, '[aria-label="figure of the owners"] button'), cursor = await moves(page, "owners");
    t.diagnostic(`${told("first paint", paints)}; ${told("sort", sorts)}; ${told("figure", figures)}; ${told("cursor", cursor)}`);
});

/** ms that an interval takes on a live page of @n devices, half of them idle. The median of nine runs. */
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
