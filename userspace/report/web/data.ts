// SPDX-License-Identifier: GPL-2.0-only
// The document as `blklat report --format json` writes it.
// Latencies are ns, times s. Figures come with the document; the page computes curves only.

/** Lower bound exclusive, upper inclusive; null where the grid has no upper bound. */
export type Bin = [number, number | null, number];
export type Percentile = "p50" | "p90" | "p99" | "p99.9";

export const OPS = ["read", "write", "flush", "discard", "other"];

/** Percentiles of a whole run, each with its share of the IOs. */
export const QUANTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.999": 0.99999 };
export type Quantile = keyof typeof QUANTILES;

export interface Latency extends Record<Quantile, number> { mean: number; min: number; max: number }

export interface Consistency {
    iops_mean: number; iops_deviation: number;
    /** null: no interval is long enough to be one. */
    iops_worst: number | null; iops_worst_at_s: number | null; intervals_at_0: number;
}

export interface Steady extends Consistency {
    from_s: number; to_s: number; rule: string;
    /** null: too few intervals to tell. */
    reached: boolean | null;
}

export interface Total {
    ios: number; bytes: number; errors: number; iops: number; bytes_per_s: number; queue_depth: number;
    latency_ns: Latency | null;
    /** What they took, all together; absent in a live page. */
    time_s?: number;
    iops_deviation: number; iops_worst: number | null; iops_worst_at_s: number | null; intervals_at_0: number;
}

export interface Heat {
    /** Intervals a column, and rows an octave as a power of two. Row r holds the grid's cell r + 1; row 0 also what lies below. */
    per_column: number; scale: number;
    /** A column's cells that are not empty: row, count, row, count ... */
    columns: number[][];
}

export interface Op {
    op: string;
    ios: number[]; bytes: number[]; max_ns: (number | null)[];
    percentiles_ns: Record<Percentile, (number | null)[]>;
    /** Around each interval; the live page has none. */
    iops_moving?: { mean: (number | null)[]; deviation: (number | null)[] };
    total: Total;
    steady: Steady | null;
    bins: Bin[];
    after_idle: { ios: number; mean_ns: number; bins: Bin[] } | null;
    heat: Heat;
}

export interface Accounting {
    started: number; completed: number; in_flight: number; lost: number;
    lost_by: Record<string, number>; requeued: number; kernel_ios: number | null;
}

/** An IO that was slow, or failed; what is not known is null. */
export interface SlowIo {
    time: string; t_s: number; latency_ns: number; queue_ns: number | null; device_ns: number | null;
    op: string; bytes: number; sector: number | null; error: string | null; part?: Part;
    hw_queue: number | null; start_cpu: number | null; end_cpu: number;
    pid: number | null; comm: string | null; kernel_thread: boolean | null; cgroup: string | null;
}

/** In what respect so many of so many slow IOs are alike, and how many of all IOs are so: null where that is not counted. */
export interface Common { by: string; value: string; ios: number; of: number; share_of_all: number | null; p: number | null }

/** Those that failed, and the slowest, of so many that were found. */
export interface Slow { found: number; common: Common[]; ios: SlowIo[] }

/** What was counted for IOs that have not ended. */
export interface Partial { op: string; bytes: number; errors: number }

/** Which part of a divided watch: { by: "size", label: "4 KiB" }; of a cgroup, a path, also what that tells. */
export interface Part { by: string; label: string; container?: string; pod?: string; unit?: string }

/** Of the whole's; null: that has none. */
export interface Shares { ios: number | null; bytes: number | null; time: number | null }

/** Against IOs beside nothing, or beside reads alone, the label of which part is @base: how many times as long. */
export type Against = Record<Quantile, number> & { base: string };

/** An op of a part: no steady and heat, but what it is of the whole's. All of that is absent in a live page. */
export type PartOp = Omit<Op, "steady" | "heat"> & {
    /** What the IOs that ended in each interval took, all together. */
    time_s?: number[];
    of_whole?: Shares;
    /** Too few IOs for a percentile. */
    few?: boolean;
    /** Only where parts are what IOs are beside; null: too few, here or there. */
    against?: Against | null;
};

/** Ops together. */
export interface AllOps extends Pick<Total, "ios" | "bytes" | "errors" | "iops" | "bytes_per_s"> {
    time_s: number; latency_ns: Latency; of_whole: Shares; few: boolean;
    /** Only by depth: what the device does at these depths; null: there is no end to them. */
    by_little?: { iops_least: number; iops_most: number | null; bytes_per_s_least: number; bytes_per_s_most: number | null } | null;
}

/** A part has no accounting. all_ops is null where it had no IO, and absent in a live page. */
export type PartWatch = Omit<Watch, "accounting" | "ops" | "parts"> & { part: Part; all_ops?: AllOps | null; ops: PartOp[] };

export interface Watch {
    device: string; stage: string; gone: boolean;
    queue_depth: number[]; in_flight: number[]; oldest_ns: number[];
    accounting: Accounting;
    partial?: Partial[];
    /** Absent where none were looked for. */
    slow?: Slow;
    ops: Op[];
    /** What it is divided into, in order; absent where it is not. In the document they stand behind it. */
    parts?: PartWatch[];
}

export interface Device {
    name: string; kind: string; model: string; mapper: string; scheduler: string;
    size_bytes: number; lower: string[];
}

export interface Stack {
    upper: string; members: string[]; queue_depth: Record<string, number>;
    ops: { op: string; overhead_ns: Record<string, number>; upper_ios: number; member_ios: number }[];
}

export interface Finding {
    kind: string; device: string; stage: string; op: string | null;
    from_s: number; to_s: number; text: string; rule: string; values: Record<string, number>;
}

/** What the rates are over: from the first interval with IO to the last, or as --from and --to asked. */
export interface Active { from_s: number; to_s: number; left_out: number; asked: boolean }

export interface Mark { t_s: number; text: string }

/** What a phase has of an op: the figures of a run's, and its bins. */
export interface PhaseOp extends Total { op: string; bins: Bin[] }

/** Between two marks. Its figures are of so many intervals, which together last length_s. */
export interface Phase {
    name: string; from_s: number; to_s: number; intervals: number; length_s: number;
    /** No interval lies in it whole. */
    partial: boolean;
    watches: { device: string; stage: string; part?: Part; queue_depth: number; ops: PhaseOp[] }[];
}

export interface Run {
    file: string; label: string; host: string; kernel: string; engine: string; version: string;
    command: string; start: string; finished: boolean;
    /** merged: so many intervals of the recording at most are one here; absent in a live page. */
    interval_s: number; merged?: number; idle_gap_s: number; scale: number; duration_s: number;
    /** Program runs that the kernel skipped; what they missed is not known. */
    skipped_unexplained: number;
    start_s: number[]; length_s: number[];
    /** Not of a run that is under way. */
    active?: Active;
    /** Absent in a live page. */
    phases?: Phase[]; phases_left_out?: number;
    marks: Mark[]; devices: Device[]; watches: Watch[]; stacks: Stack[]; findings: Finding[];
}

export interface Document { schema: number; generator: string; runs: Run[] }

/** The runs of a document that this page can read. */
export function runsIn(document: Document): Run[] {
    if (document.schema !== 1)
        throw new Error(`the document has schema ${document.schema}; this page reads schema 1`);
    document.runs.forEach(takeParts);
    return document.runs;
}

/** Gives each watch the parts that follow it, so that a run's watches are wholes. */
function takeParts(run: Run): void {
    const wholes: Watch[] = [];
    for (const watch of run.watches as (Watch | PartWatch)[])
        if ("part" in watch)
            (wholes[wholes.length - 1].parts ??= []).push(watch);
        else
            wholes.push(watch);
    run.watches = wholes;
}
