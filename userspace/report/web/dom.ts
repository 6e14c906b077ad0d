// SPDX-License-Identifier: GPL-2.0-only
// Makes elements. Text is always set as text, never as HTML: a device may be called `"><script>`.
type Child = Node | string | false | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

/** Attributes that are functions become listeners; true gives an empty attribute, false and undefined none. */
export function el<T extends keyof HTMLElementTagNameMap>(tag: T, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        if (typeof value === "function")
            element.addEventListener(name, value);
        else if (value !== undefined && value !== false)
            element.setAttribute(name, value === true ? "" : String(value));
    element.append(...children.filter((child): child is Node | string => child !== false && child !== null && child !== undefined));
    return element;
}

export function button(text: string, click: () => void, attributes: Attributes = {}): HTMLButtonElement {
    return el("button", { type: "button", click, ...attributes }, text);
}

/** Buttons, one of which is pressed. */
export function choice<T extends string>(label: string, options: [T, string][], chosen: T, choose: (value: T) => void): HTMLElement {
    const buttons = options.map(([value, text]) => button(text, () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === pressed(value))));
        choose(value);
    }, { "data-value": value, "aria-pressed": String(value === chosen) }));
    const pressed = (value: T) => buttons[options.findIndex((option) => option[0] === value)];
    return el("span", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

/** A table; the first @names columns are row headings, the others figures. */
export function table(caption: string, head: string[], rows: string[][], names = 1): HTMLTableElement {
    const cell = (text: string, i: number) => i < names ? el("th", { scope: "row" }, text) : el("td", {}, text);
    return el("table", {},
        el("caption", {}, caption),
        el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))));
}

/** Makes the browser download a file. */
export function save(name: string, content: Blob): void {
    const url = URL.createObjectURL(content), link = el("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}
