// SPDX-License-Identifier: GPL-2.0-only
// Decides when charts are drawn: visible ones at once, the others one at a time when the page is idle.
// So a click is answered quickly, however many charts there are.
import type { Chart } from "./chart";
import { later } from "./later";
import type { Theme } from "./theme";

export class Schedule {
    private readonly seen = new Set<Chart>();
    private readonly drawNext = later(15, () => {
        const next = this.charts.find((chart) => chart.dirty);
        next?.draw(this.theme);
        if (next)
            this.drawNext();
    });

    constructor(private readonly charts: Chart[], private theme: Theme) {
        const watch = new IntersectionObserver((entries) => {
            for (const entry of entries) {
                const chart = charts.find((c) => c.figure === entry.target)!;
                this.seen[entry.isIntersecting ? "add" : "delete"](chart);
                if (entry.isIntersecting && chart.dirty)
                    chart.draw(this.theme);
            }
        });
        charts.forEach((chart) => watch.observe(chart.figure));
    }

    /** Draws all charts again, or only these. */
    redraw(theme: Theme, charts: Chart[] = this.charts): void {
        this.theme = theme;
        charts.forEach((chart) => chart.invalidate());
        for (const chart of this.seen)
            if (chart.dirty)
                chart.draw(theme);
        this.drawNext();
    }
}
