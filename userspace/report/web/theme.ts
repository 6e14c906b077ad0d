// SPDX-License-Identifier: GPL-2.0-only
// Colours. Those of lines follow Okabe and Ito (and, after the seventh, Tol's muted set), which the
// colour-blind can tell apart; each is darkened or lightened to stand out from its paper.
export interface Theme {
    name: "light" | "dark";
    paper: string; ink: string; soft: string; grid: string; faint: string;
    lines: string[];
    /** From few IOs to many. */
    heat: [number, number, number][];
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export const light: Theme = {
    name: "light",
    paper: "#ffffff", ink: "#1b1f24", soft: "#5b6570", grid: "#d9dee4", faint: "#eef1f4",
    lines: ["#0072b2", "#d55e00", "#009e73", "#b5528f", "#c98500", "#3a9bdc", "#6b5b00",
        "#332288", "#882255", "#117733", "#cc6677", "#44aa99", "#999933", "#aa4499"],
    heat: [[232, 241, 248], [170, 205, 232], [96, 160, 211], [36, 104, 173], [10, 50, 104], [3, 18, 48]],
};

export const dark: Theme = {
    name: "dark",
    paper: "#14181d", ink: "#e8ecf0", soft: "#9aa5b1", grid: "#2f3740", faint: "#222930",
    lines: ["#56b4f9", "#ff8a3d", "#2fd0a0", "#e79ac8", "#f0b429", "#8fd3ff", "#e9e04b",
        "#a99cff", "#ff7fb0", "#6fd08c", "#ffa3ad", "#7fe0d2", "#d3d36b", "#e28bdc"],
    heat: [[27, 42, 58], [30, 70, 110], [38, 110, 168], [82, 160, 216], [158, 208, 244], [236, 248, 255]],
};

/** The colour index of a series that stands for all without a colour of their own. */
export const NO_COLOUR = -1;

export function lineColour(theme: Theme, index: number): string {
    return index === NO_COLOUR ? theme.soft : theme.lines[index % theme.lines.length];
}

function mixed(from: number[], to: number[], share: number): string {
    return `#${from.map((low, c) => Math.round(low + (to[c] - low) * share).toString(16).padStart(2, "0")).join("")}`;
}

function parsed(colour: string): number[] {
    return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

/** The colour of the area below a line; it is opaque. */
export function areaColour(theme: Theme, index: number): string {
    return mixed(parsed(theme.paper), parsed(lineColour(theme, index)), 0.55);
}

/** The colour of a rank, 0 to 1. */
export function heatColour(theme: Theme, rank: number): string {
    const at = Math.min(Math.max(rank, 0), 1) * (theme.heat.length - 1), i = Math.min(Math.floor(at), theme.heat.length - 2);
    return mixed(theme.heat[i], theme.heat[i + 1], at - i);
}
