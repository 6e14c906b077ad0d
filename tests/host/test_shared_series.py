# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that share the series of a device, all of them or some, count as exactly as those that have their own."""
import load
import pytest
from devices import Delta
from load import SERIES_BYTES, Blklat, Unseen, assert_closed, deep, fio, least_memory, missing
from skips import ALTERED

SLOW = "--slow", "p99.9", "--slow-max", "10000"
STAGES = "device", "total"


def longest_are_told(b, loop):
    """
    The longest IO is reported as a slow IO, too, which takes another way: of how many intervals and ops that can be seen. It is reported
    before it is counted, so while an interval is read, the first IOs of the next one may be. In the first interval that has a limit,
    those that ended before it was set are not.
    """
    compared = 0
    for stage in STAGES:
        lines = b.of(loop, stage)
        for before, line, after in zip([None, *lines], lines, [*lines[1:], None]):
            for o in line["ops"]:
                slow, early = (slow_of(x, o["op"]) for x in (line, before))
                if not slow or not early or line["slow_dropped"] or before["slow_dropped"]:
                    continue
                longest = o["latency_ns"]["max"]
                assert longest in slow + early
                if max(slow) <= longest:
                    compared += 1
                elif after:
                    assert max(slow) <= max(n["latency_ns"]["max"] for n in after["ops"] if n["op"] == o["op"])
    return compared


def slow_of(line, op):
    return [io["latency_ns"] for io in line["slow"] if io["op"] == op] if line else []


@pytest.mark.parametrize("spare, build", [(0, "atomic"), (3, None)])
def test_every_io(loop, spare, build, monkeypatch):
    """In that build much time passes within each addition (tests/vm/altered.h), so one that is not atomic loses IOs."""
    if build:
        monkeypatch.setattr(load, "BLKLAT", str(ALTERED / build / "blklat"))
    stat = Delta(loop)
    limit = least_memory(loop, "--stage", ",".join(STAGES), *SLOW) + spare * SERIES_BYTES
    with Unseen() as unseen, Blklat(loop, stage=",".join(STAGES), interval=0.2,
                                    args=["--max-memory", limit, *SLOW]) as b:
        ios = 0
        while not longest_are_told(b, loop):
            f = fio(loop, rw="randrw", rwmixread=70, numjobs=2, **deep())
            ios += f.ios("read") + f.ios("write")
            b.next(loop, "total", n=2)
            assert ios < 1e7
    a = assert_closed(b, loop, "device")
    assert a["started"] == a["kernel_ios"] == stat()["ios"] == ios
    assert missing(a) == unseen.of(loop) and longest_are_told(b, loop)
    for stage in STAGES:
        assert sum(b.ops(loop, stage).values()) == a["started"] - missing(assert_closed(b, loop, stage))
        assert b.total("bytes", device=loop, stage=stage) == 4096 * b.total("ios", device=loop, stage=stage)
