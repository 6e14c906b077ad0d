# SPDX-License-Identifier: GPL-2.0-only
"""Many devices, most of which go, or come while others go: each change is reported once, and those that stay are always counted."""
import contextlib
import os
import random

import pytest
from engines import PREPARED, blklat_module
from faulty import Null, need_configfs, read
from guest import All, module
from load import Blklat, assert_all_counted
from service import Serve
from told import watched

# 'make test-soak' takes a thousand, which take minutes to make and remove.
N = int(os.environ.get("BLKLAT_HOT_PLUGGED", 100))
STAYING = 20
# What a guest of 1 GiB can spare; the default is less there. The test keeps each interval's line for every device and stage.
MEMORY = "200M"
# Of those that go and those that come, one in EVERY is read from.
EVERY = max(1, N // 20)
INTERVAL_S = max(2, N // 50)


@contextlib.contextmanager
def hot_plug():
    """Gives a function that makes more devices, and the list of all that exist."""
    there = []

    def add(n):
        for i in range(len(there), len(there) + n):
            there.append(Null(f"nullb{i}", submit_queues=1, hw_queue_depth=64))

    need_configfs()
    with module("null_blk", nr_devices=0):
        try:
            yield add, there
        finally:
            for device in there:
                if device.folder.exists():
                    device.remove()


@pytest.mark.before_release
@pytest.mark.parametrize("engine", PREPARED)
def test_most_go(engine):
    """While they are captured: each is reported once, and those that stay are counted before, meanwhile and after."""
    with hot_plug() as (add, all_of):
        add(N)
        chance = random.Random(7)
        stay = chance.sample(all_of, STAYING)
        go = [d for d in all_of if d not in stay]
        chance.shuffle(go)
        with PREPARED[engine](), Blklat(All, stage="device,total", interval=INTERVAL_S, args=["--engine", engine, "--max-memory", MEMORY]) as b:
            for i, device in enumerate(stay):
                read(device, 10 + i)
            for i, device in enumerate(go):
                if i % EVERY == 0:
                    read(device, 3)
                    read(stay[i % len(stay)], 5)
                device.remove()
            for device in stay:
                read(device, 7)
            b.next(stay[-1], "total", n=2)
        more = [5 * sum(stay[i % len(stay)] is d for i in range(0, len(go), EVERY)) for d in stay]
        assert sorted(b.stderr.splitlines()) == sorted(f"blklat: {d.name} went away" for d in go)
        for i, device in enumerate(stay):
            for stage in "device", "total":
                a = assert_all_counted(b, device, stage)
                assert a["completed"] == b.total("ios", "read", device, stage) == 10 + i + 7 + more[i], device.name
        for device in go[::EVERY]:
            assert b.total("ios", "read", device, "device") == 3, device.name


def test_served_while_they_come_and_go():
    """By the module; tests/serve has hundreds that come and go by BPF."""
    with hot_plug() as (add, there), blklat_module():
        add(N // 2)
        with Serve("--dev", "nullb*", "--engine", "kmod", "--interval", "1", "--stage", "device", "--max-memory", MEMORY) as s:
            s.until(lambda: len(s.snapshot()) == N // 2, "the first half")
            first = there[:2 * STAYING:2]
            for i, device in enumerate(first):
                read(device, 10 + i)
            add(N // 2)
            s.until(lambda: len([w for w in s.snapshot() if not w.get("gone")]) == N, "all of them")
            for device in there[1:N // 4:2]:
                device.remove()
            second = there[N // 2::EVERY]
            for i, device in enumerate([*first, *second]):
                read(device, 100 + i)
            s.until(lambda: len([w for w in s.snapshot() if not w.get("gone")]) == N - len(there[1:N // 4:2]), "those that stay")
            s.until(lambda: not any(w["in_flight"]["ios"] for d in second for w in watched(s, d)), "rest")
            s.later_snapshot()
            told = s.metrics()
            for i, device in enumerate([*first, *second]):
                wanted = 100 + i + (10 + i if device in first else 0)
                assert told[f'blklat_io_latency_seconds_count{{device="{device.name}",op="read",stage="device"}}'] == wanted, device.name
            s.stop()
