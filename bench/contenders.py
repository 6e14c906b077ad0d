# SPDX-License-Identifier: GPL-2.0-only
"""The tools that are compared, and what each one's BPF programs have cost so far."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass

from machine import BenchError, end, started

# Like bpftrace's own biolatency.bt, but on tracepoints (the functions of its kprobes are inlined since
# about 5.16) and, like the others, for one device.
BPFTRACE = """
tracepoint:block:block_rq_issue /args->dev == {dev}/ {{ @start[args->dev, args->sector] = nsecs; }}
tracepoint:block:block_rq_complete /args->dev == {dev} && @start[args->dev, args->sector]/ {{
    @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000);
    delete(@start[args->dev, args->sector]);
}}
interval:s:1 {{ print(@usecs); clear(@usecs); }}
END {{ clear(@start); }}
"""

BPFTRACE_BIOS = BPFTRACE.replace("block_rq_issue", "block_bio_queue").replace("block_rq_complete", "block_bio_complete")


@dataclass
class Contender:
    name: str
    command: list
    about: str
    ours: bool = False		# must work; the tools of others may be missing
    extra: bool = False		# a variant: its cost only
    env: tuple = ()		# settings besides ours


def standbys(n):
    """Settings with which a contender of ours has, and keeps, @n standbys at each tracepoint."""
    return (("BLKLAT_STANDBY", str(n)),)


def ours(name, command, about, n=0, **how):
    """By default as after 10 s and a million IOs without a skipped program: no standby is left."""
    return Contender(name, command, about, ours=True, env=standbys(n), **how)


def contenders(build, device, spare):
    """All tools, in the order of the table. @spare are idle devices to watch in addition."""
    blklat = [f"{build}/blklat", "--interval", "1", "--format", "json", "--dev", device.name]
    kernel_dev = os.major(device.dev) << 20 | os.minor(device.dev)
    return [
        Contender("floor", [f"{build}/bench/floor"], "two programs that only read the clock", ours=True),
        ours("blklat", blklat, "default options, at rest"),
        Contender("biolatency", ["biolatency", "-d", device.name, "1"], "of libbpf-tools, one device"),
        Contender("bpftrace", ["bpftrace", "-e", BPFTRACE.format(dev=kernel_dev)], "a histogram, one device"),
        ours("blklat total", blklat + ["--stage", "total"], "stage total alone", extra=True),
        ours("blklat wait", blklat + ["--stage", "total,wait"], "stages total and wait", extra=True),
        ours("blklat 3 stages", blklat + ["--stage", "device,queue,total"], "device,queue,total", extra=True),
        *(ours(f"blklat by {by}", blklat + ["--by", by], "in parts", extra=True)
          for by in ("size", "flags", "depth", "beside", "cgroup")),
        # The limit is never reached: the cost of looking, and of remembering who sent what.
        ours("blklat slow", blklat + ["--slow", "1h", "--no-owners"], "of slow IOs, none is", extra=True),
        ours("blklat slow by depth", blklat + ["--slow", "1h", "--no-owners", "--by", "depth"], "each one's company kept", extra=True),
        ours("blklat slow owners", blklat + ["--slow", "1h"], "and who sent each", extra=True),
        ours("blklat %d devices" % (1 + len(spare)), blklat + [w for s in spare for w in ("--dev", s.name)],
             "one busy, the others idle", extra=True),
        # Before 7.0; later kernels preempt a task within a program, and have two standbys at first and one at rest.
        Contender("blklat at first", blklat, "a standby for ends", ours=True, extra=True),
        ours("blklat 1 standby", blklat, "for ends and starts", 1, extra=True),
        ours("blklat 2 standbys", blklat, "for ends and starts", 2, extra=True),
    ]


def bio_contenders(build, device):
    """The same for a device without requests, whose bios are the IOs."""
    blklat = [f"{build}/blklat", "--interval", "1", "--format", "json", "--dev", device.name]
    kernel_dev = os.major(device.dev) << 20 | os.minor(device.dev)
    return [
        ours("blklat", blklat, "stage total"),
        Contender("bpftrace", ["bpftrace", "-e", BPFTRACE_BIOS.format(dev=kernel_dev)], "a histogram, one device"),
    ]


def lines_of(file):
    """An output so far; does not move the position of its writer."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace").splitlines()


class NotRunning(Exception):
    """Why the tool can't run here."""


class Running:
    """A running contender. Its programs are those whose descriptors its process holds, whatever else is
    loaded on the machine; the kernel reports their run time with each descriptor."""

    def __init__(self, contender):
        self.contender = contender
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        try:
            self.process = started(*contender.command, stdout=self.out, stderr=self.err,
                                   env={**os.environ, **dict(contender.env)})
            self._wait_until_attached()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if hasattr(self, "process"):
            end(self.process)

    def why_not(self):
        said = [s for s in lines_of(self.err) if s.strip()]
        return said[-1].strip() if said else "it gave no reason"

    def programs(self):
        """{id: (run time in ns, runs)}"""
        found = {}
        for fd in pathlib.Path(f"/proc/{self.process.pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                facts = dict(re.findall(r"^(prog_id|run_time_ns|run_cnt):\t(\d+)$", fd.read_text(), re.M))
                if "run_cnt" in facts:
                    found[facts["prog_id"]] = int(facts["run_time_ns"]), int(facts["run_cnt"])
        return found

    def attachments(self):
        """Descriptors that hold a program to a tracepoint."""
        held = set()
        for fd in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(fd) in ("anon_inode:bpf_link", "anon_inode:[perf_event]"):
                    held.add(fd.name)
        return held

    def _wait_until_attached(self):
        """Until an issue and a completion at least are attached, and then until no more come."""
        give_up, same, before = time.monotonic() + 15, 0, None
        while same < 5:
            if self.process.poll() is not None:
                raise NotRunning(self.why_not())
            if time.monotonic() > give_up:
                raise NotRunning(f"nothing attached after 15 s: {self.why_not()}")
            time.sleep(0.1)
            try:
                now = self.attachments()
            except OSError:
                continue	# it ended: the next turn says so
            same, before = (same + 1 if len(now) >= 2 and now == before else 0), now

    def check(self):
        if self.process.poll() is not None:
            raise BenchError(f"{self.contender.name} ended early: {self.why_not()}")


@contextlib.contextmanager
def running(contender):
    """Runs a contender; None stands for no tool."""
    if not contender:
        yield None
        return
    r = Running(contender)
    try:
        yield r
        r.check()
    finally:
        r.stop()


def accounting(lines):
    """blklat's final accounting of the IOs it saw, for each device and stage with any."""
    last = {(line["device"], line["stage"]): line["accounting"] for line in map(json.loads, lines) if "part" not in line}
    return [{"device": device, "stage": stage, **a} for (device, stage), a in last.items() if a["started"]]


def version(command):
    """The first number with a dot in a tool's version text."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=10)
        found = re.search(r"\d+\.\d[\w.+-]*", said.stdout + said.stderr)
        return found[0] if found else None
    return None
