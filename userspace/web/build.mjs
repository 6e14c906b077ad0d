// SPDX-License-Identifier: GPL-2.0-only
// Makes the template of a report, one file that needs no other: build.mjs SOURCES MODULES OUT
// What it may do is said by its policy: run this script, use this style, show pictures of its own.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, modules, out] = process.argv.slice(2).map((path) => resolve(path));
const { build } = createRequire(join(modules, "/"))("esbuild");

async function bundled(file, options) {
    const made = await build({
        entryPoints: [join(sources, file)], bundle: true, minify: true, write: false, charset: "utf8", legalComments: "none",
        nodePaths: [modules], logLevel: "warning", ...options,
    });
    const text = made.outputFiles[0].text.trim();
    // esbuild escapes these in strings; they would end the element, or hide its end.
    if (/<\/(script|style)|<!--/i.test(text))
        throw new Error(`${file}: the bundle holds what ends its element`);
    return text;
}

function hash(text) {
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const script = await bundled("page.ts", { format: "iife", target: "es2021" });
const style = await bundled("page.css", {});
const license = readFileSync(join(modules, "uplot/LICENSE"), "utf8").replaceAll("--", "- -").trim();
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;

let page = readFileSync(join(sources, "template.html"), "utf8");
for (const [name, text] of Object.entries({ LICENSE: license, POLICY: policy, STYLE: style, SCRIPT: script }))
    page = page.replace(`@${name}@`, () => text);
writeFileSync(out, page);
