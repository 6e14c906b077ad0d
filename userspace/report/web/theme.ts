// SPDX-License-Identifier: GPL-2.0-only
// Colours. Those of lines follow Okabe and Ito (and, after the seventh, Tol's muted set), which the
// colour-blind can tell apart; each is darkened or lightened to stand out from its paper.
export interface Theme {
    name: "light" | "dark";
    paper: string; ink: string; soft: string; grid: string; faint: string;
    lines: string[];
    /** From few to many. */
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

export function lineColour(theme: Theme, index: number): string {
    return theme.lines[index % theme.lines.length];
}

/** Of a rank, 0 to 1. */
export function heatColour(theme: Theme, rank: number): string {
    const at = Math.min(Math.max(rank, 0), 1) * (theme.heat.length - 1), i = Math.min(Math.floor(at), theme.heat.length - 2);
    const mixed = theme.heat[i].map((low, c) => Math.round(low + (theme.heat[i + 1][c] - low) * (at - i)));
    return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
