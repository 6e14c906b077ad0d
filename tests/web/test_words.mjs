// SPDX-License-Identifier: GPL-2.0-only
// The document's lines and their names; figures as words; ticks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, plain } from "./browser.mjs";
import { op, run, watch } from "./documents.mjs";

const { makeLines } = await load("lines.ts");
const format = await load("format.ts");
const axes = await load("axes.ts");

test("names tell lines apart, and no more", () => {
    const names = (...runs) => makeLines(runs).map((line) => line.name);
    const ops = () => [op("read", [1], () => 1e5), op("write", [1], () => 1e5)];
    assert.deepEqual(names(run([watch("sda", "device", ops())])), ["read", "write"]);
    assert.deepEqual(names(run([watch("sda", "device", ops()), watch("sdb", "device", [op("read", [1], () => 1e5)])])),
        ["sda · read", "sda · write", "sdb · read"]);
    assert.deepEqual(names(run([watch("sda", "queue", ops()), watch("sda", "device", ops())])),
        ["queue · read", "queue · write", "device · read", "device · write"]);
    const one = (name) => run([watch("sda", "device", [op("read", [1], () => 1e5)])], { name });
    assert.deepEqual(names(one("A"), one("run 2")), ["A · read", "run 2 · read"]);
});

test("what is shown at first: what had more than a thousandth of the IOs; of many the main ones", () => {
    const shown = (...watches) => makeLines([run(watches)]).filter((line) => line.on).map((line) => line.name);
    const ops = (...names) => names.map((name) => op(name, [name === "flush" ? 0 : 5], () => 1e5));
    assert.deepEqual(shown(watch("sda", "device", ops("read", "flush", "discard"))), ["read", "discard"]);
    const some = [op("read", [2000], () => 1e5), op("write", [3000], () => 1e5), op("flush", [5], () => 1e5), op("discard", [6], () => 1e5)];
    assert.deepEqual(shown(watch("sda", "device", some)), ["read", "write", "discard"]);
    const many = ["sda", "sdb"].flatMap((d) => ["queue", "device"].map((stage) => watch(d, stage, ops("read", "write", "discard"))));
    assert.deepEqual(shown(...many), ["sda · device · read", "sda · device · write", "sdb · device · read", "sdb · device · write"]);
});

test("figures have three digits and a unit", () => {
    const cases = [
        [format.latency, [[0, "0 ns"], [402, "402 ns"], [999.4, "999 ns"], [999.6, "1.00 us"], [9994, "9.99 us"], [9996, "10.0 us"],
            [59990.1, "60.0 us"], [99949, "99.9 us"], [99951, "100 us"], [999499, "999 us"], [999501, "1.00 ms"], [3.2e9, "3.20 s"], [75e9, "75.0 s"],
            [null, "–"], [NaN, "–"]]],
        [format.amount, [[0, "0"], [0.0233, "0.023"], [0.999, "1"], [12.34, "12.3"], [928.4, "928"], [999.6, "1.00k"], [52137, "52.1k"], [1.25e6, "1.25M"], [null, "–"], [Infinity, "–"]]],
        [format.count, [[0, "0"], [999, "999"], [1000, "1 000"], [1234567, "1 234 567"]]],
        [format.bytes, [[0, "0 B"], [512, "512 B"], [1000204886016, "1.00 TB"], [999600, "1.00 MB"]]],
        [format.percent, [[0.5, "50 %"], [0.2213, "22.13 %"], [1, "100 %"]]],
    ];
    for (const [words, table] of cases)
        for (const [value, text] of table)
            assert.equal(plain(words(value)), text);
});

test("ticks are round", () => {
    const texts = (axis, lo, hi, room) => axis.ticks(lo, hi, room).map((tick) => tick.text).filter(Boolean);
    assert.deepEqual(texts(axes.latencyAxis, 4, 6, 6), ["10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms"]);
    assert.deepEqual(texts(axes.latencyAxis, 1, 10, 12), ["10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
    assert.deepEqual(texts(axes.latencyAxis, Math.log10(61e3), Math.log10(66e3), 5), ["61 us", "62 us", "63 us", "64 us", "65 us", "66 us"]);
    // Just enough digits to tell them apart.
    assert.deepEqual(texts(axes.latencyAxis, Math.log10(1.0719e6), Math.log10(1.0781e6), 4), ["1.072 ms", "1.074 ms", "1.076 ms", "1.078 ms"]);
    assert.deepEqual(texts(axes.linear("IOPS", axes.tickAmount), 29999, 30001, 3), ["29.999k", "30k", "30.001k"]);
    // On a phone, three decades, one of which is even; not only 20 and 40 ms.
    assert.deepEqual(texts(axes.latencyAxis, 4.7, 7.75, 3), ["100 us", "1 ms", "10 ms"]);
    assert.deepEqual(texts(axes.latencyAxis, 3.9, 8.1, 3), ["10 us", "1 ms", "100 ms"]);
    assert.deepEqual(texts(axes.latencyAxis, 5.1, 6.95, 3), ["300 us", "1 ms", "3 ms"]);
    assert.deepEqual(texts(axes.timeAxis, 0, 2000, 8), ["0", "500", "1000", "1500", "2000"]);
    // On a phone there is room for two: a window with only one round value gets finer ones.
    assert.deepEqual(texts(axes.timeAxis, 6, 12.3, 2), ["6", "8", "10", "12"]);
    assert.deepEqual(texts(axes.timeAxis, 0, 1, 2), ["0", "0.5", "1"]);
    assert.deepEqual(texts(axes.ninesAxis, 1, 6, 9), ["90", "99", "99.9", "99.99", "99.999", "99.9999"]);
    const zero = axes.logWithZero("IOPS", 70, axes.tickAmount, String);
    assert.deepEqual(texts(zero, zero.place(0), 3, 3), ["0", "10", "100", "1k"]);
    assert.ok(zero.place(0) < zero.place(10));
    assert.equal(zero.value(zero.place(0)), 0);
    assert.ok(Math.abs(zero.value(zero.place(70)) - 70) < 1e-9);
});
