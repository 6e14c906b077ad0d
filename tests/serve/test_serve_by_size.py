# SPDX-License-Identifier: GPL-2.0-only
"""A service that divides IOs by size: its parts against 'blklat live', and through later captures."""
import collections
import json
import re
import signal
import subprocess

from devices import run
from load import exact, fio
from script import TESTS, recorded
from service import BLKLAT, Serve, refused
from told import Slow, by_part, settled, wait_for

RECORDING = recorded(TESTS / "cli/replay/sizes.txt")


def test_outputs_have_the_parts_of_live():
    """The last interval equals live's JSON; in the stream's intervals parts add up; no loss or device is reported twice."""
    r = subprocess.run([BLKLAT, "live", "--replay", RECORDING, "--format", "json"], capture_output=True, check=True, timeout=60)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    with Serve("--replay", RECORDING) as s, s.stream() as stream:
        _, name, told = stream.event()
        assert name == "run" and [d["name"] for d in told["devices"]] == ["nvme0n1", "sda"]
        intervals = [data for _, data in stream.intervals(4)]
        s.replayed()
        assert s.snapshot() == [line for line in lines if line["time"] == lines[-1]["time"]]
    assert sum(len(i["watches"]) for i in intervals) == len(lines)
    for data in intervals:
        parts = collections.Counter()
        wholes = {(w["device"], w["stage"], o["op"]): o["ios"] for w in data["watches"] if "part" not in w for o in w["ops"]}
        for line, w in zip((line for line in lines if line["time"] == data["time"]), data["watches"], strict=True):
            assert (w["device"], w["stage"], w.get("part")) == (line["device"], line["stage"], line.get("part"))
            assert ("accounting" in w) == ("part" not in w)
            assert [(o["op"], o["ios"], o["bytes"]) for o in w["ops"]] == [(o["op"], o["ios"], o["bytes"]) for o in line["ops"]]
            parts.update({(w["device"], w["stage"], o["op"]): o["ios"] for o in w["ops"] if "part" in w})
        assert parts == wholes


@exact
def test_devices_that_come_are_divided_too(slots):
    """
    Six devices come one by one, so that one capture takes over; a reload; one goes and comes back. Each part's totals continue, and
    each IO is reported once as a slow one.
    """
    slots.detach_all()
    with Serve("--dev", slots.pattern, "--by", "size", "--slow", "1us", "--slow-max", "10000", "--interval", "0.2") as s, s.stream() as stream:
        # There is no device yet, which is no failure.
        s.until(lambda: s.request("/api/snapshot").status == 200, "an interval")
        assert s.snapshot() == [] and s.request("/healthz").text == "ok\n"
        devices, slow = [], Slow(stream)
        for i in range(6):
            devices.append(slots.attach(i))
            wait_for(s, devices[-1])
            fio(devices[-1], number_ios=100 + i)
            settled(s, devices[-1])
        s.until(lambda: "one capture of all devices takes over" in s.read_stderr(), "one capture")
        for device in devices:
            fio(device, number_ios=50, rw="randwrite", bs="16k")
        s.process.send_signal(signal.SIGHUP)
        for i, device in enumerate(devices):
            slow.of(s, device, 150 + i)
        run("losetup", "-d", devices[0].path)
        s.until(lambda: f"{devices[0].name} went away" in s.read_stderr(), "word of it")
        slots.attach(0)
        wait_for(s, devices[0])
        fio(devices[0], number_ios=70, bs="64k")
        slow.forget()
        slow.of(s, devices[0], 70)
        for i, device in enumerate(devices):
            settled(s, device)
            back = {("read", "64 KiB"): 70} if not i else {}
            assert by_part(s, device) == {("read", "4 KiB"): 100 + i, ("write", "16 KiB"): 50, **back}, device.name
        for device in devices:
            run("losetup", "-d", device.path)
        s.until(lambda: not s.snapshot(), "none")
        assert s.request("/healthz").text == "ok\n"


def test_more_than_fits_is_said(loop):
    """Each part needs as many counters as the whole."""
    r = refused("--dev", loop.name, "--max-memory", "64K", "--by", "size")
    assert r.returncode == 1
    assert re.fullmatch(r"blklat serve: the counters need \d+K of memory at scale 6 and may take 64K: raise --max-memory or lower "
                        r"--scale\n", r.stderr)
