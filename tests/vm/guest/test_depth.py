# SPDX-License-Identifier: GPL-2.0-only
"""Queue depth while long IOs are in flight: each counts in every interval by the time it was in flight there."""
import pytest
from engines import both
from guest import null_blk
from load import assert_all_counted, fio

IOS = 14
TIMER_S = 2.7


STAGES = "device", "total"


def test_long_ios():
    """Nothing ends for seconds, yet the depth is fio's. Summed over time it equals the sum of the latencies."""
    with null_blk(irqmode=2, completion_nsec=int(TIMER_S * 1e9)) as (device,), both(device, stage=",".join(STAGES)) as engines:
        done = fio(device, ioengine="libaio", iodepth=IOS, number_ios=2 * IOS)
        engines.settle()
    assert done.ios("read") == 2 * IOS
    for b in engines:
        for stage in STAGES:
            assert_depth(b, device, stage)


def assert_depth(b, device, stage):
    assert_all_counted(b, device, stage)
    lines = b.of(device, stage)
    # Those that end while an interval is read count to their end, some ms after its own; it is 500 ms long. If the bins have
    # some of them already, these count twice, and the next interval has that much less: two of 14 on a slow machine.
    # Those that begin while an interval is read are in flight at its end, but in the next one not all of the time.
    full = [l for first, before, l in zip(lines, lines[1:], lines[2:])
            if all(one["in_flight"]["ios"] == IOS for one in (first, before, l)) and not before["ops"] and not l["ops"]]
    assert len(full) >= 2, [(l["in_flight"], l["queue_depth"], len(l["ops"])) for l in lines]
    for l in full:
        assert l["queue_depth"] == pytest.approx(IOS, abs=0.01)
    for l, after in zip(lines, lines[1:]):
        pair = l, after
        spent_s = sum(p["queue_depth"] * p["interval_s"] for p in pair)
        twice_s = spent_s - IOS * sum(p["interval_s"] for p in pair)
        assert 0 <= spent_s and twice_s <= IOS / 2 * TIMER_S, [(p["time"], p["queue_depth"]) for p in pair]
    spent_s = sum(l["queue_depth"] * l["interval_s"] for l in lines)
    sum_s = sum(o["latency_ns"]["mean"] * o["ios"] for l in lines for o in l["ops"]) / 1e9
    assert sum_s >= 2 * IOS * TIMER_S
    assert spent_s == pytest.approx(sum_s, rel=0.001)
