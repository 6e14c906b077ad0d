// SPDX-License-Identifier: GPL-2.0-only
// Figures as text, in the same form as on the terminal: three digits, "us", "52.1k".

/** A no-break space, so that a figure stays with its unit. */
const SPACE = "\u00a0";

function digits(value: number): string {
    const size = Math.abs(value);
    return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

const NONE = "–";
const TIMES: [number, string][] = [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]];

/** 59990 -> "60.0 us" */
export function latency(ns: number | null | undefined): string {
    if (ns === null || ns === undefined || !Number.isFinite(ns))
        return NONE;
    let [unit, name] = TIMES[0];
    for (const [size, text] of TIMES)
        if (Math.abs(ns) >= size * 0.9995)
            [unit, name] = [size, text];
    return `${unit === 1 && Number.isInteger(ns) ? ns : digits(ns / unit)}${SPACE}${name}`;
}

/** 52137 -> "52.1k"; below 1000 with at most @places decimal places, below 1 with two digits. */
export function amount(value: number | null | undefined, places = 1): string {
    if (value === null || value === undefined || !Number.isFinite(value))
        return NONE;
    for (const [size, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as [number, string][])
        if (Math.abs(value) >= size * 0.9995)
            return `${digits(value / size)}${letter}`;
    if (Math.abs(value) < 1)
        return `${Number(value.toPrecision(2))}`;
    return `${Number(value.toFixed(Math.abs(value) >= 99.95 ? 0 : places))}`;
}

/** An exact count with narrow spaces between thousands. */
export function count(value: number): string {
    return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

export function percent(share: number, places = 2): string {
    return Number.isFinite(share) ? `${Number((share * 100).toFixed(places))}${SPACE}%` : NONE;
}

/** Of bytes a second, in MB/s: 0.25, 9.95, 1200 */
export function megabytes(mb: number): string {
    return mb >= 999.5 ? `${Math.round(mb)}` : amount(mb, mb < 9.95 ? 2 : 1);
}

/** At least two digits: one in a million IOs is not 0 %. */
export function shareOf(share: number): string {
    return percent(share, share > 0 ? Math.max(2, 1 - Math.floor(Math.log10(share * 100))) : 2);
}

export function seconds(s: number): string {
    return `${Number(s.toFixed(s < 100 ? 1 : 0))}${SPACE}s`;
}

/** The total time of many IOs: 93.4 s, 12.5 min, 31.0 h */
export function duration(s: number): string {
    return s < 600 ? latency(s * 1e9) : s < 36000 ? `${digits(s / 60)}${SPACE}min` : `${digits(s / 3600)}${SPACE}h`;
}

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB"];

export function bytes(value: number): string {
    let unit = 0;
    while (value >= 999.5 && unit < BYTES.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${unit ? digits(value) : value}${SPACE}${BYTES[unit]}`;
}

const BINARY = ["B", "KiB", "MiB", "GiB"];

/** The size of an IO: 4096 -> "4.00 KiB" */
export function ioSize(value: number): string {
    let unit = 0;
    while (value >= 1023.5 && unit < BINARY.length - 1) {
        value /= 1024;
        unit++;
    }
    return `${unit || !Number.isInteger(value) ? digits(value) : value}${SPACE}${BINARY[unit]}`;
}

/** "2026-11-21T07:35:01.000Z" -> "2026-11-21 07:35:01 UTC"; a script may have no time. */
export function moment(iso: string): string {
    return iso.startsWith("1970-01-01") ? NONE : iso.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
}

/** The rows of a table by a key, up or down. Unknown keys come last, and equal ones keep their order. */
export function sortedBy<T>(rows: T[], key: (row: T) => number | string | null, up: boolean): T[] {
    const sign = up ? 1 : -1;
    return [...rows].sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === null || y === null)
            return Number(x === null) - Number(y === null);
        return x < y ? -sign : x > y ? sign : 0;
    });
}
