// SPDX-License-Identifier: GPL-2.0-only
// A chart as an SVG file: what is visible, with title and legend, so that it can be used on its own.
import { type Brush, type Frame, paintOver, paintUnder, scaleX, scaleY, ticksOf } from "./paint";
import { type Cells, inOrder, type Plot, type Series, view, type Zoom } from "./plot";
import { areaColour, FONT, heatColour, lineColour, type Theme } from "./theme";

const LEFT = 66, RIGHT = 18, BOTTOM = 46;
const CHARACTER = 6.5;

function escaped(text: string): string {
    // Also drops characters that XML 1.0 does not allow, as a name may have any byte.
    return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
        .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function n(value: number): string {
    return String(Number(value.toFixed(2)));
}

function svgBrush(out: string[]): Brush {
    return {
        line(points, pen) {
            const dash = pen.dash?.length ? ` stroke-dasharray="${pen.dash.join(" ")}"` : "";
            out.push(`<path d="M${points.map(([x, y]) => `${n(x)} ${n(y)}`).join("L")}" fill="none" stroke="${pen.colour}" stroke-width="${pen.width}"${dash}/>`);
        },
        boxes(boxes, colour, alpha) {
            const d = boxes.map(({ x, y, w, h }) => `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`).join("");
            out.push(`<path d="${d}" fill="${colour}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ' shape-rendering="crispEdges"'}/>`);
        },
        dot(x, y, radius, colour, rim) {
            out.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${radius}" fill="${colour}" stroke="${rim}" stroke-width="1.5"/>`);
        },
        text(x, y, text, words, rim) {
            const halo = rim ? ` stroke="${rim}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "";
            out.push(`<text x="${n(x)}" y="${n(y)}" font-size="${words.size ?? 11}" fill="${words.colour}" text-anchor="${words.anchor ?? "start"}"` +
                `${words.bold ? ' font-weight="600"' : ""}${halo}>${escaped(text)}</text>`);
        },
    };
}

/** Runs of points between gaps. Points outside are left out, except for one neighbour on either side, and all of a path. */
function pieces(series: Series, [lo, hi]: [number, number]): [number, number][][] {
    const all: [number, number][][] = [[]], path = series.kind === "path";
    const first = path ? 0 : Math.max(0, series.xs.findIndex((x) => x >= lo) - 1), after = path ? -1 : series.xs.findIndex((x) => x > hi);
    for (let i = first; i < series.xs.length && (after < 0 || i <= after); i++) {
        const y = series.ys[i];
        if (y === null)
            all.push([]);
        else
            all[all.length - 1].push([series.xs[i], y]);
    }
    return all.filter((piece) => piece.length);
}

function drawn(series: Series, frame: Frame, stacked = false): string {
    const x = scaleX(frame), y = scaleY(frame), colour = lineColour(frame.theme, series.colour);
    const parts = pieces(series, frame.span.x).map((piece) => piece.map(([px, py]): [number, number] => [x(px), y(py)]));
    const attributes = `class="series" data-name="${escaped(series.name)}" stroke="${colour}"`;
    if (series.kind === "dots") {
        const d = parts.flat().map(([px, py]) => `M${n(px)} ${n(py)}h0`).join("");
        return `<path ${attributes} d="${d}" fill="none" stroke-width="3" stroke-linecap="round" stroke-opacity="0.8"/>`;
    }
    const d = parts.map((piece) => `M${piece.map(([px, py]) => `${n(px)} ${n(py)}`).join("L")}`).join("");
    const bottom = n(frame.box.y + frame.box.h);
    const closed = (piece: [number, number][]) => `M${n(piece[0][0])} ${bottom}L${piece.map(([px, py]) => `${n(px)} ${n(py)}`).join("L")}V${bottom}z`;
    const area = series.fill ? `<path d="${parts.map(closed).join("")}" ${stacked ? `fill="${areaColour(frame.theme, series.colour)}"` : `fill="${colour}" fill-opacity="0.12"`}/>` : "";
    const dash = series.dash.length ? ` stroke-dasharray="${series.dash.join(" ")}"` : "";
    return `${area}<path ${attributes} d="${d}" fill="none" stroke-width="${series.kind === "thin" ? 1.3 : 2}" stroke-linejoin="round"${dash}/>`;
}

function heatKey(brush: Brush, { title, least, most }: Cells, theme: Theme, x: number, y: number): void {
    const text = `${title}: ${least}`, bar = x + text.length * CHARACTER;
    brush.text(x, y, text, { colour: theme.ink, size: 12 });
    for (let i = 0; i < 24; i++)
        brush.boxes([{ x: bar + 4 * i, y: y - 10, w: 4, h: 10 }], heatColour(theme, i / 23), 1);
    brush.text(bar + 104, y, most, { colour: theme.ink, size: 12 });
}

/** Draws title and legend. Returns where the chart may begin. */
function head(brush: Brush, plot: Plot, { theme, width, context, legend }: Sheet): number {
    // Left out if it would overlap the title.
    if ((plot.title.length * 1.45 + context.length) * CHARACTER < width - LEFT - RIGHT - 20)
        brush.text(width - RIGHT, 24, context, { colour: theme.soft, anchor: "end", size: 12 });
    brush.text(LEFT, 24, plot.title, { colour: theme.ink, size: 16, bold: true });
    let x = LEFT, y = 46;
    for (const series of inOrder(plot).filter(({ own }) => own || legend === "all")) {
        const text = series.note ? `${series.name}: ${series.note}` : series.name, w = text.length * CHARACTER + 44;
        if (x > LEFT && x + w > width - RIGHT) {
            x = LEFT;
            y += 18;
        }
        const colour = lineColour(theme, series.colour);
        if (series.kind === "dots")
            brush.dot(x + 12, y - 4, 2.5, colour, colour);
        else
            brush.line([[x, y - 4], [x + 24, y - 4]], { colour, width: series.kind === "thin" ? 1.5 : 2.5, dash: series.dash });
        brush.text(x + 30, y, text, { colour: theme.ink, size: 12 });
        x += w;
    }
    if (plot.cells?.boxes.length)
        heatKey(brush, plot.cells, theme, x, y);
    return y + 14;
}

function axes(brush: Brush, plot: Plot, frame: Frame, height: number): void {
    const { box, theme } = frame, x = scaleX(frame), y = scaleY(frame);
    for (const tick of frame.ticks.x)
        if (tick.text)
            brush.text(x(tick.at), box.y + box.h + 16, tick.text, { colour: theme.soft, anchor: "middle" });
    for (const tick of frame.ticks.y)
        if (tick.text)
            brush.text(box.x - 7, y(tick.at) + 4, tick.text, { colour: theme.soft, anchor: "end" });
    brush.text(box.x + box.w / 2, height - 10, plot.x.label, { colour: theme.soft, anchor: "middle", size: 12 });
}

export interface Sheet {
    width: number; height: number;
    /** What all lines have in common; shown beside the title. */
    context: string;
    /** "own": without the lines in the page's legend, which is beside the chart. */
    legend: "all" | "own";
    theme: Theme;
}

export function svg(plot: Plot, zoom: Zoom, sheet: Sheet): string {
    const { width, theme, height: plotHeight } = sheet;
    const under: string[] = [], front: string[] = [], header: string[] = [];
    const headBrush = svgBrush(header), top = head(headBrush, plot, sheet), height = top + plotHeight + BOTTOM;
    const span = view(plot, zoom), box = { x: LEFT, y: top, w: width - LEFT - RIGHT, h: plotHeight };
    const frame: Frame = { box, span, theme, ticks: ticksOf(plot, span, box.w, box.h) };
    axes(headBrush, plot, frame, height);
    paintUnder(svgBrush(under), plot, frame);
    paintOver(svgBrush(front), plot, frame);
    // A printed page contains several of them, so each needs a unique name.
    const middle = top + plotHeight / 2, clip = `box-${plot.title.replace(/[^a-z]/gi, "")}`;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${n(height)}" viewBox="0 0 ${width} ${n(height)}" font-family="${escaped(FONT)}" role="img" aria-label="${escaped(plot.title)}">` +
        `<rect width="100%" height="100%" fill="${theme.paper}"/><clipPath id="${clip}"><rect x="${box.x}" y="${n(box.y)}" width="${n(box.w)}" height="${n(box.h)}"/></clipPath>` +
        `${header.join("")}<text transform="translate(15 ${n(middle)}) rotate(-90)" font-size="12" fill="${theme.soft}" text-anchor="middle">${escaped(plot.y.label)}</text>` +
        `${under.join("")}<g clip-path="url(#${clip})">${plot.series.map((series) => drawn(series, frame, plot.stacked)).join("")}</g>${front.join("")}</svg>`;
}

/** Plots side by side, below one title; they have no axis titles. */
export function grid(plot: Plot, plots: Plot[], zoom: Zoom, { legend: _, ...sheet }: Sheet): string {
    const across = 3, w = sheet.width / across, h = 200, parts = plots.map((one, i) =>
        svg({ ...one, title: one.title, x: { ...one.x, label: "" }, y: { ...one.y, label: "" } }, zoom, { ...sheet, context: "", legend: "own", width: w, height: 120 })
            .replace("<svg ", `<svg x="${n(i % across * w)}" y="${n(34 + Math.floor(i / across) * h)}" `));
    const out: string[] = [], { theme } = sheet;
    svgBrush(out).text(LEFT, 22, `${plot.title} (${plot.y.label})`, { colour: theme.ink, size: 16, bold: true });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${sheet.width}" height="${34 + Math.ceil(plots.length / across) * h}" viewBox="0 0 ${sheet.width} ${34 + Math.ceil(plots.length / across) * h}" ` +
        `font-family="${escaped(FONT)}" role="img" aria-label="${escaped(plot.title)}"><rect width="100%" height="100%" fill="${theme.paper}"/>${out.join("")}${parts.join("")}</svg>`;
}

/** The same as a bitmap, with two pixels per CSS pixel. */
export async function png(text: string): Promise<Blob> {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done, failed) => canvas.toBlob((blob) => blob ? done(blob) : failed(new Error("no picture")), "image/png"));
}
