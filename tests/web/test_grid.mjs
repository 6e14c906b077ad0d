// SPDX-License-Identifier: GPL-2.0-only
// The page's grid equals the program's, whose bounds figures.c computes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { computed, load } from "./browser.mjs";

const { lastCell, upperBound } = await load("grid.ts");
const { binsOf } = await load("live_data.ts");
const { bounds } = computed();

test("every bound at every scale", () => {
    assert.equal(bounds.length, 7);
    bounds.forEach((expected, scale) => {
        assert.equal(lastCell(scale), expected.length);
        assert.deepEqual(expected.map((_, cell) => upperBound(scale, cell)), expected, `scale ${scale}`);
    });
    assert.deepEqual([bounds[6][0], bounds[6][767], bounds[6].at(-1)], [14, 60377, 128e9]);
});

test("bins: below the grid, in it, above it", () => {
    bounds.forEach((expected, scale) => {
        const cells = new Map(Array.from({ length: expected.length + 1 }, (_, cell) => [cell, cell + 1]));
        assert.deepEqual(binsOf(cells, scale), [...cells.keys()].map((cell) => [expected[cell - 1] ?? 0, expected[cell] ?? null, cell + 1]));
    });
});
