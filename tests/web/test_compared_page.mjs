// SPDX-License-Identifier: GPL-2.0-only
// Many runs in Chromium: small charts where lines would hide each other, one legend that lifts a line in all charts, how many
// times as long as a base, sorted figures; and one window for all of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, load, notingTexts, open, saved, settled, useBrowser, words } from "./browser.mjs";
import { array, constant, documentOf, drive, op, run, watch } from "./documents.mjs";

useBrowser();

const one = (label, us, more = {}) => run([watch("sda", "device", [op("read", constant(100 + us, 60), () => us * 1e3)])], { label, file: `${label}.blklat`, ...more });
const TEN = Array.from({ length: 10 }, (_, i) => one(`drive ${i}`, 50 + 20 * ((7 * i) % 10)));
const canvases = (page, id) => page.locator(`#chart-${id} canvas`).count();

test("ten runs fit four screens; IOPS have a chart each, which a button joins, saved as they are shown", async (t) => {
    const page = await open(t, documentOf(...TEN), { viewport: { width: 1920, height: 1080 } });
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight / innerHeight) < 4);
    const first = await page.locator("#chart-distribution").boundingBox();
    assert.ok((await page.locator(".findings, .page section h2").first().boundingBox()).y < first.y && first.y + first.height < 1080);
    assert.deepEqual([await canvases(page, "iops"), await canvases(page, "percentile"), await canvases(page, "depth")], [10, 1, 1]);
    assert.equal(await page.locator("#chart-depth .legend li, #chart-iops .legend li").count(), 0);
    const spans = await page.evaluate(() => window.blklat.charts.iops.us.map((u) => [u.scales.y.min, u.scales.y.max].join()));
    assert.equal(new Set(spans).size, 1);
    const { lines, texts } = await saved(page, "iops");
    assert.deepEqual(lines.map(({ name }) => name), TEN.map(({ label }) => label + " · read"));
    assert.ok(texts.includes("IOPS over time (IOPS)") && texts.includes("drive 9 · read"), texts.join());
    await click(page.getByRole("button", { name: "One each" }));
    assert.equal(await canvases(page, "iops"), 1);
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#chart-iops").getByRole("button", { name: "SVG" }).click()]);
    assert.equal(file.suggestedFilename(), "drive-0-and-9-more-iops.svg");
});

test("a line that is pointed at, in the legend or in a chart, stands out in all charts and has its name", async (t) => {
    const page = await open(t, documentOf(...TEN.slice(0, 8)), { prepare: notingTexts });
    const alphas = (id) => page.evaluate((chart) => window.blklat.charts[chart].us.flatMap((u) => u.series.slice(1).map(({ alpha }) => alpha ?? 1)), id);
    const named = (id, name) => page.evaluate(([chart, text]) => document.querySelector(`#chart-${chart} canvas`).texts.some((one) => one.text === text), [id, name]);
    assert.equal(await named("percentile", "drive 3 · read"), false);
    await page.locator("aside [data-key]").nth(3).hover();
    for (const id of ["distribution", "percentile", "iops", "depth"])
        await page.waitForFunction((chart) => window.blklat.charts[chart].us.flatMap((u) => u.series.slice(1)).map(({ alpha }) => alpha < 1).join() ===
            "true,true,true,false,true,true,true,true", id);
    await page.waitForFunction(() => document.querySelector("#chart-percentile canvas").texts.some(({ text }) => text === "drive 3 · read"));
    await page.locator("h1").hover();
    assert.deepEqual(new Set(await alphas("depth")), new Set([1]));
    const chart = page.locator("#chart-percentile .u-over");
    await chart.scrollIntoViewIfNeeded();
    const at = await page.evaluate(() => {
        const { us: [u], plot: { series } } = window.blklat.charts.percentile, { xs, ys } = series[5], i = ys.findIndex((y) => y > 0.5);
        return { x: u.valToPos(xs[i], "x"), y: u.valToPos(ys[i], "y") };
    });
    await chart.hover({ position: at });
    await page.waitForFunction(() => window.blklat.charts.depth.us[0].series.slice(1).map(({ alpha }) => alpha < 1).indexOf(false) === 5);
    assert.equal(await words(page.locator(".tip .near")).then((text) => text.split(" · ")[0]), "drive 5");
});

test("no two of 32 lines look alike, whatever they are of", async () => {
    const { makeLines } = await load("lines.ts"), { light } = await load("theme.ts");
    const ops = (...names) => names.map((name) => op(name, [5, 5], () => 1e5)), of = (n, ...names) => Array.from({ length: n }, (_, i) => watch(`sd${i}`, "device", ops(...names)));
    const runs = (n, ...names) => Array.from({ length: n }, (_, i) => run(of(1, ...names), { label: `${i}` }));
    for (const made of [[run(of(32, "read"))], [run(of(16, "read", "write"))], [run(of(11, "read", "write", "flush"))], runs(32, "write"), runs(16, "read", "write")]) {
        const looks = makeLines(made).map(({ look: { colour, dash } }) => `${light.lines[colour % light.lines.length]} ${dash}`);
        assert.ok(looks.length >= 32 && new Set(looks).size === looks.length, looks.join("; "));
    }
});

test("figures are sorted by any column, and stay so", async (t) => {
    const page = await open(t, documentOf(...TEN)), table = page.getByRole("region", { name: "Figures" });
    const column = async (i) => (await table.locator(`tbody tr > :nth-child(${i})`).allInnerTexts()).map((text) => parseFloat(text.replace(/^\s*drive /, "")));
    const sorted = (all, sign) => assert.deepEqual(all, [...all].sort((a, b) => sign * (a - b)));
    assert.deepEqual(await column(1), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await table.locator("thead button").nth(10).click();
    sorted(await column(11), -1);
    await page.evaluate(() => window.blklat.zoomTime([10, 20]));
    await settled(page);
    sorted(await column(11), -1);
    assert.equal(await table.locator("[aria-sort=descending]").innerText(), "p99");
    await table.locator("thead button").nth(10).click();
    sorted(await column(11), 1);
    await table.locator("thead button").first().click();
    assert.deepEqual(await column(1), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("the ratio to a run, or to a device of the same run, by percentile, as far as IOs lie beyond", async (t) => {
    const ratio = (page) => page.evaluate(() => window.blklat.charts.ratio.current().series.map(({ name, xs, ys }) => [name, xs[0], xs.at(-1), Math.min(...ys), Math.max(...ys)]));
    const page = await open(t, documentOf(one("base", 100), one("twice", 200)));
    const [[name, from, to, least, most], ...none] = await ratio(page);
    assert.deepEqual([name, from, none.length], ["twice · read", -Math.log10(99), 0]);
    // 12 000 IOs at least, of which ten lie beyond p99.91.
    assert.ok(to < Math.log10(12000 / 10) && to > 2.9 && least > Math.log10(1.95) && most < Math.log10(2.05), `${to} ${least} ${most}`);
    await page.getByLabel("run to compare with").selectOption("twice");
    await settled(page);
    assert.deepEqual((await ratio(page)).map(([base, , , low]) => [base, low.toFixed(1)]), [["base · read", "-0.3"]]);
    await page.locator("#chart-ratio .behind summary").click();
    assert.match(await words(page.locator("#chart-ratio .behind tbody tr", { hasText: "50 %" }).first()), /^50 % 0\.[45]\d* ×$|^50 % 0\.5 ×$/);
    assert.equal(await words(page.locator("#chart-ratio .behind tbody tr").last()), "99.99 % –");
    assert.deepEqual((await ratio(await open(t, documentOf(array(20))))).map(([line]) => line), []);     // at other stages
    assert.equal(await (await open(t, documentOf(one("a", 100)))).locator("#chart-ratio").count(), 0);
});

test("a window moves distribution, members and array, and findings; those outside of it are counted; a mark begins one", async (t) => {
    const made = drive({ n: 200 }), { stacks, watches } = array(200);
    Object.assign(made, { stacks: [{ ...stacks[0], upper_stage: "device" }], watches: [...made.watches, ...watches.map((w) => ({ ...w, stage: "device" }))] });
    made.findings.push({ ...made.findings[0], kind: "stall", from_s: 10, to_s: 20, text: "early" });
    const page = await open(t, documentOf(made)), found = page.locator(".findings li > p");
    const peak = () => page.evaluate(() => {
        const { xs, ys } = window.blklat.charts.distribution.current().series.find(({ name }) => name.includes("nvme0n1") && name.endsWith("write"));
        return 10 ** xs[ys.indexOf(Math.max(...ys))];
    });
    await page.evaluate(() => window.blklat.zoomTime([5, 50]));
    await settled(page);
    assert.ok(Math.abs(await peak() / 27e3 - 1) < 0.1, `${await peak()}`);
    assert.deepEqual(await found.allInnerTexts(), ["early"]);
    assert.equal(await page.locator(".outside").innerText(), "Outside of the window: 2 findings.");
    const added = () => words(page.locator(".stack tbody tr"));
    assert.match(await added(), /^read 8\.\d\d us .* (7|8) \d{3} \d{3} (7|8) \d{3} \d{3}$/);
    await page.getByRole("region", { name: "Marks" }).getByRole("button", { name: "60 s" }).click();
    await settled(page);
    assert.deepEqual(await page.evaluate(() => window.blklat.window), [60, 200]);
    assert.ok(Math.abs(await peak() / 900e3 - 1) < 0.1);
    assert.equal(await found.count(), 2);
    await page.evaluate(() => window.blklat.zoomTime([100, 150]));
    await settled(page);
    assert.match(await words(found.first()), / \(of 60 s to 200 s\)$/);
    await click(page.getByRole("button", { name: "All of the run" }));
    assert.equal(await found.count(), 3);
    assert.match(await added(), /^read 6\.10 us /);
});
