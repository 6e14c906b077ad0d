// SPDX-License-Identifier: GPL-2.0-only
// The live page: the report's charts for the last minutes, drawn again with each interval.
import type { Axis } from "./axes";
import { slowDots, type When } from "./charts/slow";
import { button, choice, el, save } from "./dom";
import { leftOver, partsTotals, timeShares, totals } from "./figures";
import { seconds } from "./format";
import { clockAxis, clockMs, clockWords } from "./live_clock";
import { keyOf, type LiveInterval, runOf } from "./live_data";
import { Feed } from "./live_feed";
import { Tiles } from "./live_tiles";
import { type Line, makeLines } from "./lines";
import { LOAD, Page, section } from "./page";
import { Panel } from "./panel";
import { BY_TIME, SlowTable } from "./slow_table";

/** If there are more devices, only one is shown at first: the sickest, or the busiest if nothing is wrong. */
const FEW = 4;
/** The time that charts and figures cover. */
const TIMES = [["10", "10 s"], ["60", "1 min"], ["all", "All"]] as ["10" | "60" | "all", string][];

/** Like all times on the page. */
const AT_CLOCK: When = { cell: ({ time }) => clockMs(Date.parse(time)), words: ({ time }) => clockMs(Date.parse(time)) };

class LivePage extends Page {
    readonly feed: Feed;
    paused = false;
    private readonly tiles = new Tiles((key) => this.pressed(key), (watch) => watch.device === this.alone || (!this.own && keyOf(watch) === this.shown), (device) => this.only(device));
    protected clock: Axis = clockAxis(0);
    private seconds = Infinity;
    private readonly times = choice("time shown", TIMES, "all", (value) => {
        this.seconds = value === "all" ? Infinity : Number(value);
        Object.values(this.charts).forEach((chart) => {
            chart.zoom = { x: null, y: null };
        });
        this.update();
    });
    /** The user has chosen what is shown; until then the page does. */
    private own = false;
    /** The only device that the user chose to see. */
    private alone = "";
    /** What the page chose, if there are many. */
    private shown: string | null = null;
    private readonly table = el("div");
    private readonly parts = el("div");
    private readonly shares = section("Where the time goes");
    private readonly slowTable = new SlowTable(this.lines, BY_TIME, AT_CLOCK);
    private readonly slow = section("Slow IOs");
    private readonly facts = el("p", { class: "hint" });
    private readonly said = el("p", { class: "link", role: "status" });
    private readonly pause = button("Pause", () => this.setPaused(!this.paused), { "aria-pressed": "false", class: "pause" });
    private readonly keep = el("span", { class: "choice" }, ...(["recording", "report"] as const).map((what) =>
        button(`Save ${what}`, () => void this.saveAs(what), { title: `A ${what} of the last minutes`, "data-save": what })));
    /** Switched by the user: a line that is on stays on, whatever comes and goes. */
    private readonly chosen = new Map<string, boolean>();

    constructor() {
        super([]);
        this.latencyCharts();
        this.timeCharts();
        this.chart("slow", () => slowDots(this.lines, this.clock, AT_CLOCK), { ...this.time, zoomY: true });
        this.slow.append(...this.figures("slow"), this.slowTable.element);
        this.slow.hidden = true;
        this.show(this.header(), this.main(), this.footer());
        // A hidden page is not drawn; when it becomes visible again, it is brought up to date.
        document.addEventListener("visibilitychange", () => !document.hidden && this.update());
        this.feed = new Feed("/api/stream", () => this.update());
        this.update();
    }

    // --- what is shown

    protected heatLine(): Line | undefined {
        const on = this.lines.filter((line) => line.on), sick = this.tiles.sickest;
        return on.find((line) => line.op.total.ios && keyOf(line.watch) === sick) ?? on.find((line) => line.op.total.ios) ?? on[0];
    }

    private header(): HTMLElement {
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency, live"),
            el("span", { class: "choice" }, this.times, this.pause, this.themeButton())), this.said, this.facts, this.keep, this.tiles.element);
    }

    private main(): HTMLElement {
        return el("main", {}, el("div", { class: "page" }, this.aside(), el("div", {},
            section("Latency", ...this.figures("distribution"), this.pairs("percentile", "nines")), this.shares,
            section("Over time", ...this.figures("iops", "heat"), this.pairs(...LOAD)), this.slow)),
        el("div", { class: "wide" }, section("Figures", this.table, this.parts)));
    }

    private footer(): HTMLElement {
        const link = (path: string) => el("a", { href: path }, path);
        return el("footer", {}, "Charts and figures are of the time that is chosen above. Percentiles are exact to a bin; means, minimum and maximum are exact. ",
            "For programs: ", link("/metrics"), ", ", link("/api/snapshot"), ", ", link("/healthz"), ".");
    }

    /** The service makes the file when it is asked for, and has it after a moment (503 until then). */
    private async saveAs(what: string): Promise<void> {
        const pressed = this.keep.querySelector<HTMLButtonElement>(`[data-save=${what}]`)!, text = pressed.textContent;
        pressed.disabled = true;
        pressed.textContent = "Being made ...";
        let answer: Response | null = null;
        for (let i = 0; i < 60 && (i === 0 || answer?.status === 503); i++) {
            if (i)
                await new Promise((done) => setTimeout(done, 1000));
            answer = await fetch(`/api/${what}`).catch(() => null);
        }
        const name = /filename="([^"]+)"/.exec(answer?.headers.get("Content-Disposition") ?? "");
        if (answer?.ok && name)
            save(name[1], await answer.blob());
        pressed.disabled = false;
        pressed.textContent = answer?.ok ? text : "Could not be made; again?";
    }

    // --- an interval

    private setPaused(paused: boolean): void {
        this.paused = paused;
        this.pause.setAttribute("aria-pressed", String(paused));
        this.pause.textContent = paused ? "Go on" : "Pause";
        this.update();
    }

    /** Whether the user is dragging in a chart, which must not be interrupted. */
    private get busy(): boolean {
        return document.querySelector(".canvas:active") !== null;
    }

    private update(): void {
        this.say();
        const { run, intervals: kept } = this.feed, intervals = this.lastOf(kept);
        if (!run || this.paused || this.busy)
            return;
        document.title = `${run.host} – block IO latency, live`;
        this.facts.textContent = `${run.host}, Linux ${run.kernel}, engine ${run.engine}, blklat ${run.version}; an interval every ` +
            `${seconds(run.interval_s)}, the last ${seconds(Math.min(run.history_s, this.seconds, intervals.length ? intervals[intervals.length - 1].end_s : 0))}.`;
        const runs = [runOf(run, intervals)], last = intervals[intervals.length - 1];
        if (last?.time)
            this.clock = clockAxis(Date.parse(last.time) - runs[0].duration_s * 1000);
        if (last)
            this.tiles.take(kept);
        this.takeLines(makeLines(runs));
        this.choose();
        this.tiles.show();
        this.showFigures();
        this.slow.hidden = !run.slow;
        this.showSlow();
        this.table.replaceChildren(this.lines.length ? totals(this.lines, this.theme) : el("p", { class: "hint" }, "No device is watched."), ...leftOver(runs));
        this.redraw();
    }

    private lastOf(kept: LiveInterval[]): LiveInterval[] {
        const from = (kept[kept.length - 1]?.end_s ?? 0) - this.seconds;
        return kept.filter((interval) => interval.end_s > from);
    }

    private say(): void {
        const { link, intervals, silent } = this.feed, last = intervals[intervals.length - 1];
        const [state, words] = link === "lost" ? ["lost", "Not connected; trying again,"] : silent ? ["lost", "No interval since"]
            : this.paused ? ["paused", "Paused,"] : ["live", last ? "Live," : "Waiting for the first interval,"];
        this.said.dataset.state = state;
        this.said.textContent = last?.time ? `${words} ${clockWords(Date.parse(last.time))}` : words.replace(/,$/, "");
    }

    /** Existing lines live on with new figures, so that all holders of a line see these. */
    private takeLines(now: Line[]): void {
        const name = (line: Line) => `${keyOf(line.watch)}${line.op.op}`;
        const same = now.length === this.lines.length && now.every((line, i) => name(line) === name(this.lines[i]));
        if (same) {
            now.forEach(({ run, watch, op }, i) => Object.assign(this.lines[i], { run, watch, op }));
            this.panel?.tell();
            return;
        }
        this.lines.forEach((line) => this.chosen.set(name(line), line.on));
        const many = manyOf(now);
        for (const line of now)
            line.on = this.chosen.get(name(line)) ?? (line.on && !many);
        this.lines.splice(0, this.lines.length, ...now);
        this.panel = new Panel(this.legend, this.lines, () => {
            this.own = true;
            this.switched();
        }, (colours) => this.lift(colours));
        this.panel.dress(this.theme);
    }

    /** Chooses among many devices until the user does: the sickest, as long as it is sick, or else the busiest. */
    private choose(): void {
        if (this.own || !manyOf(this.lines))
            return;
        const busiest = this.lines.reduce((most, line) => line.op.total.ios > most.op.total.ios ? line : most, this.lines[0]);
        const there = this.lines.some((line) => keyOf(line.watch) === this.shown);
        const key = this.tiles.sickest ?? (there ? this.shown : keyOf(busiest.watch));
        if (key === this.shown && this.lines.some((line) => line.on))
            return;
        this.shown = key;
        for (const line of this.lines)
            line.on = keyOf(line.watch) === key;
        this.panel?.dress(this.theme);
    }

    private pressed(key: string): string {
        const lines = this.lines.filter((line) => keyOf(line.watch) === key), on = lines.filter((line) => line.on).length;
        return on && on === lines.length ? "true" : on ? "mixed" : "false";
    }

    private switched(): void {
        this.tiles.show();
        this.showFigures();
        this.showSlow();
        this.redraw();
    }

    /** Shows one device alone, or all of them if it was alone already. */
    private only(device: string): void {
        this.own = true;
        const alone = this.lines.every((line) => line.on === (line.watch.device === device));
        for (const line of this.lines)
            line.on = alone || line.watch.device === device;
        this.alone = alone ? "" : device;
        this.panel?.dress(this.theme);
        this.switched();
    }

    /** The latest ones first, until the user sorts them otherwise. */
    private showSlow(): void {
        if (!this.slow.hidden)
            this.slowTable.show(this.window);
    }

    /** Where the time of the devices shown goes, if all their stages are captured; the parts of the lines shown, if the service divides them. */
    private showFigures(): void {
        const shown = this.lines.filter((line) => line.on), devices = new Set(shown.map(({ watch }) => watch.device));
        const shares = timeShares(this.lines.filter(({ watch }) => devices.has(watch.device)));
        this.shares.hidden = !shares.length;
        this.shares.replaceChildren(this.shares.firstChild!, ...shares);
        this.parts.replaceChildren(...partsTotals(shown));
    }
}

function manyOf(lines: Line[]): boolean {
    return new Set(lines.map((line) => line.watch.device)).size > FEW;
}

// For the console and tests: the page's object.
Object.assign(window, { blklat: new LivePage() });
