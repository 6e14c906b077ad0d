// SPDX-License-Identifier: GPL-2.0-only
// The switches of all lines: one each, and one for all of a run, device, stage or op.
import { button, el } from "./dom";
import { amount } from "./format";
import type { Line } from "./lines";
import type { Theme } from "./theme";
import { swatch } from "./tip";

const GROUPS: [string, (line: Line) => string][] = [
    ["run", (line) => line.runName], ["device", (line) => line.watch.device],
    ["stage", (line) => line.watch.stage], ["op", (line) => line.op.op],
];

export class Panel {
    private readonly boxes: HTMLInputElement[] = [];
    private readonly notes: HTMLElement[] = [];
    private readonly groups: { button: HTMLButtonElement; lines: Line[] }[] = [];
    private readonly list = el("ul", { class: "lines" });
    private readonly said = el("p", { class: "hint", role: "status" });

    constructor(readonly root: HTMLElement, private readonly lines: Line[], private readonly changed: () => void) {
        const quick = GROUPS.flatMap(([label, of]) => {
            const values = [...new Set(lines.map(of))];
            return values.length < 2 ? [] : [el("div", { class: "choice", role: "group", "aria-label": `switch by ${label}` },
                el("span", {}, label), ...values.map((value) => this.group(value, lines.filter((line) => of(line) === value))))];
        });
        const all = el("div", { class: "choice", role: "group", "aria-label": "switch all" },
            button("All", () => this.set(lines, true)), button("None", () => this.set(lines, false)));
        root.replaceChildren(this.list, ...lines.length > 1 ? [...quick, all] : [], this.said);
        this.refresh();
    }

    private group(text: string, lines: Line[]): HTMLButtonElement {
        const made = button(text, () => this.set(lines, !lines.every((line) => line.on)));
        this.groups.push({ button: made, lines });
        return made;
    }

    private set(lines: Line[], on: boolean): void {
        for (const line of lines)
            line.on = on;
        this.refresh();
        this.changed();
    }

    dress(theme: Theme): void {
        this.boxes.length = this.notes.length = 0;
        this.list.replaceChildren(...this.lines.map((line) => {
            const box = el("input", { type: "checkbox", "data-key": line.key, change: () => this.set([line], box.checked) });
            this.boxes.push(box);
            const note = el("small");
            this.notes.push(note);
            return el("li", {}, el("label", {}, box, swatch({ ...line.look, kind: "line" }, theme), el("span", {}, line.name, note)));
        }));
        this.tell();
        this.refresh();
    }

    /** The lines' figures changed. */
    tell(): void {
        this.lines.forEach(({ op }, i) => {
            this.notes[i].textContent = op.total.ios ? `${amount(op.total.iops)} IOPS` : "no IO";
        });
    }

    private refresh(): void {
        this.boxes.forEach((box, i) => {
            box.checked = this.lines[i].on;
        });
        for (const { button: b, lines } of this.groups) {
            const on = lines.filter((line) => line.on).length;
            b.setAttribute("aria-pressed", on === lines.length ? "true" : on ? "mixed" : "false");
        }
        this.said.textContent = `${this.lines.filter((line) => line.on).length} of ${this.lines.length} lines shown`;
    }
}
