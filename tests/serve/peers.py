# SPDX-License-Identifier: GPL-2.0-only
"""What clients of a service under pressure get, and by when."""
import time

INTERVAL_S = 0.25


def scrape_times(serve, times, headers=None, pause_s=0.2):
    """Seconds of each scrape but those for which a busy machine held it up; each has its own connection and must succeed."""
    took = []
    for _ in range(times):
        began, held_up_s = time.monotonic(), serve.held_up_s()
        assert serve.request("/metrics", headers=headers).status == 200
        took.append(time.monotonic() - began - (serve.held_up_s() - held_up_s))
        time.sleep(pause_s)
    return took


def refusals(serve, headers=None):
    """Refusals by reason, as of the last interval."""
    lines = serve.request("/metrics", headers=headers).text.splitlines()
    return {line.split('"')[1]: int(line.split()[1]) for line in lines if line.startswith("blklat_http_refused_total{")}
