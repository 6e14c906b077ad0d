# SPDX-License-Identifier: GPL-2.0-only
"""The BPF engine on each kernel: every IO of a null block device, none sooner than the device takes."""
import pytest
from devices import Delta
from guest import DEEP, SINGLE, null_blk
from load import Blklat, assert_all_counted, fio

TIMER_NS = 100000
IMMEDIATE, TIMER = {}, {"irqmode": 2, "completion_nsec": TIMER_NS}


@pytest.mark.parametrize("load", [SINGLE, DEEP], ids=["single", "deep"])
@pytest.mark.parametrize("settings,number", [(IMMEDIATE, 10000), (TIMER, 3000)], ids=["immediate", "timer"])
def test_null_blk(settings, number, load):
    with null_blk(**settings) as (device,):
        stat = Delta(device)
        with Blklat(device) as b:
            f = fio(device, rw="randread", number_ios=number, thread=1, **load)
            b.next()
        s = stat()
    a = assert_all_counted(b)
    assert b.ops() == {"read": number}
    assert a["started"] == a["kernel_ios"] == s["ios"] == s["reads"] == f.ios("read") == number
    assert b.total("bytes") == s["read_sectors"] * 512 == f.bytes("read") == number * 4096
    minimum = min(o["latency_ns"]["min"] for line in b.lines for o in line["ops"])
    assert minimum >= settings.get("completion_nsec", 1)
