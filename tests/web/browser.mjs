// SPDX-License-Identifier: GPL-2.0-only
// A report in headless Chromium. The test that opened a page fails if the page logs an error, throws, or asks the
// network for anything.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { bundle } from "../../userspace/report/web/bundler.mjs";

/** Where the build puts the page and its modules. */
export const WEB = resolve(process.env.WEB ?? "build/web");
const SOURCES = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../userspace/report/web");
const modules = createRequire(join(WEB, "/"));

let browser, folder;
/** What closes the pages of onePage(). */
const closing = [];

/** To be called once by a test file that opens pages. */
export function useBrowser() {
    before(async () => {
        folder = mkdtempSync(join(tmpdir(), "blklat-web-"));
        browser = await modules("playwright-core").chromium.launch({
            executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
            args: process.getuid() === 0 ? ["--no-sandbox"] : [],
        });
    });
    after(async () => {
        for (const close of closing)
            await close();
        await browser?.close();
        rmSync(folder, { recursive: true, force: true });
    });
}

/** The page as html_write() writes it. */
export function pageOf(json) {
    const template = readFileSync(join(WEB, "report.html"), "utf8");
    return template.replace("@REPORT@", () => json.replaceAll("<", "\\u003c"));
}

/**
 * Opens @document (or a text in its place) and waits until all charts are drawn. @expected are patterns
 * of the errors that the page should report.
 */
export async function open(t, document, { html, drawn = true, expected = [], ...options } = {}) {
    const file = join(folder, `${Math.random().toString(36).slice(2)}.html`), url = pathToFileURL(file).href;
    writeFileSync(file, html ?? pageOf(typeof document === "string" ? document : JSON.stringify(document)));
    t.after(() => rmSync(file));
    const page = await openAt(t, url, { expected, alone: true, ...options });
    if (drawn)
        await settled(page);
    return page;
}

/**
 * Opens a page at any address, and does what @prepare says with it before that. One that stands @alone may send no requests,
 * others only to their own origin. Where the service @restarts, it may be asked while it is not there.
 */
export async function openAt(t, url, { expected = [], alone = false, restarts = false, prepare = () => {}, ...options } = {}) {
    const own = (asked) => asked === url || (!alone && asked.startsWith(new URL(url).origin));
    const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, acceptDownloads: true, ...options });
    context.setDefaultTimeout(120e3);  // on a busy machine a state may come late, but it comes
    const page = await context.newPage(), wrong = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) &&
            !(restarts && message.text().includes("ERR_CONNECTION_REFUSED")) && wrong.push(message.text()));
    page.on("pageerror", (error) => wrong.push(String(error)));
    context.on("request", (request) => {
        if (!own(request.url()) && !/^(data|blob):/.test(request.url()))
            wrong.push(`asked for ${request.url()}`);
    });
    t.after(async () => {
        await context.close();
        // Expected errors may come more than once.
        const unexpected = wrong.filter((line) => !expected.some((pattern) => pattern.test(line)));
        assert.deepEqual(unexpected, []);
        expected.forEach((pattern) => assert.ok(wrong.some((line) => pattern.test(line)), `${pattern}: ${wrong.join("\n")}`));
    });
    await prepare(page);
    await page.goto(url);
    return page;
}

/**
 * For tests of one document, since a page takes longer to open than most take to look at it. Returns test() for functions of
 * this page, each of which finds it as it was opened, and leaves it so.
 */
export function onePage(make) {
    let page;
    return (name, look) => test(name, async () => look(await (page ??= open({ after: (close) => closing.push(close) }, make()))));
}

export async function settled(page) {
    await page.waitForFunction(() => window.blklat && Object.values(window.blklat.charts).every((chart) => !chart.dirty));
}

/** Does it, and waits until everything that follows is drawn. */
export async function click(locator) {
    await locator.click();
    await settled(locator.page());
}

export async function press(page, key) {
    await page.keyboard.press(key);
    await settled(page);
}

/** A chart as it would be saved, parsed: lines with the number of their points, and all texts. */
export async function saved(page, id) {
    return page.evaluate((chart) => {
        const text = window.blklat.charts[chart].svg(window.blklat.theme);
        const tree = new DOMParser().parseFromString(text, "image/svg+xml");
        if (tree.querySelector("parsererror"))
            throw new Error(tree.querySelector("parsererror").textContent);
        return {
            lines: [...tree.querySelectorAll("path.series")].map((path) => ({
                name: path.dataset.name, points: path.getAttribute("d").split(/[ML]/).length - 1, dash: path.getAttribute("stroke-dasharray"),
                colour: path.getAttribute("stroke"),
            })),
            texts: [...tree.querySelectorAll("text")].map((element) => element.textContent.replaceAll("\u00a0", " ")),
        };
    }, id);
}

/** With ordinary spaces. */
export const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ");

/** The words of an element. */
export async function words(locator) {
    return plain(await locator.innerText()).replace(/\s+/g, " ").trim();
}

/** How many pixels of a chart's canvas have exactly this colour. */
export async function pixels(page, id, colour) {
    return page.evaluate(([chart, hex]) => {
        const canvas = document.querySelector(`#chart-${chart} canvas`);
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        let found = 0;
        for (let i = 0; i < data.length; i += 4)
            found += data[i + 3] > 200 && want.every((value, c) => Math.abs(data[i + c] - value) < 3) ? 1 : 0;
        return found;
    }, [id, colour]);
}

/** A module of the page's sources, for tests that need no browser. */
export async function load(name) {
    const made = bundle(join(WEB, "node_modules"), WEB, join(SOURCES, name), "--format=esm");
    return import(`data:text/javascript;base64,${Buffer.from(made).toString("base64")}`);
}

/** To prepare a page: records each text drawn on a canvas, with its box, until it is cleared. */
export const notingTexts = (page) => page.addInitScript(() => {
    const proto = CanvasRenderingContext2D.prototype, { fillText, clearRect } = proto;
    proto.clearRect = function (...args) {
        this.canvas.texts = [];
        return clearRect.apply(this, args);
    };
    proto.fillText = function (text, x, y, ...rest) {
        const m = this.measureText(text), at = this.getTransform();
        const p = (dx, dy) => at.transformPoint(new DOMPoint(x + dx, y + dy));
        const corners = [p(-m.actualBoundingBoxLeft, -m.actualBoundingBoxAscent), p(m.actualBoundingBoxRight, m.actualBoundingBoxDescent)];
        if (text)
            (this.canvas.texts ??= []).push({
                text, left: Math.min(corners[0].x, corners[1].x), right: Math.max(corners[0].x, corners[1].x),
                top: Math.min(corners[0].y, corners[1].y), bottom: Math.max(corners[0].y, corners[1].y),
            });
        return fillText.call(this, text, x, y, ...rest);
    };
});

/**
 * After notingTexts(): of more than @least texts on charts none overlap or are cut off, as far as their charts' names begin with @charts, and
 * the page is no wider than the screen.
 */
export async function labelsFit(page, least, charts = "") {
    const { over, texts, wide } = await page.evaluate(() => {
        let seen = 0;
        const found = [];
        for (const canvas of document.querySelectorAll("canvas")) {
            const all = canvas.texts ?? [];
            seen += all.length;
            all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
                if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                    found.push(`${canvas.closest("figure").id}: ${a.text} / ${b.text}`);
            }));
            for (const a of all)
                if (a.left < 0 || a.right > canvas.width || a.bottom > canvas.height)
                    found.push(`${canvas.closest("figure").id}: ${a.text} is cut off`);
        }
        return { over: found, texts: seen, wide: document.documentElement.scrollWidth - innerWidth };
    });
    assert.ok(texts > least, String(texts));
    assert.deepEqual(over.filter((text) => text.startsWith(charts)), []);
    assert.ok(wide <= 0, `${wide} px too wide`);
}
