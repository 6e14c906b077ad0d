# SPDX-License-Identifier: GPL-2.0-only
"""IO of a device that replaces one that went away is not counted as the old one's, however long the interval."""
import contextlib
import time

from devices import MIB, backing_file, run
from load import Blklat, assert_all_counted, exact, fio


@contextlib.contextmanager
def another_file(device, pause_s=0.5):
    """Puts another file into the loop device, after a pause in which it is visibly empty."""
    with backing_file("/dev/shm", 8 * MIB) as other:
        run("losetup", "-d", device.path)
        time.sleep(pause_s)
        run("losetup", "--direct-io=on", device.path, other)
        try:
            yield
        finally:
            run("losetup", "-d", device.path)


@exact
def test_another_file_within_an_interval(removable_loop, loop):
    """100 IOs of one file and 1000 of the other, in one interval, which the end of the run ends; another device is not affected."""
    device, _ = removable_loop
    with Blklat(device, loop, stage="device,total", interval=600) as b:
        fio(device, size="1M", number_ios=100)
        fio(loop, number_ios=10)
        with another_file(device):
            fio(device, size="8M", number_ios=1000)
            fio(loop, number_ios=20)
            b.stop()
    for stage in "device", "total":
        assert assert_all_counted(b, device, stage)["started"] == 100
        assert assert_all_counted(b, loop, stage)["started"] == 30
    assert b.of(device)[0]["gone"] and "replaced" not in b.of(device)[0]
    assert b.stderr == f"blklat: {device.name} went away\n"


@exact
def test_at_once(removable_loop):
    """A capture that is too late to see the device empty says that some IOs may be another device's."""
    device, _ = removable_loop
    with Blklat(device, interval=2) as b:
        fio(device, size="1M", number_ios=100)
        with another_file(device, pause_s=0):
            fio(device, size="8M", number_ios=1000)
            assert b.wait() == 1  # no device is left
    started = assert_all_counted(b, device)["started"]
    print(started, b.stderr)
    assert b.of(device)[0]["gone"]
    if "replaced" in b.of(device)[0]:
        assert 100 <= started <= 1100 and "another device took its place" in b.stderr
    else:
        assert started == 100 and b.stderr.startswith(f"blklat: {device.name} went away\n")
