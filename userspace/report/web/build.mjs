// SPDX-License-Identifier: GPL-2.0-only
// Makes the template of a report and the live page, each one file that needs no other: build.mjs SOURCES MODULES OUT
// OUT is the folder. What a page may do is said by its policy: run this script, use this style, show pictures of its
// own; the live page may also ask where it came from. Its policy is a file too, for the server to send.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./bundler.mjs";

const [sources, modules, out] = process.argv.slice(2).map((path) => resolve(path));

function bundled(file, ...options) {
    const text = bundle(modules, out, join(sources, file), "--minify", "--charset=utf8", "--legal-comments=none", ...options).trim();
    // esbuild escapes these in strings; they would end the element, or hide its end.
    if (/<\/(script|style)|<!--/i.test(text))
        throw new Error(`${file}: the bundle holds what ends its element`);
    return text;
}

function hash(text) {
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const style = bundled("page.css");
const license = readFileSync(join(modules, "uplot/LICENSE"), "utf8").replaceAll("--", "- -").trim();

function make(name, entry, change, more) {
    const script = bundled(entry, "--format=iife", "--target=es2021");
    const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:${more}; base-uri 'none'; form-action 'none'`;
    let page = change(readFileSync(join(sources, "template.html"), "utf8"));
    for (const [place, text] of Object.entries({ LICENSE: license, POLICY: policy, STYLE: style, SCRIPT: script }))
        page = page.replace(`@${place}@`, () => text);
    writeFileSync(join(out, name), page);
    return policy;
}

/** No document in it, and other words. */
function live(page) {
    return page.replace(/<script type="application\/json".*\n/, "").replace(/<noscript>.*<\/noscript>/,
        "<noscript>This page draws its charts with JavaScript. /api/snapshot has the figures.</noscript>");
}

make("report.html", "report.ts", (page) => page, "");
const policy = make("live.html", "live.ts", live, "; connect-src 'self'");
writeFileSync(join(out, "live.policy"), `${policy}; frame-ancestors 'none'`);
