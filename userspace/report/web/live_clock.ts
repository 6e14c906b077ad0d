// SPDX-License-Identifier: GPL-2.0-only
// The axis of time as the clock on the wall has it: people compare it with logs and with each other.
import type { Axis, Tick } from "./axes";

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function clock(ms: number, step_s: number): string {
    const date = new Date(Math.round(ms)), two = (value: number) => String(value).padStart(2, "0");
    const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
    if (step_s >= 60)
        return minutes;
    const seconds = `${minutes}:${two(date.getSeconds())}`;
    return step_s >= 1 ? seconds : `${seconds}.${Math.floor(date.getMilliseconds() / 100)}`;
}

/** Places are seconds since @begin_ms, of the epoch; ticks stand at round local times, texts have seconds where steps are shorter than a minute. */
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
