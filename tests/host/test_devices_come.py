# SPDX-License-Identifier: GPL-2.0-only
"""Devices come and go while commands run: every IO of each is counted, nobody else notices, and no start fails beside them."""
import contextlib
import json
import shutil
import subprocess
import threading

import pytest
from devices import Device, many_loops
from load import BLKLAT, DEADLINE_S, Blklat, Missing, exact, read
from needs import need
from recorder import Recorder, query
from screen import Screen

BY_DEVICE = "SELECT d.name, ifnull(sum(s.ios), 0) FROM device d JOIN watch w ON w.device = d.id AND w.stage = 'device' " \
            "LEFT JOIN series s ON s.watch = w.id GROUP BY d.id ORDER BY d.id"


@pytest.fixture
def many():
    with many_loops(3) as devices:
        yield devices


def told(p, device, what):
    return p.stderr.splitlines().count(f"blklat: {device.name} {what}")


def come(many, device, p):
    """Attaches it and waits until it is watched."""
    before = told(p, device, "is watched now")
    many.attach(device)
    p.until(lambda: told(p, device, "is watched now") > before, f"{device.name} to be watched")


def come_and_go(many, p, n):
    """
    All but the first device go, which is waited for, and come again, @n times in all. Returns the names and reads of
    each, in the order of their coming.
    """
    done = [[device.name, 0] for device in many]
    for i in range(n):
        device = many[1 + i % (len(many) - 1)]
        before = told(p, device, "went away")
        many.remove(device)
        p.until(lambda: told(p, device, "went away") > before, f"the end of {device.name}")
        come(many, device, p)
        read(device, 50 + i)
        done.append([device.name, 50 + i])
        read(many[0], 20)
        done[0][1] += 20
    return done


def assert_counted(found, done):
    """What is missing is told by the number; more would be another device's."""
    assert [name for name, _ in found] == [name for name, _ in done]
    missing = [of - counted for (_, counted), (_, of) in zip(found, done)]
    assert min(missing) >= 0, (found, done)
    if sum(missing):
        raise Missing({"lost": sum(missing), "in_flight": 0})


def assert_report(file, done):
    report = subprocess.run([BLKLAT, "report", file, "--format", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert (report.returncode, report.stderr) == (0, "")
    watches = json.loads(report.stdout)["runs"][0]["watches"]
    watches = [w for w in watches if w["stage"] == "device"]
    assert [[w["device"], w["accounting"]["completed"]] for w in watches] == done
    assert {w["accounting"]["lost"] for w in watches} == {0}
    return [w["gone"] for w in watches]


@exact
def test_a_recording_has_every_io(many, file):
    """Each appearance of a device is one of its own, with all of its IOs; so says the report. No gap is told."""
    with Recorder(Device(many.pattern), file, "--quiet", "--overwrite") as r:
        done = come_and_go(many, r, 12)
        r.more(2)
        assert r.stop() == 0
    assert all(told(r, device, what) == 6 for device in many[1:] for what in ("is watched now", "went away"))
    assert r.stderr.count("\n") == 24
    assert_counted(query(file, BY_DEVICE), done)
    assert assert_report(file, done) == [False] + 12 * [True] + [False, False]


def test_top(many):
    need(shutil.which("tmux"), "no tmux")
    many.remove(many[2])
    with Screen(BLKLAT, "top", "--dev", many.pattern, "--interval", "0.2") as s:
        s.until(many[1].name)
        assert many[2].name not in s.text()
        many.attach(many[2])
        s.until(many[2].name)
        many.remove(many[1])
        s.until(f"{many[1].name} went away")
        many.attach(many[1])
        s.until(f"idle: {' '.join(device.name for device in many)}")
        s.keys("q")
        s.assert_restored()


def test_devices_named_one_by_one_are_not_followed(many):
    with Blklat(*many[1:], interval=0.2) as b:
        many.remove(many[1])
        b.until(lambda: told(b, many[1], "went away"), "end of a device")
        many.attach(many[1])
        read(many[1], 100)
        assert b.next(many[2], n=3)["accounting"]["started"] == 0
        assert b.total("ios", device=many[1]) == 0
        many.remove(many[2])
        assert b.wait() == 1
    assert b.stderr == f"blklat: {many[1].name} went away\nblklat: {many[2].name} went away\nblklat live: no watched device is left\n"


@pytest.mark.parametrize("command", [["live", "--format", "csv", "--dev", "all"], ["record", "--quiet", "--overwrite", "-o"]], ids=["all", "recorded"])
def test_starts_beside_devices_that_come_and_go(many, file, command):
    """Whoever goes while a command starts is left out."""
    came, over = [], threading.Event()

    def churn():
        while not over.is_set():
            for device in many[1:]:
                many.remove(device)
                many.attach(device)
                came.append(device)

    with contextlib.ExitStack() as undo:
        thread = threading.Thread(target=churn)
        undo.callback(thread.join)
        undo.callback(over.set)
        thread.start()
        for _ in range(12):
            argv = [BLKLAT, *command, *([file, "--dev", many.pattern] if "record" in command else []), "--interval", "0.05", "--count", "1"]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S)
            assert done.returncode == 0, done.stderr
            assert many[0].name in (done.stdout or query(file, "SELECT name FROM device ORDER BY id")[0])
            assert [line for line in done.stderr.splitlines() if "went away" not in line and "watched now" not in line] == []
    assert len(came) > 12
