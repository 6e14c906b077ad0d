// SPDX-License-Identifier: GPL-2.0-only
// The charts in Chromium: what is drawn, how many lines and points, and what the switches do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { click, onePage, open, pageOf, pixels, press, saved, settled, useBrowser, words } from "./browser.mjs";
import { array, documentOf, drive, op, run, watch } from "./documents.mjs";
import { shown } from "./live.mjs";

useBrowser();

const CHARTS = ["distribution", "percentile", "nines", "iops", "steady-log", "steady-linear", "heat", "depth", "throughput", "flight", "oldest"];
const READ = "#0072b2", WRITE = "#d55e00";

/** 100 s: 50 at 1000 IOPS, 25 at 2000, 25 at 3000 with none in second 99. */
function steps(more = {}) {
    const iops = Array.from({ length: 100 }, (_, i) => i < 50 ? 1000 : i < 75 ? 2000 : i === 99 ? 0 : 3000);
    const steady = { from_s: 50, to_s: 100, rule: "second half", reached: false, iops_mean: 2440, iops_deviation: 620, iops_worst: 0, iops_worst_at_s: 99, intervals_at_0: 1 };
    return run([watch("sda", "device", [op("read", iops, () => 100e3, { steady })])], { label: "steps", ...more });
}

const ofSteps = onePage(() => documentOf(steps())), ofDrive = onePage(() => documentOf(drive({ n: 200 })));

ofDrive("every chart is drawn, with its lines and points", async (page) => {
    const charts = await shown(page);
    assert.deepEqual(await page.locator("figure.chart").evaluateAll((all) => all.map((figure) => figure.id.replace("chart-", ""))), CHARTS);
    for (const id of CHARTS)
        assert.equal(charts[id][0], ["heat", "distribution"].includes(id) ? 3 : ["depth", "oldest"].includes(id) ? 1 : 2, id);
    assert.deepEqual(charts.iops, [2, 400]);
    assert.deepEqual(charts["steady-log"], [2, 200]);
    assert.deepEqual(charts["steady-linear"], [2, 200]);
    assert.deepEqual(charts.throughput, [2, 400]);
    assert.deepEqual(charts.depth, [1, 200]);
    assert.equal(await page.locator("canvas").count(), CHARTS.length);
    for (const id of ["distribution", "percentile", "nines", "iops"]) {
        assert.ok(await pixels(page, id, READ) > 50, id);
        assert.ok(await pixels(page, id, WRITE) > 50, id);
    }
});

ofDrive("a line is switched in the legend, by the keyboard too", async (page) => {
    const line = page.locator("aside [data-key]").nth(1);
    assert.equal(await line.getAttribute("aria-pressed"), "true");
    await line.focus();
    await press(page, "Space");
    assert.deepEqual((await shown(page)).percentile[0], 1);
    assert.equal(await pixels(page, "percentile", WRITE), 0);
    assert.ok(await pixels(page, "percentile", READ) > 50);
    assert.equal(await words(page.locator("aside [role=status]")), "1 of 2 lines shown");
    assert.deepEqual([await line.getAttribute("aria-pressed"), await page.locator(".lines button").first().getAttribute("aria-pressed")], ["false", "mixed"]);
    await press(page, "Space");
    assert.deepEqual((await shown(page)).percentile[0], 2);
    assert.ok(await pixels(page, "percentile", WRITE) > 50);
});

test("each control is reached by the tab key", async (t) => {
    const page = await open(t, documentOf(drive({ n: 20 }), drive({ n: 20, label: "b" })));
    const all = await page.locator("button:visible, input:visible, select:visible, summary:visible, .canvas").count();
    await page.evaluate(() => {
        window.reached = new Set();
        addEventListener("focusin", ({ target }) => target.matches("button, input, select, summary, .canvas") && window.reached.add(target));
    });
    for (let i = 0; i < all + 20; i++)
        await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => window.reached.size), all);
});

test("several runs: every line has its look, a run or an op is switched at once", async (t) => {
    const page = await open(t, documentOf(drive({ n: 100 }), drive({ n: 80, label: "spare", file: "b.blklat", stall: 0 })));
    const lines = (await saved(page, "percentile")).lines;
    assert.deepEqual(lines.map((line) => line.name), ["QD 32 · read", "QD 32 · write", "spare · read", "spare · write"]);
    assert.equal(new Set(lines.map((line) => `${line.colour} ${line.dash}`)).size, 4);
    assert.deepEqual((await shown(page)).iops, [4, 360]);
    const quick = (text) => page.locator("aside .choice button, aside .lines > li > button", { hasText: new RegExp(`^${text}$`) });
    await click(quick("spare"));
    assert.deepEqual((await saved(page, "iops")).lines.map((line) => line.name), ["QD 32 · read", "QD 32 · write"]);
    assert.equal(await quick("spare").getAttribute("aria-pressed"), "false");
    assert.equal(await quick("write").getAttribute("aria-pressed"), "mixed");
    await quick("write").click();
    await click(quick("write"));
    assert.deepEqual((await saved(page, "iops")).lines.map((line) => line.name), ["QD 32 · read"]);
    await click(quick("All"));
    assert.equal((await saved(page, "iops")).lines.length, 4);
    await click(quick("None"));
    assert.equal((await saved(page, "iops")).lines.length, 0);
    assert.match(await page.locator("#chart-iops .canvas").getAttribute("data-empty"), /Nothing to show/);
});

ofSteps("the legend has the IOPS, charts what else they know of a line", async (page) => {
    // 50 x 1000 + 25 x 2000 + 24 x 3000 over 100 s
    assert.equal(await words(page.locator("aside .lines")), "read 1.72k IOPS");
    for (const id of ["distribution", "percentile", "nines"])
        assert.equal(await words(page.locator(`#chart-${id} .legend`)), "");
    assert.match(await words(page.locator("#chart-iops .legend")), /^read average 1\.72k ± 838, worst 0 at 99 s, 1 interval at 0$/);
    assert.equal(await words(page.locator("#chart-throughput .legend")), "read mean 7 MB/s");
});

ofDrive("the distribution's axis, linear and logarithmic by a click", async (page) => {
    const figure = page.locator("#chart-distribution");
    const before = await saved(page, "distribution");
    assert.ok(before.texts.includes("0"));
    await click(figure.getByRole("button", { name: "Logarithmic" }));
    const after = await saved(page, "distribution");
    assert.ok(!after.texts.includes("0") && after.texts.includes("100") && after.texts.includes("1"), after.texts.join());
    assert.equal(await figure.getByRole("button", { name: "Logarithmic" }).getAttribute("aria-pressed"), "true");
    assert.equal(await figure.getByRole("button", { name: "Linear" }).getAttribute("aria-pressed"), "false");
    await click(figure.getByRole("button", { name: "Linear" }));
    assert.deepEqual(await saved(page, "distribution"), before);
});

ofDrive("the first IOs after a pause are a line of their own", async (page) => {
    const { lines, texts } = await saved(page, "distribution");
    assert.deepEqual(lines.map((line) => line.name), ["read", "write", "write, first after a pause (× 10000)"]);
    assert.ok(texts.includes("write, first after a pause (× 10000): 104 IOs"));
});

ofSteps("without a pause there is no such line to switch", async (page) =>
    assert.equal(await page.getByRole("button", { name: "First after a pause" }).count(), 0));

test("weights: always named, both charts follow", async (t) => {
    // 900 IOs of 100 us and 100 of 10 ms: by time the fast ones are 90 of 1090 ms.
    const bins = [[99000, 101010, 900], [9900000, 10101010, 100]];
    const one = op("read", [1000], () => 1e5);
    Object.assign(one, { bins });
    Object.assign(one.total.latency_ns, { min: 99500, max: 10100000 });
    const page = await open(t, documentOf(run([watch("sda", "device", [one])])));
    const title = (id) => words(page.locator(`#chart-${id} h3`));
    assert.equal(await title("percentile"), "Latency Percentile, IO-weighted");
    const level = () => page.evaluate(() => window.blklat.charts.percentile.plot.series[0].ys);
    assert.deepEqual(await level(), [0, 0.9, 0.9, 1]);
    await click(page.getByRole("button", { name: "Time-weighted" }));
    assert.equal(await title("percentile"), "Latency Percentile, time-weighted");
    assert.equal(await title("nines"), "The nines, time-weighted");
    const share = (await level())[1], expected = 90 / 1090;
    assert.ok(Math.abs(share - expected) < 1e-4, `${share}`);
    assert.equal(await page.locator('#chart-percentile [data-value="time"]').getAttribute("aria-pressed"), "true");
    assert.ok((await saved(page, "percentile")).texts.includes("share of the IOs' time (%)"));
});

/** Drags across a part of a chart's width and of its height. */
async function drag(page, id, [x0, x1], [y0, y1] = [0.5, 0.5]) {
    const over = page.locator(`#chart-${id} .u-over`);
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * x0, box.y + box.height * y0);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (x0 + x1) / 2, box.y + box.height * (y0 + y1) / 2);
    await page.mouse.move(box.x + box.width * x1, box.y + box.height * y1);
    await page.mouse.up();
    await settled(page);
    return 1.5 / box.width;
}

ofDrive("dragging zooms, a button, a double click or Escape resets", async (page) => {
    const figure = page.locator("#chart-percentile");
    const zoom = () => page.evaluate(() => window.blklat.charts.percentile.zoom);
    const [lo, hi] = await page.evaluate(() => window.blklat.charts.percentile.plot.xSpan);
    const exact = await drag(page, "percentile", [0.25, 0.5]);
    const { x, y } = await zoom();
    assert.ok(Math.abs((x[0] - lo) / (hi - lo) - 0.25) < exact && Math.abs((x[1] - lo) / (hi - lo) - 0.5) < exact, `${x} of ${lo} ${hi}`);
    assert.equal(y, null);
    const texts = (await saved(page, "percentile")).texts;
    assert.ok(texts.includes("50 us") && !texts.includes("1 ms"), texts.join());
    await figure.getByRole("button", { name: "Reset zoom" }).click();
    assert.deepEqual(await zoom(), { x: null, y: null });
    assert.equal(await figure.getByRole("button", { name: "Reset zoom" }).isVisible(), false);

    await drag(page, "percentile", [0.2, 0.8], [0.02, 0.3]);
    assert.ok((await zoom()).y[0] > 0.6 && (await zoom()).y[1] > 0.95);
    await page.locator("#chart-percentile .u-over").dblclick();
    assert.deepEqual(await zoom(), { x: null, y: null });

    await figure.locator(".canvas").focus();
    await page.keyboard.press("+");
    const keyed = (await zoom()).x;
    assert.ok(Math.abs((keyed[1] - keyed[0]) / (hi - lo) - 0.5) < 1e-9);
    await page.keyboard.press("Escape");
    assert.deepEqual(await zoom(), { x: null, y: null });
});

ofSteps("the page's window: the report's figures first, then those of what is asked", async (page) => {
    const legend = page.locator("#chart-steady-linear .legend");
    const ask = async (from, to) => {
        await page.getByLabel("window from, seconds").fill(String(from));
        await page.getByLabel("window to, seconds").fill(String(to));
        await press(page, "Tab");
    };
    assert.equal(await words(legend), "read average 2.44k ± 620, worst 0 at 99 s, 1 interval at 0");
    await ask(25, 75);      // 25 s of 1000, 25 s of 2000
    assert.equal(await words(legend), "read average 1.50k ± 500, worst 1.00k at 25 s");
    assert.deepEqual((await shown(page))["steady-log"], [1, 50]);
    await ask(95, 100);     // 3000 four times and 0: sqrt(4 x 600^2 + 2400^2) / sqrt(5)
    assert.equal(await words(legend), "read average 2.40k ± 1.20k, worst 0 at 99 s, 1 interval at 0");
    await click(page.getByRole("button", { name: "All of the run" }));
    assert.equal(await words(legend), "read average 2.44k ± 620, worst 0 at 99 s, 1 interval at 0");
    assert.equal(await page.getByLabel("window from, seconds").inputValue(), "0");
    // 60 to 100 applies when the first field is left; 60 to 40 is not a window, so the former stays.
    await ask(60, 40);      // sqrt((15 x 550^2 + 24 x 450^2 + 2550^2) / 40)
    assert.equal(await words(legend), "read average 2.55k ± 630, worst 0 at 99 s, 1 interval at 0");
    await click(page.getByRole("button", { name: "All of the run" }));
});

test("a drag over any chart over time makes one window of all charts and figures", async (t) => {
    const made = steps({ active: { from_s: 0, to_s: 100, left_out: 0, asked: false } });
    Object.assign(made.watches[0].ops[0], { errors: made.start_s.map((t) => t === 20 ? 5 : t === 50 ? 7 : 0) }).total.errors = 12;
    made.watches[0].accounting.lost = 3;
    const page = await open(t, documentOf(made)), legend = (id) => words(page.locator(`#chart-${id} .legend`));
    const cells = () => page.evaluate(() => [...document.querySelectorAll('.wide [aria-label="Figures"] tbody tr:first-child td')].map((td) => td.textContent));
    const whole = page.locator(".whole"), before = await cells();
    assert.match(await words(page.locator(".rates")), /^Rates are over 0 s to 100 s, from the first IO to the last\. Drag/);
    assert.equal(await whole.count(), 0);
    for (const id of ["depth", "throughput", "heat", "flight", "iops"]) {
        await click(page.getByRole("button", { name: "All of the run" }));
        await drag(page, id, [0.252, 0.754]);       // 25 s to 75 s, to a pixel: 25 s of 1000 IOPS and 25 s of 2000
        await settled(page);
        assert.equal(await legend("iops"), "read average 1.50k ± 500, worst 1.00k at 25 s", id);
        assert.equal(await legend("steady-linear"), "read average 1.50k ± 500, worst 1.00k at 25 s", id);
        assert.equal(await legend("throughput"), "read mean 6.1 MB/s", id);         // 1500 x 4096
        assert.match(await legend("depth"), /mean 0\.15$/, id);                    // 1500 x 100 us
        const spans = await page.evaluate(() => ["iops", "heat", "depth", "throughput", "flight", "oldest"].map((c) => window.blklat.charts[c].zoom.x));
        for (const span of spans)
            assert.deepEqual(span, spans[0]);
        const fields = await Promise.all(["from", "to"].map((end) => page.getByLabel(`window ${end}, seconds`).inputValue()));
        assert.deepEqual(fields.map(Number), spans[0].map((s) => Number(s.toFixed(3))), id);
    }
    // All follows the window, but for losses: of those it is known that there are no more than in the run.
    assert.deepEqual(await page.locator('.wide [aria-label="Figures"] thead th').allTextContents(), ["run, device, op", "IOs", "IOPS mean", "± deviation", "least", "MB/s",
        "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999", "max", "mean queue depth", "errors", "lost"]);
    const [ios, mean, ...rest] = await cells(), p50 = parseFloat(rest[4]);
    assert.deepEqual([ios, mean, ...rest.slice(0, 3), ...rest.slice(-4)], ["75\u202f000", "1.50k", "500", "1.00k", "6.14", "144\u00a0us", "0.15", "7", "≤ 3"]);
    assert.ok(Math.abs(p50 / 100 - 1) < 0.044, rest[4]);
    assert.match(await words(page.locator(".rates")), /^Charts, figures and findings are of this window; percentiles from 25 s to 75 s, of bins that are 4\.4 % wide\.$/);
    assert.match(await words(page.locator("aside [data-key]")), / 1\.50k IOPS$/);
    await click(page.locator("#chart-heat").getByRole("button", { name: "Reset zoom" }));
    assert.deepEqual(await cells(), before);
    assert.equal(await whole.count(), 0);
    assert.match(await words(page.locator("aside [data-key]")), / 1\.72k IOPS$/);
});

ofSteps("the window is reached and moved by keys", async (page) => {
    await page.locator("#chart-throughput .canvas").focus();
    await press(page, "+");
    assert.deepEqual(await page.evaluate(() => window.blklat.charts.iops.zoom.x), [25, 75]);
    assert.equal(await words(page.locator("#chart-iops .legend")), "read average 1.50k ± 500, worst 1.00k at 25 s");
    await press(page, "Escape");
    assert.equal(await page.evaluate(() => window.blklat.charts.iops.zoom.x), null);
});

test("a report of a part of the run begins its axis there", async (t) => {
    const start_s = Array.from({ length: 100 }, (_, i) => 500 + i), active = { from_s: 500, to_s: 600, left_out: 0, asked: true };
    const page = await open(t, documentOf(steps({ start_s, active })));
    assert.deepEqual(await page.evaluate(() => window.blklat.charts.iops.plot.xSpan), [500, 600]);
    assert.match(await words(page.locator(".rates")), /^Rates are over 500 s to 600 s, as asked\./);
});

ofSteps("a second without IO has its own row on a logarithmic axis", async (page) => {
    const zero = "#0072b2";
    const places = await page.evaluate(() => {
        const { series, y } = window.blklat.charts.iops.plot;
        return { zero: series[0].ys[99], least: Math.min(...series[0].ys.slice(0, 99)), value: y.value(series[0].ys[99]) };
    });
    assert.equal(places.value, 0);
    assert.ok(places.zero < places.least);
    assert.ok((await saved(page, "iops")).texts.includes("0"));
    assert.ok(await pixels(page, "iops", zero) > 0);
});

test("marks stand on each chart over time, with their text", async (t) => {
    const marks = [{ t_s: 12.5, text: "QD 16 starts" }, { t_s: 70, text: "trim" }];
    const page = await open(t, documentOf(steps({ marks })));
    for (const id of ["iops", "steady-log", "steady-linear", "heat", "depth", "throughput", "flight", "oldest"]) {
        const places = await page.evaluate((chart) => window.blklat.charts[chart].plot.marks.map((mark) => mark.x), id);
        assert.deepEqual(places, [12.5, 70], id);
        const { texts } = await saved(page, id);
        assert.equal(texts.includes("QD 16 starts"), !id.startsWith("steady"), id);
        assert.ok(texts.includes("trim"), id);
    }
    const table = page.getByRole("region", { name: "Marks" });
    assert.deepEqual(await Promise.all((await table.locator("tbody tr").all()).map(words)), ["12.5 s QD 16 starts", "70 s trim"]);
    const two = await open(t, documentOf(steps({ marks }), steps({ label: "b", marks: [{ t_s: 12.9, text: "QD 16 starts" }, { t_s: 30, text: "x" }] })));
    assert.deepEqual((await two.evaluate(() => window.blklat.charts.iops.plot.marks)).map((mark) => [mark.x, mark.text]),
        [[12.5, "QD 16 starts"], [70, "trim (steps)"], [30, "x (b)"]]);
    assert.equal(await words(two.getByRole("region", { name: "Marks" }).locator("tbody tr").nth(3)), "30 s b x");
});

test("a mark's text stands beside its line, cut where it is long; the table has it whole", async (t) => {
    const text = "the application was restarted with another configuration, and what it had cached is gone, so reads go to the device";
    const page = await open(t, documentOf(steps({ marks: [{ t_s: 20, text }, { t_s: 97, text: "the end is near" }] })));
    for (const id of ["iops", "depth"]) {
        const { lines, texts } = await page.evaluate((chart) => {
            const tree = new DOMParser().parseFromString(window.blklat.charts[chart].svg(window.blklat.theme), "image/svg+xml");
            return {
                lines: [...tree.querySelectorAll("[stroke-dasharray='4 3']")].map((line) => parseFloat(line.getAttribute("d").slice(1))),
                texts: [...tree.querySelectorAll("text")].filter((e) => /^the /.test(e.textContent))
                    .map((e) => ({ text: e.textContent, x: Number(e.getAttribute("x")), anchor: e.getAttribute("text-anchor") })),
            };
        }, id);
        assert.equal(lines.length, 2);
        // To the right of its line, or to its left where it would leave the chart.
        assert.deepEqual(texts.map(({ x, anchor }, i) => [Math.round(x - lines[i]), anchor]), [[4, "start"], [-4, "end"]], id);
        assert.match(texts[0].text, /^the application w.*[^ ]…$/);
        assert.ok(texts[0].text.length < text.length * 0.7 && text.startsWith(texts[0].text.slice(0, -1)));
        assert.equal(texts[1].text, "the end is near");
    }
    assert.ok((await words(page.getByRole("region", { name: "Marks" }))).includes(text));
});

test("members and array: overhead, depths, one line each", async (t) => {
    const page = await open(t, documentOf(array(30)));
    const stack = page.locator(".stack");
    assert.equal(await words(stack.locator("h3")), "md0 on sda, sdb");
    assert.equal(await words(stack.locator("tbody tr")), "read 6.10 us 6.02 us 6.30 us 7.10 us 9.00 us 10 200 000 10 200 000");
    assert.deepEqual((await stack.locator(".depths li").allInnerTexts()).map((text) => text.split(/\s+/).join(" ")), ["md0 16.3", "sda 7.5", "sdb 7.4"]);
    const { lines } = await saved(page, "percentile");
    assert.deepEqual(lines.map((line) => line.name), ["md0 · total · read", "sda · device · read", "sdb · device · read"]);
    assert.equal(new Set(lines.map((line) => line.dash)).size, 3);
});

ofDrive("findings: sentences, rules, numbers, and their time shown by a click", async (page) => {
    const found = page.locator(".findings > li");
    assert.equal(await found.count(), 2);
    assert.match(await words(found.nth(1)), /^nvme0n1 write: 467 seconds without a completed IO, about every 3 s\./);
    await found.nth(1).locator("summary").click();
    const text = await words(found.nth(1));
    assert.match(text, /Intervals at 0 or below 1 % of the median/);
    assert.match(text, /count 467 period 3 s share 23 %/);
    await click(found.nth(1).getByRole("button"));
    assert.deepEqual(await page.evaluate(() => window.blklat.charts.iops.zoom.x), [25, 235]);
    await page.locator("#chart-iops").getByRole("button", { name: "Reset zoom" }).click();
});

test("findings that one speaks for are behind it; losses look unlike stalls, and what is well unlike both", async (t) => {
    const one = drive({ n: 200 }), [change, stall] = one.findings, told = ["sdb write: the same", "sdc write: the same"];
    one.findings = [
        { ...change, also: told.map((text) => ({ ...change, text })) }, stall, { ...stall, kind: "losses", text: "sda: 1 IO is lost" },
        { ...stall, kind: "steady_state", grade: "well", text: "3 are steady", also: [change] },
    ];
    const page = await open(t, documentOf(one)), found = page.locator(".findings > li");
    assert.equal(await found.count(), 4);
    assert.equal((await found.nth(0).locator("> p").innerText()), change.text);
    assert.equal(await found.nth(0).locator(".others summary").innerText(), "The 2 others");
    await found.nth(0).locator(".others summary").click();
    assert.deepEqual(await found.nth(0).locator(".others p").allInnerTexts(), told);
    assert.equal(await page.locator(".others").count(), 2);
    const colour = (i) => found.nth(i).evaluate((li) => getComputedStyle(li).borderLeftColor);
    assert.equal(new Set([await colour(1), await colour(2), await colour(3)]).size, 3);
});

test("what is wrong comes first, then what differs between the runs, then the rest of each", async (t) => {
    const drives = drive({ n: 200 }), told = (grade, text) => ({ ...drives.findings[0], grade, text });
    const one = { ...drives, label: "one", findings: [told("wrong", "stalled"), told("differs", "one differs")] };
    const made = documentOf(one, { ...one, label: "two", findings: [told("differs", "two differs")] });
    made.findings = [told("differs", "one and two are equal")];
    const page = await open(t, made), found = page.locator("section", { has: page.locator(".findings") });
    assert.deepEqual(await found.locator("h3, li > p").allInnerTexts(),
        ["one", "stalled", "The runs compared", "one and two are equal", "one", "one differs", "two", "two differs"]);
});

test("runs with which something is wrong come first, those with which all is well in one line at the end", async (t) => {
    const well = { kind: "steady_state", grade: "well", also: [], device: "sda", stage: "device", op: "read", from_s: 0, to_s: 1, rule: "r" };
    const calm = (label, ...iops) => steps({ label, findings: iops.map((n) => ({ ...well, text: `steady at ${n}`, values: { iops: n } })) });
    const sick = steps({ label: "sick", findings: [{ ...well, grade: "wrong", text: "sda read: worse", values: {} }] });
    const page = await open(t, documentOf(calm("a", 23800), calm("b", 130), sick, calm("c", 1, 2)));
    const found = page.locator("section", { has: page.locator(".findings") });
    assert.deepEqual(await found.locator("h3, li > p").allInnerTexts(), ["sick", "sda read: worse", "3 runs are steady: a (23.8k IOPS), b (130 IOPS) and c"]);
    await found.getByText("Each run").click();
    assert.deepEqual(await found.locator("li details p").allInnerTexts().then((all) => all.slice(-4)),
        ["a: steady at 23800", "b: steady at 130", "c: steady at 1", "c: steady at 2"]);
    const below = async (selector) => (await page.locator(selector).boundingBox()).y;
    assert.ok(await below(".findings li >> nth=0") < await below("#chart-distribution") && await below("#chart-distribution") < await below('[aria-label="Runs"]'));
});

test("the table of figures: a row for each line", async (t) => {
    const one = steps();
    Object.assign(one.watches[0].accounting, { lost: 3, lost_by: { overwritten: 1, unexplained: 2 } });
    const page = await open(t, documentOf(one, drive({ n: 20 }))), rows = page.locator('[aria-label="Figures"] tbody tr');
    assert.equal(await rows.count(), 3);
    const first = await words(rows.nth(0));
    assert.match(first, /^steps · sda device · read 172 000 1\.72k \S+ 0 7\.05 /);
    assert.match(first, / 3 \(overwritten 1, unexplained 2\)$/);
    assert.equal(await page.locator('[aria-label="Figures"] thead th').count(), await rows.nth(0).locator("th, td").count());
});

test("what no figure has is said below them", async (t) => {
    const below = async (...runs) => {
        const hints = (await open(t, documentOf(...runs))).locator('.wide section:first-child .hint');
        return Promise.all(Array.from({ length: await hints.count() }, (_, i) => words(hints.nth(i))));
    };
    const one = steps({ skipped_unexplained: 1 }), two = steps({ label: "two", skipped_unexplained: 1234 });
    one.watches[0].partial = [{ op: "write", bytes: 266240, errors: 1 }, { op: "other", bytes: 1, errors: 0 }];
    const parts = ["sda device, write: besides, 266 240 bytes, 1 error of IOs that have not ended.", "sda device, other: besides, 1 byte of IOs that have not ended."];
    const skipped = (n) => `The kernel skipped ${n}, and what was missed is not known: IOs of any device may be absent.`;
    assert.deepEqual(await below(one), [...parts, skipped("1 program run")]);
    const many = await below(one, two);
    assert.ok(parts.every((text, i) => many[i].endsWith(`: ${text}`)));
    assert.equal(many[3], `two: ${skipped("1 234 program runs")}`);
    two.watches[0].accounting.moved = 0;
    assert.deepEqual(await below(two), ["The kernel skipped 1 234 program runs, and nothing was missed at stage device: the kernel's statistics have as many IOs."]);
});

ofSteps("where nothing is missing nothing is said", async (page) => assert.equal(await page.locator(".wide section:first-child .hint").count(), 0));

test("a desktop shows all columns of the figures, and the lines' list stays above them", async (t) => {
    const page = await open(t, documentOf(steps({ label: "before the update" }), steps({ label: "after the update" })));
    const figures = page.getByRole("region", { name: "Figures" });
    assert.ok(await figures.evaluate((e) => e.querySelector("table").getBoundingClientRect().right <= e.getBoundingClientRect().right));
    await figures.evaluate((e) => e.scrollIntoView({ block: "center" }));
    const [list, below] = await page.evaluate(() => [document.querySelector("aside").getBoundingClientRect().bottom,
        document.querySelector("[aria-label=Figures]").getBoundingClientRect().top]);
    assert.ok(list <= below, `${list} ${below}`);
});

test("the data tables behind the charts", async (t) => {
    const page = await open(t, documentOf(drive({ n: 2000 })));
    const rows = {};
    for (const id of CHARTS) {
        await page.locator(`#chart-${id} .behind summary`).click();
        await page.locator(`#chart-${id} .behind tbody`).waitFor();
        rows[id] = await page.locator(`#chart-${id} .behind tbody tr`).count();
        const head = await page.locator(`#chart-${id} .behind thead th`).count();
        assert.equal(await page.locator(`#chart-${id} .behind tbody tr`).first().locator("th, td").count(), head, id);
    }
    assert.equal(rows.percentile, 16);
    assert.equal(rows.nines, 9);
    for (const id of ["iops", "heat", "depth", "throughput", "flight", "oldest"])
        assert.equal(rows[id], 59, id);         // 34 s each
    assert.equal(rows["steady-log"], 59);       // 17 s each
    assert.ok(rows.distribution >= 10 && rows.distribution <= 25, `${rows.distribution}`);
    const median = await words(page.locator("#chart-percentile .behind tbody tr").nth(7));
    assert.match(median, /^50 % \d\d\.\d us \d\d\.\d us$/);
    for (const figure of await page.locator("figure.chart .canvas").all())
        assert.match(await figure.getAttribute("aria-label"), /\w+\. .*IOPS|average|mean|highest|p50/);
});

ofDrive("the table behind follows what is switched", async (page) => {
    const heads = page.locator("#chart-percentile .behind thead th");
    await page.locator("#chart-percentile .behind summary").click();
    await heads.first().waitFor();
    assert.deepEqual(await heads.allInnerTexts(), ["share of IOs", "read", "write"]);
    await click(page.locator("aside [data-key]").nth(0));
    assert.deepEqual(await heads.allInnerTexts(), ["share of IOs", "write"]);
    await click(page.locator("aside [data-key]").nth(0));
});

test("light and dark, by the system and by a button", async (t) => {
    const page = await open(t, documentOf(drive({ n: 50 })), { colorScheme: "dark" });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await paper(), "rgb(20, 24, 29)");
    assert.ok(await pixels(page, "percentile", "#56b4f9") > 50);
    await click(page.getByRole("button", { name: "Light / dark" }));
    assert.equal(await paper(), "rgb(255, 255, 255)");
    assert.ok(await pixels(page, "percentile", READ) > 50);
});

test("on paper: every chart a vector, dark on light, no switches, one legend", async (t) => {
    const page = await open(t, documentOf(drive({ n: 50 })), { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    await page.locator(".print svg").first().waitFor();
    assert.equal(await page.locator(".print svg:visible").count(), CHARTS.length);
    // A4 with Chromium's margins: no column is cut off, and charts beside each other stay so on paper.
    await page.setViewportSize({ width: 718, height: 1000 });
    const table = page.getByRole("region", { name: "Figures" }).locator("table");
    assert.ok(await table.evaluate((e) => e.getBoundingClientRect().right) <= 718);
    const tops = await page.locator("#chart-depth, #chart-throughput").evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top));
    assert.equal(tops[0], tops[1]);
    assert.equal(await page.locator("canvas:visible, aside details:visible, button:not(th button):visible").count(), 0);
    assert.deepEqual((await page.locator(".swatch:visible").evaluateAll((all) => all.map((e) => [e.parentElement.textContent, e.firstChild.getAttribute("stroke")]))),
        [["nvme0n1", READ], ["read", READ], ["write", WRITE]]);
    const heads = await page.locator(".print svg").evaluateAll((all) => all.map((e) => [...e.querySelectorAll("text[font-size='12']")].map((text) => text.textContent)));
    assert.deepEqual(heads.flat().filter((text) => /^(read|write|nvme0n1)(:|$)/.test(text)), []);
    assert.ok(heads[0].some((text) => /^write, first after a pause.*: 104/.test(text)), heads[0].join());
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.locator(".print svg > rect").first().getAttribute("fill"), "#ffffff");
    await page.emulateMedia({ media: "screen" });
    assert.ok((await page.pdf({ format: "A4" })).length > 50000);
});

ofSteps("the cursor says what it points at", async (page) => {
    const over = page.locator("#chart-iops .u-over");
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.605, box.y + 40);
    assert.match(await words(page.locator("#chart-iops .tip")), /^60\.\d s read 2\.00k$/);
    assert.equal(await page.locator(".tip").count(), 1);
});

test("an hour of one device stays below 2 MB", (t) => {
    const html = pageOf(JSON.stringify(documentOf(drive({ n: 3600 }))));
    t.diagnostic(`${(html.length / 1e6).toFixed(2)} MB, ${(pageOf("").length / 1e3).toFixed(0)} kB of it the page`);
    assert.ok(html.length < 2e6, `${html.length}`);
});

test("a run that was made coarser says so", async (t) => {
    const document = documentOf(drive({ n: 60 })), said = /60 intervals, up to 4 merged into one/;
    document.runs[0].merged = 4;
    assert.match(await (await open(t, document)).locator("body").innerText(), said);
});

ofDrive("a run that was not made coarser does not", async (page) => assert.doesNotMatch(await page.locator("body").innerText(), /merged into one/));

test("where the time goes: a bar for each op of stage total, only of the whole run", async (t) => {
    const made = (stage, shares) => {
        const one = op("read", [1000, 1000, 1000], () => 100e3);
        return watch("sda", stage, [{ ...one, total: { ...one.total, ...shares && { shares } } }]);
    };
    const page = await open(t, documentOf(run([made("total", { wait: 0.752, plug: 0.001, queue: 0, device: 0.247, exact: false }), made("device")])));
    const rows = page.locator(".shares li");
    assert.deepEqual((await rows.allInnerTexts()).map((text) => text.split(/\s+/).join(" ")), ["sda total · read wait 75.2 % plug 0.1 % queue 0 % device 24.7 % (about)"]);
    const widths = await rows.locator(".bar").evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width));
    widths.forEach((width, i) => assert.ok(Math.abs(width - [0.752, 0.001, 0, 0.247][i]) < 0.01, `${i}: ${width}`));
    for (const theme of ["light", "dark"]) {
        await page.evaluate((name) => document.documentElement.dataset.theme = name, theme);
        assert.equal(new Set(await rows.locator(".key").evaluateAll((all) => all.map((key) => getComputedStyle(key).borderTopColor))).size, 4);
        // Queue and device stand beside each other.
        const [queue, device] = await rows.locator(".key").evaluateAll((all) => all.slice(2).map((key) => getComputedStyle(key).borderTopColor.match(/\d+/g)));
        assert.ok(Math.hypot(...queue.map((c, i) => c - device[i])) > 60, theme);
    }
    await page.evaluate(() => window.blklat.zoomTime([1, 2]));
    assert.ok(await rows.first().isHidden());
    assert.match(await page.locator("section", { hasText: "Where the time goes" }).innerText(), /of the whole run only; blklat report --from 1 --to 2/);
    const without = await open(t, documentOf(run([made("device")])));
    assert.equal(await without.locator(".shares").count(), 0);
});
