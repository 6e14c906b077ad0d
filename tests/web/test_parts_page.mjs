// SPDX-License-Identifier: GPL-2.0-only
// What is special to each --by: latency by depth, the matrix of neighbours, owners ranked and over time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, labelsFit, load, notingTexts, open, plain, saved, settled, useBrowser, words } from "./browser.mjs";
import { constant, divided, documentOf, op, run, sized } from "./documents.mjs";

useBrowser();

const { doneByDepth, iopsByDepth, latencyByDepth } = await load("charts/depth.ts");
const { partsHeat, partsLatency } = await load("charts/parts.ts");
const { drawnOwners, ownersOverTime } = await load("charts/owners.ts");
const { strength } = await load("beside_table.ts");
const { ownerships, ownersOf, shortNames, shortPath } = await load("owners.ts");
const { duration } = await load("format.ts");
const { runsIn } = await load("data.ts");
const { makeLines } = await load("lines.ts");

const N = 10;
const of = (name, ios, ns) => op(name, Array.isArray(ios) ? ios : constant(ios), () => ns);
const linesOf = (made) => makeLines(runsIn(documentOf(made)));
const near = (got, want) => assert.ok(Math.abs(got / want - 1) < 0.03, `${got} is not about ${want}`);

// --- by depth

/** Reads that take longer from depth 3 on, and few at 9 to 16; what the device does follows from Little's law. */
function byDepth() {
    const made = divided("sda", "device", {
        1: [of("read", 100, 80e3), of("write", 50, 20e3)], 2: [of("read", 300, 80e3)], "3-4": [of("read", 600, 160e3)], "5-8": [], "9-16": [of("read", 9, 640e3)], "17-32": [],
    }, "depth");
    const little = { 1: [16667, 16667], 2: [25000, 25000], "3-4": [18750, 25000], "9-16": [14062, 25000] };
    for (const { part, all_ops } of made.slice(1))
        if (all_ops)
            all_ops.by_little = { iops_least: little[part.label][0], iops_most: little[part.label][1], bytes_per_s_least: little[part.label][0] * 4096, bytes_per_s_most: little[part.label][1] * 4096 };
    return run(made);
}

test("p50 and p99 at each depth; of few IOs dots beside the line", () => {
    const { series, x, xSpan, spots, table } = latencyByDepth(linesOf(byDepth()));
    assert.deepEqual(series.map((s) => [s.name, s.kind, s.ys.map((y) => y !== null)]), [
        ["read, p50", "line", [true, true, true, false, false]], ["read, p50, few IOs", "dots", [false, false, false, false, true]],
        ["read, p99", "line", [true, true, true, false, false]], ["read, p99, few IOs", "dots", [false, false, false, false, true]],
        ["write, p50", "line", [true, false, false, false, false]], ["write, p99", "line", [true, false, false, false, false]],
    ]);
    near(10 ** series[0].ys[2], 160e3);
    near(10 ** series[1].ys[4], 640e3);
    assert.deepEqual([xSpan, [0, 2, 4].map((place) => x.text(place)), spots.length], [[-0.5, 4.5], ["1", "3-4", "9-16"], 8]);
    const rows = table().rows.map((row) => row.map(plain));
    assert.deepEqual(rows.map((row) => row.slice(0, 5)), [["read", "1", "1 000", "9.91 %", "100"], ["read", "2", "3 000", "29.73 %", "300"],
        ["read", "3-4", "6 000", "59.46 %", "600"], ["read", "9-16", "90", "0.89 %", "9"], ["write", "1", "500", "100 %", "50"]]);
    assert.equal(rows[3][6], "too few IOs");
});

test("the load that each depth had, and what the device does there by Little's law", () => {
    const lines = linesOf(byDepth()), load = iopsByDepth(lines), done = doneByDepth(lines);
    assert.deepEqual(load.series.map((s) => [s.name, plain(s.note), s.ys.filter((_, i) => i % 2 === 0)]), [
        ["read", "59.5 % at 3-4", [100, 300, 600, 0, 9]], ["write", "100 % at 1", [50, 0, 0, 0, 0]]]);
    assert.ok(load.series[0].xs.every((x, i, all) => i === 0 || x > all[i - 1]));
    // 90 IOs are too few to be shown.
    assert.deepEqual(done.levels.map(({ band, x: [from, to] }) => [band, (from + to) / 2]), [[[16667, 16667], 0], [[25000, 25000], 1], [[18750, 25000], 2]]);
    assert.deepEqual(done.series[0].words, ["16.7k IOPS", "25.0k IOPS", "18.8k to 25.0k IOPS"]);
    assert.match(plain(done.series[0].note), /^most at 2: 25.0k IOPS$/);
    assert.ok(done.ySpan()[1] > 25000);
    lines[0].watch.parts[2].all_ops.by_little.iops_most = null;
    assert.match(doneByDepth(lines).series[0].words[2], /^18.8k and more IOPS$/);
    lines.forEach((line) => { line.on = false; });
    for (const { series, xSpan } of [latencyByDepth(lines), iopsByDepth(lines), doneByDepth(lines)])
        assert.deepEqual([series.length, xSpan], [0, [-0.5, 0.5]]);
});

test("the page by depth on a phone: nothing on top of anything else", async (t) => {
    await labelsFit(await open(t, documentOf(byDepth()), { viewport: { width: 390, height: 800 }, prepare: notingTexts }), 50, "chart-depth");
});

// --- by what they are beside

/** In the kernel's order, strongest first. Reads beside a flush take 20 times as long; writes have no baseline. */
function byNeighbour() {
    const made = divided("sda", "device", {
        flush: [of("read", 20, 1.6e6), of("write", [3, ...Array(N - 1).fill(0)], 2e6)], discard: [], "big write": [], write: [of("read", 100, 240e3), of("write", 30, 50e3)],
        read: [of("read", 500, 80e3)], nothing: [of("read", 1000, 80e3)],
    }, "beside");
    const all = (ratio) => ({ p50: ratio, p90: ratio, p99: ratio });
    const against = { flush: [20, null], write: [3, null], read: [0.9], nothing: [1] };
    for (const { part, ops } of made.slice(1))
        ops.forEach((o, i) => { o.against = against[part.label][i] === null ? null : { base: "nothing", ...all(against[part.label][i]) }; });
    return run(made);
}

test("the matrix: a row for each neighbour, from nothing on, a column for each op", async (t) => {
    const page = await open(t, documentOf(byNeighbour())), region = page.getByRole("region", { name: "Beside, sda" });
    assert.deepEqual(await region.locator("thead th").allTextContents(), ["beside", "read", "write"]);
    const rows = [];
    for (const row of await region.locator("tbody tr").all())
        rows.push((await words(row)).replace(/\d+\.?\d* [mu]s/g, "T"));
    assert.deepEqual(rows, [
        "nothing p50 T base p99 T base 10 000 IOs, 61.7 % –", "read p50 T × 0.9 p99 T × 0.9 5 000 IOs, 30.9 % –",
        "write p50 T × 3.0 p99 T × 3.0 1 000 IOs, 6.2 % p50 T p99 T 300 IOs, 99 %", "flush p50 T × 20 p99 T × 20 200 IOs, 1.2 % 3 IOs: too few the slowest T",
    ]);
    assert.match(await words(page.locator(".matrix .hint")), /^No ratios of write: too few IOs beside nothing/);
    const strengths = await region.locator(".level").evaluateAll((all) => all.map((e) => [e.className, e.style.getPropertyValue("--strength")]));
    assert.deepEqual(strengths.filter((_, i) => i % 2 === 0), [["level", ""], ["level faster", "0.038"], ["level slower", "0.396"], ["level", ""], ["level slower", "1.000"]]);
    // The heading of a row names the row, that of a column the column: it is a table for screen readers, too.
    assert.deepEqual(await region.locator("th").evaluateAll((all) => [...new Set(all.map((th) => th.scope))]), ["col", "row"]);
    // Words stay readable in either theme, and nothing sticks out of the page on a phone.
    for (let theme = 0; theme < 2; theme++) {
        const found = await contrast(page);
        assert.ok(found > 4.5, String(found));
        await page.getByRole("button", { name: "Light / dark" }).click();
    }
    await page.setViewportSize({ width: 390, height: 800 });
    await page.waitForFunction(() => document.documentElement.scrollWidth === 390);     // the charts follow
    await page.setViewportSize({ width: 1300, height: 900 });
    // Without a line there is no matrix.
    await click(page.getByRole("button", { name: "None" }));
    assert.equal(await page.locator(".matrix").count(), 0);
});

test("percentiles are drawn where the matrix has them, which it has not of 3 IOs; the slowest always is", () => {
    const [read, write] = linesOf(byNeighbour()), beside = ["flush", "discard", "big write", "write", "read", "nothing"];
    const drawn = ({ xs, ys }) => [...new Set(xs.filter((_, i) => ys[i] !== null).map((x) => beside[Math.round(x)]))];
    assert.deepEqual(partsLatency([read, write], "p99").series.map(drawn), [["flush", "write", "read", "nothing"], ["write"]]);
    assert.deepEqual(partsHeat(write).series.map((series) => [series.name, drawn(series)]), [
        ["p50", ["write"]], ["p99", ["write"]], ["max", ["flush", "write"]]]);
});

/** Contrast of the words on the strongest colour. */
function contrast(page) {
    return page.evaluate(() => {
        const ctx = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const paint = (...colours) => {
            for (const colour of colours) {
                ctx.fillStyle = colour;
                ctx.fillRect(0, 0, 1, 1);
            }
            const [r, g, b] = [...ctx.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const strongest = [...document.querySelectorAll(".level")].find((e) => e.style.getPropertyValue("--strength") === "1.000"), style = getComputedStyle(strongest);
        const under = paint(getComputedStyle(document.body).backgroundColor, style.backgroundColor), over = paint(style.color);
        return Math.max(under, over) / Math.min(under, over);
    });
}

test("how strong a colour is", () => {
    assert.deepEqual([1, 4, 16, 1000, 1 / 16, 0].map(strength), [0, 0.5, 1, 1, -1, 0]);
});

// --- by cgroup

const HOSTILE = ["/<img src=x onerror=alert(1)>", "/a\u202eb/\"><script>", "/\ud83d\ude00".repeat(40), "/tab\tnew\nline", `/${"x".repeat(250)}`];
const ID = "3f2a9d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234", POD = "8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c";

/** A database that reads, a backup that writes a lot for a while, and @more owners with one read a second each. */
function byOwner(more = []) {
    const while_ = constant(0).map((_, i) => i >= 4 && i < 6 ? 100 : 0);
    const made = divided("sda", "device", {
        none: [], rest: [], "/system.slice/db.service": [sized(of("read", 1000, 100e3), 4096), sized(of("write", 100, 50e3), 8192)],
        "/system.slice/backup.service": [sized(of("write", while_, 5e6), 1 << 20)], ...Object.fromEntries(more.map((label, i) => [label, [of("read", 1, (i + 1) * 10e3)]])),
    }, "cgroup");
    for (const { part } of made.slice(1))
        if (part.label.endsWith(".service"))
            part.unit = part.label.split("/").pop();
    return run(made);
}

test("a device's owners, by what their IOs took: of all ops, or of one", () => {
    const [all, reads, writes] = ownerships(linesOf(byOwner()));
    assert.deepEqual([all, reads, writes].map(({ name }) => name), ["sda, all ops", "read", "write"]);
    const told = (of) => ownersOf(of).map(({ name, ios, bytes, rank }) => [name, ios, bytes, rank]);
    assert.deepEqual(told(all), [["db.service", 11000, 10000 * 4096 + 1000 * 8192, 0], ["backup.service", 200, 200 << 20, 1]]);
    assert.deepEqual(told(reads), [["db.service", 10000, 10000 * 4096, 0]]);
    assert.deepEqual(told(writes), [["backup.service", 200, 200 << 20, 1], ["db.service", 1000, 1000 * 8192, 0]]);
    near(ownersOf(writes)[0].shares.time, 1 / 1.05);
});

test("owners over time lie on top of each other, and add up to the whole", () => {
    const lines = linesOf(byOwner()), [all, , writes] = ownerships(lines), { series, table, ySpan, stacked } = ownersOverTime(lines, all, "ios");
    assert.ok(stacked);
    // The first of them is drawn last, and lowest.
    assert.deepEqual(series.map(({ name }) => name), ["backup.service", "db.service"]);
    assert.deepEqual(series[0].ys, lines[0].op.ios.map((ios, i) => ios + lines[1].op.ios[i]));
    assert.deepEqual([series[0].amounts[4], series[0].amounts[0], series[1].ys[4], ySpan(0, 10)], [100, 0, 1100, [0, 11]]);
    assert.deepEqual(table().head.slice(2), ["db.service, mean", "highest", "backup.service, mean", "highest"]);
    const [backup] = drawnOwners(writes, "bytes");
    assert.equal(backup.owner.name, "backup.service");
    near(ownersOverTime(lines, writes, "bytes").series[1].ys[4], 100 * 1.048576);
    // 100 a second that take 5 ms each make half an IO in flight.
    near(ownersOverTime(lines, writes, "time_s").series[1].ys[5], 0.5);
    const one = byOwner();
    for (const { ops } of one.watches)
        for (const o of ops)
            Object.assign(o, { ios: o.ios.slice(0, 1), bytes: o.bytes.slice(0, 1), time_s: o.time_s?.slice(0, 1) });
    Object.assign(one, { start_s: [0], length_s: [1] });
    const short = linesOf(one);
    assert.deepEqual(ownersOverTime(short, ownerships(short)[0], "ios").series[1].xs, [0, 1]);
});

test("percentiles of owners over time: of reads and writes together, or of one op; not stacked", () => {
    // Two of three IOs are reads, so p50 is the reads' p75, and p90 the writes' p70: of a bell 0.15 octaves wide.
    const made = run(divided("sda", "device", {
        "/db": [of("read", 200, 100e3), of("write", 100, 10e6)], "/log": [of("write", constant(0).map((_, i) => i % 2 ? 300 : 0), 1e6)],
        "/few": [of("read", 5, 800e6)],
    }, "cgroup"));
    const lines = linesOf(made), [all, reads] = ownerships(lines);
    const drawn = (of, percentile) => Object.fromEntries(ownersOverTime(lines, of, percentile).series.map((one) => [one.name, one]));
    const at = (one, i) => one.ys[i] === null ? null : 10 ** one.ys[i];
    const p50 = drawn(all, "p50"), p90 = drawn(all, "p90");
    near(at(p50.db, 3), 100e3 * 2 ** (0.15 * 0.674));
    near(at(p90.db, 3), 10e6 * 2 ** (0.15 * 0.524));
    near(at(drawn(reads, "p90").db, 3), 100e3 * 2 ** (0.15 * 1.282));
    assert.deepEqual([0, 1, 2].map((i) => at(p50.log, i) === null), [true, false, true]);
    assert.deepEqual([p50.log.kind, p50.db.kind], ["dots", "line"]);
    // The slowest comes first; of few IOs it is not known who is slow.
    assert.deepEqual(Object.keys(p50), ["log", "db", "few"]);
    assert.deepEqual(Object.keys(p90), ["db", "log", "few"]);
    assert.equal(p90.few.note, "too few IOs");
    assert.deepEqual(Object.keys(drawn(reads, "p99")), ["db", "few"]);
    assert.ok(!ownersOverTime(lines, all, "p99").stacked);
});

test("percentiles of 64 owners: the eight slowest, and no sum of the others", () => {
    const lines = linesOf(byOwner(Array.from({ length: 62 }, (_, i) => `/o${i}`))), [all] = ownerships(lines);
    const { series, hint } = ownersOverTime(lines, all, "p99");
    assert.deepEqual(series.map(({ name }) => name).slice(0, 2), ["backup.service", "db.service"]);
    assert.equal(series.length, 8);
    assert.ok(hint.endsWith("Of 64 owners, the 8 with the highest of the whole run are drawn."), hint);
});

test("64 owners: eight by themselves, each in a colour of its own, the others together", () => {
    const lines = linesOf(byOwner(Array.from({ length: 62 }, (_, i) => `/o${i}`))), [all] = ownerships(lines), { series } = ownersOverTime(lines, all, "time_s");
    assert.deepEqual(series.map(({ name }) => name), ["56 others", "o56", "o57", "o58", "o59", "o60", "o61", "backup.service", "db.service"]);
    assert.equal(new Set(series.map(({ colour }) => colour)).size, 9);
    assert.equal(series[1].title, "/o56");
});

test("names: what the path tells, and as much of the path as tells two apart", () => {
    const part = (label, more) => ({ by: "cgroup", label, ...more });
    const names = (...parts) => [...shortNames(parts).values()];
    assert.deepEqual(names(part("/"), part("none"), part("/a/b/db.service", { unit: "db.service" }), part(`/kubepods/pod${POD}/${ID}`, { pod: POD, container: ID }), part("/x/y/z")),
        ["/", "none", "db.service", "8c9c8f5e/3f2a9d5b7c1e", "z"]);
    assert.deepEqual(names(part("/u/1000/app/f.scope", { unit: "f.scope" }), part("/u/1001/app/f.scope", { unit: "f.scope" }), part("/m/f.scope", { unit: "f.scope" })), ["1000/…/f.scope", "1001/…/f.scope", "m/f.scope"]);
    assert.deepEqual(names(part("/a/b"), part("/a/b/b"), part("/b")), ["a/b", "b/b", "/b"]);
    const pod = (name, container) => part(`shop/${name}/${container}`, { namespace: "shop", pod: name, container });
    assert.deepEqual(names(pod("mysql-0", "db"), pod("mysql-0", "backup"), pod("web-6d4cf56db6-9xk2p", "nginx")), ["mysql-0/db", "mysql-0/backup", "web-6d4cf56db6-9xk2p"]);
    const long = "x".repeat(60);
    assert.deepEqual(names(part(`/${long}1`), part(`/${long}2`)), [`${"x".repeat(14)}…${"x".repeat(12)}1`, `${"x".repeat(14)}…${"x".repeat(12)}2`]);
    assert.equal(new Set(names(...Array.from({ length: 9 }, (_, i) => part(`/${long}${i}${long}`)))).size, 9);
    assert.deepEqual(shortPath(`/kubepods.slice/kubepods-burstable.slice/pod${POD}/cri-containerd-${ID}.scope`), "/kubepods.slice/…/cri-containerd-3f2a9d5b7c1e.scope");
    assert.equal(shortPath("/a/b/c"), "/a/b/c");
});

test("what many IOs took together", () => {
    assert.deepEqual([0, 0.5, 93.4, 599, 750, 111600].map((s) => plain(duration(s))), ["0 ns", "500 ms", "93.4 s", "599 s", "12.5 min", "31.0 h"]);
});

test("the table sorts, and says what the chart shows", async (t) => {
    const page = await open(t, documentOf(byOwner(["/a/b/c"]))), region = page.getByRole("region", { name: "Owners", exact: true }), rows = region.locator("tbody tr");
    const first = async () => words(rows.nth(0).locator("bdi").first());
    assert.deepEqual([await rows.count(), await first()], [3, "db.service"]);
    // 10 000 of 100 us, 1000 of 50 us; 200 of 5 ms; 10 of 10 us.
    assert.match(await words(rows.nth(0)), /^db.service \/system.slice\/db.service 1.0\d s 5\d.\d+ % 11 000 98.13 % 49.2 MB 18.98 % 4.36 KiB 9\d.\d us 1\d\d us 1\d\d us 0$/);
    assert.match(await words(rows.nth(2)), /^c \/a\/b\/c \d+(?:\.\d)? us 0.0\d+ % 10 0.089 % .* too few /);
    await region.getByRole("button", { name: "share of bytes" }).click();
    assert.equal(await first(), "backup.service");
    assert.equal(await region.locator('th[aria-sort="descending"]').innerText(), "share of bytes");
    await region.getByRole("button", { name: "cgroup" }).click();
    assert.equal(await first(), "c");
    // Unknown values come last in either order.
    for (let i = 0; i < 2; i++) {
        await region.getByRole("button", { name: "p99" }).click();
        assert.equal(await words(rows.nth(2).locator("bdi").first()), "c");
    }
    await page.getByLabel("owners of").selectOption({ label: "write" });
    await click(page.getByLabel("figure of the owners").getByRole("button", { name: "MB/s" }));
    assert.equal(await rows.count(), 2);
    const { lines, texts } = await saved(page, "owners");
    assert.deepEqual(lines.map(({ name }) => name), ["db.service", "backup.service"]);
    assert.ok(texts.includes("Throughput by cgroup, write") && texts.includes("backup.service: 96.24 % of the bytes"), texts.join(" | "));
    await page.getByLabel("owners of").selectOption({ label: "sda, all ops" });
    await click(page.getByLabel("figure of the owners").getByRole("button", { name: "p99", exact: true }));
    const slow = await saved(page, "owners");
    assert.deepEqual(slow.lines.map(({ name }) => name), ["backup.service", "db.service", "c"]);
    assert.ok(slow.texts.includes("p99 by cgroup, sda, all ops") && slow.texts.includes("c: too few IOs"), slow.texts.join(" | "));
});

test("one owner, without reads; names of any kind", async (t) => {
    const one = run(divided("sda", "device", { none: [], "/": [of("write", 3, 1e6)] }, "cgroup"));
    for (const made of [one, byOwner(HOSTILE)]) {
        const page = await open(t, documentOf(made), { viewport: { width: 390, height: 800 } });
        const rows = page.getByRole("region", { name: "Owners", exact: true }).locator("tbody tr"), text = await page.locator("body").innerText();
        assert.equal(await rows.count(), made === one ? 1 : 7);
        assert.ok(!/NaN|Infinity|undefined|\bnull\b/.test(text), text.match(/.{40}(NaN|Infinity|undefined|\bnull\b).{40}/)?.[0]);
        assert.equal(await page.locator("img").count(), 0);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
        const { texts } = await saved(page, "owners");
        assert.ok(texts.length > 5 && texts.every((each) => !/NaN|Infinity|undefined/.test(each)));
    }
});

test("what each part and owner did in a window", async (t) => {
    const page = await open(t, documentOf(byOwner())), rows = page.getByRole("region", { name: "Owners", exact: true }).locator("tbody tr");
    await page.evaluate(() => window.blklat.charts.owners.setZoom({ x: [3, 6], y: null }));
    await settled(page);
    // 3 s of 1000 reads and 100 writes of db, and of 100 writes of the backup, there for 2 of them.
    assert.match(await words(rows.nth(0)), /^backup.service \/system.slice\/backup.service 1.0\d s 7\d.\d+ % 200 5.71 % 210 MB 9\d.\d+ % 1.00 MiB 4.9\d ms 6.\d\d ms 6.\d\d ms 0$/);
    assert.match(await words(rows.nth(1)), /^db.service \/system.slice\/db.service 3\d\d ms 2\d.\d+ % 3 300 94.29 % 14.7 MB .* (9\d.\d|10\d) us 1\d\d us 1\d\d us 0$/);
    const notes = await page.evaluate(() => window.blklat.charts.owners.current().series.map(({ name, note }) => [name, note.replace(/\.\d+/, "")]));
    assert.deepEqual(notes.map(([name, note]) => [name, note.replace(/^\d/, "n")]), [["db.service", "n3\u00a0% of the time"], ["backup.service", "n6\u00a0% of the time"]]);
    const of = await page.getByRole("region", { name: "Figures by cgroup" }).locator("tbody tr").allTextContents();
    assert.equal(of.length, 3);
});

test("what is sick comes first in the charts of one line", async (t) => {
    const made = run([...divided("sda", "device", { "4 KiB": [of("read", 100, 1e5), of("write", 10, 1e5)] }), ...divided("sdb", "device", { "4 KiB": [of("read", 100, 1e5), of("write", 10, 1e5)] })]);
    const finding = { kind: "level_change", grade: "wrong", also: [], device: "sdb", stage: "device", op: "write", from_s: 3, to_s: 9, text: "sdb write: slow", rule: "", values: {} };
    for (const [findings, name] of [[[], "sda · read"], [[{ ...finding, grade: "differs" }], "sda · read"], [[finding], "sdb · write"], [[{ ...finding, op: null }], "sdb · read"]]) {
        const page = await open(t, documentOf({ ...made, findings }));
        const titles = await page.evaluate(() => ["heat", "parts-heat", "parts-time"].map((id) => window.blklat.charts[id].current().title));
        titles.forEach((title) => assert.ok(title.includes(name), `${title}: ${name}`));
    }
});

test("runs that are divided by different things have a section each", async (t) => {
    const processes = run(divided("sda", "device", { kworker: [], rest: [], "x (a/b) (12)": [of("read", 10, 100e3)], "x (13)": [of("read", 20, 100e3)] }, "process"));
    const page = await open(t, documentOf({ ...byDepth(), label: "a" }, { ...byNeighbour(), label: "b" }, { ...byOwner(), label: "c" }, { ...processes, label: "d" }));
    const heads = (await page.locator("h2").allTextContents()).filter((text) => text.startsWith("By "));
    assert.deepEqual(heads, ["By IOs in flight at the start", "By what was in flight at the start", "By cgroup", "By process"]);
    const charts = await page.evaluate(() => Object.entries(window.blklat.charts).filter(([id]) => /^(parts|depth-|owners)/.test(id)).map(([id, chart]) => [id, chart.current().title, chart.current().x.label]));
    assert.deepEqual(charts.filter(([id]) => id.startsWith("parts-heat")).map(([, title]) => title),
        ["Latency by IOs in flight at the start, a · read", "Latency by what was in flight at the start, b · read", "Latency by cgroup, c · read", "Latency by process, d · read"]);
    assert.equal(charts.length, 3 + 2 + 3 + 4 + 4);
    assert.equal(await page.getByRole("region", { name: /^Figures by / }).count(), 4);
    const owners = page.getByRole("region", { name: "Owners" }).nth(1);
    assert.deepEqual(await owners.locator("thead th").first().textContent(), "process");
    assert.deepEqual((await owners.locator("tbody th").allTextContents()).map((name) => name.trim()), ["x (13)", "x (a/b) (12)"]);
    // Every chart follows the page's window; notes about the whole run are hidden.
    await page.evaluate(() => window.blklat.charts.owners_of_process.setZoom({ x: [2, 5], y: null }));
    const zooms = await page.evaluate(() => Object.entries(window.blklat.charts).filter(([id]) => /^(parts-time|owners|iops)/.test(id)).map(([, { zoom }]) => zoom.x));
    assert.deepEqual(zooms, Array(7).fill([2, 5]));
    assert.equal(await page.getByRole("region", { name: /^(Figures by|Owners)/ }).count(), 6);
    assert.equal(await page.getByRole("region", { name: /^Beside/ }).count(), 1);
    const over = await page.evaluate(() => Object.entries(window.blklat.charts).filter(([id]) => /^(parts|depth-|owners)/.test(id))
        .map(([id, chart]) => [id, Boolean(chart.figure.offsetParent), chart.current().series.some(({ note }) => note)]));
    assert.deepEqual(over.filter(([id, there, notes]) => !there || (notes && id.startsWith("parts-time"))), []);
});
