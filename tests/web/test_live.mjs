// SPDX-License-Identifier: GPL-2.0-only
// The live page in Chromium, from a service that plays a script: values move, switches work, stalls and losses show.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { load, openAt, pixels, settled, useBrowser, words } from "./browser.mjs";

useBrowser();

const BLKLAT = process.env.BLKLAT ?? "build/blklat";
const READ = "#0072b2";

function script(devices, intervals, statements, seconds = 0.2) {
    const lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z"];
    devices.forEach((name) => lines.push(`device ${name} kind=nvme model="Micron 7450" scheduler=none size=1920383410176 queues=16`));
    devices.forEach((name) => lines.push(`watch ${name} device`));
    for (let i = 0; i < intervals; i++) {
        devices.forEach((name, d) => lines.push(`on ${name} device`, ...statements(i, d)));
        lines.push(`tick ${seconds}`);
    }
    return `${lines.join("\n")}\n`;
}

/** Starts the service; gives its address and how to end it. */
async function serve(t, text, ...args) {
    const folder = mkdtempSync(join(tmpdir(), "blklat-live-")), file = join(folder, "script.txt");
    writeFileSync(file, text);
    let child = null;
    const start = (listen) => new Promise((done, failed) => {
        let said = "";
        child = spawn(BLKLAT, ["serve", "--replay", file, "--listen", listen, ...args], { stdio: ["ignore", "ignore", "pipe"] });
        child.stderr.on("data", (data) => {
            const found = (said += data).match(/listening on (http:\/\/\S+)/);
            if (found)
                done(found[1]);
        });
        child.on("exit", () => failed(new Error(said)));
    });
    const stop = () => new Promise((done) => {
        child.on("exit", done);
        child.kill("SIGTERM");
    });
    t.after(async () => {
        await stop();
        rmSync(folder, { recursive: true });
    });
    return { url: await start("127.0.0.1:0"), stop, start };
}

const steady = (i, d) => [`io read ${90 + d}us 4096 x${1000 * (d + 1) + i}`, "io write 30us 8192 x100", "in-flight 2 oldest=50us"];

async function shown(page) {
    return page.evaluate(() => Object.fromEntries(Object.entries(window.blklat.charts).map(([id, chart]) =>
        [id, [Number(chart.figure.dataset.lines), Number(chart.figure.dataset.points)]])));
}

const intervals = (page) => page.evaluate(() => window.blklat.feed.intervals.length);
const atLeast = (page, n) => page.waitForFunction((least) => window.blklat?.feed.intervals.length >= least, n);

test("values move with each interval", async (t) => {
    const { url } = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, url);
    await atLeast(page, 5);
    await settled(page);
    assert.match(await words(page.locator("header .link")), /^Live, 2026-11-21 07:35:\d\d UTC$/);
    const first = await shown(page);
    assert.equal(first.iops[0], 2);
    for (const id of ["distribution", "percentile", "nines", "iops", "heat", "depth", "throughput", "flight", "oldest"])
        assert.ok(first[id][0] >= 1 && first[id][1] >= 3, id);
    assert.ok(await pixels(page, "distribution", READ) > 50);
    const before = await words(page.locator(".devices button"));
    assert.match(before, /^nvme0n1 5\.\d\dk IOPS p99 90\.0 us$/);
    await atLeast(page, 10);
    await page.waitForFunction((text) => document.querySelector(".devices button").innerText.replace(/\s+/g, " ") !== text, before);
    assert.ok((await shown(page)).iops[1] > first.iops[1]);
    // What comes is drawn a moment later.
    await page.waitForFunction(() => window.blklat.feed.intervals.length === window.blklat.lines[0].op.ios.length);
    const [said, want] = await page.evaluate(() => {
        const { lines, feed } = window.blklat, op = lines[0].op;
        const ios = feed.intervals.reduce((sum, i) => sum + i.watches[0].ops[0].ios, 0);
        return [[op.total.ios, op.bins.reduce((sum, bin) => sum + bin[2], 0), op.heat.columns.flat().filter((_, i) => i % 2).reduce((a, b) => a + b, 0)], ios];
    });
    assert.deepEqual(said, [want, want, want]);
});

test("devices are switched by a click, alone and back", async (t) => {
    const { url } = await serve(t, script(["nvme0n1", "nvme1n1", "nvme2n1"], 400, steady));
    const page = await openAt(t, url);
    await atLeast(page, 3);
    await settled(page);
    const buttons = page.locator(".devices button");
    assert.equal(await buttons.count(), 3);
    assert.equal((await shown(page)).depth[0], 3);
    await buttons.nth(1).click();
    await settled(page);
    assert.deepEqual([(await shown(page)).depth[0], (await shown(page)).percentile[0]], [1, 2]);
    assert.deepEqual(await buttons.evaluateAll((all) => all.map((b) => b.getAttribute("aria-pressed"))), ["false", "true", "false"]);
    // It stays so when the next interval comes.
    await atLeast(page, 8);
    await settled(page);
    assert.equal((await shown(page)).depth[0], 1);
    await buttons.nth(1).click();
    await settled(page);
    assert.equal((await shown(page)).depth[0], 3);
    await page.locator("aside input").first().uncheck();
    await atLeast(page, 12);
    await settled(page);
    assert.equal((await shown(page)).percentile[0], 5);
});

test("of many devices the busiest is shown", async (t) => {
    const names = Array.from({ length: 24 }, (_, i) => `nvme${i}n1`);
    const { url } = await serve(t, script(names, 200, steady));
    const page = await openAt(t, url);
    await atLeast(page, 3);
    await settled(page);
    assert.equal(await page.locator(".devices button").count(), 24);
    assert.equal(await words(page.locator('.devices button[aria-pressed="true"] b')), "nvme23n1");
});

test("pause holds everything, going on catches up", async (t) => {
    const { url } = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, url);
    await atLeast(page, 3);
    await page.locator("button.pause").click();
    await settled(page);
    assert.match(await words(page.locator("header .link")), /^Paused/);
    const held = await shown(page), n = await intervals(page);
    await atLeast(page, n + 5);
    assert.deepEqual(await shown(page), held);
    await page.locator("button.pause").click();
    await settled(page);
    assert.ok((await shown(page)).iops[1] >= held.iops[1] + 10);
});

test("a stall and a loss light up", async (t) => {
    const { url } = await serve(t, script(["nvme0n1", "nvme1n1"], 400, (i, d) => d === 1 && i > 8 ? ["in-flight 7 oldest=3s"]
        : [...steady(i, d), ...d === 0 && i === 10 ? ["account no_start 3"] : []]));
    const page = await openAt(t, url);
    await atLeast(page, 5);
    await settled(page);
    const state = () => page.locator(".devices button").evaluateAll((all) => all.map((b) => b.dataset.state));
    assert.deepEqual(await state(), ["well", "well"]);
    await atLeast(page, 14);
    await page.waitForFunction(() => document.querySelector('[data-state="stalled"]'));
    assert.deepEqual(await state(), ["lost", "stalled"]);
    assert.match(await words(page.locator(".devices button").nth(1)), /nvme1n1 0 IOPS p99 – stalled, oldest 3\.00 s$/);
    assert.match(await words(page.locator(".devices button").nth(0)), /3 lost$/);
});

test("history is there at once, and rolls", async (t) => {
    const { url } = await serve(t, script(["nvme0n1"], 200, steady, 0.1), "--history", "2");
    await new Promise((done) => setTimeout(done, 3000));
    const page = await openAt(t, url);
    await atLeast(page, 18);
    await page.waitForTimeout(2500);
    assert.ok(await intervals(page) <= 22);
    const run = await page.evaluate(() => ({ first: window.blklat.lines[0].run.start_s[0], length: window.blklat.lines[0].run.duration_s }));
    assert.ok(run.first === 0 && run.length <= 2.3, JSON.stringify(run));
});

test("memory is flat", async (t) => {
    // 40 intervals a second for 10 s are as many as come in nearly 7 minutes at 1 s.
    const { url } = await serve(t, script(["nvme0n1", "nvme1n1"], 2000, steady, 0.025), "--history", "1");
    const page = await openAt(t, url);
    await atLeast(page, 30);
    const session = await page.context().newCDPSession(page);
    // What is alive for the moment comes and goes; the least of some looks is what is kept.
    const heap = async () => {
        let least = Infinity;
        for (let look = 0; look < 8; look++) {
            await session.send("HeapProfiler.collectGarbage");
            least = Math.min(least, (await session.send("Runtime.getHeapUsage")).usedSize);
            await page.waitForTimeout(250);
        }
        return least;
    };
    await page.waitForTimeout(2000);
    const before = await heap();
    await page.waitForTimeout(6000);
    const after = await heap();
    assert.ok(after < before + (1 << 20), `${before} bytes, then ${after}`);
});

test("a restart of the service is taken up", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, service.url);
    await atLeast(page, 4);
    const boot = () => page.evaluate(() => window.blklat.feed.boot), before = await boot();
    await service.stop();
    await page.waitForFunction(() => document.querySelector(".link").dataset.state === "lost");
    await service.start(new URL(service.url).host);
    await page.waitForFunction((old) => document.querySelector(".link").dataset.state === "live" && window.blklat.feed.boot !== old, before);
    await atLeast(page, 3);
    // Nothing of the former process is left among them.
    assert.ok(await page.evaluate(() => window.blklat.feed.intervals.every((i, n, all) => n === 0 || i.end_s > all[n - 1].end_s)));
});

test("a phone in the dark", async (t) => {
    const { url } = await serve(t, script(["nvme0n1", "nvme1n1"], 400, steady));
    const page = await openAt(t, url, { viewport: { width: 390, height: 800 }, colorScheme: "dark" });
    await atLeast(page, 4);
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
    await page.locator("button.theme").click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
});

test("bins are those of the report, bound by bound", async () => {
    const { binsOf } = await load("live_data.ts");
    for (const scale of [0, 3, 6]) {
        const cells = 33 * 2 ** scale + 2, all = binsOf(new Map(Array.from({ length: cells }, (_, i) => [i, i + 1])), scale);
        assert.deepEqual(all[0], [0, 14, 1]);
        assert.deepEqual(all[cells - 1].slice(1), [null, cells]);
        for (let i = 1; i < cells; i++)
            assert.equal(all[i][0], all[i - 1][1]);
        assert.equal(all[cells - 2][1], 128e9);
    }
});
