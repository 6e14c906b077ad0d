# SPDX-License-Identifier: GPL-2.0-only
"""Hundreds of devices at once: each is counted, also while others come and go, and the run ends normally."""
import json
import random
import subprocess
import threading

import pytest
from devices import many_loops
from load import BLKLAT, DEADLINE_S, blklat_argv, Blklat, Fio, Missing, assert_all_counted, exact, fio, missing
from recorder import Recorder, assert_one_plain_file, ios, record, value

N = 250


@pytest.fixture(scope="module")
def many():
    with many_loops(N) as devices:
        yield devices


class Pattern:
    """Stands for all devices where a test's helpers want one."""

    def __init__(self, many):
        self.name = many.pattern


@pytest.mark.parametrize("stages", ["device", "device,total", "device,queue,total"])
@exact
def test_each_is_counted(many, stages):
    """Devices in use have their IOs, the others none, and the status is 0."""
    used = many[0], many[N // 2], many[-1]
    with Blklat(Pattern(many), stage=stages) as b:
        for i, device in enumerate(used):
            fio(device, number_ios=100 + i)
        b.next(used[-1], "device")
        assert b.stop() == 0
    assert b.stderr == ""
    assert {l["device"] for l in b.lines} == {d.name for d in many}
    for device in many:
        done = 100 + used.index(device) if device in used else 0
        for stage in stages.split(","):
            waited = done if stage != "queue" else 0  # requests without a scheduler go straight to the driver
            assert assert_all_counted(b, device, stage)["completed"] == b.total("ios", None, device, stage) == waited


def test_recorded_command(many, file):
    """The status is the command's."""
    done = record(Pattern(many), file, "--quiet", "--stage", "device,queue,total", command=["sh", "-c", "exit 3"])
    assert (done.returncode, done.stderr) == (3, "")
    assert_one_plain_file(file)
    assert value(file, "SELECT count(*) FROM watch") == 3 * N


def churn(many, kept):
    """Removes all other devices in random order, and makes new ones with their names, which get IO of their own."""
    others = [d for d in many if d not in kept]
    for batch in 3, 2, 1:  # at once, then one by one
        random.shuffle(others)
        chosen, others = others[:len(others) // batch], others[len(others) // batch:]
        for device in chosen:
            many.remove(device)
        for device in chosen:
            many.attach(device)
        for device in chosen[:3]:
            fio(device, number_ios=7)


def load_on(device):
    """A load for as long as the churn takes: until its end()."""
    return Fio(device, rate_iops=30, time_based=1, runtime=3600)


@pytest.mark.parametrize("stages", ["device", "device,total"])
@exact
def test_they_come_and_go(many, stages):
    """Those that stay have every IO, one of them under load. Those that go are reported once, and get no IO of their successors."""
    kept = many[0], many[N // 2], many[-1]
    with Blklat(Pattern(many), stage=stages) as b:
        with load_on(kept[1]) as f:
            churn(many, kept)
            fio(kept[2], number_ios=50)
            done = {kept[0]: 0, kept[1]: f.end().ios("read"), kept[2]: 50}
        b.next(kept[-1], "device")
        assert b.stop() == 0
    gone = sorted(d.name for d in many if d not in kept)
    assert sorted(b.stderr.splitlines()) == [f"blklat: {name} went away" for name in gone]
    for stage in stages.split(","):
        for device, ios in done.items():
            assert assert_all_counted(b, device, stage)["completed"] == b.total("ios", None, device, stage) == ios
        for name in gone:
            lines = b.of(name, stage)
            assert [bool(l.get("gone")) for l in lines] == [False] * (len(lines) - 1) + [True]
            assert (lines[-1]["accounting"]["started"], b.total("ios", None, name, stage)) == (0, 0)


@pytest.mark.parametrize("command", [[], ["record", "--overwrite", "-q", "-o"]])
def test_started_while_they_come_and_go(command, file):
    """Eight starts; of the devices that are found, some are gone when the capture begins."""
    with many_loops(8) as many:
        over = threading.Event()

        def come_and_go():
            while not over.is_set():
                for device in many[1:]:
                    (many.remove if device.sysfs.exists() else many.attach)(device)

        churn = threading.Thread(target=come_and_go)
        churn.start()
        try:
            argv = blklat_argv(*command, *[str(file)] * bool(command), Pattern(many), "--interval", 0.1, "--count", 1)
            for _ in range(8):
                done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S)
                assert done.returncode == 0, done.stderr
            assert churn.is_alive()
        finally:
            over.set()
            churn.join()


@exact
def test_they_come_and_go_while_recorded(many, file):
    """The recording is whole, goes on with those that stay, and has only their IOs."""
    file.unlink(missing_ok=True)
    kept = many[0], many[N // 2], many[-1]
    with Recorder(Pattern(many), file, "--quiet", "--stage", "device,total", interval=0.5) as r:
        with load_on(kept[1]) as f:
            churn(many, kept)
            done = f.end()
        r.more(2)
        assert r.stop() == 0
    assert r.stderr.count(" went away\n") == len(r.stderr.splitlines()) == N - len(kept)
    assert_one_plain_file(file)
    again = subprocess.run([BLKLAT, "--replay", file, "--format", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert again.returncode == 0 and sorted(again.stderr.splitlines()) == sorted(r.stderr.splitlines())
    last = {(l["device"], l["stage"]): l["accounting"] for l in map(json.loads, again.stdout.splitlines())}
    # Completions that this kernel hid are missing in the recording as well.
    if missing(last[kept[1].name, "device"]):
        raise Missing(last[kept[1].name, "device"])
    # Once at each stage; a bio of fio's is a request.
    assert ios(file) == {"read": (2 * done.ios("read"), 2 * done.bytes("read"), 0)}
    for device in many:
        a = last[device.name, "device"]
        assert (a["started"], a["lost"], a["in_flight"]) == (done.ios("read") if device is kept[1] else 0, 0, 0)
