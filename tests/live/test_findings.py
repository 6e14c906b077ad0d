# SPDX-License-Identifier: GPL-2.0-only
"""What is done to a device on purpose is what its report finds, at the right time, and no more."""
import contextlib
import json
import subprocess
import time

import pytest
from devices import Delta, frozen_loop, throttle_file, throttled_loop
from load import BLKLAT, Fio
from recorder import Recorder

# Found in any run on a busy machine, and none of the matter here.
ASIDE = {"steady_state", "peaks", "losses", "kernel_count"}


def document(path):
    done = subprocess.run([BLKLAT, "report", "--format", "json", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]


def findings(run):
    found = {}
    for f in run["findings"]:
        found.setdefault(f["kind"], []).append(f)
    return found


def steady(device, seconds, **options):
    """A load that asks for so many IOs a second, whatever the machine does besides."""
    return Fio(device, **{"rw": "randread", "runtime": seconds, "rate_iops": 4000, "time_based": 1, **options})


@contextlib.contextmanager
def recording(device, path, interval=0.5):
    """Records in the background; what is given is the time in the recording."""
    with Recorder(device, path, "--quiet", interval=interval) as r:
        began = time.monotonic()
        yield lambda: time.monotonic() - began
        assert r.stop() == 0, r.stderr


def test_a_steady_run_alarms_nobody(loop, file):
    with recording(loop, file):
        with steady(loop, 15) as load:
            load.result()
    run = document(file)
    assert set(findings(run)) <= ASIDE | {"hung"}, [f["text"] for f in run["findings"]]


def test_a_device_that_slows_down_half_way(file):
    if not throttle_file(None):
        pytest.skip("throttled backing: no blkio.throttle in the root control group here")
    with throttled_loop() as (device, limit):
        delta = Delta(device)
        with recording(device, file) as now, steady(device, 18, rate_iops=6000) as load:
            time.sleep(9)
            limit(400)
            at_s, share = now(), delta()["ios"]
            load.result()
            share /= delta()["ios"]
        run = document(file)
        [change] = findings(run)["level_change"]
        assert change["values"]["at_s"] == pytest.approx(at_s, abs=1)
        assert change["values"]["share"] == pytest.approx(share, abs=0.01)
        assert change["values"]["after_iops"] == pytest.approx(400, rel=0.1)
        # What is let through comes in bursts, so the median says little; but there is always one that waits.
        assert change["values"]["after_queue_depth"] == pytest.approx(1, abs=0.1)
        assert change["values"]["before_queue_depth"] < 0.9
        assert "stall" not in findings(run)


def test_a_stall(file):
    with frozen_loop() as (device, freeze, thaw):
        with recording(device, file) as now, steady(device, 16, rw="randwrite", rate_iops=1000) as load:
            time.sleep(6)
            freeze()
            from_s = now()
            time.sleep(4)
            thaw()
            to_s = now()
            load.result()
        run = document(file)
        found = findings(run)
        [stall] = found["stall"]
        assert stall["values"]["stalls"] == 1
        # Whole seconds without any IO lie inside of what was frozen.
        assert from_s - 1 <= stall["values"]["longest_at_s"] <= from_s + 1
        assert stall["values"]["longest_s"] == pytest.approx(to_s - from_s, abs=1.1)
        assert found["hung"][0]["values"]["oldest_ns"] / 1e9 == pytest.approx(to_s - from_s, abs=1.1)


def test_half_of_the_time_at_rest(loop, file):
    """Two seconds of load, two of rest: a pause of the workload is no stall, and its first IO is marked."""
    bursts = 5
    with recording(loop, file):
        for _ in range(bursts):
            with steady(loop, 2) as load:
                load.result()
            time.sleep(2)
    run = document(file)
    assert "stall" not in findings(run), [f["text"] for f in run["findings"]]
    after_idle = sum(o["after_idle"]["ios"] for w in run["watches"] for o in w["ops"] if o["after_idle"])
    # fio itself pauses now and then between laying out its job and running it.
    assert bursts - 1 <= after_idle <= 2 * bursts
