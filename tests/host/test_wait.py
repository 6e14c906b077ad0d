# SPDX-License-Identifier: GPL-2.0-only
"""Stage wait: as many bios as wait in the kernel's own trace, for as long; whether they are merged, split or neither."""
import contextlib

from devices import Delta
from load import Blklat, assert_all_counted, exact, fio
from tracing import tracefs
from waits import WAITS, sum_ns, waited

IOS = 4000
APART_NS = 3000		# a look at the clock by the trace, and one by the program behind it


@contextlib.contextmanager
def traced(device):
    """Gives a function that returns the trace's lines of the device so far."""
    major, minor = map(int, device.number.split(":"))
    with tracefs() as folder, contextlib.ExitStack() as undo:
        instance = folder / "instances" / folder.name
        instance.mkdir()
        undo.callback(instance.rmdir)
        (instance / "buffer_size_kb").write_text("8192")
        (instance / "trace_clock").write_text("mono")
        for event in WAITS:
            (instance / f"events/block/{event}/filter").write_text(f"dev == {major << 20 | minor}")
            (instance / f"events/block/{event}/enable").write_text("1")
        yield lambda: (instance / "trace").read_text().splitlines()


def watched(device, **load):
    """Counts a load of IOS bios. Returns what the trace says, and the run."""
    with Blklat(device, stage="wait") as b, traced(device) as lines:
        fio(device, size=device.size, number_ios=IOS, ioengine="libaio", iodepth=32, **load)
        b.next(device, "wait", 2)
        seen = lines()
    assert_all_counted(b, device, "total")
    a = assert_all_counted(b, device, "wait")
    waits, merged = waited(seen)
    assert a["started"] == a["completed"] == len(waits) == IOS
    assert abs(sum_ns(b, device, "wait") - sum(waits)) < IOS * APART_NS
    return merged, b


@exact
def test_each_has_a_request(loop):
    merged, b = watched(loop, rw="randread")
    assert merged == 0
    assert b.ops(loop, "wait") == b.ops(loop, "total") == {"read": IOS}


@exact
def test_merged(loop):
    """What is merged into another request waits no longer."""
    loop.setting("scheduler", "mq-deadline")
    stat = Delta(loop)
    merged, b = watched(loop, rw="write", iodepth_batch_submit=16)
    assert merged >= stat()["write_merges"] > 0
    assert b.ops(loop, "wait") == b.ops(loop, "total") == {"write": IOS}


@exact
def test_split(loop):
    """A bio that becomes four requests waits until it has the last of them."""
    loop.setting("max_sectors_kb", 64)
    stat = Delta(loop)
    with Blklat(loop, stage="wait") as b:
        fio(loop, rw="read", bs="256k", number_ios=200)
        b.next(loop, "wait", 2)
    assert stat()["reads"] == 800
    for stage in "total", "wait":
        assert assert_all_counted(b, loop, stage)["started"] == 200
        assert b.ops(loop, stage) == {"read": 200}
        assert b.total("bytes", "read", loop, stage) == 200 * 256 * 1024
