// SPDX-License-Identifier: GPL-2.0-only
// The section about divided IOs: charts and tables that suit the kind of division, and what they show.
import { besideTables } from "./beside_table";
import type { ChartConfig } from "./chart";
import { doneByDepth, iopsByDepth, latencyByDepth } from "./charts/depth";
import { type OwnerFigure, ownersOverTime } from "./charts/owners";
import { byWords, dividedLines, partsHeat, partsLatency, partsOverTime } from "./charts/parts";
import type { Window } from "./charts/times";
import type { Part, Percentile } from "./data";
import { choice, el } from "./dom";
import { firstOf, type Line } from "./lines";
import { OWNERS_FIRST, ownerTable } from "./owner_table";
import { haveOwners, type Ownership, ownerships } from "./owners";
import { OF } from "./page";
import type { Plot } from "./plot";
import type { Theme } from "./theme";
import { windowed, withParts } from "./windowed";

const SMALL = 240;

const PERCENTILES: Percentile[] = ["p50", "p90", "p99", "p99.9"];

function asChoices<T extends string>(all: T[]): [T, T][] {
    return all.map((one) => [one, one]);
}

/** What the section needs from its page. */
export interface Host {
    lines: Line[];
    /** The configuration of charts over time. */
    time: Partial<ChartConfig>;
    theme(): Theme;
    window(): Window;
    chart(id: string, make: () => Plot, config?: Partial<ChartConfig>): void;
    redraw(ids: string[]): void;
    figures(...ids: string[]): HTMLElement[];
    /** A plot over time; the notes of its lines are of the whole run, so while a window is set it has none. */
    noted(plot: Plot): Plot;
}

/** A list to choose a line from, or something else with a key and a name. */
export function select<T extends { key: string; name: string }>(label: string, all: T[], chosen: T | undefined, choose: (one: T) => void): HTMLElement {
    const made = el("select", { "aria-label": label, change: () => choose(all[made.selectedIndex]) },
        ...all.map(({ key, name }) => el("option", { value: key }, name)));
    made.value = chosen?.key ?? "";
    return made;
}

export class PartsSection {
    readonly title: string;
    private readonly part: Part;
    private readonly by: string;
    private readonly lines: Line[];
    private divided: Line;
    private percentile: Percentile = "p99";
    private readonly owners: Ownership[];
    private owned: Ownership;
    private figure: OwnerFigure = "time_s";
    private readonly ownerOrder = { ...OWNERS_FIRST };
    private readonly ownerPlace = el("div");
    private readonly beside = el("div");

    /**
     * @lines: lines that are divided in the same way, at least one; @others: whether there is an earlier such section.
     */
    constructor(private readonly host: Host, lines: Line[], private readonly others: boolean) {
        this.lines = lines;
        this.divided = firstOf(this.lines) ?? this.lines[0];
        this.part = this.divided.watch.parts![0].part;
        this.by = this.part.by;
        this.title = `By ${byWords(this.part)}`;
        this.owners = ownerships(this.lines);
        this.owned = this.owners.find(({ line }) => line.watch === this.divided.watch)!;
        this.charts();
    }

    private charts(): void {
        const { host, by, lines } = this, now = () => lines.map((line) => line.on ? withParts(windowed(line, host.window()), host.window()) : line), [latency, heat, time, owners] = this.ids("parts-latency", "parts-heat", "parts-time", "owners");
        if (by === "depth") {
            host.chart("depth-latency", () => latencyByDepth(now()), { group: "depth" });
            host.chart("depth-iops", () => iopsByDepth(now()), { group: "depth", height: SMALL, half: true });
            host.chart("depth-done", () => doneByDepth(now()), { group: "depth", height: SMALL, half: true });
        } else {
            host.chart(latency, () => partsLatency(now(), this.percentile));
        }
        if (haveOwners(this.part))
            host.chart(owners, () => ownersOverTime(lines, this.ownedNow(), this.figure), { ...host.time, tools: [this.figureChoice()] });
        host.chart(heat, () => partsHeat(withParts(this.divided, host.window())), { height: 380 });
        host.chart(time, () => host.noted(partsOverTime(lines, this.divided, this.percentile)), host.time);
    }

    /** The ids of this section's charts. */
    private ids(...names: string[]): string[] {
        return names.map((name) => this.others ? `${name}${OF}${this.by}` : name);
    }

    private redraw(...names: string[]): void {
        this.host.redraw(this.ids(...names));
    }

    private figureChoice(): HTMLElement {
        return choice<OwnerFigure>("figure of the owners", [["time_s", "Time"], ["ios", "IOPS"], ["bytes", "MB/s"], ...asChoices(PERCENTILES)], this.figure, (figure) => {
            this.figure = figure;
            this.redraw("owners");
            this.show();
        });
    }

    private tools(): HTMLElement {
        return el("p", { class: "window" }, select("line of the parts", this.lines, this.divided, (line) => {
            this.divided = line;
            this.redraw("parts-heat", "parts-time");
        }), " ", choice("percentile of the parts", asChoices(PERCENTILES), this.percentile, (q) => {
            this.percentile = q;
            this.redraw(...this.by === "depth" ? [] : ["parts-latency"], "parts-time");
        }));
    }

    /** The owners, before the charts: who, how much, when. */
    private ownersFirst(): HTMLElement[] {
        return [
            el("p", { class: "window" }, select("owners of", this.owners, this.owned, (one) => {
                this.owned = one;
                this.redraw("owners");
                this.show();
            })),
            this.ownerPlace, ...this.host.figures(...this.ids("owners")),
        ];
    }

    elements(): HTMLElement[] {
        const { host, by } = this, [heat, time] = host.figures(...this.ids("parts-heat", "parts-time"));
        const latency = by === "depth" ? [] : host.figures(...this.ids("parts-latency"));
        const before = haveOwners(this.part) ? this.ownersFirst() : by === "beside" ? [this.beside]
            : by === "depth" ? [...host.figures("depth-latency"), el("div", { class: "pairs" }, ...host.figures("depth-iops", "depth-done"))] : [];
        return [...before, this.tools(), ...latency, heat, time];
    }

    /** The owners, as they were in the page's window. */
    private ownedNow(): Ownership {
        const window = this.host.window();
        return window ? { ...this.owned, line: withParts(this.owned.line, window), whole: this.owned } : this.owned;
    }

    /** Makes the tables again, as other lines or another window are shown or the theme has changed. */
    show(): void {
        if (haveOwners(this.part))
            this.ownerPlace.replaceChildren(ownerTable(this.ownedNow(), this.figure, this.host.theme(), this.ownerOrder));
        if (this.by === "beside")
            this.beside.replaceChildren(...besideTables(this.lines.map((line) => withParts(line, this.host.window()))));
    }

    /** The charts that show the window's IOs, but not over time. */
    redrawWindow(): void {
        this.host.redraw([...this.ids("parts-heat"), ...this.by === "depth" ? ["depth-latency", "depth-iops", "depth-done"] : this.ids("parts-latency")]);
    }
}

/** A section for each kind of division; runs may differ in it. */
export function partsSections(host: Host): PartsSection[] {
    return Object.values(dividedLines(host.lines)).map((lines, i) => new PartsSection(host, lines, i > 0));
}
