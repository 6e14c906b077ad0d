# SPDX-License-Identifier: GPL-2.0-only
"""Stage wait: what the kernel's own trace says of it."""
import re

WAITS = "block_bio_queue", "block_getrq", "block_bio_backmerge", "block_bio_frontmerge"
LINE = re.compile(r" ([0-9.]+): (block_\w+): [0-9,]+ \w+ (\d+) \+ \d+")


def waited(lines):
    """The wait of each bio in ns, to the trace's resolution of 1 us, and how many bios were merged. No two have the same sector."""
    queued, waits, merged = {}, [], 0
    for at, event, sector in map(re.Match.groups, filter(None, map(LINE.search, lines))):
        if event == "block_bio_queue":
            queued[sector] = float(at)
        elif sector in queued:
            waits.append((float(at) - queued.pop(sector)) * 1e9)
            merged += event != "block_getrq"
    assert not queued
    return waits, merged


def sum_ns(b, device, stage):
    return sum(o["ios"] * o["latency_ns"]["mean"] for line in b.of(device, stage) for o in line["ops"] if o["ios"])
