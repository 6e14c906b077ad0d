# SPDX-License-Identifier: GPL-2.0-only
"""The measurements. Each returns plain dicts, one for each round and contender, for bench.json."""
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import threading
import time

import machine
from contenders import NotRunning, accounting, lines_of, running
from machine import BenchError, end, load_on, started

MANY = 1000		# devices, all but one at rest
INTERVAL_S = 1		# of blklat, for which the targets are stated
# The loads of recordings: fio's options.
RECORDED = {"full speed": [], "50,000 IOPS": ["--rate_iops=50000"], "QD 1": ["--iodepth=1"]}


def sample(device, tool):
    programs = tool.programs() if tool else {}
    ticks, stolen = machine.cpu_ticks()
    return {"time": time.monotonic(), "ios": device.ios(), "run_ns": sum(p[0] for p in programs.values()),
            "runs": sum(p[1] for p in programs.values()), "other_ios": machine.ios_of_others(device),
            "ticks": ticks, "stolen": stolen}


def window(device, tool, seconds):
    """What happened in a window in the middle of a load."""
    with load_on(device):
        before = sample(device, tool)
        time.sleep(seconds)
        after = sample(device, tool)
    d = {k: after[k] - before[k] for k in before}
    if not d["ios"]:
        raise BenchError(f"no IO on {device.name} in {seconds} s")
    return {"seconds": d["time"], "ios": d["ios"], "iops": d["ios"] / d["time"],
            "ns_per_io": d["run_ns"] / d["ios"] if d["runs"] else None, "runs_per_io": d["runs"] / d["ios"],
            "ns_per_run": d["run_ns"] / d["runs"] if d["runs"] else None,
            "other_ios": d["other_ios"], "steal": d["stolen"] / max(d["ticks"], 1)}


def one(device, contender, seconds):
    with running(contender) as tool:
        row = window(device, tool, seconds)
    if contender and contender.name.startswith("blklat"):
        row["accounting"] = accounting(lines_of(tool.out))
    return row


def rounds_of(device, contenders, rounds, seconds, progress):
    """Runs every contender once a round, and starts each round with another one. Returns the rows and
    {name: why it can't run}."""
    rows, skipped = [], {}
    for n in range(rounds):
        turn = n % len(contenders)
        for c in contenders[turn:] + contenders[:turn]:
            name = c.name if c else "none"
            if name in skipped:
                continue
            progress(f"round {n + 1} of {rounds}: {name}")
            try:
                row = one(device, c, seconds)
            except NotRunning as e:
                if c.ours:
                    raise BenchError(f"{name} does not run: {e}") from None
                skipped[name] = str(e)
                continue
            rows.append({"round": n + 1, "contender": name, **row})
    return rows, skipped


def check_runs(rows):
    """A program that missed IOs would look cheap, so demands an issue and a completion for each IO."""
    for r in rows:
        if r["runs_per_io"] < 1.99:
            raise BenchError(f"{r['contender']}: its programs ran {r['runs_per_io']:.3f} times an IO, not twice: "
                             "it was not attached throughout, or the kernel keeps no run times of it")


def cpu_ns(pid):
    """CPU time of all threads, to the nanosecond (the ticks of stat are 3 % of what is measured)."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


def ticks_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    """Resident memory: the counters' mappings (BPF maps), and the rest."""
    counters = other = 0
    ours = False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            ours = "anon_inode:bpf-map" in line
        elif line.startswith("Rss:"):
            size = int(line.split()[1]) * 1024
            counters, other = (counters + size, other) if ours else (counters, other + size)
    return counters, other


def daemon(device, blklat, options, progress):
    """The daemon itself under load: time to the first line, then CPU time and memory."""
    starts = []
    with load_on(device):
        for n in range(options.rounds):
            progress(f"blklat's start {n + 1} of {options.rounds}")
            last = n + 1 == options.rounds
            began = time.monotonic()
            process = started(*blklat.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                if not process.stdout.readline():
                    raise BenchError(f"blklat does not run: {process.stderr.read().strip()}")
                starts.append(time.monotonic() - began - INTERVAL_S)
                if last:
                    progress(f"blklat's CPU time over {options.daemon_seconds} s")
                    figures = watch_process(process.pid, options.daemon_seconds)
            finally:
                end(process)
    return {"first_line_s": starts, "first_line_median_s": statistics.median(starts), **figures}


def many(options, progress):
    """A thousand devices at three stages, one of them with some load: the start, then CPU time and memory."""
    progress(f"{MANY} loop devices")
    with contextlib.closing(machine.ManyLoops(MANY)) as devices, load_on(devices, "--rate_iops=2000"):
        progress(f"{MANY} devices over {options.daemon_seconds} s")
        command = [f"{options.build}/blklat", "--stage", "device,queue,total", "--interval", str(INTERVAL_S)]
        for name in devices.names:
            command += ["--dev", name]
        began = time.monotonic()
        process = started(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if not process.stdout.readline():
                raise BenchError(f"blklat does not run: {process.stderr.read().strip()}")
            first = time.monotonic() - began - INTERVAL_S
            threading.Thread(target=process.stdout.read, daemon=True).start()
            figures = watch_process(process.pid, options.daemon_seconds)
        finally:
            end(process)
    return {"devices": MANY, "first_line_s": first, **figures}


def watch_process(pid, seconds):
    at, cpu, ticks = time.monotonic(), cpu_ns(pid), ticks_s(pid)
    time.sleep(seconds)
    passed = time.monotonic() - at
    used, used_ticks = cpu_ns(pid) - cpu, ticks_s(pid) - ticks
    counters, other = resident_bytes(pid)
    return {"seconds": passed, "cpu_share": used / 1e9 / passed, "cpu_share_by_ticks": used_ticks / passed,
            "start_cpu_s": cpu / 1e9, "resident_counter_bytes": counters, "resident_other_bytes": other}


def drain(build, device, progress):
    progress("drains")
    with load_on(device):
        return json.loads(machine.output_of(f"{build}/bench/drain", device.name))


def recording(options, device, progress):
    """Recordings in a file beside the build, by load: CPU time and bytes of an interval."""
    intervals, rows = max(1, round(options.daemon_seconds)), {}
    for name, load in RECORDED.items():
        progress(f"a recording of {intervals} s, {name}")
        with load_on(device, *load):
            row = json.loads(machine.output_of(f"{options.build}/bench/recording", device.name,
                                               f"{options.build}/bench.blklat", str(intervals)))
        row["bytes_a_series"] = (row["bytes"] - row["empty_bytes"]) / max(row["series"], 1)
        rows[name] = row
    return rows
