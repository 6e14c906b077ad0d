// SPDX-License-Identifier: GPL-2.0-only
// Made-up documents, as `blklat report --format json` prints them, whose answers are known.

const PERCENTILES = ["p50", "p90", "p99", "p99.9"];
const OF_TOTAL = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.999": 0.99999 };

/** The grid's bounds in ns, 2^(k/64) s, as exact as a double can be. */
export function bound(k) {
    return Math.floor(1e9 * 2 ** (-26 + k / 64));
}

export const constant = (ios, n = 10) => Array(n).fill(ios);

/** A generator with a seed, so that each run of a test sees the same numbers. */
export function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), state | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

/** @ios spread over a bell curve in log latency around @middle_ns: [[lower, upper, count], ...] */
export function bell(middle_ns, width, ios) {
    const middle = Math.log2(middle_ns / 1e9) + 26, bins = [];
    const weights = [];
    for (let k = Math.floor((middle - 4 * width) * 64); k <= (middle + 4 * width) * 64; k++)
        weights.push([k, Math.exp(-(((k + 0.5) / 64 - middle) ** 2) / (2 * width * width))]);
    const all = weights.reduce((sum, [, w]) => sum + w, 0);
    let done = 0, share = 0;
    for (const [k, w] of weights) {
        share += w / all;
        const count = Math.round(ios * share) - done;
        done += count;
        if (count > 0)
            bins.push([bound(k), bound(k + 1), count]);
    }
    return bins;
}

function merged(...many) {
    const sum = new Map();
    for (const [lower, upper, count] of many.flat())
        sum.set(lower, [lower, upper, (sum.get(lower)?.[2] ?? 0) + count]);
    return [...sum.values()].sort((a, b) => a[0] - b[0]);
}

function quantile(bins, q) {
    const n = bins.reduce((sum, bin) => sum + bin[2], 0);
    let before = 0;
    for (const [lower, upper, count] of bins) {
        if (before + count >= q * n)
            return lower * (upper / lower) ** ((q * n - before) / count);
        before += count;
    }
    return bins[bins.length - 1][1];
}

function deviation(values, mean) {
    return Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length);
}

function heatOf(perSecond, columnsMax = 600) {
    const first_ns = 1e9 * 2 ** -26, per_column = Math.max(1, Math.ceil(perSecond.length / columnsMax)), columns = [], time_s = [];
    perSecond.forEach((bins, i) => {
        const column = columns[Math.floor(i / per_column)] ??= new Map();
        time_s[Math.floor(i / per_column)] ??= 0;
        for (const [lower, upper, count] of bins) {
            time_s[Math.floor(i / per_column)] += count * Math.sqrt(lower * upper) / 1e9;
            const row = Math.max(0, Math.ceil(Math.log2(upper / first_ns) * 16 - 1e-4) - 1);
            column.set(row, (column.get(row) ?? 0) + count);
        }
    });
    return { per_column, first_ns, scale: 4, time_s, columns: columns.map((column) => [...column].sort((a, b) => a[0] - b[0]).flat()) };
}

/** Of each second. */
function percentilesOf(perSecond) {
    return Object.fromEntries(PERCENTILES.map((p) => [p, perSecond.map((b) => b.length ? quantile(b, OF_TOTAL[p]) : null)]));
}

/** The key of an op's bins of each second, which no document has: JSON leaves it out, as it is a symbol. */
const PER_SECOND = Symbol("bins of each second");

/**
 * An op with intervals of 1 s: iops[i] IOs of 4 KiB, their latencies a bell curve around middle(i) ns.
 */
export function op(name, iops, middle, { width = 0.15, steady = null, pause = null } = {}) {
    const perSecond = iops.map((ios, i) => ios ? bell(middle(i), width, ios) : []);
    const bins = merged(...perSecond), ios = iops.reduce((sum, v) => sum + v, 0), n = iops.length, mean = n ? ios / n : 0;
    const all = bins.reduce((sum, [lower, upper, count]) => sum + count * Math.sqrt(lower * upper), 0);
    const worst = n ? Math.min(...iops) : 0;
    const latency_ns = !ios ? null : {
        mean: all / ios, min: bins[0][0] + 1, max: bins[bins.length - 1][1],
        ...Object.fromEntries(Object.entries(OF_TOTAL).map(([p, q]) => [p, quantile(bins, q)])),
    };
    return {
        op: name, ios: iops, bytes: iops.map((v) => v * 4096),
        max_ns: perSecond.map((b) => b.length ? b[b.length - 1][1] : null),
        percentiles_ns: percentilesOf(perSecond), [PER_SECOND]: perSecond,
        total: {
            ios, bytes: ios * 4096, errors: 0, time_s: all / 1e9, iops: mean, bytes_per_s: mean * 4096, queue_depth: n ? all / 1e9 / n : 0, latency_ns,
            iops_deviation: n ? deviation(iops, mean) : 0, iops_worst: worst, iops_worst_at_s: n ? iops.indexOf(worst) : 0,
            intervals_at_0: iops.filter((v) => v === 0).length,
        },
        steady, bins, after_idle: pause, heat: heatOf(perSecond),
    };
}

export function watch(device, stage, ops) {
    const n = ops[0]?.ios.length ?? 0, started = ops.reduce((sum, o) => sum + o.total.ios, 0);
    const depth = Array.from({ length: n }, (_, i) => ops.reduce((sum, o) => sum + o.ios[i] * (o.percentiles_ns.p50[i] ?? 0) / 1e9, 0));
    return {
        device, stage, gone: false, queue_depth: depth, in_flight: depth.map((d) => Math.round(d)),
        oldest_ns: ops.length ? depth.map((_, i) => ops[0].max_ns[i] ?? 1.5e9) : [],
        accounting: { started, completed: started, in_flight: 0, lost: 0, lost_by: {}, requeued: 0, kernel_ios: started }, ops,
    };
}

function timeOf({ total }) {
    return total.ios * (total.latency_ns?.mean ?? 0) / 1e9;
}

/** An op of a part as in the document, with its shares of the whole; the mean stands for each second's. */
function ofWhole({ steady, ...rest }, whole) {
    return {
        ...rest, time_s: rest.ios.map((ios) => ios * (rest.total.latency_ns?.mean ?? 0) / 1e9), few: rest.total.ios < 100,
        of_whole: { ios: rest.total.ios / whole.total.ios, bytes: rest.total.bytes / whole.total.bytes, time: timeOf(rest) / timeOf(whole) },
    };
}

function allOf(of, wholes, by) {
    const sum = (ops, value) => ops.reduce((all, o) => all + value(o), 0), ios = sum(of, (o) => o.total.ios), time_s = sum(of, timeOf);
    const bins = merged(...of.map((o) => o.bins)), share = (value) => sum(of, value) / sum(wholes, value);
    return !ios ? null : {
        ios, bytes: sum(of, (o) => o.total.bytes), errors: 0, iops: sum(of, (o) => o.total.iops), bytes_per_s: sum(of, (o) => o.total.bytes_per_s), time_s, few: ios < 100,
        latency_ns: { mean: time_s * 1e9 / ios, min: bins[0][0] + 1, max: bins[bins.length - 1][1], ...Object.fromEntries(Object.entries(OF_TOTAL).map(([p, q]) => [p, quantile(bins, q)])) },
        of_whole: { ios: share((o) => o.total.ios), bytes: share((o) => o.total.bytes), time: share(timeOf) },
        ...["cgroup", "process"].includes(by) && { percentiles_ns: percentilesOf(of[0][PER_SECOND].map((_, i) => merged(...of.map((o) => o[PER_SECOND][i])))) },
    };
}

/** The whole and its parts, by size unless said otherwise: { "4 KiB": [ops], ... } */
export function divided(device, stage, parts, by = "size") {
    const all = Object.values(parts).flat(), ops = [...new Set(all.map((o) => o.op))].map((name) => {
        const own = all.filter((o) => o.op === name), sum = (of) => own[0].ios.map((_, i) => own.reduce((s, o) => s + of(o)[i], 0));
        const whole = op(name, sum((o) => o.ios), () => 100e3);
        Object.assign(whole, { bytes: sum((o) => o.bytes), bins: merged(...own.map((o) => o.bins)) });
        whole.total.bytes = own.reduce((s, o) => s + o.total.bytes, 0);
        whole.total.latency_ns.mean = own.reduce((s, o) => s + o.total.ios * o.total.latency_ns.mean, 0) / whole.total.ios;
        return whole;
    });
    return [watch(device, stage, ops), ...Object.entries(parts).map(([label, of]) => ({
        device, stage, part: { by, label }, all_ops: allOf(of, ops, by), gone: false, queue_depth: ops[0].ios.map(() => 0),
        ops: of.map((o) => ofWhole(o, ops.find((whole) => whole.op === o.op))),
    }))];
}

/** An op whose IOs have sizes. */
export function sized(made, size) {
    return { ...made, bytes: made.ios.map((ios) => ios * size), total: { ...made.total, bytes: made.total.ios * size, bytes_per_s: made.total.iops * size } };
}

export function run(watches, more = {}) {
    const n = watches[0]?.ops[0]?.ios.length ?? 0;
    return {
        name: "run.blklat", file: "run.blklat", label: "", host: "bench1", kernel: "6.1.0", engine: "bpf", version: "0.1.0",
        command: "blklat record --dev nvme0n1 -o run.blklat -- fio job.fio", start: "2026-11-21T07:35:01.000Z", finished: true,
        interval_s: 1, idle_gap_s: 0.1, scale: 6, duration_s: n, skipped_unexplained: 0,
        start_s: Array.from({ length: n }, (_, i) => i), length_s: Array.from({ length: n }, () => 1), marks: [],
        devices: [...new Set(watches.map((w) => w.device))].map((name) => ({
            name, kind: "nvme", model: "Example SSD 980", mapper: "", scheduler: "none", size_bytes: 1000204886016, lower: [],
        })),
        watches, stacks: [], findings: [], ...more,
    };
}

export function documentOf(...runs) {
    return { schema: 1, generator: "blklat 0.1.0", runs: runs.map((one) => ({ ...one, name: one.label || one.file })), findings: [] };
}

function noisy(next, value, part) {
    return Math.max(0, Math.round(value * (1 + part * (next() + next() + next() - 1.5) / 1.5)));
}

/** Reads and writes of a drive whose cache is exhausted at 30 % of @n seconds, with stalls after that. */
export function drive({ n = 2000, fast = 60000, slow = 7000, label = "QD 32", file = "run.blklat", device = "nvme0n1", seed = 1, stall = 3 } = {}) {
    const next = random(seed), knee = Math.round(n * 0.3), half = Math.round(n / 2);
    const writes = Array.from({ length: n }, (_, i) => i < knee ? noisy(next, fast, 0.06) : stall && i % stall === 0 ? 0 : noisy(next, slow, 0.2));
    const reads = Array.from({ length: n }, (_, i) => noisy(next, i < knee ? fast * 1.6 : slow * 4, 0.1));
    const steady = (values) => {
        const part = values.slice(half), mean = part.reduce((sum, v) => sum + v, 0) / part.length, worst = Math.min(...part);
        return {
            from_s: half, to_s: n, rule: "second half", reached: true, iops_mean: mean, iops_deviation: deviation(part, mean),
            iops_worst: worst, iops_worst_at_s: half + part.indexOf(worst), intervals_at_0: part.filter((v) => v === 0).length,
        };
    };
    const read = op("read", reads, (i) => i < knee ? 82e3 : 130e3, { steady: steady(reads) });
    const write = op("write", writes, (i) => i < knee ? 27e3 : 900e3, { steady: steady(writes), width: 0.2,
        pause: { ios: 104, mean_ns: 104e3, bins: bell(100e3, 0.08, 104) } });
    return run([watch(device, "device", [read, write])], {
        label, file, marks: [{ t_s: n * 0.1, text: "QD 16 starts" }, { t_s: n * 0.3, text: "cache is full?" }],
        findings: [
            { kind: "level_change", grade: "wrong", also: [], device, stage: "device", op: "write", from_s: knee, to_s: n, values: { at_s: knee, share: 0.9, fast_p50_ns: 27e3, slow_p50_ns: 900e3 },
              text: `${device} write: IOPS fell from 60.0 k to 7.0 k at ${knee} s, after 90 % of the IOs; p50 27.0 us before, 900 us after.`,
              rule: "A change of IOPS by at least a factor of 1.5, both levels steady for five intervals." },
            { kind: "stall", grade: "wrong", also: [], device, stage: "device", op: "write", from_s: knee, to_s: n, values: { count: 467, period_s: 3, share: 0.23 },
              text: `${device} write: 467 seconds without a completed IO, about every 3 s.`,
              rule: "Intervals at 0 or below 1 % of the median while IOs were in flight." },
        ],
    });
}

/** An array of two members, and what its layer adds. */
export function array(n = 60) {
    const next = random(7), flat = (value) => Array.from({ length: n }, () => noisy(next, value, 0.05));
    const total = (name, value, ns) => watch(name, name === "md0" ? "total" : "device", [op("read", flat(value), () => ns)]);
    return run([total("md0", 170000, 96e3), total("sda", 85000, 88e3), total("sdb", 85000, 88e3)], {
        label: "RAID 0",
        stacks: [{ upper: "md0", members: ["sda", "sdb"], queue_depth: { md0: 16.3, sda: 7.5, sdb: 7.4 },
            ops: [{ op: "read", overhead_ns: { mean: 6100, p50: 6020, p90: 6300, p99: 7100, "p99.9": 9000 }, upper_ios: 10200000, member_ios: 10200000 }] }],
    });
}
