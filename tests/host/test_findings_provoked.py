# SPDX-License-Identifier: GPL-2.0-only
"""The report finds what was done to a device on purpose, at the right time, and nothing else."""
import contextlib
import datetime
import json
import statistics
import subprocess
import time

import pytest
from devices import Delta, frozen_loop, throttle_file, throttled_loop
from load import ATTEMPTS, BLKLAT, DEADLINE_S, Fio
from recorder import Recorder

# Found in any run on a busy machine, and not tested here.
ASIDE = {"steady_state", "peaks", "losses", "kernel_count", "hung"}
NEAR_S = 2.5  # on both sides of a change: the least length of a level


def document(path, *args):
    done = subprocess.run([BLKLAT, "report", "--format", "json", *args, path], capture_output=True, text=True,
                          timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]


def findings(run):
    found = {}
    for f in run["findings"]:
        found.setdefault(f["kind"], []).append(f)
    return found


def steady(device, seconds, **options):
    """A load with a rate limit that is low enough for any machine."""
    return Fio(device, **{"rw": "randread", "runtime": seconds, "rate_iops": 500, "time_based": 1, **options})


class Log:
    """fio's own log of each IO: a second witness of what the machine did meanwhile."""

    def __init__(self, folder):
        self.options = {"write_lat_log": folder / "fio", "log_unix_epoch": 1}
        self.file = folder / "fio_lat.1.log"

    def read(self, run):
        """[(when it was over in s of a run, its latency in s)]"""
        start_s = datetime.datetime.fromisoformat(run["start"].replace("Z", "+00:00")).timestamp()
        rows = (line.split(",") for line in self.file.read_text().splitlines())
        self.ios = [(int(ms) / 1e3 - start_s, int(ns) / 1e9) for ms, ns, *_ in rows]

    def between(self, from_s, to_s):
        return [latency for over, latency in self.ios if from_s <= over < to_s]

    def changed(self, at_s):
        """
        Whether load or latency changed at that time. The device has only a part of fio's latency, so a change by half
        at the device is smaller here.
        """
        before, after = self.between(at_s - NEAR_S, at_s), self.between(at_s, at_s + NEAR_S)
        pairs = (len(before), len(after)), (statistics.median(before or [0]), statistics.median(after or [0]))
        return any(max(pair) >= 1.05 * min(pair) for pair in pairs)

    def gaps(self, least_s):
        """How often no IO ended for @least_s."""
        ends = sorted(over for over, _ in self.ios)
        return sum(b - a >= least_s for a, b in zip(ends, ends[1:]))

    def explains(self, finding):
        """Whether fio saw the finding, too: a busy machine may hold a load up, and then the finding is true."""
        values = finding["values"]
        if finding["kind"] == "level_change":
            return all(self.changed(values[name]) for name in ("at_s", "first_at_s", "last_at_s") if name in values)
        if finding["kind"] == "stall":
            return self.gaps(0.2) >= values["stalls"]  # shorter than half an interval is no stall
        return finding["kind"] == "after_pause" and self.gaps(0.09) >= values["ios"]


@contextlib.contextmanager
def recording(device, path, *args, interval=0.5):
    """Records in the background; gives a function that returns the time in the recording."""
    with Recorder(device, path, "--quiet", *args, interval=interval) as r:
        began = time.monotonic()
        yield lambda: time.monotonic() - began
        assert r.stop() == 0, r.stderr


def test_a_steady_run_alarms_nobody(loop, file, folder):
    log = Log(folder)
    with recording(loop, file):
        with steady(loop, 15, **log.options) as load:
            load.result()
    run = document(file)
    log.read(run)
    alarms = [f for f in run["findings"] if f["kind"] not in ASIDE and not log.explains(f)]
    assert not alarms, [f["text"] for f in alarms]


def changes(run, log, at_s):
    """
    The level changes near a time. fio's log must explain all others. None if there were so many that they became one
    finding.
    """
    told = findings(run).get("level_change", [])
    near = [f for f in told if abs(f["values"].get("at_s", -1e9) - at_s) <= 1]
    assert all(log.explains(f) for f in told if f not in near), [f["text"] for f in told]
    return None if any("changes" in f["values"] for f in told) else near


def throttled_half_way(file, log):
    """A run whose device gets limited to 50 IOs a second. Returns the run, the time, and the share of the IOs that was done."""
    file.unlink(missing_ok=True)
    with throttled_loop() as (device, limit):
        delta = Delta(device)
        with recording(device, file) as now, steady(device, 18, **log.options) as load:
            time.sleep(9)
            limit(50)
            at_s, share = now(), delta()["ios"]
            load.result()
            share /= delta()["ios"]
    run = document(file)
    log.read(run)
    return run, at_s, share


def test_a_device_that_slows_down_half_way(file, folder):
    if not throttle_file(None):
        pytest.skip("throttled backing: no blkio.throttle in the root control group here")
    log = Log(folder)
    for _ in range(ATTEMPTS):
        run, at_s, share = throttled_half_way(file, log)
        near = changes(run, log, at_s)
        if near is not None:
            break
    [change] = near
    assert change["values"]["at_s"] == pytest.approx(at_s, abs=1)
    assert change["values"]["share"] == pytest.approx(share, abs=0.01)
    # fio may be late for its turn, and the limit lets IOs through in bursts, so the median says little.
    length_s = log.ios[-1][0] - at_s - 1
    after = log.between(at_s + 1, at_s + 1 + length_s)
    assert change["values"]["after_iops"] == pytest.approx(len(after) / length_s, rel=0.1)
    assert len(after) / length_s < 55
    # At least one IO always waits.
    assert change["values"]["after_queue_depth"] == pytest.approx(sum(after) / length_s, abs=0.1)
    assert "times slower by mean latency" in change["text"]
    # Without marks the level is a phase, with these figures.
    [level] = [phase for phase in document(file, "--phases", "auto")["phases"] if abs(phase["from_s"] - at_s) <= 1]
    assert level["name"].startswith("level ")
    assert level["watches"][0]["ops"][0]["iops"] == pytest.approx(len(after) / length_s, rel=0.15)
    # Before, a device had no more IOs in flight than its user had.
    before = log.between(1, at_s - 1)
    assert change["values"]["before_queue_depth"] <= 1.2 * sum(before) / (at_s - 2) + 0.05
    assert all(log.explains(f) for f in findings(run).get("stall", []))


def test_a_stall(file):
    with frozen_loop() as (device, freeze, thaw):
        with recording(device, file) as now, steady(device, 16, rw="randwrite") as load:
            time.sleep(6)
            stopping_s = now()
            freeze()
            stopped_s = now()
            time.sleep(4)
            going_s = now()
            thaw()
            gone_s = now()
            load.result()
        run = document(file)
        found = findings(run)
        [stall] = found["stall"]
        # A busy machine may cause others, but none as long. Intervals without IO lie inside the frozen time.
        assert stopping_s - 1 <= stall["values"]["longest_at_s"] <= stopped_s + 1
        least_s, most_s = going_s - stopped_s - 1.1, gone_s - stopping_s + 1.1
        assert least_s <= stall["values"]["longest_s"] <= most_s
        assert stall["values"]["time_s"] < 1.5 * stall["values"]["longest_s"]


def test_half_of_the_time_at_rest(loop, file):
    """Two seconds of load, two of rest: a pause of the workload is no stall, and its first IO is marked."""
    bursts = 5
    with recording(loop, file, "--idle-gap", "1"):
        for _ in range(bursts):
            with steady(loop, 2) as load:
                load.result()
            time.sleep(2)
    run = document(file)
    # Stalls of a busy machine are shorter than a rest, and no rest is reported as one.
    assert all(f["values"]["longest_s"] < 1 for f in findings(run).get("stall", [])), [f["text"] for f in run["findings"]]
    after_idle = sum(o["after_idle"]["ios"] for w in run["watches"] for o in w["ops"] if o["after_idle"])
    lost = run["watches"][0]["accounting"]["lost"]
    # fio itself pauses now and then between laying out its job and running it.
    assert bursts - 1 - lost <= after_idle <= 2 * bursts
