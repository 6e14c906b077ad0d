# SPDX-License-Identifier: GPL-2.0-only
import pytest
from devices import Delta
from engines import both, histogram, quantile
from guest import DEEP, SINGLE, null_blk
from load import fio


@pytest.mark.parametrize("load", [SINGLE, DEEP], ids=["single", "deep"])
def test_both(load):
    with null_blk(irqmode=2, completion_nsec=100000) as (device,):
        stat = Delta(device)
        with both(device, stage="device,total") as e:
            f = fio(device, rw="randrw", number_ios=3000, thread=1, **load)
            e.settle()
        s = stat()
        a = e.agree(device, "device")
        t = e.agree(device, "total")
        assert a["started"] == t["started"] == a["kernel_ios"] == s["ios"] == 3000
        for op in "read", "write":
            h = [histogram(b, op, device, "device") for b in e]
            print([[quantile(x, q) for q in (.01, .1, .5, .9, .99, .999)] for x in h])
