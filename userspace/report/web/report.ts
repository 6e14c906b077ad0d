// SPDX-License-Identifier: GPL-2.0-only
// The report's page: findings, marks and a steady window, in addition to what it shares with the live page.
import { hasPauses } from "./charts/distribution";
import { iops, type IopsView } from "./charts/iops";
import { latencyByIops, phaseLines, phasesOf } from "./charts/phases";
import { hasSlow, slowDots } from "./charts/slow";
import { ratioChart, sidesOf } from "./charts/ratio";
import { endOf, timeSpan, type Window } from "./charts/times";
import { type Document, type Finding, type Run, runsIn } from "./data";
import { button, el } from "./dom";
import { activeWords, findings, leftOver, marks, partsTotals, phasesTable, runsTable, stacks, timeShares, totals, windowWords } from "./figures";
import { firstOf, type Line, makeLines } from "./lines";
import { LATENCY, LOAD, Page, section } from "./page";
import { Panel } from "./panel";
import { type PartsSection, partsSections, select } from "./parts_section";
import type { Span } from "./plot";
import { slowCommon, SlowTable } from "./slow_table";
import type { Order } from "./sortable";

const STEADY: IopsView[] = ["steady-log", "steady-linear"];

/** The window that a mark begins. */
function nextMark(runs: Run[], t_s: number): number {
    return Math.min(...runs.flatMap((run) => [...run.marks.map((mark) => mark.t_s), endOf(run)]).filter((at) => at > t_s), t_s + 3600);
}

class ReportPage extends Page {
    private readonly table = el("div");
    private readonly found = el("div");
    private readonly stacked = el("div");
    private readonly phaseFigures = el("div");
    private readonly partFigures = el("div");
    /** How the table of figures is sorted. */
    private readonly order: Order = { by: -1, up: false };
    /** What the others are compared with. */
    private base = sidesOf(this.lines).names[0];
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
        this.panel = new Panel(this.legend, this.lines, () => this.redraw(), (colours) => this.lift(colours));
        document.title = `${runs.map(({ name }) => name).join(", ")} – block IO latency`;
        this.show(this.header(), this.main(), this.footer());
        this.zoomTime(null);
        this.redraw();
        this.listenToPrint();
    }

    private makeCharts(): void {
        this.latencyCharts(...this.pauses(), ...this.phaseTools());
        const { names, by } = sidesOf(this.lines);
        if (names.length > 1)
            this.chart("ratio", () => ratioChart(this.latencyLines(), this.base), { half: true, height: 270, tools: [select(`${by} to compare with`,
                names.map((name) => ({ key: name, name })), { key: this.base, name: this.base }, ({ name }) => {
                    this.base = name;
                    this.redraw(["ratio"]);
                })] });
        if (this.phasedLines().length)
            this.chart("phases", () => latencyByIops(this.lines, this.window), { half: true, height: 270 });
        for (const view of STEADY)
            this.chart(view, () => iops(this.lines, view, this.window), { height: 240, half: true, zoomed: (x) => x && this.zoomTime(x) });
        this.heat = firstOf(this.lines);
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
            figures: (...ids) => this.figures(...ids), window: () => this.window,
            noted: (plot) => this.window ? { ...plot, series: plot.series.map((one) => ({ ...one, note: "" })) } : plot,
        });
    }

    /** Offered only if a run has such IOs. */
    private pauses(): HTMLElement[] {
        if (!this.lines.some(hasPauses))
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

    protected latencyLines(): Line[] {
        return this.phased ? phaseLines(this.phased, this.window) : super.latencyLines();
    }

    private phasedLines(): Line[] {
        return this.lines.filter((line) => phasesOf(line).length);
    }

    /** Offered only if a run has phases. */
    private phaseTools(): HTMLElement[] {
        const lines = this.phasedLines();
        if (!lines.length)
            return [];
        const all = { key: "", name: "All lines" };
        return [select("by phase", [all, ...lines.map(({ key, name }) => ({ key, name: `Phases of ${name}` }))], all, ({ key }) => {
            this.phased = lines.find((line) => line.key === key);
            this.redraw(LATENCY);
        })];
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
            said.textContent = this.window ? windowWords(this.lines, this.window) : activeWords(this.runs);
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
        this.redraw([...STEADY, ...["ratio", "phases"].filter((id) => id in this.charts)]);
        this.divided.forEach((parts) => parts.redrawWindow());
        this.showFigures();
        this.told.forEach((tell) => tell());
    }

    private showFigures(): void {
        this.partFigures.replaceChildren(...partsTotals(this.lines, this.window));
        this.table.replaceChildren(totals(this.lines, this.theme, this.window, this.order));
        this.found.replaceChildren(...findings(this.between, this.runs, (from, to) => this.showTime(Math.max(0, from - Math.max((to - from) / 4, 5)), to + Math.max((to - from) / 4, 5)), this.window));
        this.stacked.replaceChildren(...stacks(this.lines, this.window));
        this.phaseFigures.replaceChildren(...this.phasedLines().length ? phasesTable(this.lines, this.runs, this.window) : []);
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
        const none = this.lines.length ? "Too short a run to look for a steady state; its second half is shown" : "There is no IO";
        return el("p", { class: "hint" }, `${rules.length ? `Looked for in: ${rules.join(", ")}` : none}; or the page's window.`);
    }

    private header(): HTMLElement {
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency"), this.themeButton()), el("p", { class: "hint" }, this.runs.length > 4 ? `${this.runs.length} runs` : this.runs.map(({ name }) => name).join(", ")));
    }

    private main(): HTMLElement {
        const { runs } = this, more = ["ratio", "phases"].filter((id) => id in this.charts), shares = timeShares(this.lines);
        return el("main", {}, el("div", { class: "page" }, this.aside(), el("div", {},
            ...this.windowTools(),
            section("Findings", this.found),
            section("Latency", ...this.figures("distribution"), this.pairs("percentile", "nines", ...more), this.phaseFigures),
            ...shares.length ? [section("Where the time goes", this.ofWholeRun("Shares are", ...shares))] : [],
            ...runs.some((run) => run.stacks.length) ? [section("Members and array", this.stacked)] : [],
            section("Consistency", ...this.figures("iops"), this.steadyRule(), this.pairs(...STEADY)),
            section("Over time", ...this.figures("heat"), this.pairs(...LOAD), ...marks(runs, (t_s) => this.showTime(t_s, nextMark(runs, t_s)))), ...this.slow(), ...this.parts())),
        el("div", { class: "wide" }, section("Figures", this.table,
            this.ofWholeRun("", ...leftOver(runs)), this.partFigures),
        section("Runs", ...runs.length > 4 ? [el("details", { class: "rest" }, el("summary", {}, `${runs.length} runs: devices, machines, commands`), runsTable(runs))] : [runsTable(runs)])));
    }

    private showTime(from: number, to: number): void {
        this.zoomTime([from, to]);
        this.charts.iops.figure.scrollIntoView();
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
        const print = () => {
            document.querySelectorAll<HTMLDetailsElement>("details.rest").forEach((folded) => {
                folded.open = true;
            });
            Object.values(this.charts).forEach((chart) => chart.preparePrint());
        };
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
