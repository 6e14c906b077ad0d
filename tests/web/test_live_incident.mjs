// SPDX-License-Identifier: GPL-2.0-only
// The live page as a screen for an incident: which device it points at, and what can be read in a hurry. Numbers are known by construction.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, labelsFit, notingTexts, openAt, useBrowser, words } from "./browser.mjs";
import { holdAt, intervals, openStream, script, serve, streamOf } from "./live.mjs";

useBrowser();

const read = (latency, n = 100) => `io read ${latency} 4096 x${n}`;
const names = (n) => Array.from({ length: n }, (_, i) => `nvme${i}n1`);
const tiles = (page) => page.locator(".devices button").evaluateAll((all) => all.map((b) =>
    [b.querySelector("b").textContent, b.dataset.state ?? "", b.dataset.reason ?? "", b.getAttribute("aria-pressed") ?? ""].join(" ").trim()));
const pressed = async (page) => (await tiles(page)).filter((tile) => tile.endsWith(" true")).map((tile) => tile.split(" ")[0]);

test("the sickest is shown first, the busiest as long as nothing is wrong, the user's choice always", async (t) => {
    // 1 is the busiest. 4 is ten times slower than its peers; later 3 becomes eighty times slower than it was.
    const service = await serve(t, script(names(6), 400, (i, d) => [d === 4 && i >= 16 ? read("1ms") : d === 3 && i >= 40 ? read("8ms") : read("100us", d === 1 ? 900 : 100)]));
    await service.hold();     // a page may take longer to open than the service for 16 intervals
    const page = await openAt(t, service.url);
    await holdAt(page, service, 3);
    assert.deepEqual(await pressed(page), ["nvme1n1"]);
    await holdAt(page, service, 22);
    assert.equal((await tiles(page))[0].replace("slow", "unlike").replace("sick", "watch"), "nvme4n1 watch unlike true");
    service.go();
    await page.waitForFunction(() => document.querySelector('[data-device*="nvme3n1"][data-reason="slow"]'));
    await holdAt(page, service, 44);
    assert.deepEqual(await pressed(page), ["nvme3n1"]);
    assert.match(await words(page.locator(".devices button").first()), /^nvme3n1 500 IOPS p99 8\.00 ms slow: p99 is \d+(\.\d+)? times its past since \d\d:\d\d:\d\d \(.+ m?s\)$/);
    assert.match(await page.locator("#chart-heat h3").innerText(), /read/);
    await click(page.locator(".devices button", { hasText: "nvme0n1" }));
    assert.deepEqual(await pressed(page), ["nvme0n1"]);
    const n = await intervals(page);
    await holdAt(page, service, n + 4);
    assert.deepEqual(await pressed(page), ["nvme0n1"]);
});

test("a sick device's tile says whose IOs took its time, of all ops; the table's shares are of the device, too", async (t) => {
    const db = "/system.slice/db.service", backup = "/system.slice/nightly-backup.service";
    const load = (i, d) => [`io read ${d ? "100us" : i < 20 ? "100us" : "3ms"} 4096 x100 in=${db}`, ...d || i < 20 ? [] : [`io write 9ms 1048576 x100 in=${backup}`, `io write 9ms 4096 x1 in=/a`]];
    const service = await serve(t, script(["sda", "sdb", "sdc"], 400, load).replace("start ", "by cgroup\nstart "));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 36);
    const told = page.locator(".devices .owner");
    assert.match(await words(page.locator(".devices button").first()), /^sda .* nightly-backup\.service /);
    const [, share] = /nightly-backup\.service (\d+) % of its time, \d+(\.\d+)? MB\/s/.exec(await words(told.nth(0)));
    assert.ok(share >= 65 && share <= 76, share);
    const [, other] = /^db\.service (\d+) % of its time/.exec(await words(told.nth(1)));
    assert.ok(Math.abs(100 - share - other) <= 2, other);
    assert.equal(await told.count(), 2);    // the third has less than 5 %; the others are well
    assert.equal(await told.nth(0).getAttribute("title"), backup);
    const rows = await page.locator("tr", { hasText: backup }).allInnerTexts(), times = rows.map((row) => Number(row.split("\t")[5].replace(/[^\d.]/g, "")));
    assert.ok(times.length && times.every((of) => of < 80), rows.join());
});

test("errors and IOs that wait are told on their devices' tiles, the worse first", async (t) => {
    const service = await serve(t, script(names(4), 400, (i, d) => [d === 2 && i >= 4 ? "io read 100us 4096 x100 errors=3" : read("100us"), ...d === 1 && i >= 4 ? ["in-flight 1 oldest=9s"] : []]));
    const page = await openAt(t, service.url);
    await page.waitForFunction(() => document.querySelectorAll('[data-state="sick"]').length === 2);
    await holdAt(page, service, 6);
    const found = await tiles(page);
    assert.deepEqual(found.map((tile) => tile.split(" ").slice(0, 3).join(" ")), ["nvme1n1 sick old", "nvme2n1 sick errors", "nvme0n1 well none", "nvme3n1 well none"]);
    assert.match(await words(page.locator(".devices button").nth(0)), / an IO has waited 9\.00 s since 07:35:00 \([\d.]+ m?s\)$/);
    assert.match(await words(page.locator(".devices button").nth(1)), / 3 IOs failed since 07:35:00 \([\d.]+ m?s\)$/);
    const colour = (i) => page.locator(".devices button").nth(i).evaluate((e) => getComputedStyle(e).backgroundColor);
    assert.equal(await colour(0), await colour(1));
    assert.notEqual(await colour(0), await colour(2));
});

test("what slows all devices at once is said once, and none is marked", async (t) => {
    const service = await serve(t, script(names(4), 400, (i) => i >= 46 ? ["in-flight 2 oldest=3s"] : [read(i >= 24 ? "8ms" : "100us")]));
    await service.hold();     // a page may take longer to open than the service for 24 intervals
    const page = await openAt(t, service.url);
    await holdAt(page, service, 12);
    assert.equal(await page.locator(".devices .host").count(), 0);
    await holdAt(page, service, 27);
    assert.equal(await page.locator(".devices .host").innerText(), "all slower: the host?");
    assert.deepEqual((await tiles(page)).map((tile) => tile.split(" ").slice(1, 3).join(" ")), Array(4).fill("well host"));
    assert.equal(await page.locator(".devices .alarm").count(), 0);
    await holdAt(page, service, 49);
    assert.equal(await page.locator(".devices .host").innerText(), "all waiting: the host?");
    assert.deepEqual((await tiles(page)).map((tile) => tile.split(" ").slice(1, 3).join(" ")), Array(4).fill("watch host_waits"));
});

test("few losses are a small mark, a notable share of them is a colour", async (t) => {
    const service = await serve(t, script(names(3), 400, (i, d) => [read("100us", 990), ...d ? [`account no_start ${d === 1 ? 9 : 10}`] : []]));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 4);
    assert.deepEqual(await tiles(page), ["nvme2n1 watch lost true", "nvme0n1 well none true", "nvme1n1 well none true"]);
    assert.match(await words(page.locator(".devices button").first()), /1\.00 % of its IOs lost \d+ lost$/);
    assert.equal(await page.locator(".devices .lost").count(), 2);
});

/** A service that is there for its page alone. */
const pages = (t) => serve(t, script(names(1), 1, () => []));

test("idle devices are one tile, of 200 devices", async (t) => {
    const body = streamOf(names(200), 60, (i, d) => d % 2 ? [] : ["read", "write"]);
    const page = await openStream(t, await pages(t), body);
    assert.equal(await page.evaluate(() => window.blklat.lines.length), 300);
    assert.equal((await tiles(page)).length, 101);
    const fold = page.locator(".devices button.idle");
    assert.equal(await words(fold), "100 idle show");
    await fold.click();
    assert.equal((await tiles(page)).length, 201);
    await page.locator(".devices button", { hasText: "nvme199n1" }).click();
    await fold.click();
    // A selected device is not folded away.
    assert.equal((await tiles(page)).length, 102);
    assert.deepEqual(await pressed(page), ["nvme199n1"]);
});

test("the device whose charts are shown is not folded away when it becomes idle", async (t) => {
    const page = await openStream(t, await pages(t), streamOf(names(24), 90, (i, d) => i < 20 && d === 7 ? [["read", 500]] : i < 20 ? ["read"] : []));
    assert.deepEqual(await tiles(page), ["nvme7n1 well none true", "23 idle"]);
});

test("the axis of time is the clock's, and 10 s, 1 min or all are shown", async (t) => {
    const page = await openStream(t, await pages(t), streamOf(names(1), 24, (i) => [["read", i < 12 ? 100 : 300]]), { timezoneId: "Asia/Kolkata" });
    const ticks = (id) => page.evaluate((chart) => {
        const { x, xSpan } = window.blklat.charts[chart].current();
        return [x.label, xSpan[1] - xSpan[0], x.ticks(...xSpan, 8).map((tick) => tick.text)];
    }, id);
    const total = () => page.evaluate(() => window.blklat.lines[0].op.total.ios);
    // 07:35:00 UTC is 13:05:00 in Kolkata.
    const [label, span, texts] = await ticks("iops");
    assert.equal(label, "local time");
    assert.ok(Math.abs(span - 24) < 0.5, String(span));
    assert.deepEqual(texts.slice(-4), ["13:05:05", "13:05:10", "13:05:15", "13:05:20"]);
    assert.equal(await total(), 12 * 100 + 12 * 300);
    await click(page.locator('[aria-label="time shown"] button', { hasText: "10 s" }));
    const short = await ticks("heat");
    assert.ok(Math.abs(short[1] - 10) < 0.5, String(short[1]));
    assert.ok(short[2].includes("13:05:20"), short[2].join());
    assert.equal(await total(), 10 * 300);
    await click(page.locator('[aria-label="time shown"] button', { hasText: "1 min" }));
    assert.equal(await total(), 12 * 100 + 12 * 300);
});

test("one clock: the page's words and tables have the time of its axes, and its zone is named once", async (t) => {
    const service = await pages(t), body = streamOf(names(1), 24, (i) => [["read", i === 12 ? 50 : 100]]);
    for (const [timezoneId, time, worst] of [["Europe/Berlin", "08:35:24 CET (UTC+1)", "08:35:12.0"], ["America/New_York", "02:35:24 EST (UTC-5)", "02:35:12.0"],
        ["Asia/Kolkata", "13:05:24 UTC+5:30", "13:05:12.0"], ["UTC", "07:35:24 UTC", "07:35:12.0"]]) {
        const page = await openStream(t, service, body, { timezoneId });
        assert.ok((await words(page.locator("header .link"))).endsWith(` 2026-11-21 ${time}`), await words(page.locator("header .link")));
        assert.ok((await words(page.locator("#chart-iops .legend"))).endsWith(` worst 50 at ${worst}`));
        await page.evaluate(() => document.querySelectorAll("figure .behind summary").forEach((summary) => summary.click()));
        for (const id of ["iops", "heat", "depth", "throughput", "flight", "oldest"]) {
            const first = page.locator(`#chart-${id} .behind tbody tr`).first().locator("th, td");      // 60 pieces of 24 s
            assert.deepEqual((await first.allInnerTexts()).slice(0, 2), [worst.replace("12.0", "00.0"), worst.replace("12.0", "00.4")], id);
        }
        const all = await page.evaluate(() => document.body.innerText);
        assert.equal(all.match(/UTC(?![+-]\d+\))|\(UTC/g).length, 1);
    }
});

async function labels(t, service, body, options) {
    const page = await openStream(t, service, body, { prepare: notingTexts, ...options });
    for (const shown of ["All", "10 s"]) {
        await click(page.locator('[aria-label="time shown"] button', { hasText: shown }));
        await labelsFit(page, 70);
    }
    // The tables scroll inside their own boxes.
    assert.ok(await page.evaluate(() => [...document.querySelectorAll(".wide .scroll")].every((box) => box.getBoundingClientRect().right <= innerWidth)));
}

test("no label stands on another, nothing is wider than the screen", async (t) => {
    const service = await pages(t), body = streamOf(names(3), 24, (i, d) => [["read", 1000 + d, 9e3, 80e3, 1e6, 70e6, 2e9]]);
    for (const width of [390, 800, 1400])
        await t.test(`${width}`, async (t2) => labels(t2, service, body, { viewport: { width, height: 900 } }));
});
