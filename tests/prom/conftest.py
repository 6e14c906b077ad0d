# SPDX-License-Identifier: GPL-2.0-only
"""Two hosts' exporters, and two servers that scrape both: one takes native histograms, one does not."""
import contextlib
import math
import pathlib
import random
import time
import types

import pytest

import server
from player import Player, script

RULES = pathlib.Path(__file__).resolve().parents[2] / "packaging/prometheus/blklat.rules.yml"
TICKS = 8
HOSTS = 2
DRIVES = ("nvme0n1", "nvme1n1", "nvme2n1")
SLOW = (1, "nvme2n1")  # host and drive
STAGES = ("device", "queue")


def make_ios(seed):
    """{(host, drive, op): [ns]} at stage device, dealt to the ticks in turn."""
    rng = random.Random(seed)
    ios = {}
    for host in range(HOSTS):
        for drive in DRIVES:
            slower = 8 if (host, drive) == SLOW else 1
            for op, median, n in (("read", 90_000, 8000), ("write", 25_000, 3000)):
                ios[host, drive, op] = [int(median * slower * rng.lognormvariate(0, 0.5)) for _ in range(n)]
    # What lies below the grid and above it is an IO too.
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


def play(exporters):
    """A tick of all hosts each time that both servers have scraped the one before: about one a second. Returns when each came, and the end."""
    times = []
    for _ in range(TICKS + 1):
        for e in exporters:
            server.wait_for("scrape", lambda e=e: e.known_to() == 2)
        times.append(time.time())
        if len(times) <= TICKS:
            for e in exporters:
                assert e.tick()
    return times


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    ios = make_ios(7)
    with contextlib.ExitStack() as stack:
        exporters = []
        for host in range(HOSTS):
            player = stack.enter_context(Player())
            player.open(write_script(folder / f"host{host}", ios, host, TICKS))
            exporters.append(server.Exporter(player))
            stack.callback(exporters[-1].close)
        addresses = [e.address for e in exporters]
        servers = {}
        for name in ("native", "classic"):
            servers[name] = server.Prometheus(addresses, [RULES], native=name == "native")
            stack.callback(servers[name].close)
        # Percentiles of a moment need IOs in the seconds before: half of the ticks.
        *times, moment = play(exporters)
        window_s = math.ceil(moment - times[TICKS // 2])
        total = sum(len(v) for v in ios.values())
        for s in servers.values():
            server.wait_for("last scrape", lambda s=s: s.query(
                'sum(blklat_io_bytes_total{stage="device"}) / 4096') == [({}, total)])
        yield types.SimpleNamespace(ios=ios, exporters=exporters, addresses=addresses, folder=folder, moment=moment,
                                    window_s=window_s, **servers)
