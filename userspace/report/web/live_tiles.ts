// SPDX-License-Identifier: GPL-2.0-only
// A tile for each device: what it does now, in the colour of its health. Sick devices come first; idle
// ones share one tile.
import { el } from "./dom";
import { amount, latency, megabytes, percent } from "./format";
import { sinceWords } from "./live_clock";
import { type Grade, keyOf, type LiveInterval, type LiveWatch, type State, stateOf, wholes, type Work, workOf } from "./live_data";
import { shortNames } from "./owners";

/** A device without IO for this long is idle. */
const IDLE_S = 10;
/** Fewer idle devices than this are not folded. */
const FOLD = 2;
/** Beside what is wrong stand so many owners at most, each with this share of the device's time at least. */
const OWNERS = 3;
const OWNERS_LEAST = 0.05;
const RANK: Record<Grade, number> = { sick: 2, watch: 1, well: 0 };
/** What is said about all devices at once, by the reason that most of them have. */
const TOGETHER: Record<string, string> = { host_waits: "all waiting: the host?", host: "all slower: the host?" };

interface Tile { watch: LiveWatch; state: State; idle: boolean; owners: Work[] }

export class Tiles {
    readonly element = el("div", { class: "devices", role: "group", "aria-label": "devices" });
    private tiles: Tile[] = [];
    private unfolded = false;
    private now_ms = 0;

    /** @pressed: how much of a watch is shown. @chosen: one that is never folded. */
    constructor(private readonly pressed: (key: string) => string, private readonly chosen: (watch: LiveWatch) => boolean, private readonly click: (device: string) => void) {}

    take(intervals: LiveInterval[]): void {
        const last = intervals[intervals.length - 1], first = new Map(wholes(intervals[0]).map((watch) => [keyOf(watch), watch]));
        this.now_ms = last.time ? Date.parse(last.time) : 0;
        const lately = intervals.filter(({ end_s: end }) => end > last.end_s - IDLE_S), busy = new Set(lately.flatMap((interval) =>
            wholes(interval).filter((watch) => watch.ops.length || (watch.in_flight.ios && !watch.ends_missed)).map(keyOf)));
        this.tiles = wholes(last).map((watch) => {
            const state = stateOf(watch, first.get(keyOf(watch)));
            const owners = state.grade === "well" ? [] : workOf(lately, watch).filter(({ share }) => share >= OWNERS_LEAST).slice(0, OWNERS);
            return { watch, state, owners, idle: !busy.has(keyOf(watch)) && state.grade === "well" && state.missed_ns === null && !state.lost };
        }).sort((a, b) => RANK[b.state.grade] - RANK[a.state.grade]);
    }

    /** The sickest device, by grade and then by how long its IOs take; null if nothing is wrong. */
    get sickest(): string | null {
        const worst = this.tiles.filter(({ state }) => state.grade !== "well").reduce((most: Tile | null, tile) => most &&
            (RANK[most.state.grade] > RANK[tile.state.grade] || (RANK[most.state.grade] === RANK[tile.state.grade] && most.state.worst_ns >= tile.state.worst_ns)) ? most : tile, null);
        return worst && keyOf(worst.watch);
    }

    show(): void {
        const focused = (document.activeElement as HTMLElement | null)?.dataset.device;
        const idle = this.tiles.filter(({ watch, idle: is }) => is && !this.chosen(watch)), fold = idle.length >= FOLD;
        const stages = new Set(this.tiles.map(({ watch }) => watch.stage)).size > 1, made = (tile: Tile) => this.tile(tile, stages);
        const together = Object.entries(TOGETHER).filter(([reason]) => this.tiles.some(({ state }) => state.reason === reason));
        this.element.replaceChildren(...together.map(([, said]) => el("p", { class: "host" }, said)), ...this.tiles.filter((tile) => !fold || !idle.includes(tile)).map(made), ...fold ? [
            el("button", { type: "button", class: "idle", "data-device": "idle", "aria-expanded": String(this.unfolded), click: () => {
                this.unfolded = !this.unfolded;
                this.show();
            } }, el("b", {}, `${idle.length} idle`), el("span", {}, this.unfolded ? "fold" : "show")),
            ...this.unfolded ? idle.map(made) : []] : []);
        if (focused)
            [...this.element.querySelectorAll<HTMLElement>("button")].find((b) => b.dataset.device === focused)?.focus();
    }

    private tile({ watch, state, owners }: Tile, stages: boolean): HTMLElement {
        const names = shortNames(owners.map(({ part }) => part));
        return el("button", {
            type: "button", click: () => this.click(watch.device), "data-device": keyOf(watch), "data-state": state.grade,
            "data-reason": state.reason, "aria-pressed": this.pressed(keyOf(watch)),
        }, el("b", {}, stages ? `${watch.device} ${watch.stage}` : watch.device), el("span", {}, `${amount(state.iops)} IOPS`),
        el("span", {}, `p99 ${latency(state.p99_ns)}`), watch.busy !== undefined && el("span", {}, `busy ${percent(watch.busy, 0)}`), state.grade !== "well" && el("strong", { class: "alarm" }, state.text),
        state.grade !== "well" && !!state.since && this.now_ms > 0 && el("small", {}, sinceWords(Date.parse(state.since), this.now_ms)),
        ...owners.map(({ part, share, bytes_per_s: rate }) =>
            el("small", { class: "owner", title: part.label }, el("bdi", {}, names.get(part.label)!), ` ${percent(share, 0)} of its time, ${megabytes(rate / 1e6)} MB/s`)),
        state.missed_ns !== null && el("small", {}, `oldest ${latency(state.missed_ns)}; completed, says the kernel`),
        state.lost > 0 && el("small", { class: "lost" }, `${state.lost} lost`));
    }
}
