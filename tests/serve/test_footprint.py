# SPDX-License-Identifier: GPL-2.0-only
"""What a service holds while it watches this machine: capabilities, programs, memory, priority; and that it leaves nothing."""
import contextlib
import os
import signal
import time

import pytest
from devices import many_loops
from kernel_objects import bpf_objects, still_there
from load import wait_until
from service import Serve, policy
from told import wait_for


def capabilities(s):
    found = []
    for task in s.tasks():
        with contextlib.suppress(OSError):  # it ended meanwhile
            found.append((int(s.status("CapPrm", task), 16), int(s.status("CapEff", task), 16)))
    return sorted(found)


@pytest.mark.plain
def test_what_is_kept_is_what_later_devices_take(slots, tmp_path):
    """
    CAP_PERFMON (38) and CAP_BPF (39), nowhere effective; the server and the thread that reads --web-config have none.
    The thread that captures has a real-time priority; the others have ordinary priority, or less.
    """
    device, web = slots.attach(0), tmp_path / "web.yml"
    web.write_text("")
    with Serve("--dev", slots.pattern, "--web-config", web) as s:
        wait_for(s, device)
        few = 1 << 38 | 1 << 39
        s.until(lambda: capabilities(s) == [(0, 0)] * 2 + [(few, 0)], "few capabilities")
        assert int(s.status("CapBnd"), 16) == 0

        def priorities():
            tasks = s.tasks()
            return {True: policy(s.pid), False: sorted(policy(t) for t in tasks if t != s.pid)}
        # The thread that reads --web-config; and the server.
        ordinary = [(os.SCHED_OTHER, 0, 0)] + [(os.SCHED_OTHER, 0, 5)]
        s.until(lambda: priorities() == {True: (os.SCHED_FIFO, 1, 0), False: ordinary}, "those priorities")
        assert "no real-time priority" not in s.read_stderr()
    with Serve("--dev", device.name) as s:
        assert capabilities(s) == [(0, 0)] * 2


def test_leaves_nothing(slots):
    """Programs and maps go with the process, as soon as no program runs, even when it is killed. Otherwise it ends within a second."""
    device, took = slots.attach(0), []
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        with Serve("--dev", device.name) as s:
            wait_for(s, device)
            ours = bpf_objects(s.pid)
            assert all(ours.values()) and len(still_there(ours)) == sum(map(len, ours.values()))
            if number == signal.SIGKILL:
                s.kill()
            else:
                took.append(s.stop())
        wait_until(lambda: not still_there(ours), "their end")
    # The quicker one shows the service, not the machine's other work.
    assert min(took) < 1, took


@pytest.mark.plain
def test_opening_the_capture_leaves_no_memory_behind(slots):
    """It takes more than 20 MiB for a moment. Devices that come take little."""
    device = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        wait_for(s, device)
        first = s.anonymous_kib()
        for i in range(1, 4):
            wait_for(s, slots.attach(i))
        assert int(s.status("VmHWM").split()[0]) - first > 10000
        assert first < 8000 and s.anonymous_kib() - first < 9000, (first, s.anonymous_kib())


def test_a_priority_that_is_refused_is_told(slots):
    device = slots.attach(0)
    with Serve("--dev", device.name, "--interval", "0.1", prefix=("setpriv", "--bounding-set=-sys_nice")) as s:
        wait_for(s, device)
        assert "warning: no real-time priority (Operation not permitted)" in s.read_stderr()
        assert policy(s.pid)[0] == os.SCHED_OTHER


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
