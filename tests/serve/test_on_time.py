# SPDX-License-Identifier: GPL-2.0-only
"""A service's intervals are on time, whatever else this machine does."""
import base64
import contextlib
import os
import signal
import time
import types

import pytest
from devices import run
from load import Fio, Unseen
from pressure import hog, scrapers, sleeper, slow_clients
from service import Serve, overdue

LATE_S = 0.05
# To the program, this is a machine that may get as many CPUs as a file says.
LARGE = "unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/devices/system/cpu/possible && exec "$@"'

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("late", [0, 0.03, 0.06, 0.099, 0.23])
def test_one_late_interval_is_found(late):
    """By the function that the tests below use."""
    due = [0.0771 + i / 10 for i in range(40)]
    # Some are up to a few ms late; those due before the late one ended are missing.
    ends = [t + i % 7 / 2000 for i, t in enumerate(due) if not 1 <= i - 20 <= late * 10]
    ends[20] += late
    found = overdue([(None, {"end_s": end}) for end in ends], 0.1)
    assert max(found) == pytest.approx(late, abs=0.004) and sorted(found)[-2] < 0.004


def watching(stream, device):
    """The intervals up to the first that has the device."""
    got = []
    while not got or device.name not in [w["device"] for w in got[-1][1]["watches"]]:
        assert len(got) < 200, f"{device.name} is not watched"
        got += stream.intervals(1)
    return got


def on_time(got, sleeper, interval_s=0.1):
    """None is missing, and none is later than this machine makes a thread of the same priority."""
    numbers = [int(number.split(".")[1]) for number, _ in got]
    assert numbers == list(range(numbers[0], numbers[0] + len(got)))
    late = overdue(got, interval_s)
    assert max(late) <= LATE_S + sleeper.end(), sorted(late)[-10:]


def test_intervals_are_on_time_while_devices_come_and_scrapers_storm(slots):
    """The thread that captures also adds devices. Nothing that it does for that takes long, as long as there is room."""
    there = [slots.attach(i) for i in range(6)]
    with Serve("--dev", slots.pattern, "--interval", "0.1") as s, s.stream() as stream, sleeper() as machine:
        got = watching(stream, there[-1])
        with scrapers(s, 16) as storm:
            for i in range(6, 8):
                got += watching(stream, slots.attach(i))
            for device in there[:2]:
                run("losetup", "-d", device.path)
        with slow_clients(s, 200) as slow:
            for i in (8, 0, 1):
                got += watching(stream, slots.attach(i))
        got += stream.intervals(10)
        assert storm.said > 100 and slow.said > 1000
        on_time(got, machine)
        assert "another capture" not in s.read_stderr()


def test_intervals_are_on_time_while_all_cpus_are_busy(slots):
    """Hogs run ahead of everything of ordinary priority, also of the server, which reports the intervals afterwards."""
    first = slots.attach(0)
    with Serve("--dev", first.name, "--interval", "0.1") as s, s.stream() as stream, sleeper() as machine:
        got, began = watching(stream, first), time.monotonic()
        with contextlib.ExitStack() as hogs:
            for _ in os.sched_getaffinity(0):
                hogs.enter_context(hog())
            time.sleep(4)
        got += stream.intervals(int(10 * (time.monotonic() - began)))
        on_time(got, machine)


def test_intervals_are_on_time_while_users_are_read_again(slots, tmp_path):
    """The new server waits for a CPU then, but the capture does not wait for the server."""
    device, web = slots.attach(0), tmp_path / "web.yml"
    web.write_text('basic_auth_users:\n  me: "$2b$04$MoN/U6uk5qDR6V5ahgGfH.WRGXTLfmWtcwAeS4Py2ng78KJMQnK1y"\n')
    me = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}

    began = time.monotonic()

    def intervals():
        # All intervals, and more. The last server may be about to end.
        with contextlib.suppress(OSError, AssertionError), s.stream(me) as stream:
            return stream.intervals(int(10 * (time.monotonic() - began)))
    with Serve("--dev", device.name, "--interval", "0.1", "--web-config", web) as s, sleeper() as machine:
        with contextlib.ExitStack() as hogs, scrapers(s, 8):
            for _ in os.sched_getaffinity(0):
                hogs.enter_context(hog())
            for _ in range(16):
                s.process.send_signal(signal.SIGHUP)
                time.sleep(0.25)
        on_time(s.until(intervals, "a stream"), machine)


def sums(metrics, what):
    return sum(n for name, n in metrics.items() if name.startswith(f"blklat_io_{what}") and 'stage="device"' in name)


def test_intervals_are_on_time_while_queues_change(slots, tmp_path):
    """
    With counters for 384 CPUs and 12 busy devices. While schedulers and numbers of requests change, no IO is lost. Then more devices
    come than there is room for, so another capture is opened.
    """
    possible = tmp_path / "possible"
    possible.write_text("0-383\n")
    busy = [slots.attach(i) for i in range(12)]
    pattern = ",".join(f"loop{slots.base // 10 + tens}[0-9]" for tens in (0, 1))
    with Unseen() as unseen, Serve("--dev", pattern, "--stage", "device,queue,total", "--interval", "0.1", prefix=(*LARGE, possible)) as s, \
            s.stream() as stream:
        watching(stream, busy[-1])
        with Fio(types.SimpleNamespace(path=":".join(d.path for d in busy)), ioengine="libaio", iodepth=64, rate_iops=4000, time_based=1,
                 runtime=600) as load, sleeper() as machine:
            got = stream.intervals(10)
            for device in busy:
                for name, value in ("scheduler", "mq-deadline"), ("nr_requests", 2048), ("scheduler", "none"):
                    device.setting(name, value)
                    got += stream.intervals(1)
            settled = s.until(lambda: sums(m := s.metrics(), "latency_seconds_count") > 1000 and m, "IOs")
            assert "another capture" not in s.read_stderr()
            for i in range(12, 20):
                got += watching(stream, slots.attach(i))
            got += stream.intervals(20)
            on_time(got, machine)
            load.end()
        s.until(lambda: "another capture was opened" in s.read_stderr(), "another capture")
    assert sums(settled, "lost_total") <= sum(unseen.of(d) for d in busy)
    assert not [name for name, n in settled.items() if 'reason="tag_range"' in name and n]
