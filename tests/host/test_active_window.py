# SPDX-License-Identifier: GPL-2.0-only
"""Rates of a recording that begins before its load and ends after it, against fio's own."""
import datetime
import json
import subprocess
import time

import pytest
from load import BLKLAT, DEADLINE_S, fio, missing
from recorder import Recorder

LOAD = {"rw": "randwrite", "rate_iops": 400, "time_based": 1, "runtime": 10, "log_unix_epoch": 1}
LEAD_S = 1.3    # a part of an interval
TAIL_S = 2.4


def told(*args):
    done = subprocess.run([BLKLAT, *map(str, args), "--format", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_rates_of(run, log, job):
    """
    The window begins and ends with fio's IOs, by its log. A busy machine may delay IOs or fio itself: then a second's IOs end
    within less, by the times without an end.
    """
    start_s = datetime.datetime.fromisoformat(run["start"].replace("Z", "+00:00")).timestamp()
    ends = [int(line.split(",")[0]) / 1e3 - start_s for line in log.read_text().splitlines()]
    late_s = sum(after - before for before, after in zip(ends, ends[1:]) if after - before > 0.05)
    active, [watch] = run["active"], run["watches"]
    [op] = [o for o in watch["ops"] if o["op"] == "write"]
    # This kernel may hide completions.
    assert 0 <= job.ios("write") - op["total"]["ios"] <= missing(watch["accounting"])
    assert (active["from_s"], active["to_s"]) == pytest.approx((ends[0], ends[-1]), abs=0.2 + late_s)
    # Of a load that a busy machine delays, an interval with a few IOs may lie before the window or behind it.
    inside = sum(ios for ios, start, length in zip(op["ios"], run["start_s"], run["length_s"])
                 if start < active["to_s"] - 0.001 and start + length > active["from_s"] + 0.001)
    assert op["total"]["iops"] == pytest.approx(inside / (active["to_s"] - active["from_s"]), rel=1e-4)
    assert op["total"]["iops"] == pytest.approx(job.ios("write") / (ends[-1] - ends[0]), rel=0.03 + late_s / LOAD["runtime"])
    # Over the whole time the rate differs.
    assert op["total"]["ios"] / run["duration_s"] < 0.97 * op["total"]["iops"]
    assert not active["asked"]
    return op


def test_a_constant_load_between_rests(loop, file, tmp_path):
    with Recorder(loop, file, interval=1) as r:
        time.sleep(LEAD_S)
        load = fio(loop, **LOAD, write_lat_log=tmp_path / "fio")
        time.sleep(TAIL_S)
        assert r.stop() == 0, r.stderr
    op = assert_rates_of(told("report", file)["runs"][0], tmp_path / "fio_lat.1.log", load)
    compared = told("compare", file, file)["groups"][0]["runs"][0]
    assert compared["iops"] == pytest.approx(op["total"]["iops"], abs=0.05)
