// SPDX-License-Identifier: GPL-2.0-only
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/**
 * A source file and all that it imports, as one text, by esbuild's program for this machine. Imports are looked for in @modules and
 * in @out, too. Throws where esbuild fails, which says why.
 */
export function bundle(modules, out, file, ...options) {
    return execFileSync(join(modules, `@esbuild/linux-${process.arch}/bin/esbuild`),
        [file, "--bundle", "--log-level=warning", ...options],
        { env: { ...process.env, NODE_PATH: `${modules}:${out}` }, encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "inherit"] });
}
