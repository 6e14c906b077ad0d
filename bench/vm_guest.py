# SPDX-License-Identifier: GPL-2.0-only
"""
The guest's side of bench_vm.py: runs fio without and with each contender, and leaves in measured.json
of the shared folder what one IO took by the guest's clock, which counts instructions.

That clock leaps whenever the guest waits for something, and it does for its files. So nothing here has
a time limit, and a pause costs nothing; the host's is the limit.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import signal
import time

from contenders import Contender as Tool
from contenders import NotRunning, Running, accounting, lines_of
from contenders import standbys as standby_settings
from machine import BenchError, output_of

DEVICES = [f"nullb{n}" for n in range(4)]
DEVICE = DEVICES[0]
# Completes at once, on the submitting CPU; the request layer is that of a disk with one queue.
NULL_BLK = ("queue_mode=2", "irqmode=0", "submit_queues=1", "gb=1", f"nr_devices={len(DEVICES)}")


def blklat(build, engine, *more, standbys=0):
    """No interval ends while fio runs, since reading the counters is not part of an IO's cost."""
    return Tool("blklat", [f"{build}/blklat", "--engine", engine, "--interval", "60", "--format", "json",
                           "--dev", DEVICE, *more], engine, ours=True,
                env=() if standbys is None else standby_settings(standbys))


def contenders(build):
    """{name: tools that run together}, in the order of the table."""
    bpf, kmod = (lambda *more, e=e, **how: blklat(build, e, *more, **how) for e in ("bpf", "kmod"))
    others = [word for name in DEVICES[1:] for word in ("--dev", name)]
    stages = ("--stage", "device,queue,total")
    return {
        "none": [],
        "floor": [Tool("floor", [f"{build}/bench/floor"], "")],
        "blklat bpf": [bpf()],
        "blklat kmod": [kmod()],
        "blklat bpf, at first": [bpf(standbys=None)],
        "blklat bpf, 1 standby": [bpf(standbys=1)],
        "blklat bpf, idle gap": [bpf("--idle-gap", "0.1")],
        "blklat kmod, idle gap": [kmod("--idle-gap", "0.1")],
        **{f"blklat {e}, by {by}": [engine("--by", by)] for by in ("size", "flags", "depth", "beside", "cgroup", "process", "priority", "operation")
           for e, engine in (("bpf", bpf), ("kmod", kmod))},
        **{f"blklat {e}, slow{name}": [engine("--slow", "1h", *args)] for name, args in ((", no owners", ("--no-owners",)), ("", ()))
           for e, engine in (("bpf", bpf), ("kmod", kmod))},
        **{f"blklat {e}, slow by depth": [engine("--slow", "1h", "--no-owners", "--by", "depth")] for e, engine in (("bpf", bpf), ("kmod", kmod))},
        "biolatency": [Tool("biolatency", ["biolatency"], "")],
        "biolatency, 1 device": [Tool("biolatency", ["biolatency", "-d", DEVICE], "")],
        "blklat bpf, 4 devices": [bpf(*others)],
        "blklat kmod, 4 devices": [kmod(*others)],
        "blklat bpf, 3 stages": [bpf(*stages)],
        "blklat kmod, 3 stages": [kmod(*stages)],
        **{f"blklat {e}, {name}": [engine("--stage", these)] for name, these in (("total", "total"), ("wait", "total,wait"))
           for e, engine in (("bpf", bpf), ("kmod", kmod))},
        "blklat bpf and kmod": [bpf(), kmod()],
        "none again": [],
    }


class Attached(Running):
    """A running contender, from when it is attached."""

    def _wait_until_attached(self):
        while not self._ready():
            if self.process.poll() is not None:
                raise NotRunning(self.why_not())
            time.sleep(0.1)

    def _ready(self):
        """Whether blklat has printed something, or another tool holds two tracepoints."""
        if self.contender.ours:
            return lines_of(self.out)
        with contextlib.suppress(OSError):
            return len(self.attachments()) >= 2
        return False

    def finish(self, ios):
        """Ends it, and demands that it saw all IOs: a tool that misses some looks cheap."""
        self.check()
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        for what, counted in self._counted():
            if counted != ios:
                raise NotRunning(f"{what}: counted {counted} of {ios} IOs")

    def _counted(self):
        lines = lines_of(self.out)
        if self.contender.ours:
            for a in accounting(lines):
                yield a["stage"], a["completed"] if not a["lost"] else f"with {a['lost']} lost, {a['completed']}"
        elif self.contender.name == "biolatency":
            # "    32 -> 63     : 1234     |****   |"
            yield "histogram", sum(int(line.split(":")[1].split()[0]) for line in lines if "->" in line)


def fio(ios, runs):
    """The cost of one IO, the mean of each run. With psync it is the time in pread(), to the instruction."""
    argv = ["fio", f"--filename=/dev/{DEVICE}", "--readonly", "--direct=1", "--rw=randread", "--bs=4k",
            "--ioengine=psync", "--norandommap", "--thread", "--clocksource=clock_gettime", "--io_size=1t",
            f"--number_ios={ios}", "--output-format=json"]
    for n in range(runs):
        argv += [f"--name=run{n}", "--stonewall"]
    jobs = json.loads(output_of(*argv))["jobs"]
    for job in jobs:
        if job["error"] or job["read"]["total_ios"] != ios:
            raise BenchError(f"fio did {job['read']['total_ios']} of {ios} IOs, error {job['error']}")
    return [job["read"]["clat_ns"]["mean"] for job in jobs]


def measure(tools, ios, runs):
    attached = []
    try:
        for tool in tools:
            attached.append(Attached(tool))
        found = fio(ios, runs)
        for tool in attached:
            tool.finish(ios * runs)
        return found
    finally:
        for tool in attached:
            tool.stop()


def prepare(module):
    output_of("modprobe", "null_blk", *NULL_BLK)
    for name in DEVICES:
        pathlib.Path(f"/sys/block/{name}/queue/scheduler").write_text("none")
    output_of("insmod", module)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 2)[1])
    p.add_argument("build", help="where blklat was built")
    p.add_argument("module", help="blklat.ko for this kernel")
    p.add_argument("ios", type=int)
    p.add_argument("runs", type=int)
    p.add_argument("names", nargs="*", help="contenders, all if none is named")
    o = p.parse_args()
    prepare(o.module)
    result = {"kernel": platform.release(), "runs": {}, "not_measured": {}}
    for name, tools in contenders(o.build).items():
        if tools and o.names and name not in o.names:
            continue
        print(name, flush=True)
        try:
            result["runs"][name] = measure(tools, o.ios, o.runs)
        except (BenchError, NotRunning, OSError) as e:
            result["not_measured"][name] = str(e)
    pathlib.Path(os.environ["VM_OUT"], "measured.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
