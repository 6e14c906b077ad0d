# SPDX-License-Identifier: GPL-2.0-only
"""
PREEMPT_RT: a device's interrupt handler is a task that tasks of higher priority preempt, and a spinlock_t sleeps.
"""
import contextlib
import json
import os
import re

import pytest
from devices import Delta, run
from engines import MODULE, both
from guest import FLAVOUR, at_least, null_blk, nvme
from load import Fio
from stack import Traffic, assert_seen

real_time = pytest.mark.skipif("PREEMPT_RT" not in os.uname().version, reason="for real-time kernels")
# Below and above 50, the priority of interrupt threads.
PRIORITIES = None, 30, 60
LOAD = {"ioengine": "libaio", "iodepth": 32, "rw": "randrw", "norandommap": 1, "number_ios": 2000, "numjobs": 2}


def test_kernel():
    """It is the one that was asked for, so that nothing below is skipped where it should run."""
    assert ("PREEMPT_RT" in os.uname().version) == FLAVOUR.startswith("rt")


@real_time
def test_module_takes_no_lock_that_sleeps():
    """Only the file operations take mutexes. A spinlock_t is one in disguise here, and probes must not sleep."""
    needed = run("nm", "--undefined-only", "--format=just-symbols", MODULE).split()
    assert "_raw_spin_lock_irqsave" in needed and "mutex_lock" in needed
    assert [name for name in needed if re.match(r"rt_(spin|read|write)_|__local_bh_|_*wake_up|swake_", name)] == []


def skipped_runs():
    programs = [p for p in json.loads(run("bpftool", "prog", "show", "--json")) if p.get("name", "").startswith("on_rq_")]
    assert programs
    return sum(p.get("recursion_misses", 0) for p in programs)


@contextlib.contextmanager
def loads(device):
    """A load of each priority, at once."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(Fio(device, **LOAD)) for _ in PRIORITIES]
        for f, priority in zip(running, PRIORITIES):
            if priority:
                run("chrt", "--fifo", "--all-tasks", "--pid", priority, f.pid)
        yield running


@real_time
@pytest.mark.parametrize("disk", [lambda: null_blk(irqmode=2), lambda: contextlib.nullcontext((nvme(),))], ids=["null_blk", "nvme"])
def test_priorities(disk):
    """Nothing is missing. Before 7.0 no program is skipped either, since nothing preempts one."""
    with disk() as (device,):
        stat = Delta(device)
        with both(device, stage="device,total") as e:
            with loads(device) as running:
                done = Traffic(*(f.result() for f in running))
            e.settle()
            assert skipped_runs() == 0 or at_least(7, 0)
        assert_seen(e, device, "total", done)
        # Without a scheduler no requests are merged.
        a = assert_seen(e, device, "device", done)
        assert a["kernel_ios"] == stat()["ios"] == done.ios == len(PRIORITIES) * LOAD["numjobs"] * LOAD["number_ios"]
