// SPDX-License-Identifier: GPL-2.0-only
// The page's words and tables: the runs, the findings, the table of figures, members and array.
import { byWords, dividedLines, partsOf, ranked } from "./charts/parts";
import { phaseName, phasesOf } from "./charts/phases";
import { inside, overlaps, rateIn, type Window } from "./charts/times";
import { consistency } from "./curves";
import { type Finding, type Heat, type Quantile, QUANTILES, type Run, type Stack, STAGES, type Total, type Watch } from "./data";
import { button, el, table } from "./dom";
import { amount, bytes, count, ioSize, latency, megabytes, moment, percent, seconds } from "./format";
import type { Line } from "./lines";
import type { Span } from "./plot";
import { type Order, sortable } from "./sortable";
import type { Theme } from "./theme";
import { swatch } from "./tip";
import { coveredBy, togetherAt, windowed, withParts } from "./windowed";

const NAMES = Object.keys(QUANTILES) as Quantile[];
const PART_LEVELS = ["mean", "p50", "p90", "p99", "p99.9", "max"] as const;

function scrolled(label: string, content: HTMLElement): HTMLElement {
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
}

/** Devices that are alike are listed together, each with what tells it from the others. */
function device(run: Run): string {
    const watched = new Set(run.watches.map((watch) => watch.device)), alike = new Map<string, string[]>();
    for (const d of run.devices.filter(({ name }) => watched.has(name))) {
        const id = d.identity?.serial ?? d.identity?.wwid;
        const facts = listed(d.mapper, d.model || d.kind, d.identity?.firmware && `firmware ${d.identity.firmware}`, d.size_bytes > 0 && bytes(d.size_bytes), d.scheduler && `scheduler ${d.scheduler}`,
            d.lower.length > 0 && `on ${d.lower.join(", ")}`);
        alike.set(facts, [...alike.get(facts) ?? [], id ? `${d.name} [${id}]` : d.name]);
    }
    return [...alike].map(([facts, names]) => names.join(", ") + (facts && ` (${names.length > 1 ? "each " : ""}${facts})`)).join("; ");
}

function listed(...parts: (string | false | undefined)[]): string {
    return parts.filter(Boolean).join(", ");
}

export function runsTable(runs: Run[]): HTMLElement {
    return scrolled("Runs", table("Runs", ["run", "devices", "begin", "length", "machine", "engine", "command"], runs.map((run) => [
        run.name, device(run), moment(run.start),
        listed(seconds(run.duration_s), `${run.start_s.length} intervals`, (run.merged ?? 1) > 1 && `up to ${run.merged} merged into one`, !run.finished && "cut off"),
        listed(run.host, run.kernel && `Linux ${run.kernel}`), listed(run.engine, run.version && `blklat ${run.version}`), run.command,
    ])));
}

/** Says which window each run's rates are over, if nobody has chosen one. */
export function activeWords(runs: Run[]): string {
    const busy = runs.filter(({ watches }) => watches.some(({ ops }) => ops.length));
    const words = busy.map(({ active: a }) => a ? `${seconds(a.from_s)} to ${seconds(a.to_s)}` : "all of it");
    const said = new Set(words).size === 1 ? [words[0]] : words.length > 4 ? ["each run's own time"] : words.map((word, r) => `${busy[r].name} ${word}`);
    const over = said.join("; "), how = busy.some(({ active: a }) => a?.asked) ? "as asked" : "from the first IO to the last";
    if (!busy.length)
        return "There is no IO.";
    return `Rates are over ${over}, ${how}. Drag across a chart over time to choose a window.`;
}

/** The names of values contain their units. */
function value(name: string, v: number): string {
    if (name.endsWith("_ns"))
        return latency(v);
    if (name.endsWith("_s"))
        return seconds(v);
    return /share|fraction/.test(name) ? percent(v) : amount(v, 3);
}

/** Says what a chosen window moves, and how exactly. */
export function windowWords(lines: Line[], window: Span): string {
    const width = 2 ** 2 ** -Math.min(...lines.map(({ op }) => op.heat.scale)) - 1;
    const line = lines.find(({ on }) => on) ?? lines[0], part = line?.watch.parts?.flatMap(({ ops }) => ops)[0];
    const span = (heat: Heat) => coveredBy(line.run, heat, window).map(seconds).join(" to ");
    return `Charts, figures and findings are of this window; percentiles from ${span(line.op.heat)}${part ? ` (of parts ${span(part.heat)})` : ""}, of bins that are ${percent(width, 1)} wide.`;
}

type Show = (from: number, to: number) => void;

/** @window: what a finding's figures cover is said where that is more. */
function finding(f: Finding, show: Show, window: Window): HTMLElement {
    const values = Object.entries(f.values).map(([name, v]) => [name.replace(/_(ns|s)$/, "").replaceAll("_", " "), value(name, v)]);
    return el("li", { "data-kind": f.kind, "data-grade": f.grade }, el("p", {}, f.text,
        window && (f.from_s < window[0] || f.to_s > window[1]) && el("small", {}, ` (of ${seconds(f.from_s)} to ${seconds(f.to_s)})`)),
        f.also.length > 0 && el("details", { class: "others" }, el("summary", {}, f.also.length > 1 ? `The ${f.also.length} others` : "The other one"),
            ...f.also.map((one) => el("p", {}, one.text))),
        el("details", {}, el("summary", {}, "Rule and numbers"), el("p", {}, f.rule),
            values.length > 0 && table(`Numbers of: ${f.text}`, ["value", ""], values),
            f.to_s > f.from_s && button(`Show ${seconds(f.from_s)} to ${seconds(f.to_s)}`, () => show(f.from_s, f.to_s))));
}

/** Runs with which all is well, in one line; what each does is behind it. */
function steadyRuns(runs: { name: string; run: Run }[]): HTMLElement {
    const named = runs.map(({ name, run: { findings: [f, other] } }) => other || f.also.length ? name : `${name} (${amount(f.values.iops, 3)} IOPS)`);
    return el("ul", { class: "findings" }, el("li", { "data-grade": "well" },
        el("p", {}, `${runs.length} runs are steady: ${named.slice(0, -1).join(", ")} and ${named[named.length - 1]}`),
        el("details", {}, el("summary", {}, "Each run"), ...runs.flatMap(({ name, run }) => run.findings.map((f) => el("p", {}, `${name}: ${f.text}`))))));
}

/** As many findings are in sight at once; the others are behind a line. */
const AT_ONCE = 6;

/**
 * What is wrong comes first, of each run; then what was found @between the runs; then the rest, and what is well in all runs last.
 * What is about another time than the window's is only counted.
 */
export function findings(between: Finding[], all: Run[], show: Show, window: Window): HTMLElement[] {
    const inside = (found: Finding[]) => found.filter((f) => overlaps(f, window) || f.also.some((one) => overlaps(one, window)));
    const runs = all.map((run) => ({ ...run, findings: inside(run.findings) })), count = (of: Run[]) => of.reduce((n, run) => n + run.findings.length, 0);
    const outside = count(all) - count(runs), made = sorted(inside(between), runs, show, window);
    let left = AT_ONCE;
    const first = made.filter((one) => (left -= one.tagName === "UL" ? 1 : 0) >= 0);
    if (first.length < made.length && first[first.length - 1].tagName === "H3")
        first.pop();    // whose findings are not among them
    const rest = made.slice(first.length);
    const more = rest.filter((one) => one.tagName === "UL").length;
    return [...first, ...more ? [el("details", { class: "rest" }, el("summary", {}, `${more} more`), ...rest)] : rest,
        ...outside ? [el("p", { class: "hint outside" }, `Outside of the window: ${outside === 1 ? "1 finding" : `${outside} findings`}.`)] : []];
}

function sorted(between: Finding[], runs: Run[], show: Show, window: Window): HTMLElement[] {
    const list = (found: Finding[]) => found.map((f) => el("ul", { class: "findings" }, finding(f, show, window)));
    const grades = ["wrong", "differs", "well"];
    const all = runs.map((run) => ({ name: run.name, run, worst: Math.min(grades.length, ...run.findings.map((f) => grades.indexOf(f.grade))) }))
        .sort((a, b) => a.worst - b.worst);
    const well = all.filter(({ worst }) => worst === 2), folded = well.length > 1, none = all.filter(({ worst }) => worst === grades.length);
    const titled = (title: string, found: Finding[]) => found.length ? [...runs.length > 1 ? [el("h3", {}, title)] : [], ...list(found)] : [];
    const wrong = (is: boolean) => all.filter((one) => !(folded && well.includes(one)))
        .flatMap(({ name, run }) => titled(name, run.findings.filter(({ grade }) => (grade === "wrong") === is)));
    const worst = wrong(true);
    return [...worst, ...worst.length ? titled("The runs compared", between) : list(between), ...wrong(false), ...folded ? [steadyRuns(well)] : [], ...none.length ? [el("p", { class: "hint" }, `Nothing was found${none.length < runs.length ? ` in ${none.map(({ name }) => name).join(", ")}` : ""}.`)] : []];
}

/** The marks noted during the recording; charts have room only for the beginning of each text. */
export function marks(runs: Run[], show: (t_s: number) => void): HTMLElement[] {
    const many = runs.length > 1, all = runs.flatMap((run) => run.marks.map((mark) => ({ ...mark, run: run.name })));
    const made = table("Marks", ["at", ...many ? ["run"] : [], "mark"], all.map((mark) => [seconds(mark.t_s), ...many ? [mark.run] : [], mark.text]));
    all.forEach((mark, i) => made.tBodies[0].rows[i].cells[0].replaceChildren(button(seconds(mark.t_s), () => show(mark.t_s), { title: "from here to the next mark" })));
    return all.length ? [el("h3", { class: "sub" }, "Marks"), scrolled("Marks", made)] : [];
}

function lost({ accounting }: Watch): string {
    const by = Object.entries(accounting.lost_by).filter(([, n]) => n > 0).map(([reason, n]) => `${reason} ${count(n)}`);
    return count(accounting.lost) + (by.length ? ` (${by.join(", ")})` : "");
}

/** What is in no line: bytes and errors of IOs that had not ended, and skipped programs. */
export function leftOver(runs: Run[]): HTMLElement[] {
    const hint = (r: number, text: string) => el("p", { class: "hint" }, `${runs.length > 1 ? `${runs[r].name}: ` : ""}${text}`);
    return runs.flatMap((run, r) => [
        ...run.watches.flatMap(({ device, stage, partial }) => (partial ?? []).map((p) => hint(r,
            `${device} ${stage}, ${p.op}: besides, ${listed(counted(p.bytes, "byte"), p.errors > 0 && counted(p.errors, "error"))} of IOs that have not ended.`))),
        ...run.skipped_unexplained > 0 ? [hint(r, `The kernel skipped ${counted(run.skipped_unexplained, "program run")}, ` + (agreesWithKernel(run) ?
            "and nothing was missed at stage device: the kernel's statistics have as many IOs." :
            "and what was missed is not known: IOs of any device may be absent."))] : [],
    ]);
}

/** As frames_agree_with_kernel() in userspace/core/frame.c. */
function agreesWithKernel({ watches }: Run): boolean {
    const device = watches.filter(({ stage }) => stage === "device").map(({ accounting }) => accounting);
    return device.length > 0 && device.every((a) => a.moved === 0 && a.lost === 0 && a.kernel_ios === a.completed);
}

function counted(n: number, what: string): string {
    return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** The name of each line in tables: with its run if there are several, and then without the device if there is one. */
function lineNames(lines: Line[]): string[] {
    const watch = ({ watch: { device, stage } }: Line) => `${device} ${stage}`, differ = (of: (line: Line) => unknown) => lines.some((line) => of(line) !== of(lines[0]));
    const manyRuns = differ(({ run }) => run), manyWatches = !manyRuns || differ(watch);
    return lines.map((line) => [...manyRuns ? [line.runName] : [], ...manyWatches ? [watch(line)] : [], line.op.op].join(" · "));
}

/** The figures of a line that are known by interval. An op's share of the queue depth is not. */
function movedOf({ run, watch, op }: Line, window: Window): Pick<Total, "ios" | "iops" | "iops_deviation" | "iops_worst" | "bytes_per_s" | "queue_depth" | "errors"> & { max: number } {
    if (!window)
        return { ...op.total, max: op.total.latency_ns?.max ?? NaN };
    const all = inside(run, window), c = consistency(run, op.ios, ...window, watch), depth = rateIn(run, window, (i) => watch.queue_depth[i] * run.length_s[i]);
    return {
        ios: all.reduce((sum, i) => sum + op.ios[i], 0), errors: all.reduce((sum, i) => sum + (op.errors?.[i] ?? 0), 0), max: all.reduce((most, i) => Math.max(most, op.max_ns[i] ?? 0), 0) || NaN,
        iops: c?.iops_mean ?? NaN, iops_deviation: c?.iops_deviation ?? NaN, iops_worst: c?.iops_worst ?? NaN,
        bytes_per_s: rateIn(run, window, (i) => op.bytes[i]), queue_depth: watch.ops.length === 1 ? depth : NaN,
    };
}

/**
 * The table of all lines, shown or not, each with its look, since the page's legend may be out of sight here. If there is a
 * window, its figures are of the window; of losses it is known that there are no more than in the whole run.
 */
export function totals(lines: Line[], theme: Theme, window: Window = null, order: Order = { by: -1, up: false }): HTMLElement {
    const names = lineNames(lines);
    const head = ["run, device, op", "IOs", "IOPS mean", "± deviation", "least", "MB/s", "mean", ...NAMES, "max", "mean queue depth", "errors", "lost"];
    const made = table("Each run, device, stage and op", head, lines.map((line, i) => {
        const l = windowed(line, window).op.total.latency_ns, r = movedOf(line, window), mb = r.bytes_per_s / 1e6;
        return [
            names[i],
            count(r.ios), amount(r.iops), amount(r.iops_deviation), amount(r.iops_worst), megabytes(mb),
            latency(l?.mean), ...NAMES.map((q) => latency(l?.[q])), latency(r.max), amount(r.queue_depth, 2),
            count(r.errors), window && line.watch.accounting.lost > 0 ? `≤ ${lost(line.watch)}` : lost(line.watch),
        ];
    }));
    lines.forEach(({ look }, i) => made.tBodies[0].rows[i].cells[0].prepend(swatch({ ...look, kind: "line" }, theme), " "));
    return scrolled("Figures", sortable(made, order));
}

/** The parts of all divided lines, with a table for each kind of division. */
export function partsTotals(all: Line[], window: Window = null): HTMLElement[] {
    const lines = all.map((line) => withParts(line, window)), names = lineNames(lines);
    return Object.values(dividedLines(lines)).flatMap((divided) => {
        const by = byWords(partsOf(divided[0])[0].part), levels = PART_LEVELS;
        const head = ["run, device, op", by, "IOs", "share of IOs", "share of bytes", "share of time", "mean size", "IOPS mean", "MB/s", ...levels, "errors"];
        const rows = divided.flatMap((line) => ranked(partsOf(line)).map((one) => {
            const { part, op: { total: t, of_whole: of } } = one, mb = t.bytes_per_s / 1e6;
            return [
                names[lines.indexOf(line)], part.label, count(t.ios), percent(of.ios ?? NaN), percent(of.bytes ?? NaN), percent(of.time ?? NaN), ioSize(t.bytes / t.ios),
                amount(t.iops), megabytes(mb), ...levels.map((level) => latency(t.latency_ns?.[level])), count(t.errors),
            ];
        }));
        return [el("h3", { class: "sub" }, `By ${by}`), scrolled(`Figures by ${by}`, table(`Each run, device, stage and op by ${by}`, head, rows, 2))];
    });
}

/** The phases of all lines, and a note on what is missing. */
export function phasesTable(lines: Line[], runs: Run[], window: Window): HTMLElement[] {
    const names = lineNames(lines), head = ["run, device, op", "phase", "from", "to", "IOPS", "MB/s", "mean queue depth", ...PART_LEVELS];
    const rows = lines.flatMap((line, i) => phasesOf(line, window).map((one, _, all) => {
        const { phase, op } = one, mb = op.bytes_per_s / 1e6;
        return [
            names[i], `${phaseName(one, all)}${phase.partial ? " (part of an interval)" : ""}`, seconds(phase.from_s), seconds(phase.to_s),
            amount(op.iops), megabytes(mb), amount(op.queue_depth, 2), ...PART_LEVELS.map((level) => latency(op.latency_ns?.[level])),
        ];
    }));
    const empty = runs.flatMap((run) => run.phases ?? []).filter((phase) => !phase.intervals).map((phase) => phase.name);
    const more = runs.reduce((sum, run) => sum + (run.phases_left_out ?? 0), 0);
    return [
        el("h3", { class: "sub" }, "Phases"), scrolled("Phases", table("Each run, device, stage and op by phase", head, rows, 2)),
        el("p", { class: "hint" }, listed("Rates of a phase are from its first IO to its last, figures of the intervals that lie in it whole", empty.length > 0 && `of which there is none in ${empty.slice(0, 5).join(", ")}${empty.length > 5 ? " ..." : ""}`,
            more > 0 && `${count(more)} more phases are not shown`) + "."),
    ];
}

/** Where the time of each line goes, a bar each; none if that is not known of any. */
export function timeShares(all: Line[]): HTMLElement[] {
    const lines = all.filter(({ op }) => op.total.shares), names = lineNames(lines);
    return lines.length ? [el("ul", { class: "shares" }, ...lines.map(({ op: { total: { shares } } }, i) => el("li", {}, el("span", {}, names[i]),
        el("span", { class: "track" }, ...STAGES.map((stage) => {
            const bar = el("span", { class: `bar ${stage}` });
            bar.style.width = `${100 * shares![stage]}%`;
            return bar;
        })),
        el("span", {}, ...STAGES.flatMap((stage) => [el("span", { class: `key ${stage}` }), `${stage} ${percent(shares![stage], 1)} `]), !shares!.exact && "(about)"))))] : [];
}

/** The mean queue depth of each device, which its latency does not tell. */
function depths(stack: Stack, depth: (name: string) => number): HTMLElement {
    const names = [stack.upper, ...stack.members].filter((name) => name in stack.queue_depth), most = Math.max(1e-9, ...names.map(depth));
    return el("ul", { class: "depths" }, ...names.map((name) => {
        const bar = el("span", { class: "bar" });
        bar.style.width = `${(100 * depth(name) / most).toFixed(1)}%`;
        return el("li", {}, el("span", {}, name), el("span", { class: "track" }, bar), el("b", {}, amount(depth(name), 2)));
    }));
}

const LAYER = { mean: NaN, p50: 0.5, p90: 0.9, p99: 0.99, "p99.9": 0.999 };

/** What the layer adds in the window: the figure of the upper device less that of all members' IOs, as stack.c computes it. */
export function overheads(stack: Stack, lines: Line[], window: Span): Stack["ops"] {
    return stack.ops.flatMap(({ op }) => {
        const of = (names: string[]) => lines.filter((line) => line.op.op === op && line.watch.stage === stack.upper_stage && names.includes(line.watch.device))
            .map((line) => windowed(line, window)).filter((line) => line.op.total.ios);
        const upper = of([stack.upper]), members = of(stack.members), ios = (all: Line[]) => all.reduce((sum, one) => sum + one.op.total.ios, 0);
        const mean = (all: Line[]) => all.reduce((sum, one) => sum + one.op.total.ios * one.op.total.latency_ns!.mean, 0) / ios(all);
        const added = (share: number) => Number.isNaN(share) ? mean(upper) - mean(members) : togetherAt(upper, share) - togetherAt(members, share);
        return upper.length && members.length ? [{ op, upper_ios: ios(upper), member_ios: ios(members),
            overhead_ns: Object.fromEntries(Object.entries(LAYER).map(([name, share]) => [name, added(share)])) }] : [];
    });
}

/** Members and array, for every run with a stack. */
export function stacks(lines: Line[], window: Window): HTMLElement[] {
    const runs = [...new Set(lines.map((line) => line.run))], levels = Object.keys(LAYER);
    return runs.flatMap((run) => run.stacks.map((stack) => {
        const of = lines.filter((line) => line.run === run), ops = window ? overheads(stack, of, window) : stack.ops;
        const watch = (name: string) => (of.find(({ watch: w }) => w.device === name && w.stage === stack.upper_stage) ?? of.find(({ watch: w }) => w.device === name))?.watch;
        const depth = (name: string) => window ? rateIn(run, window, (i) => (watch(name)?.queue_depth[i] ?? NaN) * run.length_s[i]) : stack.queue_depth[name];
        return el("article", { class: "stack" },
            el("h3", {}, `${runs.length > 1 ? `${of[0].runName}: ` : ""}${stack.upper} on ${stack.members.join(", ")}`),
            el("p", { class: "hint" }, stack.ops.length ? "What the layer adds: the upper device's latency less that of its members." :
                "What the layer adds can't be told: no op was measured of both at one stage. Record with the array and its disks named (not 'all'), or with --stage total."),
            scrolled(`${stack.upper}, overhead`, table(`Overhead of ${stack.upper}`, ["op", ...levels, "IOs above", "IOs below"],
                ops.map((o) => [o.op, ...levels.map((level) => latency(o.overhead_ns[level])), count(o.upper_ios), count(o.member_ios)]))),
            el("p", { class: "hint" }, "Mean queue depth of each device:"), depths(stack, depth));
    }));
}
