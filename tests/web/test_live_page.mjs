// SPDX-License-Identifier: GPL-2.0-only
// The live page in Chromium, from a service that plays a script: values change, switches work, stalls and losses show.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { click, load, open, openAt, pixels, plain, useBrowser, words } from "./browser.mjs";
import { random } from "./documents.mjs";
import { atLeast, BLKLAT, holdAt, intervals, openStream, recordings, script, serve, shown, steady, streamOf, until } from "./live.mjs";

useBrowser();

const READ = "#0072b2";

test("values move with each interval", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, service.url, { timezoneId: "UTC" });
    await holdAt(page, service, 5);
    assert.match(await words(page.locator("header .link")), /^Live, 2026-11-21 07:3\d:\d\d UTC$/);
    const first = await shown(page), n = await intervals(page);
    assert.equal(first.iops[0], 2);
    // It neither divides nor looks for slow IOs.
    assert.equal(await page.locator("h3", { hasText: "By " }).count(), 0);
    assert.equal(await page.locator(".slow, #chart-busy").filter({ visible: true }).count(), 0);
    assert.equal(await page.getByRole("heading", { name: "Where the time goes" }).count(), 0);
    for (const id of ["distribution", "percentile", "nines", "iops", "heat", "depth", "throughput", "flight", "oldest"])
        assert.ok(first[id][0] >= 1 && first[id][1] >= 3, id);
    assert.ok(await pixels(page, "distribution", READ) > 50);
    const before = await words(page.locator(".devices button"));
    assert.match(before, /^nvme0n1 [5-7]\.\d\dk IOPS p99 90\.0 us$/);
    await holdAt(page, service, n + 5);
    assert.notEqual(await words(page.locator(".devices button")), before);
    assert.ok((await shown(page)).iops[1] >= first.iops[1] + 10);
    const sums = await page.waitForFunction(() => {
        const { lines, feed } = window.blklat, op = lines[0].op;
        if (feed.intervals.length !== op.ios.length)
            return null;  // new intervals are drawn a moment later
        const ios = feed.intervals.reduce((sum, i) => sum + i.watches[0].ops[0].ios, 0);
        return [[op.total.ios, op.bins.reduce((sum, bin) => sum + bin[2], 0), op.heat.columns.flat().filter((_, i) => i % 2).reduce((a, b) => a + b, 0)], ios];
    });
    const [said, want] = await sums.jsonValue();
    assert.deepEqual(said, [want, want, want]);
});

test("the busy share of a device", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 400, () => [...steady(0, 0), "busy 150ms"]));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 3);
    assert.match(await words(page.locator(".devices button")), / p99 90\.0 us busy 75 %$/);
    assert.match(await words(page.locator("#chart-busy .legend")), /nvme0n1 mean 75 %/);
});

test("devices are switched by a click, alone and back", async (t) => {
    const service = await serve(t, script(["nvme0n1", "nvme1n1", "nvme2n1"], 400, steady));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 3);
    const buttons = page.locator(".devices button");
    assert.equal(await buttons.count(), 3);
    assert.equal((await shown(page)).depth[0], 3);
    await click(buttons.nth(1));
    assert.deepEqual([(await shown(page)).depth[0], (await shown(page)).percentile[0]], [1, 2]);
    assert.deepEqual(await buttons.evaluateAll((all) => all.map((b) => b.getAttribute("aria-pressed"))), ["false", "true", "false"]);
    // That stays when the next interval comes.
    const n = await intervals(page);
    await holdAt(page, service, n + 3);
    assert.equal((await shown(page)).depth[0], 1);
    await click(buttons.nth(1));
    assert.equal((await shown(page)).depth[0], 3);
    await page.locator("aside [data-key]").first().click();
    await holdAt(page, service, n + 8);
    assert.equal((await shown(page)).percentile[0], 5);
});

test("the last minutes are saved as a recording and as a report", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 20, steady));
    const page = await openAt(t, service.url, { expected: [/status of 503/] });     // until it is made
    await service.atItsEnd();
    const folder = mkdtempSync(join(tmpdir(), "blklat-saved-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const saved = async (what) => {
        const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Save ${what}` }).click()]);
        assert.match(file.suggestedFilename(), what === "report" ? /^blklat-.*Z\.html$/ : /^blklat-.*Z\.blklat$/);
        await file.saveAs(join(folder, file.suggestedFilename()));
        await page.getByRole("button", { name: `Save ${what}`, disabled: false }).waitFor();
        return join(folder, file.suggestedFilename());
    };
    // The recording has all IOs that the page has, and so has the report, which opens by itself.
    const run = JSON.parse(execFileSync(BLKLAT, ["report", "-f", "json", await saved("recording")])).runs[0];
    const ios = await page.evaluate(() => window.blklat.feed.intervals.reduce((sum, i) => sum + i.watches[0].ops[0].ios, 0));
    assert.equal(run.watches[0].ops[0].total.ios, ios);
    const report = await open(t, null, { html: readFileSync(await saved("report"), "utf8") });
    assert.equal(await report.evaluate(() => window.blklat.lines[0].op.total.ios), ios);
});

test("IOs whose ends the kernel has counted are no stall", async (t) => {
    const hang = ["in-flight 3 oldest=3s"], service = await serve(t, script(["nvme0n1", "nvme1n1"], 40,
        (i, d) => i < 5 ? ["io read 60us 4096 x100"] : i > 5 ? hang : d ? [...hang, "kernel-ios +2"] : [...hang, "kernel-ios +3"]));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 7);
    const buttons = page.locator(".devices button"), stalled_s = await page.evaluate(() => {
        const all = window.blklat.feed.intervals, first = all.find(({ watches }) => !watches[1].ops.length);
        return all.at(-1).end_s - first.end_s + first.length_s;
    });
    assert.deepEqual(await buttons.evaluateAll((all) => all.map((b) => b.dataset.state)), ["sick", "well"]);
    const [, since, unit] = (await words(buttons.nth(0))).match(/^nvme1n1 .* stalled: no completions, an IO has waited 3\.00 s since 07:35:01 \(([\d.]+) (ms|s)\)$/);
    assert.equal(Number(since) / { ms: 1e3, s: 1 }[unit], Number(stalled_s.toFixed(3)));
    assert.match(await words(buttons.nth(1)), /oldest 3\.00 s; completed, says the kernel$/);
});

test("pause holds everything, going on catches up", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 3);
    await click(page.locator("button.pause"));
    assert.match(await words(page.locator("header .link")), /^Paused/);
    const held = await shown(page), n = await intervals(page);
    service.go();
    await atLeast(page, n + 5);
    assert.deepEqual(await shown(page), held);
    await page.locator("button.pause").click();
    await holdAt(page, service, n + 5);
    assert.ok((await shown(page)).iops[1] >= held.iops[1] + 10);
});

test("parts of IOs that have not ended, and skipped programs", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 40, (i) => [...steady(i, 0), ...i === 1 ? ["part discard 4096", "skipped 2"] : []]));
    const page = await openAt(t, service.url), hints = page.locator(".wide .hint");
    await page.waitForFunction(() => document.querySelectorAll(".wide .hint").length === 2);
    assert.equal(await words(hints.nth(0)), "nvme0n1 device, discard: besides, 4 096 bytes of IOs that have not ended.");
    assert.match(await words(hints.nth(1)), /^The kernel skipped 2 program runs, and nothing was missed at stage device/);
});

test("the figures of what is kept are those of the report on the same IOs", async (t) => {
    const next = random(7), latencies = Array.from({ length: 8 }, () => `io read ${Math.round(1e3 * 10 ** (next() * 5))}ns 4096 x${1 + Math.floor(next() * 8)}`);
    const text = script(["nvme0n1"], 8, (i) => [latencies[i], `io write ${30 + i}us ${4096 << i % 3} x${10 ** (i % 4)}`], 0.05).replace("\ndevice", "\nby size\ndevice");
    const service = await serve(t, text), columns = ["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999", "max"];
    const table = async (page, name, wanted) => {
        const region = page.locator(`[aria-label="${name}"]`), head = await region.locator("thead th").allInnerTexts();
        return Promise.all((await region.locator("tbody tr").all()).map(async (row) => {
            const cells = await row.locator("th, td").allInnerTexts();
            return wanted.map((column) => cells[head.indexOf(column)]);
        }));
    };
    const figures = (page) => table(page, "Figures", ["IOs", ...columns]);
    const parts = (page) => table(page, "Figures by IO size", ["IO size", "IOs", "share of IOs", "share of bytes", "share of time", "mean size", "p50", "p99", "max"]);
    const folder = mkdtempSync(join(tmpdir(), "blklat-live-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const report = await open(t, execFileSync(BLKLAT, ["report", ...recordings(folder, text), "--format", "json"], { encoding: "utf8" }));
    await service.atItsEnd();
    const live = await openAt(t, service.url);
    await holdAt(live, service, 8);
    const expected = await figures(report);
    assert.equal(expected.length, 2);
    assert.ok(Number(expected[0][0]) < 64, expected[0][0]);
    assert.deepEqual(await figures(live), expected);
    assert.equal((await parts(report)).length, 4);
    assert.deepEqual(await parts(live), await parts(report));
    const cells = (page) => page.evaluate(() => window.blklat.lines.map(({ op }) => [op.bins, op.heat.scale, op.heat.columns]));
    assert.deepEqual(await cells(live), await cells(report));
    // The same goes for the table behind the chart.
    await live.locator("#chart-percentile .behind summary").click();
    await live.locator("#chart-percentile .behind tbody").waitFor();
    for (const [share, name] of [["50 %", "p50"], ["90 %", "p90"], ["95 %", "p95"], ["99 %", "p99"], ["100 %", "max"]]) {
        const row = live.locator("#chart-percentile .behind tbody tr", { has: live.getByRole("rowheader", { name: share, exact: true }) });
        assert.deepEqual(await row.locator("td").allInnerTexts(), expected.map((cells) => cells[1 + columns.indexOf(name)]), share);
    }
});

test("where all stages are captured: where the time goes, of all intervals together and of the devices shown", async (t) => {
    // Behind 400 reads of 625 us come as many of 1250 us, of which they wait 625 us more.
    const longer = ["on sda device", "io read 100us 4096 x400", "on sda queue", "io read 20us 4096 x400", "on sda total", "io read 1250us 4096 x400",
        "on sda wait", "io read 1125us 4096 x400", "tick 1", ""].join("\n");
    const page = await openAt(t, (await serve(t, readFileSync("tests/cli/replay/wait.txt", "utf8") + longer)).url);
    await until(page, 2);
    const told = async () => (await page.locator(".shares li").allInnerTexts()).map((text) => text.split(/\s+/).join(" "));
    await page.waitForFunction(() => document.querySelector(".shares")?.textContent.includes("86.7"));
    const all = ["sda total · read wait 86.7 % plug 0.5 % queue 2.1 % device 10.7 %", "sda total · write wait 5 % plug 15 % queue 13.3 % device 66.7 % (about)",
        "nvme0n1 total · read wait 75 % plug 0 % queue 0 % device 25 %"];
    assert.deepEqual(await told(), all);
    await click(page.locator(".devices button", { hasText: "nvme0n1 device" }));
    assert.deepEqual(await told(), all.slice(2));
});

test("a device that has come is judged by its own time", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 1, steady));
    const page = await openStream(t, service, streamOf(["nvme0n1", "nvme1n1"], 10, (i, d) => d && (i < 4 || i === 7) ? null : ["read"]), { timezoneId: "UTC" });
    const said = await words(page.locator("#chart-iops"));
    assert.match(said, /nvme0n1 · read average 100 ± 0, worst 100 at 07:35:00.0 nvme1n1 · read average 100 ± 0, worst 100 at 07:35:04.0 /);
    assert.deepEqual((await shown(page)).iops, [2, 15]);
    const mean = await page.locator('[aria-label="Figures"] tbody tr').evaluateAll((rows) => rows.map((row) => row.children[2].innerText));
    assert.deepEqual(mean, ["100", "100"]);
});

test("losses since the first interval, unless they were counted from 0 again", async () => {
    const { stateOf } = await load("live_data.ts");
    const at = (started, lost) => ({ accounting: { started, lost }, ops: [], interval_s: 1, in_flight: { ios: 0, oldest_ns: 0 } });
    const lost = [[at(1000, 9), at(500, 7)], [at(500, 3), at(1000, 9)], [at(500, 3), undefined]].map((of) => stateOf(...of).lost);
    assert.deepEqual(lost, [2, 3, 3]);
});

test("what is shown is divided by size below, charts and devices have the whole", async (t) => {
    const ios = ["io read 90us 4096 x600", "io read 5ms 1048576 x100", "io write 30us 8192 x50", "account no_start 2"];
    const text = script(["nvme0n1", "nvme1n1"], 400, (i, d) => d ? ["io write 40us 4096 x10"] : ios.slice(0, i === 1 ? 4 : 3));
    const service = await serve(t, text.replace("\ndevice", "\nby size\ndevice"));
    const page = await openAt(t, service.url);
    await holdAt(page, service, 4);
    const parts = page.locator('[aria-label="Figures by IO size"]');
    const rows = () => parts.locator("tbody tr").evaluateAll((all) => all.map(({ cells }) => `${cells[0].innerText} ${cells[1].innerText}`));
    const all = ["nvme0n1 device · read 4 KiB", "nvme0n1 device · read 1 MiB+", "nvme0n1 device · write 8 KiB", "nvme1n1 device · write 4 KiB"];
    assert.deepEqual((await rows()).map(plain), all);
    assert.equal(await page.locator('[aria-label="Figures"] tbody tr').count(), 3);
    assert.match(await words(page.locator(".devices button").nth(0)), /^nvme0n1 [23]\.\d\dk IOPS p99 5\.00 ms 2 lost$/);
    assert.equal((await shown(page)).iops[0], 3);
    await click(page.locator(".devices button").nth(1));
    assert.deepEqual((await rows()).map(plain), all.slice(3));
    await click(page.locator('aside [data-key][aria-pressed="true"]'));
    assert.equal(await parts.count(), 0);
});

test("history rolls (tests/soak has that memory is flat)", async (t) => {
    const { url } = await serve(t, script(["nvme0n1"], 1000, steady, 0.1), "--history", "2");
    const page = await openAt(t, url);
    await until(page, 3.5);
    const kept = await page.evaluate(() => window.blklat.feed.intervals.map((i) => i.end_s));
    assert.ok(kept.length <= 21 && kept[0] >= kept.at(-1) - 2, kept.join());
    const run = await page.evaluate(() => ({ first: window.blklat.lines[0].run.start_s[0], length: window.blklat.lines[0].run.duration_s }));
    assert.ok(run.first === 0 && run.length <= 2.15, JSON.stringify(run));
});

test("a capture that has stopped is said to be silent", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 4, steady, 0.1), "--interval", "0.1");
    const page = await openAt(t, service.url, { restarts: true, timezoneId: "UTC" }), said = page.locator("header .link");
    await atLeast(page, 4);
    await page.waitForFunction(() => document.querySelector(".link").dataset.state === "lost");
    assert.match(await words(said), /^No interval since 2026-11-21 07:35:00 UTC$/);
    await service.stop();
    await service.start(script(["nvme0n1"], 400, steady), new URL(service.url).host);
    await page.waitForFunction(() => document.querySelector(".link").dataset.state === "live");
});

test("a restart of the service is taken up", async (t) => {
    const service = await serve(t, script(["nvme0n1"], 400, steady));
    const page = await openAt(t, service.url, { restarts: true });
    await atLeast(page, 4);
    const boot = () => page.evaluate(() => window.blklat.feed.boot), before = await boot();
    await service.stop();
    await page.waitForFunction(() => document.querySelector(".link").dataset.state === "lost");
    await service.start(script(["nvme0n1"], 400, steady), new URL(service.url).host);
    await page.waitForFunction((old) => document.querySelector(".link").dataset.state === "live" && window.blklat.feed.boot !== old, before);
    await atLeast(page, 3);
    // Nothing is left of the previous process.
    assert.ok(await page.evaluate(() => window.blklat.feed.intervals.every((i, n, all) => n === 0 || i.end_s > all[n - 1].end_s)));
});
