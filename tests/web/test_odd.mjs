// SPDX-License-Identifier: GPL-2.0-only
// Unusual reports: nothing, one IO, hostile names, a document of a later version.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { click, open, pageOf, saved, settled, useBrowser, WEB, words } from "./browser.mjs";
import { bound, documentOf, op, run, watch } from "./documents.mjs";

useBrowser();

/** Turns on every line, both axes, both weights, all tables, and saves every picture: nothing may throw. */
async function useAll(page) {
    await page.evaluate(() => {
        for (const name of ["All", "Logarithmic", "Time-weighted", "First after a pause"])
            [...document.querySelectorAll("button")].filter((button) => button.textContent === name).forEach((button) => button.click());
        document.querySelectorAll("figure summary").forEach((summary) => summary.click());
    });
    await settled(page);
    const pictures = await page.evaluate(() => Object.values(window.blklat.charts).map((chart) => chart.svg(window.blklat.theme)).join(""));
    for (const text of [pictures, await page.locator("body").innerText()])
        assert.ok(!/NaN|Infinity|undefined|\bnull\b/.test(text), text);
}

const empty = () => op("read", [], () => 1e5);
const outside = { ...op("read", [30], () => 1e5), bins: [[0, bound(0), 10], [bound(100), bound(101), 10], [128e9, null, 10]] };
Object.assign(outside.total.latency_ns, { min: 9, max: 200e9 });

for (const [what, one] of Object.entries({
    "no interval": run([watch("sda", "device", [empty()])]),
    "no interval, no op": run([watch("sda", "device", [])]),
    "no watch": run([]),
    "one interval without IO": run([watch("sda", "device", [op("read", [0], () => 1e5)])]),
    "one interval of one IO": run([watch("sda", "device", [op("read", [1], () => 1e5)])]),
    "an interval of no length": run([watch("sda", "device", [op("read", [5], () => 1e5)])], { length_s: [0], duration_s: 0 }),
    "cells outside of the grid": run([watch("sda", "device", [outside])]),
    "all seconds at 0 but one": run([watch("sda", "device", [op("write", [0, 0, 9, 0], () => 1e5)])]),
}))
    test(`${what} is a report too`, async (t) => useAll(await open(t, documentOf(one))));

test("without IO there is nothing that rates are over, and no steady state", async (t) => {
    const page = (...runs) => open(t, documentOf(...runs)), rates = async (at) => words(at.locator(".rates"));
    const empty = run([watch("sda", "device", [])]), busy = run([watch("sda", "device", [op("read", [1, 1], () => 1e5)])]), none = await page(empty, empty);
    assert.equal(await rates(none), "There is no IO.");
    assert.doesNotMatch(await none.locator("body").innerText(), /Too short a run/);
    assert.match(await rates(await page(empty, busy)), /^Rates are over (all of it|0 s to 2 s), from/);
});

test("no run", async (t) => useAll(await open(t, documentOf())));

const HOSTILE = ['"><script>window.hit=1</script>', "</script><script>window.hit=1</script>", "<!--<script>", "<img src=x onerror=window.hit=1>",
    "@SCRIPT@ $& $1 @REPORT@", "a\u0000b\u0007c\ud800d\u2028e", "&amp; ]]> ' \" `${window.hit=1}`", "x".repeat(300), "\u202etxt.exe"];

test("names are text, whatever they are", async (t) => {
    const runs = HOSTILE.map((name, i) => run([watch(name, name, [{ ...op("read", [5, 0, 7], () => 1e5), op: name }])], {
        label: i % 2 ? name : "", file: name, host: name, kernel: name, engine: name, version: name, command: name,
        marks: [{ t_s: 1, text: name }],
        devices: [{ name, kind: name, model: name, mapper: name, scheduler: name, size_bytes: 1, lower: [name] }],
        findings: [{ kind: name, grade: name, also: [{ text: name }], device: name, stage: name, op: name, from_s: 0, to_s: 1, text: name, rule: name, values: { [name]: 1 } }],
        stacks: [{ upper: name, members: [name], queue_depth: { [name]: 1 }, ops: [{ op: name, overhead_ns: { mean: 1 }, upper_ios: 1, member_ios: 1 }] }],
    }));
    const page = await open(t, documentOf(...runs));
    await click(page.getByRole("button", { name: "All", exact: true }));
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("body script, body img, body iframe").count(), 0);
    assert.equal(await page.locator("aside [data-key]").count(), HOSTILE.length);
    await page.getByText(`${HOSTILE.length} runs: devices`).click();
    assert.match(await page.getByRole("region", { name: "Runs" }).innerText(), /"><script>window\.hit=1<\/script>/);
    for (const id of ["iops", "percentile", "depth"])
        assert.equal((await saved(page, id)).lines.length, HOSTILE.length, id);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
});

test("should a script get in after all, the policy stops it", async (t) => {
    const html = pageOf(JSON.stringify(documentOf())).replace("</body>",
        '<script>window.hit = 1</script><p onclick="window.hit = 1">click</p><img src="http://127.0.0.1:9/x.png"></body>');
    // Chromium reports the picture as requested and then as refused; nothing is sent.
    const page = await open(t, null, { html, drawn: false, expected: [/^asked for http:\/\/127/, /inline script/, /127\.0\.0\.1.*img-src/, /inline event handler/] });
    assert.equal(await page.evaluate(() => window.hit), undefined);
});

for (const [what, text, said] of [
    ["of the future", JSON.stringify({ schema: 2, generator: "blklat 9", runs: [] }), /schema 2; this page reads schema 1/],
    ["cut off", '{"schema":1,"runs":[', /This report can't be shown/],
])
    test(`a document ${what} is said to be so`, async (t) => {
        const page = await open(t, text, { drawn: false });
        assert.match(await words(page.getByRole("alert")), said);
    });

test("the template asks nobody for anything", () => {
    const html = readFileSync(join(WEB, "report.html"), "utf8");
    const policy = /content="(default-src[^"]*)"/.exec(html)[1];
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; img-src data: blob:; base-uri 'none'; form-action 'none'$/);
    assert.doesNotMatch(html, /\b(src|href)=["']?(https?:)?\/\//);
    assert.doesNotMatch(html, /\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts)\b\s*\(/);
    assert.ok(html.length < 200000, `${html.length} bytes`);
});
