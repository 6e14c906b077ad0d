// SPDX-License-Identifier: GPL-2.0-only

/** Returns a function that has @run called @ms later, once for all calls until then. */
export function later(ms: number, run: () => void): () => void {
    let waiting = false;
    return () => {
        if (waiting)
            return;
        waiting = true;
        setTimeout(() => {
            waiting = false;
            run();
        }, ms);
    };
}
