// SPDX-License-Identifier: GPL-2.0-only
// The compiler checks the page's types, since esbuild only drops them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { WEB } from "./browser.mjs";

test("tsc finds nothing", () => {
    const done = spawnSync(process.execPath, [join(WEB, "node_modules/typescript/bin/tsc"), "-p", join(WEB, "src/tsconfig.json")], { encoding: "utf8" });
    assert.equal(done.stdout + done.stderr, "");
    assert.equal(done.status, 0);
});
