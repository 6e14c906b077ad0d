// SPDX-License-Identifier: GPL-2.0-only
// The report's page: findings, marks and a steady window beside what it has in common with the live page.
import { iops, type IopsView, windowOf, type Window } from "./charts/iops";
import { byWords, partsHeat, partsLatency, partsOf, partsOverTime } from "./charts/parts";
import { type Document, type Percentile, type Run, runsIn } from "./data";
import { button, choice, el } from "./dom";
import { findings, leftOver, marks, partsTotals, runsTable, stacks, totals } from "./figures";
import { type Line, makeLines, runNames } from "./lines";
import { Page, section } from "./page";
import { Panel } from "./panel";
import type { Span } from "./plot";

class ReportPage extends Page {
    private window: Window = null;
    private heat: Line | undefined;
    private divided: Line | undefined;
    private percentile: Percentile = "p99";

    constructor(private readonly runs: Run[], private readonly generator: string) {
        super(makeLines(runs));
        this.makeCharts();
        this.panel = new Panel(this.side, this.lines, () => this.redraw());
        document.title = `${runNames(runs).join(", ")} – block IO latency`;
        this.show(this.header(), this.main(), this.footer());
        this.redraw();
        this.listenToPrint();
    }

    private makeCharts(): void {
        this.latencyCharts(...this.pauses());
        for (const view of ["steady-log", "steady-linear"] as IopsView[])
            this.chart(view, () => iops(this.lines, view, this.window), { height: 300 });
        this.heat = this.lines.find((line) => line.on);
        this.timeCharts(this.lineChoice("line of the heat map", this.lines, this.heat, (line) => {
            this.heat = line;
            this.redraw(["heat"]);
        }));
        this.partsCharts();
    }

    /** Only where a line is divided. */
    private partsCharts(): void {
        const all = this.dividedLines(), { lines } = this;
        if (!all.length)
            return;
        this.divided = all.find((line) => line.on) ?? all[0];
        this.chart("parts-latency", () => partsLatency(lines, this.percentile));
        this.chart("parts-heat", () => partsHeat(this.divided!), { height: 380 });
        this.chart("parts-time", () => partsOverTime(lines, this.divided!, this.percentile), this.time);
    }

    private dividedLines(): Line[] {
        return this.lines.filter((line) => partsOf(line).length);
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

    protected heatLine(): Line | undefined {
        return this.heat ?? this.lines.find((line) => line.on);
    }

    private lineChoice(label: string, lines: Line[], chosen: Line | undefined, choose: (line: Line) => void): HTMLElement {
        const select = el("select", { "aria-label": label, change: () => choose(lines[select.selectedIndex]) },
            ...lines.map((line) => el("option", { value: line.key }, line.name)));
        select.value = chosen?.key ?? "";
        return select;
    }

    private partsTools(): HTMLElement {
        const quantiles: Percentile[] = ["p50", "p90", "p99", "p99.9"];
        return el("p", { class: "window" }, this.lineChoice("line of the parts", this.dividedLines(), this.divided, (line) => {
            this.divided = line;
            this.redraw(["parts-heat", "parts-time"]);
        }), " ", choice("percentile of the parts", quantiles.map((q) => [q, q]), this.percentile, (q) => {
            this.percentile = q;
            this.redraw(["parts-latency", "parts-time"]);
        }));
    }

    private steadyTools(): HTMLElement {
        const own = this.lines.filter((line) => line.on).map((line) => windowOf(line, null));
        const shown = (): Span => this.window ?? (own.length
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
            this.window = window;
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
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency"), this.themeButton()), runsTable(this.runs));
    }

    private main(): HTMLElement {
        const { runs } = this;
        const show = (from: number, to: number) => {
            const pad = Math.max((to - from) / 4, 5);
            this.zoomTime([Math.max(0, from - pad), to + pad]);
            this.charts.iops.figure.scrollIntoView();
        };
        const stacked = stacks(runs);
        return el("main", {}, el("div", { class: "page" }, this.aside(), el("div", {},
            section("Findings", ...findings(runs, show), ...marks(runs)),
            section("Latency", ...this.figures("distribution", "percentile", "nines")),
            section("Consistency", ...this.figures("iops"), el("h3", { class: "sub" }, "Steady state"), this.steadyTools(), ...this.figures("steady-log", "steady-linear")),
            section("Over time", ...this.figures("heat"), this.pairs()), ...this.parts())),
        el("div", { class: "wide" }, section("Figures", totals(this.lines), ...leftOver(runs), ...partsTotals(this.lines)),
            ...stacked.length ? [section("Members and array", ...stacked)] : []));
    }

    private parts(): HTMLElement[] {
        const by = this.divided?.watch.parts?.[0].part;
        return by ? [section(`By ${byWords(by)}`, this.partsTools(), ...this.figures("parts-latency", "parts-heat", "parts-time"))] : [];
    }

    private footer(): HTMLElement {
        return el("footer", {}, `${this.generator}. Percentiles are exact to a bin; means, minimum and maximum are exact. No IO is sampled.`);
    }

    private listenToPrint(): void {
        const print = () => Object.values(this.charts).forEach((chart) => chart.preparePrint());
        addEventListener("beforeprint", print);
        matchMedia("print").addEventListener("change", (event) => event.matches && print());
    }
}

function begin(): void {
    try {
        const text = document.getElementById("report")?.textContent ?? "", data = JSON.parse(text) as Document;
        // For the console: what the page was made of.
        Object.assign(window, { blklat: new ReportPage(runsIn(data), data.generator) });
    } catch (error) {
        document.body.replaceChildren(el("p", { class: "failed", role: "alert" }, `This report can't be shown: ${error instanceof Error ? error.message : error}`));
    }
}

begin();
