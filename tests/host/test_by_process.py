# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by process: of two fios at once each has its own part, with as many IOs as it was asked for."""
from load import Blklat, assert_all_counted, exact
from senders import EVENTS, assert_senders, send
from tracing import traced_events


@exact
def test_who_sends_them(loop):
    """Threads count for their process."""
    with Blklat(loop, stage="device,total", args=["--by", "process"]) as b, traced_events(loop, *EVENTS.values()) as lines:
        done = send(loop)
        b.next(loop, n=2)
        seen = lines()
    for stage in EVENTS:
        assert_all_counted(b, loop, stage)
    assert_senders(b, loop, done, seen)
