// SPDX-License-Identifier: GPL-2.0-only
// What the buttons save: SVG that parses and needs nothing else, and PNG with a picture in it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { load, open, useBrowser } from "./browser.mjs";
import { documentOf, drive } from "./documents.mjs";

useBrowser();

const LINES = { distribution: 6, percentile: 4, nines: 4, iops: 4, "steady-log": 4, "steady-linear": 4, heat: 3, depth: 2, throughput: 4, flight: 4, oldest: 2 };

async function download(page, id, button) {
    const [file] = await Promise.all([page.waitForEvent("download"),
        page.locator(`#chart-${id} .saves`).getByRole("button", { name: button }).click()]);
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

/** What a click saves, intercepted where it becomes a download: a browser limits downloads in quick succession. */
async function content(page, id) {
    await page.evaluate(() => {
        window.made ??= URL.createObjectURL.bind(URL);
        URL.createObjectURL = (blob) => window.made(window.taken = blob);
        window.taken = null;
    });
    await page.locator(`#chart-${id} .saves`).getByRole("button", { name: "SVG" }).click();
    return page.evaluate(() => window.taken.text());
}

test("SVG: well formed, one path a line, no reference to elsewhere", async (t) => {
    const page = await open(t, documentOf(drive({ n: 60 }), drive({ n: 60, label: '<b> & "c"', seed: 9 })));
    for (const [id, lines] of Object.entries(LINES)) {
        const found = await page.evaluate((text) => {
            const tree = new DOMParser().parseFromString(text, "image/svg+xml"), root = tree.documentElement;
            return {
                error: tree.querySelector("parsererror")?.textContent ?? null, root: root.namespaceURI + root.localName,
                lines: tree.querySelectorAll("path.series").length, size: [root.getAttribute("width"), root.viewBox.baseVal.width],
                elsewhere: [...tree.querySelectorAll("[href], image, script, style, foreignObject")].length,
                numbers: [...tree.querySelectorAll("path")].every((path) => !/NaN|Infinity/.test(path.getAttribute("d"))),
                title: tree.querySelector("text").textContent,
            };
        }, await content(page, id));
        assert.deepEqual({ ...found, title: "" }, {
            error: null, root: "http://www.w3.org/2000/svgsvg", lines, size: ["960", 960], elsewhere: 0, numbers: true, title: "",
        }, id);
        assert.ok(found.title.length > 5);
    }
});

test("SVG: points where they belong", async (t) => {
    const page = await open(t, documentOf(drive({ n: 100, stall: 0 })));
    const { name, content } = await download(page, "iops", "SVG"), text = content.toString();
    assert.equal(name, "QD-32-iops.svg");
    const d = /class="series" data-name="read"[^>]* d="([^"]*)"/.exec(text)[1];
    const points = [...d.matchAll(/M([\d.]+) ([\d.]+)h0/g)].map((m) => [Number(m[1]), Number(m[2])]);
    assert.equal(points.length, 100);
    // 0 s is at 66, 100 s at 942: a dot is in the middle of its second.
    points.forEach(([x], i) => assert.ok(Math.abs(x - (66 + 8.76 * (i + 0.5))) < 0.02, `${i}: ${x}`));
    assert.ok(points[0][1] < points[99][1], "the faster half is higher");
});

/** The size of a PNG, and how many of its bytes differ from the previous byte, to tell a picture from a blank. */
function read(png) {
    assert.deepEqual([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
    const parts = [];
    for (let at = 8; at < png.length;) {
        const size = png.readUInt32BE(at), type = png.toString("latin1", at + 4, at + 8);
        if (type === "IDAT")
            parts.push(png.subarray(at + 8, at + 8 + size));
        at += size + 12;
    }
    const data = inflateSync(Buffer.concat(parts));
    let changes = 0;
    for (let i = 1; i < data.length; i++)
        changes += data[i] !== data[i - 1] ? 1 : 0;
    return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), changes };
}

test("PNG: twice the size, with the chart in it", async (t) => {
    const page = await open(t, documentOf(drive({ n: 300 })));
    for (const id of ["percentile", "iops", "heat"]) {
        const { name, content } = await download(page, id, "PNG"), { width, height, changes } = read(content);
        assert.equal(name, `QD-32-${id}.png`);
        assert.equal(width, 1920);
        assert.ok(height > 900 && height < 1200, `${height}`);
        assert.ok(changes > 20000, `${id}: ${changes}`);
    }
});

test("SVG: a line's name stands at its end over time, elsewhere at its peak, whatever the axis is called", async () => {
    const { named, timeAxis, latencyAxis, linear } = await load("axes.ts"), { svg } = await load("svg.ts"), { light } = await load("theme.ts");
    const line = (name, ys) => ({ name, note: "", kind: "line", colour: 0, dash: [], tag: `<${name}>`, xs: [10, 20, 30, 40, 50, 60, 70, 80, 90], ys });
    const nameAt = (x) => {
        const plot = {
            title: "t", hint: "", x, y: linear("y", String), levels: [], spots: [], marks: [], cells: null, xSpan: [0, 100], ySpan: () => [0, 100],
            series: [line("a", [20, 20, 90, 20, 20, 20, 20, 20, 20]), line("b", [5, 5, 50, 5, 5, 5, 5, 5, null])], table: () => ({ head: [], rows: [] }),
        };
        const text = svg(plot, { x: null, y: null }, { width: 960, height: 400, context: "", theme: light });
        // 0 is at 66, 100 at 942.
        return ["a", "b"].map((name) => (Number(new RegExp(`<text x="([\\d.]+)"[^>]*>&#60;${name}&#62;`).exec(text)[1]) - 66) / 8.76);
    };
    for (const axis of [timeAxis, named(timeAxis, "seconds")])
        nameAt(axis).forEach((at, i) => assert.ok(Math.abs(at - [90, 80][i]) < 1e-3, `${at}`));
    for (const axis of [latencyAxis, named(latencyAxis, "time that IOs took")])
        assert.deepEqual(nameAt(axis).map(Math.round), [30, 30]);
});
