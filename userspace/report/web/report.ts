// SPDX-License-Identifier: GPL-2.0-only
// The report's page: findings, marks and a steady window, in addition to what it shares with the live page.
import { iops, type IopsView } from "./charts/iops";
import { latencyByIops, phaseLines, phasesOf } from "./charts/phases";
import { hasSlow, slowDots } from "./charts/slow";
import { timeSpan, type Window } from "./charts/times";
import { type Document, type Finding, type Run, runsIn } from "./data";
import { button, el } from "./dom";
import { activeWords, findings, leftOver, marks, partsTotals, phasesTable, runsTable, stacks, totals } from "./figures";
import { type Line, makeLines, runNames } from "./lines";
import { Page, section } from "./page";
import { Panel } from "./panel";
import { type PartsSection, partsSections, select } from "./parts_section";
import type { Span } from "./plot";
import { slowCommon, SlowTable } from "./slow_table";

const STEADY: IopsView[] = ["steady-log", "steady-linear"];
const WINDOWED = "All charts over time show this window, and rates are over it.";

class ReportPage extends Page {
    private readonly table = el("div");
    private readonly slowTable = new SlowTable(this.lines);
    /** Called when the window changes. */
    private readonly told: (() => void)[] = [];
    private heat: Line | undefined;
    /** The sections about divided lines. */
    private divided: PartsSection[] = [];
    /** The line whose phases the charts of latency show. */
    private phased: Line | undefined;

    constructor(private readonly runs: Run[], private readonly between: Finding[], private readonly generator: string) {
        super(makeLines(runs));
        this.makeCharts();
        this.panel = new Panel(this.legend, this.lines, () => this.redraw());
        document.title = `${runNames(runs).join(", ")} – block IO latency`;
        this.show(this.header(), this.main(), this.footer());
        this.zoomTime(null);
        this.redraw();
        this.listenToPrint();
    }

    private makeCharts(): void {
        this.latencyCharts(...this.pauses(), ...this.phaseTools());
        if (this.phasedLines().length)
            this.chart("phases", () => latencyByIops(this.lines));
        for (const view of STEADY)
            this.chart(view, () => iops(this.lines, view, this.window), { height: 300, zoomed: (x) => x && this.zoomTime(x) });
        this.heat = this.lines.find((line) => line.on);
        this.timeCharts(select("line of the heat map", this.lines, this.heat, (line) => {
            this.heat = line;
            this.redraw(["heat"]);
        }));
        this.partsCharts();
        if (hasSlow(this.lines))
            this.chart("slow", () => slowDots(this.lines, undefined, undefined, this.window), { ...this.time, zoomY: true });
    }

    private partsCharts(): void {
        const { lines, time } = this;
        this.divided = partsSections({
            lines, time, theme: () => this.theme, chart: (...args) => this.chart(...args), redraw: (ids) => this.redraw(ids),
            figures: (...ids) => this.figures(...ids), ofWholeRun: (what, ...content) => this.ofWholeRun(what, ...content),
            noted: (plot) => this.window ? { ...plot, series: plot.series.map((one) => ({ ...one, note: "" })) } : plot,
        });
    }

    /** Offered only if a run has such IOs. */
    private pauses(): HTMLElement[] {
        if (!this.lines.some((line) => line.op.after_idle))
            return [];
        this.state.pauses = true;
        const toggle = button("First after a pause", () => {
            this.state.pauses = !this.state.pauses;
            toggle.setAttribute("aria-pressed", String(this.state.pauses));
            this.redraw(["distribution"]);
        }, { "aria-pressed": "true", "data-value": "pauses" });
        return [el("span", { class: "choice" }, toggle)];
    }

    protected heatLine(): Line | undefined {
        return this.heat ?? this.lines.find((line) => line.on);
    }

    private phasedLines(): Line[] {
        return this.lines.filter((line) => phasesOf(line).length);
    }

    protected latencyLines(): Line[] {
        return this.phased ? phaseLines(this.phased) : this.lines;
    }

    /** Offered only if a run has phases. */
    private phaseTools(): HTMLElement[] {
        const lines = this.phasedLines();
        if (!lines.length)
            return [];
        const select = el("select", { "aria-label": "by phase", change: () => {
            this.phased = lines[select.selectedIndex - 1];
            this.redraw(["distribution", "percentile", "nines"]);
        } }, el("option", { value: "" }, "All lines"), ...lines.map((line) => el("option", { value: line.key }, `Phases of ${line.name}`)));
        return [select];
    }

    /** The page's window, given by its bounds, or all of the time. */
    private windowTools(): HTMLElement[] {
        const field = (label: string) => el("input", { type: "number", min: 0, step: "any", "aria-label": label, change: () => set() });
        const from = field("window from, seconds"), to = field("window to, seconds");
        const set = () => {
            const asked: Span = [from.valueAsNumber, to.valueAsNumber], good = asked[1] > asked[0];
            to.setCustomValidity(good ? "" : "the end lies after the beginning");
            to.reportValidity();
            if (good)
                this.zoomTime(asked);
        };
        const said = el("p", { class: "hint rates", role: "status" });
        this.told.push(() => {
            [from.value, to.value] = (this.window ?? timeSpan(this.lines)).map((s) => String(Number(s.toFixed(3))));
            to.setCustomValidity("");
            said.textContent = this.window ? WINDOWED : activeWords(this.runs);
        });
        return [el("p", { class: "window" }, "From ", from, " s to ", to, " s ", button("All of the run", () => this.zoomTime(null))), said];
    }

    /** What does not follow the window: hidden while one is set. @what: says so, "Percentiles are"; empty: said elsewhere. */
    private ofWholeRun(what: string, ...content: Node[]): HTMLElement {
        const said = el("div"), place = el("div", {}, ...content);
        this.told.push(() => {
            const [from, to] = (this.window ?? []).map((s) => Number(s.toFixed(3)));
            said.replaceChildren(...this.window && what ? [el("p", { class: "hint whole" },
                `${what} of the whole run only; blklat report --from ${from} --to ${to} makes them of this window.`)] : []);
            const back = place.hidden && !this.window;
            place.hidden = Boolean(this.window);
            // What is drawn while it is hidden has no width.
            if (back)
                this.redraw(Object.keys(this.charts).filter((id) => place.contains(this.charts[id].figure)));
        });
        return el("div", {}, said, place);
    }

    protected zoomTime(x: Window): void {
        for (const id of STEADY)
            this.charts[id].zoom = { x: null, y: null };
        super.zoomTime(x);
        this.redraw(STEADY);
        this.showFigures();
        this.told.forEach((tell) => tell());
    }

    private showFigures(): void {
        this.table.replaceChildren(totals(this.lines, this.theme, this.window));
        this.divided.forEach((parts) => parts.show());
        this.slowTable.show(this.window);
        this.panel?.tell(this.window);
    }

    protected redraw(ids?: string[]): void {
        super.redraw(ids);
        if (!ids)
            this.showFigures();     // the theme may have changed
    }

    private steadyRule(): HTMLElement {
        const rules = [...new Set(this.lines.flatMap((line) => line.op.steady ? [line.op.steady.rule] : []))];
        return el("p", { class: "hint" }, `${rules.length ? `Looked for in: ${rules.join(", ")}` : "Too short a run to look for a steady state; its second half is shown"}; or the page's window.`);
    }

    private header(): HTMLElement {
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency"), this.themeButton()), el("p", { class: "hint" }, runNames(this.runs).join(", ")));
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
            ...this.windowTools(),
            section("Findings", this.ofWholeRun("Findings are"), ...findings(this.between, runs, show), ...marks(runs)),
            section("Latency", this.ofWholeRun("Distribution and percentiles are", ...this.figures("distribution", "percentile", "nines"))),
            ...this.phases(),
            section("Consistency", ...this.figures("iops"), el("h3", { class: "sub" }, "Steady state"), this.steadyRule(), ...this.figures("steady-log", "steady-linear")),
            section("Over time", ...this.figures("heat"), this.pairs()), ...this.slow(), ...this.parts())),
        el("div", { class: "wide" }, section("Figures", this.table,
            this.ofWholeRun(`Means, percentiles, errors, losses${this.divided.length ? " and all figures by part" : ""} are`, ...leftOver(runs), ...partsTotals(this.lines))),
        ...stacked.length ? [section("Members and array", this.ofWholeRun("Queue depths and what the layer adds are", ...stacked))] : [],
        section("Runs", runsTable(runs))));
    }

    private phases(): HTMLElement[] {
        return this.phasedLines().length ? [section("Phases", this.ofWholeRun("Phases are", ...this.figures("phases"), ...phasesTable(this.lines, this.runs)))] : [];
    }

    private parts(): HTMLElement[] {
        return this.divided.map((parts) => section(parts.title, ...parts.elements()));
    }

    private slow(): HTMLElement[] {
        return hasSlow(this.lines) ? [section("Slow IOs", ...this.figures("slow"), this.ofWholeRun("What they have in common is", ...slowCommon(this.lines)), this.slowTable.element)] : [];
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
        // For the console: the page's object.
        Object.assign(window, { blklat: new ReportPage(runsIn(data), data.findings, data.generator) });
    } catch (error) {
        document.body.replaceChildren(el("p", { class: "failed", role: "alert" }, `This report can't be shown: ${error instanceof Error ? error.message : error}`));
    }
}

begin();
