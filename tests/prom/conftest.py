# SPDX-License-Identifier: GPL-2.0-only
"""The exporters of two hosts, and two servers that scrape both: one takes native histograms, one does not."""
import contextlib
import math
import types

import pytest

import server
from hosts import HOSTS, make_ios, write_script
from player import Player

TICKS = 8


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
            servers[name] = server.Prometheus(addresses, [server.RULES], native=name == "native")
            stack.callback(servers[name].close)
        # Percentiles at a moment need IOs in the seconds before it: half of the ticks.
        *times, moment = server.play(exporters, TICKS)
        window_s = math.ceil(moment - times[TICKS // 2])
        total = sum(len(v) for v in ios.values())
        for s in servers.values():
            server.wait_for("last scrape", lambda s=s: s.query(
                'sum(blklat_io_bytes_total{stage="device"}) / 4096') == [({}, total)])
        yield types.SimpleNamespace(ios=ios, exporters=exporters, addresses=addresses, folder=folder, moment=moment,
                                    window_s=window_s, **servers)
