# SPDX-License-Identifier: GPL-2.0-only
"""
The report finds what was done to a device on purpose, at the right time. One finding is provoked here; tests/unit/test_findings*.c
have all of them, and runs in which nothing is found.
"""
import json
import sqlite3
import time

from devices import frozen_loop, run
from load import BLKLAT
from recorder import Recorder, busy

INTERVAL_S = 0.25
NEAR_S = 4 * INTERVAL_S
FROZEN_S = 3


def stalls(file):
    return [f["values"] for f in json.loads(run(BLKLAT, "report", "--format", "json", file))["runs"][0]["findings"] if f["kind"] == "stall"]


def test_a_stall(file):
    """The load has a rate that is low enough for any machine."""
    with frozen_loop() as (device, freeze, thaw), Recorder(device, file, "--quiet", interval=INTERVAL_S) as r, \
            busy(device, rw="randwrite", rate_iops=500, iodepth=1) as load:
        r.more(FROZEN_S / INTERVAL_S)
        stopping_s = time.monotonic()
        freeze()
        stopped_s = time.monotonic()
        time.sleep(FROZEN_S)
        going_s = time.monotonic()
        thaw()
        gone_s = time.monotonic()
        r.more(FROZEN_S / INTERVAL_S)
        load.end()
        assert r.stop() == 0, r.stderr
    [stall] = stalls(file)
    db = sqlite3.connect(file)
    begin_s = db.execute("SELECT min(mono_ns) FROM interval").fetchone()[0] / 1e9
    no_io_s = db.execute("SELECT total(interval_s) FROM watch_interval WHERE NOT ios").fetchone()[0]
    halted_s = db.execute("SELECT total(to_ns - from_ns) FROM halt").fetchone()[0] / 1e9
    # A busy machine may cause other stalls, but none as long.
    assert stopping_s - NEAR_S <= begin_s + stall["longest_at_s"] <= stopped_s + NEAR_S
    # Intervals without IO lie inside the frozen time.
    assert going_s - stopped_s - NEAR_S <= stall["longest_s"] <= gone_s - stopping_s + NEAR_S
    assert stall["longest_s"] <= stall["time_s"] < no_io_s + halted_s + NEAR_S


def test_halts_within_intervals(file):
    """
    The load makes up for each within its interval, so only looks between the reads see them. Each is told, however unevenly a busy
    machine lets the load run.
    """
    frozen = []
    with frozen_loop() as (device, freeze, thaw), Recorder(device, file, "--quiet", interval=1) as r, \
            busy(device, rw="randwrite", rate_iops=500, iodepth=8, ioengine="libaio") as load:
        for _ in range(2):
            r.more(1)
            freeze()
            load.until(lambda: device.stat()["in_flight"], "an IO that waits")
            begin = time.monotonic_ns()
            time.sleep(0.9)
            frozen.append((begin, time.monotonic_ns()))
            thaw()
        r.more(1)
        load.end()
        assert r.stop() == 0, r.stderr
    # Those that go on at an interval's end have two rows.
    halts = sqlite3.connect(file).execute("SELECT from_ns, to_ns FROM halt").fetchall()
    for begin, end in frozen:
        halted = sum(max(min(to, end) - max(since, begin), 0) for since, to in halts)
        # To a look on each side, which a busy machine may make late.
        assert halted >= end - begin - 0.5e9
    [stall] = stalls(file)
    assert stall["stalls"] >= len(frozen)
