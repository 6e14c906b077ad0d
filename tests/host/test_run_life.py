# SPDX-License-Identifier: GPL-2.0-only
"""From the start to every kind of end: blklat is on time and small, and leaves nothing behind."""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from kernel_objects import descriptors, leaves_nothing
from load import BLKLAT, BURST, DEADLINE_S, Blklat, assert_all_counted, assert_closed, blklat_argv, exact, fio
from needs import need
from recorder import busy


@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "json", "--dev"], []])
def test_interval_and_count_as_of_iostat(loop, options):
    """A name and two numbers: as the first arguments, after options, or with the name as an option."""
    argv = [BLKLAT, *options, loop.name, "0.2", "3", *([] if options else ["--format", "json"])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [l["device"] for l in lines] == [loop.name] * 3
    assert 0.6 <= sum(l["interval_s"] for l in lines) < 3  # three of the default would take 3 s


def test_first_line_comes_soon(loop):
    """After the start-up, measured in CPU time, as a busy machine may delay it, and one interval, which begins at once."""
    with Blklat(loop) as b:
        watched = time.time()
        begin_s = cpu_s(b.pid)
        b.until(lambda: b.lines, "its first line")
    line = b.lines[0]
    assert datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp() - line["interval_s"] < watched + 0.01
    print(f"{begin_s} s of CPU time to begin")
    assert begin_s < 1.5


def test_little_to_verify(loop):
    """Even of what takes the verifier longest it goes through less than a program may have, whatever the kernel prunes."""
    with Blklat(loop, stage="device,total", args=("--by", "depth", "--slow", "1us")) as b:
        verified = [int(d["verified_insns"]) for d in descriptors(b.pid) if "verified_insns" in d]
    assert 0 < sum(verified) < 500000, verified


def cpu_s(pid):
    """CPU time of a process so far, its own and the kernel's for it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@exact
def test_signal_ends_with_the_last_interval(loop, number):
    """IOs of the interval that was cut short are shown, and the status is 0."""
    with Blklat(loop, interval=30) as b:
        fio(loop, number_ios=3000)
        assert b.stop(number) == 0
    assert b.stderr == ""
    assert b.lines[-1]["interval_s"] < 30
    assert_all_counted(b)
    assert b.ops() == {"read": 3000}


def test_killed_under_load(loop):
    """Nothing of it stays in the kernel, and the load is not affected."""
    with busy(loop) as f:
        with Blklat(loop, stage="device,queue,total") as b:
            b.next(stage="total")
            with leaves_nothing(b.pid) as held:
                assert len(held["prog"]) >= 4 and len(held["map"]) >= 4
                b.kill()
        alive = loop.stat()["ios"]
        f.until(lambda: loop.stat()["ios"] > alive + BURST, "load")
        result = f.end()
    assert result.errors == 0
    with Blklat(loop) as again:
        fio(loop, number_ios=100)
    assert assert_closed(again)["started"] == 100


def resident_kib(pid):
    """Resident memory of a process, and how much of it is mapped BPF counters."""
    total = counters = 0
    mapping = ""
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            mapping = line
        elif line.startswith("Rss:"):
            kib = int(line.split()[1])
            total += kib
            counters += kib if "bpf-map" in mapping else 0
    return total, counters


def test_small(loop):
    """At full speed it holds less than 24 MiB besides the counters, and hardly needs the CPU."""
    with busy(loop), Blklat(loop, interval=0.5) as b:
        b.next(n=5)
        total, counters = resident_kib(b.pid)
        print(f"{total} KiB resident, {counters} of them counters; {cpu_s(b.pid)} s of CPU time")
        # The devices' folders are open only while they are looked up.
        assert not [f.name for f in os.scandir(f"/proc/{b.pid}/fd") if f.is_dir()]
    assert total - counters < 24 * 1024


def test_two_capabilities_are_enough(loop):
    """CAP_BPF and CAP_PERFMON, as the manual says: libbpf must not look into modules, which needs more."""
    need(shutil.which("setpriv"), "no setpriv")
    few = ["setpriv", "--bounding-set=-all,+bpf,+perfmon", "--inh-caps=-all"]
    done = subprocess.run([*few, *blklat_argv(loop, "--interval", "0.1", "--count", "1", "--format", "json")],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["device"] == loop.name
