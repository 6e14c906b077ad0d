# SPDX-License-Identifier: GPL-2.0-only
"""The shipped fio job: it marks its depths by itself, and each is a phase of the report with fio's own figures."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from load import BLKLAT, DEADLINE_S
from needs import need
from recorder import record_argv

JOB = pathlib.Path(__file__).resolve().parents[2] / "packaging/examples/sweep.fio"
SECONDS = 3
RATE = 300  # IOs a second and depth, which a busy machine can send, too


def test_sweep(loop, folder):
    need("libaio" in subprocess.run(["fio", "--enghelp"], capture_output=True, text=True).stdout, "fio has no libaio")
    job = folder / "sweep.fio"
    limited = re.sub(r"iodepth=(\d+)\n", lambda m: f"{m[0]}rate_iops={RATE * int(m[1])}\n", JOB.read_text())
    job.write_text(limited.replace("runtime=10\n", f"runtime={SECONDS}\n"))
    (folder / "blklat").symlink_to(shutil.which(BLKLAT))
    file, figures = folder / "sweep.blklat", folder / "fio.json"
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DEV": loop.name, "FILE": str(file)}
    argv = record_argv(loop, file, "--quiet", command=["fio", "--output-format=json", f"--output={figures}", job])
    begin = time.monotonic()
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=DEADLINE_S)
    took = time.monotonic() - begin
    assert (done.returncode, done.stderr) == (0, "")
    for said in folder.glob("*.prerun.txt"):
        assert said.read_text() == ""
    run, = json.loads(subprocess.run([BLKLAT, "report", "--format", "json", file], capture_output=True, text=True,
                                     check=True).stdout)["runs"]
    jobs = json.loads(figures.read_text())["jobs"]
    assert [p["name"] for p in run["phases"]] == [f"QD {2 ** i}" for i in range(6)]
    # This kernel hides a few completions from every BPF program.
    counted = next(o for w in run["watches"] if w["stage"] == "device" for o in w["ops"] if o["op"] == "read")["total"]["ios"]
    assert counted == pytest.approx(sum(job["read"]["total_ios"] for job in jobs), rel=0.01)
    in_phases = [o["ios"] for p in run["phases"] for w in p["watches"] if w["stage"] == "device" for o in w["ops"] if o["op"] == "read"]
    assert sum(in_phases) > counted / 2
    spent = took - sum(job["read"]["runtime"] for job in jobs) / 1000
    for phase, of_fio in zip(run["phases"], jobs):
        # From one mark to the next: besides the load, what the machine takes to start and to end it.
        seconds, of_load = phase["to_s"] - phase["from_s"], of_fio["read"]["runtime"] / 1000
        assert SECONDS - 0.5 <= of_load - 0.5 <= seconds <= of_load + spent
        assert not phase["partial"] and phase["intervals"] >= 5
        watch = next(w for w in phase["watches"] if w["stage"] == "device")
        read = next(o for o in watch["ops"] if o["op"] == "read")
        # An IO's bytes may be counted just before an interval ends, and its bin after it.
        assert read["bytes"] == pytest.approx(read["ios"] * 4096, abs=64 * 4096)
        # None of another depth, and without the two intervals that lie in it in part.
        assert 0 < read["ios"] <= of_fio["read"]["total_ios"]
        # On a loop device in memory IOs end sooner than fio sends others, so fewer are in flight than it asks for.
        assert 0 < read["queue_depth"] <= 1.01 * int(of_fio["job options"]["iodepth"])
