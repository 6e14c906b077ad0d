// SPDX-License-Identifier: GPL-2.0-only
// The live page: the report's charts, of the last minutes, drawn anew with each interval.
import { button, el } from "./dom";
import { leftOver, partsTotals, totals } from "./figures";
import { amount, latency, seconds } from "./format";
import { keyOf, type LiveWatch, runOf, stateOf, wholes } from "./live_data";
import { Feed } from "./live_feed";
import { type Line, makeLines } from "./lines";
import { Page, section } from "./page";
import { Panel } from "./panel";

/** Of more devices only the busiest is shown at first. */
const FEW = 4;

class LivePage extends Page {
    readonly feed: Feed;
    paused = false;
    private readonly devices = el("div", { class: "devices", role: "group", "aria-label": "devices" });
    private readonly table = el("div");
    private readonly parts = el("div");
    private readonly facts = el("p", { class: "hint" });
    private readonly said = el("p", { class: "link", role: "status" });
    private readonly pause = button("Pause", () => this.setPaused(!this.paused), { "aria-pressed": "false", class: "pause" });
    /** Switched by the user: what is on stays on, whatever comes and goes. */
    private readonly chosen = new Map<string, boolean>();

    constructor() {
        super([]);
        this.latencyCharts();
        this.timeCharts();
        this.show(this.header(), this.main(), this.footer());
        // One that nobody sees is not drawn; when it is seen again it is up to date.
        document.addEventListener("visibilitychange", () => !document.hidden && this.update());
        this.feed = new Feed("/api/stream", () => this.update());
        this.update();
    }

    // --- what is shown

    protected heatLine(): Line | undefined {
        return this.lines.find((line) => line.on && line.op.total.ios) ?? this.lines.find((line) => line.on);
    }

    private header(): HTMLElement {
        return el("header", {}, el("div", { class: "top" }, el("h1", {}, "Block IO latency, live"),
            el("span", { class: "choice" }, this.pause, this.themeButton())), this.said, this.facts, this.devices);
    }

    private main(): HTMLElement {
        return el("main", {}, el("div", { class: "page" }, this.aside(), el("div", {},
            section("Latency", ...this.figures("distribution", "percentile", "nines")),
            section("Over time", ...this.figures("iops", "heat"), this.pairs()))),
        el("div", { class: "wide" }, section("Figures", this.table, this.parts)));
    }

    private footer(): HTMLElement {
        const link = (path: string) => el("a", { href: path }, path);
        return el("footer", {}, "All charts are of the time that is kept. Percentiles are exact to a bin; means, minimum and maximum are exact. ",
            "For programs: ", link("/metrics"), ", ", link("/api/snapshot"), ", ", link("/healthz"), ".");
    }

    // --- an interval

    private setPaused(paused: boolean): void {
        this.paused = paused;
        this.pause.setAttribute("aria-pressed", String(paused));
        this.pause.textContent = paused ? "Go on" : "Pause";
        this.update();
    }

    /** A drag in a chart is not torn off. */
    private get busy(): boolean {
        return document.querySelector(".canvas:active") !== null;
    }

    private update(): void {
        this.say();
        const { run, intervals } = this.feed;
        if (!run || this.paused || this.busy)
            return;
        document.title = `${run.host} – block IO latency, live`;
        this.facts.textContent = `${run.host}, Linux ${run.kernel}, engine ${run.engine}, blklat ${run.version}; an interval every ` +
            `${seconds(run.interval_s)}, the last ${seconds(Math.min(run.history_s, intervals.length ? intervals[intervals.length - 1].end_s : 0))}.`;
        const runs = [runOf(run, intervals)];
        this.takeLines(makeLines(runs));
        this.showDevices();
        this.showParts();
        this.table.replaceChildren(this.lines.length ? totals(this.lines) : el("p", { class: "hint" }, "No device is watched."), ...leftOver(runs));
        this.redraw();
    }

    private say(): void {
        const { link, intervals, silent } = this.feed, last = intervals[intervals.length - 1];
        const [state, words] = link === "lost" ? ["lost", "Not connected; trying again,"] : silent ? ["lost", "No interval since"]
            : this.paused ? ["paused", "Paused,"] : ["live", last ? "Live," : "Waiting for the first interval,"];
        const time = last?.time?.replace("T", " ").replace(/\.\d+Z$/, " UTC");
        this.said.dataset.state = state;
        this.said.textContent = time ? `${words} ${time}` : words.replace(/,$/, "");
    }

    /** Lines of before live on with new figures, so that whoever holds them sees these. */
    private takeLines(now: Line[]): void {
        const name = (line: Line) => `${keyOf(line.watch)}${line.op.op}`;
        const same = now.length === this.lines.length && now.every((line, i) => name(line) === name(this.lines[i]));
        if (same) {
            now.forEach(({ run, watch, op }, i) => Object.assign(this.lines[i], { run, watch, op }));
            this.panel?.tell();
            return;
        }
        this.lines.forEach((line) => this.chosen.set(name(line), line.on));
        const fresh = this.lines.length === 0, many = new Set(now.map((line) => line.watch.device)).size > FEW;
        const busiest = now.reduce((most, line) => line.op.total.ios > (most?.op.total.ios ?? -1) ? line : most, now[0]);
        for (const line of now)
            line.on = this.chosen.get(name(line)) ?? (fresh && many ? line.watch === busiest.watch : line.on && (fresh || !many));
        this.lines.splice(0, this.lines.length, ...now);
        this.panel = new Panel(this.side, this.lines, () => this.switched());
        this.panel.dress(this.theme);
    }

    private switched(): void {
        this.showDevices();
        this.showParts();
        this.redraw();
    }

    /** One device alone, or all of them when it was alone already. */
    private only(device: string): void {
        const alone = this.lines.every((line) => line.on === (line.watch.device === device));
        for (const line of this.lines)
            line.on = alone || line.watch.device === device;
        this.panel?.dress(this.theme);
        this.switched();
    }

    /** What each device does now; a click shows it alone. */
    private showDevices(): void {
        const { intervals } = this.feed, last = intervals[intervals.length - 1];
        const first = new Map(wholes(intervals[0]).map((watch) => [keyOf(watch), watch]));
        const focused = (document.activeElement as HTMLElement | null)?.dataset.device;
        this.devices.replaceChildren(...wholes(last).map((watch) => this.device(watch, first.get(keyOf(watch)))));
        if (focused)
            [...this.devices.querySelectorAll<HTMLElement>("button")].find((b) => b.dataset.device === focused)?.focus();
    }

    /** What the lines that are shown are made of, where the service divides. */
    private showParts(): void {
        this.parts.replaceChildren(...partsTotals(this.lines.filter((line) => line.on)));
    }

    private device(watch: LiveWatch, first: LiveWatch | undefined): HTMLElement {
        const state = stateOf(watch, first), lines = this.lines.filter((line) => keyOf(line.watch) === keyOf(watch));
        const on = lines.filter((line) => line.on).length, many = new Set(this.lines.map((line) => line.watch.stage)).size > 1;
        const name = many ? `${watch.device} ${watch.stage}` : watch.device;
        return el("button", {
            type: "button", click: () => this.only(watch.device), "data-device": keyOf(watch),
            "data-state": state.stalled_ns !== null ? "stalled" : state.lost || state.missed_ns !== null ? "lost" : "well",
            "aria-pressed": on && on === lines.length ? "true" : on ? "mixed" : "false",
        }, el("b", {}, name), el("span", {}, `${amount(state.iops)} IOPS`), el("span", {}, `p99 ${latency(state.p99_ns)}`),
        state.stalled_ns !== null && el("strong", { class: "alarm" }, `stalled, oldest ${latency(state.stalled_ns)}`),
        state.missed_ns !== null && el("strong", { class: "alarm" }, `oldest ${latency(state.missed_ns)}; the kernel says ended`),
        state.lost > 0 && el("strong", { class: "alarm" }, `${state.lost} lost`));
    }
}

// For the console and tests: what the page is made of.
Object.assign(window, { blklat: new LivePage() });
