// SPDX-License-Identifier: GPL-2.0-only
// The document as `blklat report --format json` writes it. Latencies are ns, times s. Figures come with
// the document; the page only computes curves.

/** Lower bound (exclusive), upper bound (inclusive; null: above the grid there is none), and IOs. */
export type Bin = [number, number | null, number];
export type Percentile = "p50" | "p90" | "p99" | "p99.9";

export const OPS = ["read", "write", "flush", "discard", "other"];

/** Percentiles of a whole run, each with its share of the IOs. */
export const QUANTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.999": 0.99999 };
export type Quantile = keyof typeof QUANTILES;

export interface Latency extends Record<Quantile, number> { mean: number; min: number; max: number }

export interface Consistency {
    iops_mean: number; iops_deviation: number;
    /** null: no interval is long enough to count. */
    iops_worst: number | null; iops_worst_at_s: number | null; intervals_at_0: number;
}

export interface Steady extends Consistency {
    from_s: number; to_s: number; rule: string;
    /** null: too few intervals to tell. */
    reached: boolean | null;
}

/** The stages of an IO, in order: where its time at stage total goes. */
export const STAGES = ["wait", "plug", "queue", "device"] as const;

export interface Total {
    ios: number; bytes: number; errors: number; iops: number; bytes_per_s: number; queue_depth: number;
    latency_ns: Latency | null;
    /** Their total time; absent in a live page. */
    time_s?: number;
    /** 0 to 1, which add up to 1; only of stage total, and if all stages were measured. exact: none is an average of requests. */
    shares?: Record<typeof STAGES[number], number> & { exact: boolean };
    iops_deviation: number; iops_worst: number | null; iops_worst_at_s: number | null; intervals_at_0: number;
}

export interface Heat {
    /**
     * Intervals per column, and rows per octave as a power of two. Row r holds the grid's cell r + 1;
     * row 0 also the cell below.
     */
    per_column: number; scale: number;
    /** The non-empty cells of each column: row, count, row, count ... */
    columns: number[][];
    /** The total time of each column's IOs; absent in a live page. */
    time_s?: number[];
}

export interface Op {
    op: string;
    ios: number[]; bytes: number[]; max_ns: (number | null)[];
    /** Absent if no IO failed, and in a live page. */
    errors?: number[];
    percentiles_ns: Record<Percentile, (number | null)[]>;
    /** Around each interval; absent in a live page. */
    iops_moving?: { mean: (number | null)[]; deviation: (number | null)[] };
    total: Total;
    steady: Steady | null;
    bins: Bin[];
    after_idle: { ios: number; mean_ns: number; bins: Bin[] } | null;
    heat: Heat;
}

export interface Accounting {
    started: number; completed: number; in_flight: number; lost: number;
    lost_by: Record<string, number>; requeued: number; moved: number; kernel_ios: number | null;
}

/** An IO that was slow, or failed; unknown facts are null. */
export interface SlowIo {
    time: string; t_s: number; latency_ns: number; queue_ns: number | null; device_ns: number | null;
    op: string; bytes: number; sector: number | null;
    /** The class of its flags, as a part by flags is called. */
    flags: string | null; error: string | null; part?: Part;
    /** IOs in flight when it began, including it, and the strongest of the others, as a part by beside is called. */
    depth: number | null; beside: string | null;
    hw_queue: number | null; start_cpu: number | null; end_cpu: number;
    pid: number | null; comm: string | null; kernel_thread: boolean | null; cgroup: string | null;
    pages: string | null; file_device: string | null; inode: number | null; file: string | null;
}

/**
 * In what respect how many of the slow IOs are alike, and the share of all IOs with this value: null if
 * that is not counted.
 */
export interface Common { by: string; value: string; ios: number; of: number; share_of_all: number | null; p: number | null }

/** Those that failed and the slowest ones; @found is how many were found. */
export interface Slow { found: number; common: Common[]; ios: SlowIo[] }

/** What was counted for IOs that have not ended. */
export interface Partial { op: string; bytes: number; errors: number }

/**
 * Which part of a divided watch: { by: "size", label: "4 KiB" }; for a cgroup, whose label is a path,
 * also the names in it.
 */
export interface Part { by: string; label: string; container?: string; pod?: string; namespace?: string; unit?: string }

/** Shares of the whole; null: the whole has none. */
export interface Shares { ios: number | null; bytes: number | null; time: number | null }

/** How many times as long as IOs beside nothing, or beside reads alone; @base is the label of that part. */
export type Against = Record<Quantile, number> & { base: string };

/** An op of a part: without steady, but with its share of the whole's. All of the others are absent in a live page. */
export type PartOp = Omit<Op, "steady"> & {
    of_whole: Shares;
    /** The total time of the IOs that ended in each interval. */
    time_s?: number[];
    /** Too few IOs for a percentile. */
    few?: boolean;
    /** Only if IOs are divided by what they run beside; null: too few, here or in the base. */
    against?: Against | null;
};

/** All ops together. */
export interface AllOps extends Pick<Total, "ios" | "bytes" | "errors" | "iops" | "bytes_per_s"> {
    time_s: number; latency_ns: Latency; of_whole: Shares; few: boolean;
    /** In a window of the page: the time of the whole run, by which colours are given. */
    rank_s?: number;
    /** Only by cgroup or process; null: no IO in that interval. */
    percentiles_ns?: Record<Percentile, (number | null)[]>;
    /** Only by depth: the device's rates at these depths; null: the depths have no upper end. */
    by_little?: { iops_least: number; iops_most: number | null; bytes_per_s_least: number; bytes_per_s_most: number | null } | null;
}

/** A part has no accounting. all_ops is null if it had no IO, and absent in a live page. */
export type PartWatch = Omit<Watch, "accounting" | "ops" | "parts"> & { part: Part; all_ops?: AllOps | null; ops: PartOp[] };

export interface Watch {
    device: string; stage: string; gone: boolean;
    queue_depth: number[]; in_flight: number[]; oldest_ns: number[];
    /** The share of each interval in which an IO was in flight, and that of the active window; absent where not known, the latter also in a live page. */
    busy?: number[]; busy_mean?: number;
    /** How long the device was there in each interval; only in a live page. */
    there_s?: number[];
    /** The intervals between are those for all of which it was there; absent in a live page. */
    there_from_s?: number; there_to_s?: number;
    accounting: Accounting;
    partial?: Partial[];
    /** Absent if none were looked for. */
    slow?: Slow;
    ops: Op[];
    /** The parts that it is divided into, in order; absent if it is not divided. In the document they follow it. */
    parts?: PartWatch[];
}

export interface Device {
    name: string; kind: string; model: string; mapper: string; scheduler: string;
    size_bytes: number; lower: string[];
    /** What is known of it. */
    identity?: { serial?: string; wwid?: string; firmware?: string; path?: string };
}

export interface Stack {
    upper: string; upper_stage: string; members: string[]; queue_depth: Record<string, number>;
    ops: { op: string; overhead_ns: Record<string, number>; upper_ios: number; member_ios: number }[];
}

/** @also: those alike, of other devices, which its text names. */
export interface Finding {
    kind: string; grade: "wrong" | "differs" | "well"; also: Omit<Finding, "also">[]; device: string; stage: string; op: string | null;
    from_s: number; to_s: number; text: string; rule: string; values: Record<string, number>;
}

/** The window of the rates: from the first IO to the last, or as asked by --from and --to. */
export interface Active { from_s: number; to_s: number; left_out: number; asked: boolean }

export interface Mark { t_s: number; text: string }

/** An op in a phase: the same figures as in a run, and its bins. */
export interface PhaseOp extends Total { op: string; bins: Bin[] }

/** The time between two marks. Its figures cover this many intervals, which last length_s in all. */
export interface Phase {
    name: string; from_s: number; to_s: number; intervals: number; length_s: number;
    /** No interval lies in it completely. */
    partial: boolean;
    watches: { device: string; stage: string; part?: Part; queue_depth: number; ops: PhaseOp[] }[];
}

export interface Run {
    /** What it is called among all runs. */
    name: string; file: string; label: string; host: string; kernel: string; engine: string; version: string;
    command: string; start: string; finished: boolean;
    /** merged: up to this many intervals of the recording are one here; absent in a live page. */
    interval_s: number; merged?: number; idle_gap_s: number; scale: number; duration_s: number;
    /** Program runs that the kernel skipped; what they missed is unknown. */
    skipped_unexplained: number;
    start_s: number[]; length_s: number[];
    /** Absent while a run is in progress. */
    active?: Active;
    /** Absent in a live page. */
    phases?: Phase[]; phases_left_out?: number;
    marks: Mark[]; devices: Device[]; watches: Watch[]; stacks: Stack[]; findings: Finding[];
}

/** @findings: what differs between the runs. */
export interface Document { schema: number; generator: string; runs: Run[]; findings: Finding[] }

/** The runs of a document, if this page can read it. */
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
