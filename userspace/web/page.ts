// SPDX-License-Identifier: GPL-2.0-only
// The page: layout, what is switched, the theme. Charts are told to redraw, never how.
import { Chart, type ChartConfig } from "./chart";
import { distribution } from "./charts/distribution";
import { heatMap } from "./charts/heat";
import { iops, type IopsView, windowOf, type Window } from "./charts/iops";
import { inFlight, oldest, queueDepth, throughput } from "./charts/load";
import { ninesChart, percentile } from "./charts/percentile";
import type { Weight } from "./curves";
import { type Document, Model } from "./data";
import { button, choice, el } from "./dom";
import { findings, marks, runsTable, stacks, totals } from "./figures";
import { contextOf, type Line, makeLines, runNames } from "./lines";
import { Panel } from "./panel";
import type { Plot, Span } from "./plot";
import { Schedule } from "./schedule";
import { dark, light, type Theme } from "./theme";

const SMALL = 240;
const TIME_GROUP = "time";

class Page {
    private readonly lines: Line[];
    private theme: Theme = light;
    private readonly charts: Record<string, Chart> = {};
    private readonly schedule: Schedule;
    private readonly panel: Panel;
    private state = { log: false, pauses: false, weight: "ios" as Weight, window: null as Window, heat: "" };

    constructor(readonly model: Model, private readonly generator: string) {
        this.lines = makeLines(model);
        this.makeCharts();
        const side = el("div");
        this.panel = new Panel(side, this.lines, () => this.redraw());
        document.title = `${runNames(model.runs).join(", ")} – block IO latency`;
        document.body.replaceChildren(this.header(), this.main(this.aside(side)), this.footer());
        this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? dark : light);
        this.schedule = new Schedule(Object.values(this.charts), this.theme);
        this.redraw();
        this.listen();
    }

    private chart(id: string, make: () => Plot, config: Partial<ChartConfig> = {}): void {
        this.charts[id] = new Chart({ id, make, context: contextOf(this.lines), ...config });
    }

    private makeCharts(): void {
        const { lines, state } = this, redraw = (...ids: string[]) => this.redraw(ids);
        const axis = choice("vertical axis", [["linear", "Linear"], ["log", "Logarithmic"]], "linear", (value) => {
            state.log = value === "log";
            redraw("distribution");
        });
        const weights = ["percentile", "nines"].map(() => choice("weight", [["ios", "IO-weighted"], ["time", "Time-weighted"]], "ios", (value) => this.weigh(value)));
        this.chart("distribution", () => distribution(lines, state), { tools: [axis, ...this.pauses()] });
        this.chart("percentile", () => percentile(lines, state.weight), { tools: [weights[0]], zoomY: true });
        this.chart("nines", () => ninesChart(lines, state.weight), { tools: [weights[1]], zoomY: true });
        const time = { group: TIME_GROUP, zoomed: (x: Span | null) => this.zoomTime(x) };
        this.chart("iops", () => iops(lines, "run", null), time);
        for (const view of ["steady-log", "steady-linear"] as IopsView[])
            this.chart(view, () => iops(lines, view, state.window), { height: 300 });
        this.chart("heat", () => heatMap(lines, this.heatLine()), { ...time, tools: [this.heatChoice()], height: 380 });
        for (const [id, make] of Object.entries({ depth: queueDepth, throughput, flight: inFlight, oldest }))
            this.chart(id, () => make(lines), { ...time, height: SMALL, half: true });
    }

    /** Offered only where a run has such IOs. */
    private pauses(): HTMLElement[] {
        if (!this.lines.some((line) => line.op.after_idle))
            return [];
        const toggle = button("First after a pause", () => {
            this.state.pauses = !this.state.pauses;
            toggle.setAttribute("aria-pressed", String(this.state.pauses));
            this.redraw(["distribution"]);
        }, { "aria-pressed": "false", "data-value": "pauses" });
        return [el("span", { class: "choice" }, toggle)];
    }

    /** Both charts show the same weight, each says so. */
    private weigh(weight: Weight): void {
        this.state.weight = weight;
        for (const id of ["percentile", "nines"])
            for (const b of this.charts[id].figure.querySelectorAll('[aria-label="weight"] button'))
                b.setAttribute("aria-pressed", String(b.getAttribute("data-value") === weight));
        this.redraw(["percentile", "nines"]);
    }

    private heatLine(): Line | undefined {
        return this.lines.find((line) => line.key === this.state.heat) ?? this.lines.find((line) => line.on);
    }

    private heatChoice(): HTMLElement {
        const select = el("select", { "aria-label": "line of the heat map", change: () => {
            this.state.heat = select.value;
            this.redraw(["heat"]);
        } }, ...this.lines.map((line) => el("option", { value: line.key }, line.name)));
        this.state.heat = select.value = this.lines.find((line) => line.on)?.key ?? "";
        return select;
    }

    /** The charts of the same time show the same part of it. */
    private zoomTime(x: Span | null): void {
        for (const id of ["iops", "heat", "depth", "throughput", "flight", "oldest"])
            this.charts[id].zoom = { x, y: null };
        this.redraw(["iops", "heat", "depth", "throughput", "flight", "oldest"]);
    }

    private steadyTools(): HTMLElement {
        const own = this.lines.filter((line) => line.on).map((line) => windowOf(line, null));
        const shown = (): Span => this.state.window ?? (own.length
            ? [Math.min(...own.map((w) => w[0])), Math.max(...own.map((w) => w[1]))] : [0, 1]);
        const field = (label: string, i: 0 | 1) => el("input", { type: "number", min: 0, step: "any", "aria-label": label, value: Number(shown()[i].toFixed(3)), change: () => set() });
        const from = field("steady state from, seconds", 0), to = field("steady state to, seconds", 1);
        const set = () => {
            const asked: Span = [from.valueAsNumber, to.valueAsNumber], good = asked[1] > asked[0];
            to.setCustomValidity(good ? "" : "the end lies after the beginning");
            to.reportValidity();
            if (good)
                use(asked);
        };
        const use = (window: Window) => {
            this.state.window = window;
            [from.value, to.value] = shown().map((s) => String(Number(s.toFixed(3))));
            this.redraw(["steady-log", "steady-linear"]);
        };
        return el("p", { class: "window" }, "From ", from, " s to ", to, " s ", button("As found", () => use(null)),
            el("span", { class: "hint" }, ` ${this.steadyRule()}`));
    }

    private steadyRule(): string {
        const rules = [...new Set(this.lines.flatMap((line) => line.op.steady ? [line.op.steady.rule] : []))];
        return rules.length ? `As found: ${rules.join(", ")}.` : "Too short a run to look for a steady state; its second half is shown.";
    }

    private header(): HTMLElement {
        const theme = button("Light / dark", () => {
            this.setTheme(this.theme === light ? dark : light);
            this.redraw();
        }, { class: "theme" });
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency"), theme), runsTable(this.model.runs));
    }

    private aside(panel: HTMLElement): HTMLElement {
        // Open where it stands beside the charts, folded where it would push them down.
        const fold = el("details", { open: matchMedia("(min-width: 60rem)").matches }, el("summary", {}, "Lines"), panel);
        return el("aside", { "aria-label": "lines shown" }, fold);
    }

    private main(aside: HTMLElement): HTMLElement {
        const { runs } = this.model, figures = (...ids: string[]) => ids.map((id) => this.charts[id].figure);
        const section = (title: string, ...content: Node[]) => el("section", {}, el("h2", {}, title), ...content);
        const show = (from: number, to: number) => {
            const pad = Math.max((to - from) / 4, 5);
            this.zoomTime([Math.max(0, from - pad), to + pad]);
            this.charts.iops.figure.scrollIntoView();
        };
        const stacked = stacks(runs);
        return el("main", {}, el("div", { class: "page" }, aside, el("div", {},
            section("Findings", ...findings(runs, show), ...marks(runs)),
            section("Latency", ...figures("distribution", "percentile", "nines")),
            section("Consistency", ...figures("iops"), el("h3", { class: "sub" }, "Steady state"), this.steadyTools(), ...figures("steady-log", "steady-linear")),
            section("Over time", ...figures("heat"), el("div", { class: "pairs" }, ...figures("depth", "throughput", "flight", "oldest"))))),
        el("div", { class: "wide" }, section("Figures", totals(this.lines)),
            ...stacked.length ? [section("Members and array", ...stacked)] : []));
    }

    private footer(): HTMLElement {
        return el("footer", {}, `${this.generator}. Percentiles are exact to a bin; means, minimum and maximum are exact. No IO is sampled.`);
    }

    private setTheme(theme: Theme): void {
        this.theme = theme;
        document.documentElement.dataset.theme = theme.name;
        this.panel.dress(theme);
    }

    private redraw(ids?: string[]): void {
        this.schedule.redraw(this.theme, ids?.map((id) => this.charts[id]));
    }

    private listen(): void {
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
            this.setTheme(event.matches ? dark : light);
            this.redraw();
        });
        let width = innerWidth;
        addEventListener("resize", () => {
            if (innerWidth !== width)
                this.redraw();
            width = innerWidth;
        });
        const print = () => Object.values(this.charts).forEach((chart) => chart.preparePrint());
        addEventListener("beforeprint", print);
        matchMedia("print").addEventListener("change", (event) => event.matches && print());
    }
}

function begin(): void {
    try {
        const text = document.getElementById("report")?.textContent ?? "", data = JSON.parse(text) as Document;
        // For the console: what the page was made of.
        Object.assign(window, { blklat: new Page(new Model(data), data.generator) });
    } catch (error) {
        document.body.replaceChildren(el("p", { class: "failed", role: "alert" }, `This report can't be shown: ${error instanceof Error ? error.message : error}`));
    }
}

begin();
