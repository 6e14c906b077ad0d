# SPDX-License-Identifier: GPL-2.0-only
"""Queue depth while long IOs are in flight: each counts in every interval by the time it was in flight there."""
import pytest
from engines import both
from guest import null_blk
from load import assert_all_counted, fio

IOS = 14
TIMER_S = 2.7


@pytest.mark.parametrize("stage", ["device", "total"])
def test_long_ios(stage):
    """Nothing ends for seconds, yet the depth is fio's. Summed over time it equals the sum of the latencies."""
    with null_blk(irqmode=2, completion_nsec=int(TIMER_S * 1e9)) as (device,), both(device, stage=stage) as engines:
        done = fio(device, ioengine="libaio", iodepth=IOS, number_ios=2 * IOS)
        engines.settle()
    assert done.ios("read") == 2 * IOS
    for b in engines:
        assert_all_counted(b, device, stage)
        lines = b.of(device, stage)
        full = [l for before, l in zip(lines, lines[1:]) if before["in_flight"]["ios"] == l["in_flight"]["ios"] == IOS and not l["ops"]]
        assert len(full) >= 4, [(l["in_flight"], l["queue_depth"], len(l["ops"])) for l in lines]
        for l in full:
            assert l["queue_depth"] == pytest.approx(IOS, abs=0.01)
        # Those that end while an interval is read count to their end, some ms after its own; it is 500 ms long. An IO
        # that counted twice would show as 5 more, all of them as 75.
        over = [(l["time"], l["queue_depth"], l["interval_s"]) for l in lines if not 0 <= l["queue_depth"] <= 1.2 * IOS]
        assert not over
        spent_s = sum(l["queue_depth"] * l["interval_s"] for l in lines)
        sum_s = sum(o["latency_ns"]["mean"] * o["ios"] for l in lines for o in l["ops"]) / 1e9
        assert sum_s >= 2 * IOS * TIMER_S
        assert spent_s == pytest.approx(sum_s, rel=0.001)
