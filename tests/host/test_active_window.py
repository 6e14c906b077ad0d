# SPDX-License-Identifier: GPL-2.0-only
"""Rates of a recording that begins before its load and ends after it, against fio's own."""
import datetime
import json
import subprocess
import time

import pytest
from load import BLKLAT, DEADLINE_S, fio, missing
from recorder import Recorder

RATE = 400
LEAD_S = 1.3    # a part of an interval
TAIL_S = 2.4


def told(*args):
    done = subprocess.run([BLKLAT, *map(str, args), "--format", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rate_of(log, run, from_s, to_s):
    """IOs a second that ended in a part of the run, by fio's log: a busy machine may delay IOs, which fio sees too."""
    start_s = datetime.datetime.fromisoformat(run["start"].replace("Z", "+00:00")).timestamp()
    ends = [int(line.split(",")[0]) / 1e3 - start_s for line in log.read_text().splitlines()]
    return sum(from_s <= end < to_s for end in ends) / (to_s - from_s)


def test_a_constant_load_between_rests(loop, file, tmp_path):
    with Recorder(loop, file, interval=1) as r:
        time.sleep(LEAD_S)
        load = fio(loop, rw="randwrite", rate_iops=RATE, time_based=1, runtime=12, write_lat_log=tmp_path / "fio", log_unix_epoch=1)
        time.sleep(TAIL_S)
        assert r.stop() == 0, r.stderr
    run = told("report", file)["runs"][0]
    active = run["active"]
    [watch] = run["watches"]
    [op] = [o for o in watch["ops"] if o["op"] == "write"]
    # This kernel may hide completions.
    assert 0 <= load.ios("write") - op["total"]["ios"] <= missing(watch["accounting"])
    assert op["total"]["iops"] == pytest.approx(rate_of(tmp_path / "fio_lat.1.log", run, active["from_s"], active["to_s"]), rel=0.01)
    # Over the whole time, or with the intervals in which the load begins and ends, the rate differs.
    assert load.ios("write") / run["duration_s"] < 0.9 * op["total"]["iops"]
    assert active["left_out"] == 2 and not active["asked"]
    assert LEAD_S <= active["from_s"] and active["to_s"] <= run["duration_s"] - TAIL_S + 0.2

    # Asking for exactly this window gives the same.
    part = told("report", file, "--from", active["from_s"], "--to", active["to_s"])["runs"][0]
    assert (part["active"]["from_s"], part["active"]["to_s"]) == (active["from_s"], active["to_s"])
    assert part["watches"][0]["ops"][0]["total"]["iops"] == op["total"]["iops"]
    compared = told("compare", file, file)["groups"][0]["runs"][0]
    assert compared["iops"] == pytest.approx(op["total"]["iops"], abs=0.05)
