# SPDX-License-Identifier: GPL-2.0-only
"""A device that does not answer, and one that is gone."""
import time

import devices
import pytest
from devices import Delta
from load import Blklat, Fio, assert_all_counted, assert_closed, exact, fio

DEPTH = 8


STAGES = "device", "total"


@exact
def test_stalled_device(frozen):
    """IOs that do not complete are seen all the same: how many, and how long they have waited."""
    device, freeze, thaw = frozen
    stat = Delta(device)
    with Blklat(device, stage=",".join(STAGES), interval=0.25) as b:
        freeze()
        asked = time.monotonic()
        with Fio(device, rw="randwrite", ioengine="libaio", iodepth=DEPTH, number_ios=DEPTH) as f:
            b.until(lambda: b.lines and b.lines[-1]["in_flight"]["ios"] == DEPTH, "stall")
            first = b.lines[-1]["time"]
            b.next(device, "total", n=4)
            stalled = {stage: [l for l in b.of(device, stage) if l["time"] >= first] for stage in STAGES}
            thaw()
            f.result()
        b.next(device, "total", n=2)
    assert stat()["ios"] == DEPTH
    for stage in STAGES:
        assert_stalled(b, device, stage, stalled[stage], asked)


def assert_stalled(b, device, stage, stalled, asked):
    for earlier, later in zip(stalled, stalled[1:]):
        assert later["ops"] == []
        assert later["in_flight"]["ios"] == DEPTH
        # The kernel counts requests in flight, so only at stage device.
        assert later["accounting"]["kernel_in_flight"] == (DEPTH if stage == "device" else None)
        grown = later["in_flight"]["oldest_ns"] - earlier["in_flight"]["oldest_ns"]
        assert grown == pytest.approx(later["interval_s"] * 1e9, abs=1e6)
    # By the clock: it was issued after the load was started, and four intervals have passed.
    oldest_s = stalled[-1]["in_flight"]["oldest_ns"] / 1e9
    assert sum(l["interval_s"] for l in stalled[1:]) <= oldest_s <= stalled[-1]["seen"] - asked
    assert assert_all_counted(b, device, stage)["started"] == DEPTH
    done = [o["latency_ns"] for l in b.of(device, stage) for o in l["ops"]]
    assert max(o["max"] for o in done) > stalled[-1]["in_flight"]["oldest_ns"]


def test_in_flight_at_the_start(frozen):
    """IOs that began before the capture are told apart from its own, and are no loss."""
    device, freeze, thaw = frozen
    stat = Delta(device)
    freeze()
    with Fio(device, rw="randwrite", ioengine="libaio", iodepth=DEPTH, number_ios=DEPTH) as f:
        f.until(lambda: device.stat()["in_flight"] == DEPTH, "stall")
        with Blklat(device, stage=",".join(STAGES)) as b:
            thaw()
            f.result()
            b.next(device, "total", n=2)
    assert stat()["ios"] == DEPTH
    for stage in STAGES:
        a = assert_closed(b, device, stage)
        assert (a["started"], a["lost"], a["in_flight"], b.ops(device, stage)) == (0, 0, 0, {})
        # Bios have no slots that could show them; they are unknown.
        assert a["before_start"] == (DEPTH if stage == "device" else 0)


@pytest.mark.parametrize("kind, stays", [("zram", False), ("loop", False), ("loop", True)])
def test_last_device_goes_away(kind, stays, request):
    """Without its file a loop device stays, but empty: that counts as gone, too."""
    device, remove = request.getfixturevalue(f"removable_{kind}")
    with Blklat(device, interval=0.3) as b:
        fio(device, rw="randwrite", number_ios=200)
        b.next()
        if stays:
            devices.run("losetup", "-d", device.path)
        else:
            remove()
        assert b.wait() == 1
    assert f"{device.name} went away" in b.stderr
    assert b.ops(device) == {"write": 200}


def removed_and_added(device):
    devices.run("losetup", "-d", device.path)
    devices.loop_control(devices.LOOP_CTL_REMOVE, device)
    devices.loop_control(devices.LOOP_CTL_ADD, device)
    devices.run("losetup", "--direct-io=on", device.path, device.file)


def reset(device):
    devices.when_free(lambda: (device.sysfs / "reset").write_text("1"))
    (device.sysfs / "disksize").write_text(str(devices.MIB))


@pytest.mark.parametrize("kind, replace", [("loop", removed_and_added), ("zram", reset)])
def test_another_in_its_place(kind, replace, request):
    """Nothing looks at the device between its end and the start of the next one with its name and number."""
    device, _ = request.getfixturevalue(f"removable_{kind}")
    number = device.number
    with Blklat(device, interval=1) as b:
        fio(device, rw="randwrite", number_ios=200)
        b.next()
        replace(device)
        assert device.number == number and device.size
        assert b.wait() == 1
    assert f"{device.name} went away" in b.stderr
    assert [line.get("gone", False) for line in b.lines] == [False] * (len(b.lines) - 1) + [True]
    assert b.ops(device) == {"write": 200}


@exact
def test_another_file_at_once(removable_loop):
    """A capture that is too late to see the device empty says that some IOs may be another device's."""
    device, _ = removable_loop
    with devices.backing_file("/dev/shm", 8 * devices.MIB) as other, Blklat(device, interval=2) as b:
        fio(device, size="1M", number_ios=100)
        devices.run("losetup", "-d", device.path)
        devices.run("losetup", "--direct-io=on", device.path, other)
        fio(device, size="8M", number_ios=1000)
        assert b.wait() == 1  # no device is left
        devices.run("losetup", "-d", device.path)
    started = assert_all_counted(b, device)["started"]
    print(started, b.stderr)
    last = b.of(device)[-1]  # on a busy machine an interval may end before the device goes
    assert last["gone"]
    if "replaced" in last:
        assert 100 <= started <= 1100 and "another device took its place" in b.stderr
    else:
        assert started == 100 and b.stderr.startswith(f"blklat: {device.name} went away\n")


def test_partition_that_is_another(loop):
    """Its disk is the same."""
    with devices.partition(loop, 1, loop.size // 4, loop.size // 4) as part, Blklat(part, interval=1) as b:
        b.next()
        devices.run("delpart", loop.path, 1)
        devices.run("addpart", loop.path, 1, loop.size // 4 // 512, loop.size // 4 // 512)
        assert b.wait() == 1
    assert f"{part.name} went away" in b.stderr
