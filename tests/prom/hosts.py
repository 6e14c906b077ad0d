# SPDX-License-Identifier: GPL-2.0-only
"""Made-up IOs of two hosts' drives, one of which is slow."""
import random

from player import script

HOSTS = 2
DRIVES = ("nvme0n1", "nvme1n1", "nvme2n1")
SLOW = (1, "nvme2n1")  # host and drive
STAGES = ("device", "queue")


def make_ios(seed):
    """{(host, drive, op): [ns]} at stage device; the ticks take IOs in turn."""
    rng = random.Random(seed)
    ios = {}
    for host in range(HOSTS):
        for drive in DRIVES:
            slower = 8 if (host, drive) == SLOW else 1
            for op, median, n in (("read", 90_000, 8000), ("write", 25_000, 3000)):
                ios[host, drive, op] = [int(median * slower * rng.lognormvariate(0, 0.5)) for _ in range(n)]
    # IOs below and above the grid count too.
    ios[0, "nvme0n1", "read"] += [3, 14, 130_000_000_000]
    return ios


def events_of(ios, host, ticks):
    lines = []
    for tick in range(ticks):
        for (at, drive, op), values in ios.items():
            if at == host:
                now = values[tick::ticks]
                lines += [f"on {drive} device", "in-flight 4 oldest=90us", *(f"io {op} {ns}ns 4096" for ns in now)]
                lines += [f"on {drive} queue", f"io {op} 2us 4096 x{len(now)}"]
        lines.append("tick 1")
    return lines


def write_script(path, ios, host, ticks):
    return script(path, [f'{d} kind=nvme model="Example NVMe" queues=2 tags=64' for d in DRIVES],
                  events_of(ios, host, ticks), stages=STAGES)
