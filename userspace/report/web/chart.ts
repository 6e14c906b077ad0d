// SPDX-License-Identifier: GPL-2.0-only
// A chart on the page: title, tools, figures of its lines, uPlot's canvas, the table behind it. Its
// contents are made again when it is asked to redraw and is visible.
import uPlot from "uplot";
import { button, el, save, table } from "./dom";
import { canvasBrush, type Frame, paintOver, paintUnder, ticksOf } from "./paint";
import { inOrder, type Plot, type Series, type Span, view, type Zoom } from "./plot";
import { grid, png, type Sheet, svg } from "./svg";
import { areaColour, FONT, heatColour, light, lineColour, type Theme } from "./theme";
import { showTip, swatch } from "./tip";

/** The size of a saved picture. */
const SAVED = { width: 960, height: 400 };
/** On paper, two charts side by side take half the width each; this size keeps their texts readable. */
const HALF = { width: 520, height: 220 };
/** uPlot.JoinNullMode.Expand, which exists only as a type. */
const GAPS = 2 as uPlot.JoinNullMode;
/** More lines than this have figures in the table below alone, and charts of their own where they would hide each other. */
const MANY = 4;
/** Of more than this nobody would look at each. */
const MOST = 32;
/** Of a chart of a single line among many. */
const EACH = { width: 165, height: 105 };
/** A chart narrower than this has no room for the name of its axis beside its data table. */
const NARROW = 380;
/** A drag shorter than this is a click. */
const LEAST_DRAG = 5;

export interface ChartConfig {
    id: string;
    make: () => Plot;
    context: string;
    tools?: HTMLElement[];
    height?: number;
    /** The chart is beside another one. */
    half?: boolean;
    /** Dragging vertically zooms y, too. */
    zoomY?: boolean;
    /** Many lines are drawn side by side, each in a small chart of its own. */
    each?: boolean;
    /** What a saved picture is called besides the chart's id. */
    file?: string;
    /** Called when a line is pointed at, with its colour, and with null after that. */
    lift?: (colours: Set<number> | null) => void;
    /** Charts of one group share their cursor. */
    group?: string;
    zoomed?: (x: Span | null) => void;
}

export class Chart {
    readonly figure: HTMLElement;
    dirty = true;
    plot: Plot | null = null;
    zoom: Zoom = { x: null, y: null };
    private us: uPlot[] = [];
    private lifted: Set<number> | null = null;
    private near: number | null = null;
    /** Whether each line has a chart of its own; null: if there are many. */
    private split: boolean | null = null;
    private readonly each = button("One each", () => {
        this.split = !this.isSplit(this.current());
        this.draw(this.theme);
    }, { class: "each" });
    private theme: Theme = light;
    private readonly title = el("h3");
    private readonly hint = el("p", { class: "hint" });
    private readonly legend = el("ul", { class: "legend" });
    private readonly host = el("div", { class: "canvas", role: "img", tabindex: 0, keydown: (event) => this.key(event as KeyboardEvent) });
    private readonly print = el("div", { class: "print", "aria-hidden": "true" });
    private readonly reset = button("Reset zoom", () => this.setZoom({ x: null, y: null }), { class: "reset", hidden: true });
    private readonly behind = el("details", { class: "behind", toggle: () => this.fillTable() }, el("summary", {}, "Data table"));

    constructor(private readonly config: ChartConfig) {
        const tools = el("div", { class: "tools" }, ...config.tools ?? [], config.each && this.each, this.reset,
            el("span", { class: "choice saves", role: "group", "aria-label": "save the chart" },
                button("PNG", () => void this.savePng()), button("SVG", () => this.saveSvg())));
        this.figure = el("figure", { class: "chart", id: `chart-${config.id}` },
            el("figcaption", {}, el("div", { class: "top" }, this.title, tools), this.hint), this.legend, this.host, this.print, this.behind);
    }

    /** The contents changed: draws the chart again when its turn comes. */
    invalidate(): void {
        this.dirty = true;
        this.plot = null;
    }

    current(): Plot {
        return this.plot ??= this.config.make();
    }

    draw(theme: Theme): void {
        const plot = this.current();
        this.dirty = false;
        this.theme = theme;
        this.title.textContent = plot.title;
        this.hint.textContent = plot.hint;
        this.legend.replaceChildren(...this.legendOf(plot), ...this.heatKey(plot));
        this.reset.hidden = !this.zoom.x && !this.zoom.y;
        this.each.hidden = plot.series.length < 2;
        this.each.setAttribute("aria-pressed", String(this.isSplit(plot)));
        this.describe(plot);
        this.drawCanvas(plot);
        this.fillTable();
    }

    /** Describes the drawing in numbers and words, for tests and screen readers. */
    private describe(plot: Plot): void {
        const points = plot.series.reduce((sum, series) => sum + series.ys.filter((y) => y !== null).length, 0);
        this.figure.dataset.lines = String(plot.series.length);
        this.figure.dataset.points = String(points);
        this.host.setAttribute("aria-label", `${plot.title}. ${inOrder(plot).map((s) => `${s.name} ${s.note}`).join("; ") || "Nothing is shown"}. ` +
            "Plus and minus zoom, arrows move, Escape resets. The data table below has the figures.");
        this.host.dataset.empty = plot.series.length || plot.cells?.boxes.length ? "" : "Nothing to show: no line with IOs is switched on.";
    }

    private isSplit(plot: Plot): boolean {
        return Boolean(this.config.each) && plot.series.length > 1 && (this.split ?? (plot.series.length > MANY && plot.series.length <= MOST));
    }

    /** What is drawn side by side, with axes alike. */
    private plots(plot: Plot): Plot[] {
        if (!this.isSplit(plot))
            return [plot];
        const { y } = view(plot, this.zoom), own = <T extends { colour: number }>(all: T[], { colour }: Series) => all.filter((one) => one.colour === colour);
        return plot.series.map((series) => ({ ...plot, title: series.name, series: [series], levels: own(plot.levels, series), spots: own(plot.spots, series), ySpan: () => y }));
    }

    /** The page's legend shows the looks of the lines. Here are their figures, if they are few, and lines that only this chart has. */
    private legendOf(plot: Plot): Node[] {
        const few = plot.series.filter(({ note }) => note).length <= MANY && !plot.iopsNoted;
        return inOrder(plot).filter(({ own, note }) => own || (note && few)).map((series) =>
            el("li", { class: series.own ? "own" : undefined, title: series.title }, series.own && swatch(series, this.theme), el("b", {}, series.name), series.note && ` ${series.note}`));
    }

    private heatKey(plot: Plot): Node[] {
        if (!plot.cells?.boxes.length)
            return [];
        const bar = el("span", { class: "heatbar" });
        bar.style.background = `linear-gradient(90deg, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map((rank) => heatColour(this.theme, rank)).join(", ")})`;
        return [el("li", { class: "own" }, `${plot.cells.title}: ${plot.cells.least} `, bar, ` ${plot.cells.most}`)];
    }

    private drawCanvas(plot: Plot): void {
        const plots = this.plots(plot), split = this.isSplit(plot), all = Math.max(160, this.host.clientWidth);
        const rows = split ? Math.ceil(plots.length / Math.max(1, Math.floor(all / EACH.width))) : 1, across = Math.ceil(plots.length / rows), width = Math.floor(all / across - (split ? 1 : 0)), height = split ? EACH.height : this.config.height ?? 340;
        this.us.forEach((u) => u.destroy());
        this.host.replaceChildren();
        this.us = plots.map((one) => {
            const span = view(one, this.zoom), ticks = ticksOf(one, span, width - 76, height - (split ? 30 : 60));
            const place = el("div", { class: "plot" }, split && el("div", { class: "of", title: one.title }, swatch(one.series[0], this.theme), one.title));
            this.host.append(place);
            return new uPlot(this.options(one, span, ticks, width, height, place), aligned(one, span), place);
        });
        this.lift(this.lifted);
    }

    /** Makes lines of these colours stand out, if the chart has some. */
    lift(colours: Set<number> | null): void {
        const changed = this.lifted !== colours || colours !== null;
        this.lifted = colours;
        if (!changed || this.dirty || !this.plot)
            return;
        const of = this.plots(this.plot), up = (series: Series) => Boolean(colours?.has(series.colour)) && !series.own;
        const any = this.plot.series.some(up);
        this.us.forEach((u, i) => {
            of[i].series.forEach((series, k) => {
                u.series[k + 1].alpha = !any || up(series) ? 1 : 0.15;
            });
            u.redraw(false);
        });
    }

    private options(plot: Plot, span: Frame["span"], ticks: Frame["ticks"], width: number, height: number, place: HTMLElement): uPlot.Options {
        const { theme } = this, font = `11px ${FONT}`, small = height === EACH.height;
        const axis = (of: "x" | "y"): uPlot.Axis => ({
            scale: of, stroke: theme.soft, font, labelFont: `12px ${FONT}`, label: small ? undefined : width < NARROW && of === "x" ? "" : plot[of].label, labelSize: 18, size: of === "x" ? 28 : 52,
            gap: of === "x" ? 4 : 5, grid: { show: false }, ticks: { show: false },
            splits: () => ticks[of].map((tick) => tick.at), values: () => ticks[of].map((tick) => tick.text),
        });
        const painted = (paint: typeof paintUnder) => (u: uPlot) => this.paint(u, paint, plot, { span, ticks });
        return {
            width, height, padding: [8, 20, 0, 0], legend: { show: false },
            scales: { x: { time: false, range: () => span.x }, y: { range: () => span.y } },
            axes: [axis("x"), axis("y")],
            series: [{}, ...plot.series.map((series) => styled(series, theme, span.y[0], plot.stacked))],
            cursor: {
                drag: { x: true, y: this.config.zoomY ?? false, uni: this.config.zoomY ? 40 : undefined, setScale: false, dist: LEAST_DRAG },
                points: { show: false }, y: false, sync: this.config.group ? { key: this.config.group } : undefined,
                bind: { dblclick: () => () => this.doubleClick() },
            },
            hooks: {
                drawClear: [painted(paintUnder)], draw: [painted(paintOver)],
                setSelect: [(u) => this.select(u, span)], setCursor: [(u) => this.pointed(showTip(u, place, plot, theme))],
            },
        };
    }

    /** The cursor is near a line of the page, or near none. */
    private pointed(series: Series | null | undefined): void {
        const colour = series && !series.own ? series.colour : null;
        if (colour === this.near)
            return;
        this.near = colour;
        this.config.lift?.(colour === null ? null : new Set([colour]));
    }

    private paint(u: uPlot, paint: typeof paintUnder, plot: Plot, { span, ticks }: Pick<Frame, "span" | "ticks">): void {
        const { ctx, bbox } = u, ratio = uPlot.pxRatio;
        const box = { x: bbox.left / ratio, y: bbox.top / ratio, w: bbox.width / ratio, h: bbox.height / ratio };
        ctx.save();
        ctx.scale(ratio, ratio);
        paint(canvasBrush(ctx, FONT), plot, { box, span, ticks, theme: this.theme, lifted: this.lifted });
        ctx.restore();
    }

    private select(u: uPlot, span: Frame["span"]): void {
        const { left, top, width, height } = u.select, w = u.over.clientWidth, h = u.over.clientHeight;
        if (width < LEAST_DRAG && height < LEAST_DRAG)
            return;
        const part = ([lo, hi]: Span, from: number, to: number): Span => [lo + (hi - lo) * from, lo + (hi - lo) * to];
        const x = width >= LEAST_DRAG && width < w ? part(span.x, left / w, (left + width) / w) : this.zoom.x;
        const y = this.config.zoomY && height >= LEAST_DRAG && height < h ? part(span.y, 1 - (top + height) / h, 1 - top / h) : this.zoom.y;
        // Must wait until uPlot's listener has ended, as this instance goes away.
        queueMicrotask(() => this.setZoom({ x, y }));
    }

    private doubleClick(): null {
        queueMicrotask(() => this.setZoom({ x: null, y: null }));
        return null;
    }

    /** A zoom by the user. The page is told, and passes it on to the charts over the same time. */
    setZoom(zoom: Zoom): void {
        this.zoom = zoom;
        this.draw(this.theme);
        this.config.zoomed?.(zoom.x);
    }

    private key(event: KeyboardEvent): void {
        const plot = this.current(), [lo, hi] = view(plot, this.zoom).x, size = hi - lo;
        const to: Record<string, Span | null> = {
            "+": [lo + size / 4, hi - size / 4], "=": [lo + size / 4, hi - size / 4], "-": [lo - size / 2, hi + size / 2],
            ArrowLeft: [lo - size / 4, hi - size / 4], ArrowRight: [lo + size / 4, hi + size / 4], Escape: null, 0: null,
        };
        if (!(event.key in to) || event.ctrlKey || event.metaKey || event.altKey)
            return;
        event.preventDefault();
        const x = to[event.key], [first, last] = plot.xSpan;
        const all = !x || x[1] - x[0] >= last - first;
        const shift = x ? Math.max(first - x[0], 0) + Math.min(last - x[1], 0) : 0;
        this.setZoom(all ? { x: null, y: null } : { x: [x[0] + shift, x[1] + shift], y: this.zoom.y });
    }

    /** Only while it is open, as otherwise nobody would see it. */
    private fillTable(): void {
        if (!this.behind.open)
            return;
        const plot = this.current(), { head, rows } = plot.table();
        this.behind.querySelector(".scroll")?.remove();
        this.behind.append(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": plot.title }, table(plot.title, head, rows)));
    }

    svg(theme: Theme, size = SAVED, legend: Sheet["legend"] = "all"): string {
        const plot = this.current(), sheet = { ...size, theme, legend, context: this.config.context };
        return this.isSplit(plot) ? grid(plot, this.plots(plot), this.zoom, sheet) : svg(plot, this.zoom, sheet);
    }

    private get file(): string {
        return [this.config.file, this.config.id].filter(Boolean).join("-");
    }

    private saveSvg(): void {
        save(`${this.file}.svg`, new Blob([this.svg(this.theme)], { type: "image/svg+xml" }));
    }

    private async savePng(): Promise<void> {
        save(`${this.file}.png`, await png(this.svg(this.theme)));
    }

    /** On paper, charts are vector graphics, dark on light. */
    preparePrint(): void {
        this.print.replaceChildren(document.importNode(new DOMParser().parseFromString(this.svg(light, this.config.half ? HALF : SAVED, "own"), "image/svg+xml").documentElement, true));
    }
}

function styled(series: Series, theme: Theme, bottom: number, stacked = false): uPlot.Series {
    const colour = lineColour(theme, series.colour);
    if (series.kind === "dots")
        return { stroke: colour, paths: () => null, points: { show: true, size: 3.4, width: 0, fill: `${colour}cc`, stroke: `${colour}cc` } };
    return {
        ...series.kind === "path" && { paths: (u: uPlot) => pathOf(u, series) },
        stroke: colour, width: series.kind === "thin" ? 1.3 : 2, dash: series.dash.length ? series.dash : undefined, points: { show: false },
        fill: stacked ? areaColour(theme, series.colour) : series.fill ? `${colour}1f` : undefined, fillTo: () => bottom,
    };
}

/** uPlot's own paths go from left to right. */
function pathOf(u: uPlot, { xs, ys }: Series): uPlot.Series.Paths {
    const stroke = new Path2D();
    xs.forEach((x, i) => stroke.lineTo(u.valToPos(x, "x", true), u.valToPos(ys[i]!, "y", true)));
    return { stroke };
}

/**
 * uPlot wants one x array for all series: different ones are joined, and a gap stays a gap even where
 * others have points.
 */
function aligned(plot: Plot, span: Frame["span"]): uPlot.AlignedData {
    const order = ({ xs }: Series) => xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
    const tables = plot.series.map((series): uPlot.AlignedData => series.kind !== "path" ? [series.xs, series.ys]
        : [order(series).map((i) => series.xs[i]), order(series).map((i) => series.ys[i])]);
    return tables.length ? uPlot.join(tables, tables.map(() => [GAPS, GAPS])) : [[...span.x]];
}
