# SPDX-License-Identifier: GPL-2.0-only
"""What blklat costs, beside the usual tools, in one run on one machine: 'make bench', as root.

Two series of rounds, since measuring one thing disturbs the other: cost per IO with the kernel's BPF
statistics on, IOPS with them off. Then the daemon itself. A missed target is said, not failed: the
exit status is 0 when everything could be measured, else 1.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys

import machine
import measure
import report
import scale
from contenders import bio_contenders, contenders, version
from machine import MIB, BenchError, Lacking, LoopDevice

SIZE_BYTES = 1024 * MIB
ZRAM_BYTES = 256 * MIB
SPARE_DEVICES = 3
PARTS = ("cost", "bios", "iops", "daemon", "drain", "recording", "many", "scale")


def options():
    p = argparse.ArgumentParser(prog="bench.py", description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", default="build", metavar="DIR", help="where blklat was built")
    p.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of cost per IO (default 5)")
    # IOPS of two runs differ by more than the effect in question, so the median needs more runs.
    p.add_argument("--iops-rounds", type=int, default=13, metavar="N", help="rounds of IOPS (default 13)")
    p.add_argument("--seconds", type=float, default=3, metavar="S", help="of a measurement (default 3)")
    p.add_argument("--daemon-seconds", type=float, default=20, metavar="S", help="of blklat's CPU time (default 20)")
    p.add_argument("--only", metavar="WHAT,...", default=",".join(PARTS), help=f"some of {', '.join(PARTS)} (default all)")
    p.add_argument("--contenders", metavar="NAME,...", help="only these, besides 'none'")
    o = p.parse_args()
    o.only = o.only.split(",")
    if set(o.only) - set(PARTS):
        p.error(f"--only takes {', '.join(PARTS)}")
    if o.rounds < 1 or o.iops_rounds < 1 or o.seconds <= 0 or o.daemon_seconds <= 0:
        p.error("--rounds and the seconds are above 0")
    return o


def end_by_signal(sig, frame):
    for s in machine.ENDING:
        signal.signal(s, signal.SIG_IGN)	# once is enough: let the clean-up finish
    sys.exit(128 + sig)


def progress(text):
    """Shows progress on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def package_version(name):
    """The package's, since biolatency itself always says 0.1."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True,
                              check=True).stdout
    return None


def facts(build, device):
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return ({"kernel": platform.release(), "cpu": cpu[1] if cpu else platform.machine(),
             "cpus": os.cpu_count(), "device": device.facts()},
            {"blklat": version(f"{build}/blklat"), "libbpf-tools": package_version("libbpf-tools"),
             "bpftrace": version("bpftrace"), "fio": version("fio")})


def chosen(everyone, names):
    unknown = set(names.split(",") if names else ()) - {c.name for c in everyone}
    if unknown:
        raise BenchError(f"no contender '{unknown.pop()}': there are {', '.join(c.name for c in everyone)}")
    return [c for c in everyone if not names or c.name in names.split(",")]


def cost_of_bios(o, loop, raw):
    """Cost per IO on devices without requests, that is, of stage total alone."""
    for kind, made in (("zram", machine.zram_device(ZRAM_BYTES)), ("dm", machine.dm_device(loop))):
        try:
            with made as device:
                raw[kind], skipped = measure.rounds_of(device, bio_contenders(o.build, device), o.rounds, o.seconds, progress)
        except Lacking as e:
            raw["skipped"][kind] = str(e)
            continue
        raw["skipped"].update({f"{name}, {kind}": why for name, why in skipped.items()})
        measure.check_runs(raw[kind])


def run(o, stack):
    device = stack.enter_context(contextlib.closing(LoopDevice(SIZE_BYTES)))
    spare = [stack.enter_context(contextlib.closing(LoopDevice(MIB))) for _ in range(SPARE_DEVICES)]
    stack.enter_context(machine.tracefs())
    everyone = contenders(o.build, device, spare)
    picked = chosen(everyone, o.contenders)
    blklat = next(c for c in everyone if c.name == "blklat")
    about, versions = facts(o.build, device)
    raw = {"schema": 1, "machine": about, "versions": versions, "options": vars(o),
           "contenders": {"none": "no tool", **{c.name: c.about for c in picked}},
           "cost": [], "zram": [], "dm": [], "iops": [], "skipped": {}, "daemon": None, "drain": None, "recording": None,
           "many": None, "scale": None}
    if "cost" in o.only:
        with machine.bpf_statistics():
            raw["cost"], raw["skipped"] = measure.rounds_of(device, picked, o.rounds, o.seconds, progress)
        measure.check_runs(raw["cost"])
    if "bios" in o.only:
        with machine.bpf_statistics():
            cost_of_bios(o, device, raw)
    with machine.no_bpf_statistics():
        if "iops" in o.only:
            field = [None] + [c for c in picked if not c.extra and c.name not in raw["skipped"]]
            raw["iops"], skipped = measure.rounds_of(device, field, o.iops_rounds, o.seconds, progress)
            raw["skipped"].update(skipped)
        if "daemon" in o.only:
            raw["daemon"] = measure.daemon(device, blklat, o, progress)
        if "drain" in o.only:
            raw["drain"] = measure.drain(o.build, device, progress)
        if "recording" in o.only:
            raw["recording"] = measure.recording(o, device, progress)
        if "many" in o.only:
            raw["many"] = measure.many(o, progress)
        if "scale" in o.only:
            raw["scale"] = scale.measure(o.build, progress)
    progress("")
    raw["results"] = report.verdicts(raw)
    return raw


def main():
    o = options()
    for s in machine.ENDING:
        signal.signal(s, end_by_signal)
    try:
        if os.geteuid():
            raise BenchError("not root: loop devices and BPF programs need it, for example with sudo")
        with contextlib.ExitStack() as stack:
            raw = run(o, stack)
    except BenchError as e:
        progress("")
        print(f"bench: {e}", file=sys.stderr)
        return 1
    pathlib.Path(o.build, "bench.json").write_text(json.dumps(raw, indent=1) + "\n")
    print(report.table(raw))
    return 0


if __name__ == "__main__":
    sys.exit(main())
