# SPDX-License-Identifier: GPL-2.0-only
"""A service with a hundred devices."""
import os
import time

from devices import many_loops
from load import exact, fio
from service import Serve, policy
from told import settled, totals, wait_for

N = 100


@exact
def test_some_come_and_the_end_is_plain(need_root):
    """Each IO of those that come, and of one that stays, is counted. SIGTERM gives status 0."""
    with many_loops(N) as many:
        later = many[-5:]
        for device in later:
            many.remove(device)
        with Serve("--dev", many.pattern, "--stage", "device", "--interval", "0.2") as s:
            s.until(lambda: len(s.snapshot()) == N - 5, "all but five")
            for i, device in enumerate(later):
                many.attach(device)
                wait_for(s, device)
                fio(device, number_ios=100 + i)
                settled(s, device)
            s.until(lambda: len(s.snapshot()) == N, "all of them")
            for device in many[0], *later:
                fio(device, number_ios=50, rw="randwrite")
            for i, device in enumerate(later):
                settled(s, device)
                assert totals(s, device) == (100 + i, 50)
            settled(s, many[0])
            assert totals(s, many[0]) == (0, 50)
            s.stop()


def test_a_priority_that_takes_a_cpu_is_given_up(need_root):
    """64 devices each ms: reading them takes a whole CPU from everything of lower priority. Each half second it takes little."""
    with many_loops(64) as many:
        with Serve("--dev", many.pattern, "--interval", "0.001") as s:
            s.until(lambda: "too much for a real-time priority" in s.read_stderr(), "word of it")
            assert policy(s.pid) == (os.SCHED_OTHER, 0, 0)
            with Serve("--dev", many.pattern, "--interval", "0.5") as moderate:
                time.sleep(5)
                assert policy(moderate.pid) == (os.SCHED_FIFO, 1, 0) and "too much" not in moderate.read_stderr()
            assert s.read_stderr().count("too much for a real-time priority") == 1
            assert s.request("/metrics").status == 200
