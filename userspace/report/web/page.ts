// SPDX-License-Identifier: GPL-2.0-only
// The common part of the report and the live page: charts of the same lines, their switches and themes.
// Charts are told to redraw, never how.
import { type Axis, timeAxis } from "./axes";
import { Chart, type ChartConfig } from "./chart";
import { distribution } from "./charts/distribution";
import { heatMap } from "./charts/heat";
import { iops } from "./charts/iops";
import { busy, inFlight, oldest, queueDepth, throughput } from "./charts/load";
import { ninesChart, percentile } from "./charts/percentile";
import type { Window } from "./charts/times";
import type { Weight } from "./curves";
import { button, choice, el } from "./dom";
import { contextOf, fileName, type Line } from "./lines";
import type { Panel, Places } from "./panel";
import type { Plot } from "./plot";
import { Schedule } from "./schedule";
import { dark, light, type Theme } from "./theme";
import { windowed } from "./windowed";

const SMALL = 240;
export const LOAD = ["depth", "busy", "throughput", "flight", "oldest"];
const TIME = ["iops", "heat", ...LOAD, "parts-time", "owners", "slow"];
/** Separates a chart's name from its subject, if there are several charts of this name. */
export const OF = "_of_";
const WEIGHED = ["percentile", "nines"];
export const LATENCY = ["distribution", ...WEIGHED];
const DARK = matchMedia("(prefers-color-scheme: dark)");

export function section(title: string, ...content: Node[]): HTMLElement {
    return el("section", {}, el("h2", {}, title), ...content);
}

export abstract class Page {
    readonly charts: Record<string, Chart> = {};
    theme: Theme = DARK.matches ? dark : light;
    protected panel: Panel | null = null;
    protected readonly legend: Places = { switches: el("div"), folded: el("span", { class: "keys" }), paper: el("p", { class: "keys paper" }) };
    protected readonly state = { log: false, pauses: false, weight: "ios" as Weight };
    /** The configuration of charts over time. */
    protected readonly time: Partial<ChartConfig> = { group: "time", zoomed: (x) => this.zoomTime(x) };
    /**
     * The window that all charts over time show, and that rates cover; null: all of the time, and rates
     * over each run's active window.
     */
    protected window: Window = null;
    /** The axis of charts over time, and of all times in their texts. */
    protected clock: Axis = timeAxis;
    private schedule!: Schedule;

    /** @lines: the lines of all charts; their contents may change, the array stays the same. */
    protected constructor(readonly lines: Line[]) {}

    /** The line that the heat map shows. */
    protected abstract heatLine(): Line | undefined;

    /** The lines that the charts of latency show: as they were in the window. */
    protected latencyLines(): Line[] {
        return this.lines.map((line) => windowed(line, this.window));
    }

    /** Assembles the page once its charts are made. */
    protected show(...content: Node[]): void {
        document.body.replaceChildren(...content);
        this.setTheme(this.theme);
        this.schedule = new Schedule(Object.values(this.charts), this.theme);
        this.listen();
    }

    // --- charts

    protected chart(id: string, make: () => Plot, config: Partial<ChartConfig> = {}): void {
        const { lines } = this;
        this.charts[id] = new Chart({ id, make, get context() { return contextOf(lines); }, get file() { return fileName(lines); }, lift: (colours) => this.lift(colours), ...config });
    }

    /** @tools: to be shown beside the distribution's axis. */
    protected latencyCharts(...tools: HTMLElement[]): void {
        const { state } = this;
        const axis = choice("vertical axis", [["linear", "Linear"], ["log", "Logarithmic"]], "linear", (value) => {
            state.log = value === "log";
            this.redraw(["distribution"]);
        });
        const weight = choice("weight", [["ios", "IO-weighted"], ["time", "Time-weighted"]], "ios", (value: Weight) => {
            state.weight = value;
            this.redraw(WEIGHED);
        });
        this.chart("distribution", () => distribution(this.latencyLines(), state), { tools: [axis, ...tools], height: 310 });
        this.chart("percentile", () => percentile(this.latencyLines(), state.weight), { tools: [weight], zoomY: true, half: true, height: 270 });
        this.chart("nines", () => ninesChart(this.latencyLines(), state.weight), { zoomY: true, half: true, height: 270 });
    }

    /** @tools: for the heat map. */
    protected timeCharts(...tools: HTMLElement[]): void {
        const { lines, time } = this;
        this.chart("iops", () => iops(lines, "run", this.window, this.clock), { ...time, each: true });
        this.chart("heat", () => heatMap(lines, this.heatLine(), this.clock), { ...time, tools, height: 320 });
        // Of a live page nothing is known yet.
        const counted = !lines.length || lines.some(({ watch }) => watch.busy);
        for (const [id, make] of Object.entries({ depth: queueDepth, ...counted && { busy }, throughput, flight: inFlight, oldest }))
            this.chart(id, () => make(lines, this.window, this.clock), { ...time, height: SMALL, half: true });
    }

    /** All charts over the same time show the same window and its figures. */
    protected zoomTime(x: Window): void {
        this.window = x;
        const all = Object.keys(this.charts).filter((id) => TIME.includes(id.split(OF)[0]));
        for (const id of all)
            this.charts[id].zoom = { x, y: null };
        this.redraw([...all, ...LATENCY]);
    }

    /** Makes lines stand out in all charts, by their colours; null: none. */
    protected lift(colours: Set<number> | null): void {
        Object.values(this.charts).forEach((chart) => chart.lift(colours));
    }

    // --- parts of the layout

    /** Those that there are. */
    protected figures(...ids: string[]): HTMLElement[] {
        return ids.flatMap((id) => this.charts[id]?.figure ?? []);
    }

    /** Charts side by side, if there is room. */
    protected pairs(...ids: string[]): HTMLElement {
        return el("div", { class: `pairs of-${ids.length}` }, ...this.figures(...ids));
    }

    protected themeButton(): HTMLElement {
        return button("Light / dark", () => this.dress(this.theme === light ? dark : light), { class: "theme" });
    }

    /** Always visible: open if it fits beside the charts, folded if it would cover them. */
    protected aside(): HTMLElement {
        const { switches, folded, paper } = this.legend;
        return el("aside", { "aria-label": "legend" },
            el("details", { open: matchMedia("(min-width: 60rem)").matches }, el("summary", {}, "Lines ", folded), switches), paper);
    }

    // --- the look

    private setTheme(theme: Theme): void {
        this.theme = theme;
        document.documentElement.dataset.theme = theme.name;
        this.panel?.dress(theme);
    }

    private dress(theme: Theme): void {
        this.setTheme(theme);
        this.redraw();
    }

    protected redraw(ids?: string[]): void {
        if (this.charts.busy)
            this.charts.busy.figure.hidden = !this.lines.some(({ on, watch }) => on && watch.busy);
        this.schedule.redraw(this.theme, ids?.map((id) => this.charts[id]));
    }

    private listen(): void {
        DARK.addEventListener("change", (event) => this.dress(event.matches ? dark : light));
        let width = innerWidth;
        addEventListener("resize", () => {
            if (innerWidth !== width)
                this.redraw();
            width = innerWidth;
        });
    }
}
