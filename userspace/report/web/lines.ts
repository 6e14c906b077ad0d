// SPDX-License-Identifier: GPL-2.0-only
// Every run, device, stage and op is a line: its name, its look, whether it is shown.
import { type Op, OPS, type Run, type Watch } from "./data";
import { light } from "./theme";

/** How a line looks: an index into the palette, and dashes. @own: only its chart has it, and not the page's legend. */
export interface Look { colour: number; dash: number[]; own?: boolean }

export interface Line {
    key: string;
    run: Run; watch: Watch; op: Op;
    runName: string;
    /** What distinguishes it from the others: "QD 32 · sda · read". */
    name: string;
    /** The same without the op, for figures of the device as a whole. */
    source: string;
    look: Look;
    sourceLook: Look;
    on: boolean;
}

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2]];
/** An op with a smaller share of a device's IOs, such as a few flushes among writes, is not shown at first. */
const FEW = 0.001;
/** If there are more lines than this, only the main ones are shown at first. */
const MANY = 8;

function differ(values: string[]): boolean {
    return new Set(values).size > 1;
}

function joined(parts: (string | false)[]): string {
    return parts.filter(Boolean).join(" · ");
}

export function makeLines(runs: Run[]): Line[] {
    const lines: Line[] = [];
    const all = runs.flatMap((run) => run.watches.map((watch) => ({ run, watch, runName: run.name })));
    const many = runs.length > 1, ops = differ(all.flatMap((s) => s.watch.ops.map((op) => op.op)));
    const devices = differ(all.map((s) => s.watch.device)), stages = differ(all.map((s) => s.watch.stage));
    all.forEach(({ run, watch, runName }, s) => {
        const source = joined([many && runName, (devices || !many) && watch.device, stages && watch.stage]);
        const first = lines.length, ofAll = watch.ops.reduce((sum, o) => sum + o.total.ios, 0);
        for (const op of watch.ops) {
            const dash = OPS.includes(op.op) ? OPS.indexOf(op.op) : OPS.length - 1;
            lines.push({
                key: `${s}/${op.op}`, run, watch, op, runName, source,
                name: joined([many && runName, devices && watch.device, stages && watch.stage, op.op]),
                // Each line has its own colour, since dots have no dashes. With several devices, dashes show the op or,
                // if there is only one op, the device: otherwise equal members would hide each other.
                look: { colour: lines.length, dash: all.length === 1 ? [] : DASHES[(ops ? dash : s) % DASHES.length] },
                sourceLook: { colour: first, dash: [] },
                on: op.total.ios > FEW * ofAll,
            });
        }
    });
    const taken = new Set<string>(), name = ({ colour, dash }: Look) => `${colour % light.lines.length}/${dash}`;
    for (const { look } of lines) {
        for (let i = DASHES.length; i && taken.has(name(look)); i--)
            look.dash = DASHES[(DASHES.findIndex((dash) => String(dash) === String(look.dash)) + 1) % DASHES.length];
        taken.add(name(look));
    }
    for (const { sourceLook } of lines)
        sourceLook.dash = DASHES[Math.floor(sourceLook.colour / light.lines.length) % DASHES.length];
    if (lines.filter((line) => line.on).length > MANY)
        for (const line of lines)
            line.on &&= !["queue", "wait"].includes(line.watch.stage) && (line.op.op === "read" || line.op.op === "write");
    return lines;
}

/** The line to look at first: the one that the worst finding is about, if something is wrong, else the first one shown. */
export function firstOf(lines: Line[]): Line | undefined {
    const shown = lines.filter((line) => line.on), bad = [...new Set(shown.map(({ run }) => run))].flatMap(({ findings }) => findings.filter(({ grade }) => grade === "wrong"));
    const about = bad.map((f) => shown.find(({ run, watch, op }) => run.findings.includes(f) && watch.device === f.device && watch.stage === f.stage && (f.op ?? op.op) === op.op));
    return about.find(Boolean) ?? shown[0];
}

/** What all lines share, and is therefore left out of their names: "QD 32 · nvme0n1". */
export function contextOf(lines: Line[]): string {
    const one = (of: (line: Line) => string) => !differ(lines.map(of)) && lines.length > 0 && of(lines[0]);
    return joined([one((line) => line.runName), one((line) => line.watch.device)]);
}

/** For the names of files: the runs whose lines are shown, "QD-32", "a-b-c" or "a-and-9-more". */
export function fileName(lines: Line[]): string {
    const runs = [...new Set(lines.filter((line) => line.on).map((line) => line.runName.replace(/\.blklat$/, "")))];
    return (runs.length > 3 ? [runs[0], `and-${runs.length - 1}-more`] : runs).join("-").replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
}

/** The lines, of which those of one run are shown, for a chart of that run alone; undefined: none. */
export function onlyOf(lines: Line[], run: Run | undefined): Line[] {
    return lines.map((line) => ({ ...line, on: line.run === run }));
}

/** The first line shown of each watch, which represents the device as a whole. */
export function sources(lines: Line[]): Line[] {
    return lines.filter((line, i) => line.on && lines.findIndex((other) => other.on && other.watch === line.watch) === i);
}
