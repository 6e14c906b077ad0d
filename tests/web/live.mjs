// SPDX-License-Identifier: GPL-2.0-only
// The live page of a service that replays a recording of a script (tests/script.py).
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openAt, settled } from "./browser.mjs";

export const BLKLAT = process.env.BLKLAT ?? "build/blklat";

export function script(devices, intervals, statements, seconds = 0.2) {
    const lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z"];
    devices.forEach((name) => lines.push(`device ${name} kind=nvme model="Micron 7450" scheduler=none size=1920383410176 queues=16`));
    devices.forEach((name) => lines.push(`watch ${name} device`));
    for (let i = 0; i < intervals; i++) {
        devices.forEach((name, d) => lines.push(`on ${name} device`, ...statements(i, d)));
        lines.push(`tick ${seconds}`);
    }
    return `${lines.join("\n")}\n`;
}

/** Makes recordings in a folder, number 0 of the first script and so on. Returns their paths. */
export function recordings(folder, ...scripts) {
    const files = scripts.map((text, i) => {
        writeFileSync(join(folder, `${i}.txt`), text);
        return [join(folder, `${i}.txt`), join(folder, `${i}.blklat`)];
    });
    execFileSync("python3", ["tests/script.py", ...files.flat()]);
    return files.map(([, recording]) => recording);
}

/**
 * Starts the service; returns its address and how to end it. Between hold() and go() its capture stands still, so
 * that no interval comes while a test looks. It has told the server of told() intervals.
 */
export async function serve(t, text, ...args) {
    const folder = mkdtempSync(join(tmpdir(), "blklat-live-"));
    let child = null, said = "";
    const start = (script, listen) => new Promise((done, failed) => {
        const [file] = recordings(folder, script);
        said = "";
        child = spawn(BLKLAT, ["serve", "--replay", file, "--listen", listen, ...args], { stdio: ["ignore", "ignore", "pipe"] });
        child.stderr.on("data", (data) => {
            const found = (said += data).match(/listening on (http:\/\/\S+)/);
            if (found)
                done(found[1]);
        });
        child.on("exit", () => failed(new Error(said)));
    });
    const stop = () => new Promise((done) => {
        child.on("exit", done);
        child.kill("SIGTERM");
        child.kill("SIGCONT");
    });
    const atItsEnd = async () => {
        while (!said.includes("at its end"))
            await new Promise((done) => child.stderr.once("data", done));
    };
    const hold = async () => {
        child.kill("SIGSTOP");
        while (!/^\S+ \(.*\) T/.test(readFileSync(`/proc/${child.pid}/stat`, "utf8")))
            await pause(1);
    };
    t.after(async () => {
        await stop();
        rmSync(folder, { recursive: true });
    });
    const url = await start(text, "127.0.0.1:0");
    const told = async () => Number(/^blklat_capture_intervals_total (\d+)$/m.exec(await (await fetch(`${url}metrics`)).text())?.[1] ?? 0);
    return { url, stop, start, atItsEnd, hold, go: () => child.kill("SIGCONT"), told };
}

export const steady = (i, d) => [`io read ${90 + d}us 4096 x${1000 * (d + 1) + i}`, "io write 30us 8192 x100", "in-flight 2 oldest=50us"];

export async function shown(page) {
    return page.evaluate(() => Object.fromEntries(Object.entries(window.blklat.charts).map(([id, chart]) =>
        [id, [Number(chart.figure.dataset.lines), Number(chart.figure.dataset.points)]])));
}

export const intervals = (page) => page.evaluate(() => window.blklat.feed.intervals.length);
export const atLeast = (page, n) => page.waitForFunction((least) => window.blklat?.feed.intervals.length >= least, n);
export const until = (page, end_s) => page.waitForFunction((least) => window.blklat?.lines.length && window.blklat.feed.intervals.at(-1).end_s >= least, end_s);

/**
 * Lets the service go on for at least @n intervals from its start and holds it; everything that came is drawn then. On a busy
 * machine these are more than @n: what a test looks for should last for 2 s, which are 10 intervals.
 */
export async function holdAt(page, service, n) {
    service.go();
    while (await service.told() < n)
        await pause(20);
    await service.hold();
    // The server reads what the capture wrote before it answers the second time.
    await service.told();
    const all = await service.told();
    await page.waitForFunction((came) => window.blklat?.feed.intervals.length === came && window.blklat.lines[0]?.op.ios.length === came, all);
    await settled(page);
}

/** What the stream says of an op with this many IOs of 4 KiB, alike in each of the latencies, the shortest first. */
function opOf([name, ios = 100, ...latencies_ns]) {
    const all = latencies_ns.length ? latencies_ns : [1e5], max_ns = all.at(-1);
    return {
        op: name, ios: ios * all.length, bytes: 4096 * ios * all.length, errors: 0, sum_ns: ios * all.reduce((sum, ns) => sum + ns, 0),
        cells: all.flatMap((ns) => [Math.ceil((Math.log2(ns / 1e9) + 26) * 64), ios]), latency_ns: { ...Object.fromEntries(["p50", "p90", "p99", "p99.9", "p99.99"].map((p) => [p, max_ns])), min: all[0], max: max_ns },
    };
}

/**
 * The body of /api/stream as a service would send it, with the end of @intervals of 1 s at once, of any number of devices.
 * @opsOf(interval, device): [op, IOs, their latencies in ns ...], without more words 100 IOs of 100 us each; null: it is not there.
 */
export function streamOf(devices, intervals, opsOf) {
    const run = {
        schema: 1, version: "1", host: "host", kernel: "6.1", engine: "bpf", start: "2026-11-21T07:35:00.000Z", interval_s: 1, history_s: 300, scale: 6,
        devices: devices.map((name) => ({ name, kind: "nvme", model: "M", mapper: "", scheduler: "none", size_bytes: 1e12, lower: [] })),
    };
    const each = (i) => ({
        time: new Date(Date.UTC(2026, 10, 21, 7, 35, i + 1)).toISOString(), end_s: i + 1, length_s: 1, skipped_unexplained: 0,
        watches: devices.map((device, d) => ({ device, ops: opsOf(i, d)?.map((told) => opOf([told].flat())) })).filter(({ ops }) => ops).map(({ device, ops }) => ({
            device, stage: "device", interval_s: 1, queue_depth: 1, in_flight: { ios: ops.length ? 3 : 0, oldest_ns: ops.length ? 2e9 : 0 }, ops,
            accounting: { started: 0, completed: 0, in_flight: 0, lost: 0, lost_by: {}, requeued: 0, kernel_ios: null },
        })),
    });
    return ["retry: 1000000\n\n", `event: run\ndata: ${JSON.stringify(run)}\n\n`,
        ...Array.from({ length: intervals }, (_, i) => `id: a.${i + 1}\nevent: interval\ndata: ${JSON.stringify(each(i))}\n\n`)].join("");
}

/** Opens a service's page, which gets this stream in place of the service's, and waits until all of it is drawn. */
export async function openStream(t, service, body, { prepare = () => {}, ...options } = {}) {
    const page = await openAt(t, service.url, { ...options, prepare: async (made) => {
        await made.route("**/api/stream", (route) => route.fulfill({ contentType: "text/event-stream", body }));
        await prepare(made);
    } });
    await page.waitForFunction((n) => window.blklat?.lines[0]?.op.ios.length === n, body.split("event: interval").length - 1);
    await settled(page);
    return page;
}
