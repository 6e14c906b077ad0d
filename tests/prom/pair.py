# SPDX-License-Identifier: GPL-2.0-only
"""The exporters of some hosts, and two servers that scrape them all: one takes native histograms, one does not."""
import contextlib
import math
import types

import server
from player import Player
from waiting import wait_until


@contextlib.contextmanager
def played_to_both(recordings, ticks):
    """Percentiles at a moment need IOs in the seconds before it: half of the ticks."""
    with contextlib.ExitStack() as stack:
        exporters, servers = [], {}
        for recording in recordings:
            player = stack.enter_context(Player())
            player.open(recording)
            exporters.append(server.Exporter(player))
            stack.callback(exporters[-1].close)
        addresses = [e.address for e in exporters]
        for name in ("native", "classic"):
            servers[name] = server.Prometheus(addresses, [server.RULES], native=name == "native")
            stack.callback(servers[name].close)
        *times, moment = server.play(exporters, ticks)
        for s in servers.values():
            wait_until(lambda s=s: s.settled(moment, len(addresses)), "scrapes of all", every_s=0.1)
        yield types.SimpleNamespace(exporters=exporters, addresses=addresses, moment=moment, window_s=math.ceil(moment - times[ticks // 2]),
                                    **servers)
