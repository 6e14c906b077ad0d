// SPDX-License-Identifier: GPL-2.0-only
// Wall clock times, on the axis and in words: people compare them with logs and with each other.
import type { Axis, Tick } from "./axes";
import { duration } from "./format";

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** The page is English; the first locale knows the names of Europe's time zones, the second those of America's. */
const LANGUAGES = ["en-GB", "en-US"];

function two(value: number): string {
    return String(value).padStart(2, "0");
}

function clock(ms: number, step_s: number): string {
    // Intervals begin and end a few ms off the full tenth of a second.
    const date = new Date(Math.round(ms / 100) * 100);
    const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
    if (step_s >= 60)
        return minutes;
    const seconds = `${minutes}:${two(date.getSeconds())}`;
    return step_s >= 1 ? seconds : `${seconds}.${Math.floor(date.getMilliseconds() / 100)}`;
}

/** "CET (UTC+1)", or "UTC+5:30" if the zone has no other name. */
function zone(date: Date): string {
    const away = -date.getTimezoneOffset(), minutes = Math.abs(away), part = minutes % 60;
    const offset = `UTC${away ? `${away < 0 ? "-" : "+"}${Math.floor(minutes / 60)}${part ? `:${two(part)}` : ""}` : ""}`;
    const name = LANGUAGES.map((language) => new Intl.DateTimeFormat(language, { timeZoneName: "short" }).formatToParts(date)
        .find(({ type }) => type === "timeZoneName")?.value ?? "").find((text) => !/^(UTC|GMT[+-]|$)/.test(text));
    return name ? `${name} (${offset})` : offset;
}

/** "13:05:12.345" */
export function clockMs(ms: number): string {
    const date = new Date(ms);
    return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** "since 13:05:12 (22.0 min)" */
export function sinceWords(since_ms: number, now_ms: number): string {
    return `since ${clock(since_ms, 1)} (${duration((now_ms - since_ms) / 1000)})`;
}

/** "2026-11-21 13:05:12 CET (UTC+1)": says which clock all times on the page refer to. */
export function clockWords(ms: number): string {
    const date = new Date(ms);
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(ms, 1)} ${zone(date)}`;
}

/**
 * Places are seconds since @begin_ms (since the epoch). Ticks are at round local times; texts have
 * seconds if steps are shorter than a minute.
 */
export function clockAxis(begin_ms: number): Axis {
    const away_ms = new Date(begin_ms).getTimezoneOffset() * 60e3;
    return {
        label: "local time", overTime: true, place: (value) => value, value: (place) => place,
        text: (s) => clock(begin_ms + s * 1000, 0.1),
        ticks(lo, hi, room) {
            const step = STEPS_S.find((s) => (hi - lo) / s <= room) ?? STEPS_S[STEPS_S.length - 1], ticks: Tick[] = [];
            const local_s = (begin_ms - away_ms) / 1000;
            for (let i = Math.ceil((local_s + lo) / step - 1e-6); i * step - local_s <= hi + 1e-6; i++)
                ticks.push({ at: i * step - local_s, text: clock(i * step * 1000 + away_ms, step) });
            return ticks;
        },
    };
}
