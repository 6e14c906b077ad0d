// SPDX-License-Identifier: GPL-2.0-only
// What /api/stream sends: a bounded number of the last intervals, and whether more are coming.
import { later } from "./later";
import type { LiveInterval, LiveRun } from "./live_data";

export type Link = "connecting" | "open" | "lost";

/** Limit of intervals kept, even if the history is longer: with more, each has less than a pixel. */
const MOST = 2000;
/** Added to three intervals without any, as for /healthz. */
const LATE_S = 5;

export class Feed {
    run: LiveRun | null = null;
    intervals: LiveInterval[] = [];
    link: Link = "connecting";
    /** No interval came when one was due: the capture has stopped or hangs. */
    silent = false;
    private boot = "";
    private patience = 0;
    /** The history comes all at once, so the page is drawn once for all of it. */
    private readonly changed: () => void;

    constructor(url: string, changed: () => void) {
        this.changed = later(30, changed);
        const source = new EventSource(url);
        source.addEventListener("open", () => this.linked("open"));
        // The browser reconnects by itself, and says where it left off.
        source.addEventListener("error", () => this.linked("lost"));
        source.addEventListener("run", (event) => this.begin(JSON.parse((event as MessageEvent<string>).data) as LiveRun));
        source.addEventListener("interval", (event) => this.add(event as MessageEvent<string>));
    }

    private linked(link: Link): void {
        this.link = link;
        this.changed();
    }

    private begin(run: LiveRun): void {
        if (run.schema !== 1)
            throw new Error(`the stream has schema ${run.schema}; this page reads schema 1`);
        // At another resolution cells have other bounds.
        if (this.run && run.scale !== this.run.scale)
            this.intervals = [];
        this.run = run;
        this.changed();
    }

    private waitForNext(): void {
        clearTimeout(this.patience);
        this.silent = false;
        this.patience = setTimeout(() => {
            this.silent = true;
            this.changed();
        }, (3 * (this.run?.interval_s ?? 0) + LATE_S) * 1000);
    }

    private add(event: MessageEvent<string>): void {
        const interval = JSON.parse(event.data) as LiveInterval, [boot] = event.lastEventId.split(".");
        const before = this.intervals[this.intervals.length - 1];
        // Another process, or the history once more.
        if (boot !== this.boot || (before && interval.end_s <= before.end_s))
            this.intervals = [];
        this.boot = boot;
        this.waitForNext();
        this.intervals.push(interval);
        const from = interval.end_s - (this.run?.history_s ?? 0);
        while (this.intervals.length > 1 && (this.intervals[0].end_s < from || this.intervals.length > MOST))
            this.intervals.shift();
        this.changed();
    }
}
