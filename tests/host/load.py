# SPDX-License-Identifier: GPL-2.0-only
"""What the host tests run: blklat itself, fio as the load and oracle, the witness."""
import collections
import contextlib
import datetime
import functools
import json
import math
import mmap
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

from tracing import trace_instance
from waiting import DEADLINE_S, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLKLAT = os.environ.get("BLKLAT", str(ROOT / "build/blklat"))
WITNESS = os.environ.get("WITNESS", str(ROOT / "build/tests/host/witness"))
BIN = 2 ** (1 / 64)  # ratio of a bin's bounds at scale 6
# More than any device here has in flight.
BURST = 128
ATTEMPTS = 6


class Process:
    """A child process; whatever happens it is ended, by its own pid."""

    def take(self, line):
        """A line of its standard output."""

    def __init__(self, argv, stdin=None):
        self.began = time.monotonic()
        self.argv = [str(a) for a in argv]
        self.said = open(os.memfd_create("stderr"), "rb")  # no pipe: what it has said can be read at once
        self.process = subprocess.Popen(self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=self.said, text=True)
        self.reader = threading.Thread(target=self._read_stdout)
        self.reader.start()

    def _read_stdout(self):
        for line in self.process.stdout:
            self.take(line)

    @property
    def pid(self):
        return self.process.pid

    @property
    def stderr(self):
        fd = self.said.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, more_s=0):
        """Returns the exit status, after all output was read. @more_s: seconds on top of the usual limit."""
        status = self.process.wait(DEADLINE_S + more_s)
        self.reader.join()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    def over(self):
        if self.process.poll() is None:
            return False
        # Read what it printed last; a child of its own may still write to the pipe.
        self.reader.join(1)
        return True

    def __str__(self):
        status = self.process.poll()
        return f"{self.argv[0]} {'runs' if status is None else f'ended with {status}'}: {self.stderr}"

    def until(self, condition, what, **limits):
        """Waits for a condition on what the child does or has printed so far; returns its value."""
        return wait_until(condition, what, self, **limits)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def blklat_argv(*args):
    """Devices become --dev options."""
    argv = [BLKLAT]
    for arg in args:
        argv += ["--dev", arg.name] if hasattr(arg, "name") else [str(arg)]
    return argv


SERIES_BYTES = 17024


def least_memory(*args):
    """What a run with these arguments takes without series for single CPUs, as it says if it may take too little."""
    refused = subprocess.run(blklat_argv(*args, "--max-memory", "1"), capture_output=True, text=True, timeout=DEADLINE_S)
    return 1024 * int(re.search(r"need (\d+)K", refused.stderr)[1])


# ppoll(2). Where a task waits (wchan) is not available before 5.16 on kernels without frame pointers.
PPOLL = {"x86_64": "271", "aarch64": "73"}[os.uname().machine]
# That many it polls while it waits for room for its output.
OUTPUT_POLLED = 2


def watching(process):
    """It waits only when the programs are attached and were read for the first time."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended already
        call = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
        return call[0] == PPOLL and int(call[2], 16) > OUTPUT_POLLED
    return False


class Blklat(Process):
    """
    blklat with JSON output. In a with block it is already watching, and is ended like by Ctrl-C at the
    end of the block, with status 0.
    """

    def __init__(self, *devices, stage=None, interval=0.5, args=()):
        self.lines = []
        if stage:
            args = [*args, "--stage", stage]
        super().__init__(blklat_argv(*devices, "--format", "json", "--interval", interval, *args))

    def take(self, line):
        self.lines.append(json.loads(line) | {"seen": time.monotonic()})

    def __enter__(self):
        try:
            self.until(lambda: self.lines or watching(self), "waiting for its first interval")
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None and self.process.poll() is None:
                assert self.stop() == 0, self.stderr
        finally:
            self.kill()

    def stop(self, number=signal.SIGINT):
        self.signal(number)
        return self.wait()

    def of(self, device=None, stage=None, part=None):
        """Its lines for a device and a stage: for the whole, or for the part with this label."""
        name = getattr(device, "name", device)
        return [l for l in self.lines if name in (None, l["device"]) and stage in (None, l["stage"]) and
                l.get("part", {}).get("label") == part]

    def next(self, device=None, stage=None, n=1):
        """Waits for n lines of intervals that end from now on, however late older lines are read; returns the last."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")[:23]
        later = lambda: [l for l in self.of(device, stage) if l["time"][:23] > now]
        self.until(lambda: len(later()) >= n, f"line {n}")
        return later()[n - 1]

    def accounting(self, device=None, stage=None):
        return self.of(device, stage)[-1]["accounting"]

    def total(self, key, op=None, device=None, stage=None, part=None):
        """Sum over all intervals of ios, bytes or errors."""
        return sum(o[key] for l in self.of(device, stage, part) for o in l["ops"] if op in (None, o["op"]))

    def ops(self, device=None, stage=None, part=None):
        """The ops that had IOs, and how many."""
        names = {o["op"] for l in self.of(device, stage, part) for o in l["ops"]}
        return {name: self.total("ios", name, device, stage, part) for name in names}


class Text(Process):
    """blklat as a person sees it."""

    def __init__(self, device, *args, interval=0.5):
        self.text = ""
        super().__init__(blklat_argv(device, "--interval", interval, *args))

    def take(self, line):
        self.text += line


def completed_before(b):
    """The IOs that completed after the programs were attached and before the first interval began; 0 on a quiet device."""
    first = b.lines[0]
    return first["accounting"]["completed"] - sum(o["ios"] for o in first["ops"])


def assert_closed(b, device=None, stage=None, before=0):
    """
    Each interval adds up within what moved while it was read; the last, on a quiet device, exactly. @before: completed
    before the first of them.
    """
    lines = b.of(device, stage)
    completed = before
    for line in lines:
        a = line["accounting"]
        completed += sum(o["ios"] for o in line["ops"])
        assert a["completed"] == completed, line
        assert abs(a["started"] - a["completed"] - a["in_flight"] - a["lost"]) <= a["moved"], line
        assert a["in_flight"] == line["in_flight"]["ios"], line
        assert a["lost"] == sum(a["lost_by"].values()), line
        assert not {"unexplained", "no_start", "tag_range"} & a["lost_by"].keys(), line
    a = lines[-1]["accounting"]
    assert a["moved"] == 0
    assert a["started"] == a["completed"] + a["in_flight"] + a["lost"]
    return a


class Missing(AssertionError):
    """Everything adds up, except for completions that were not seen."""


def missing(a):
    """IOs whose completion was not seen, on a quiet device."""
    return a["lost"] + a["in_flight"]


class Unseen:
    """
    Some kernels run no BPF program of any tool while a task of process 1 is the current one, nor in a softirq on top of it.
    recursion_misses does not count the completions that come then, but the kernel's own trace has them, so that blklat's missing
    completions can be checked against it: as many, no more. Nothing else is excused.
    """

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            self.instance = undo.enter_context(trace_instance())
            event = self.instance / "events/block/block_rq_complete"
            (event / "filter").write_text("||".join(f"common_pid=={task}" for task in os.listdir("/proc/1/task")))
            (event / "enable").write_text("1")
            self.found, self.undo = None, undo.pop_all()
        return self

    def __exit__(self, *unused):
        self.found = self.counts()
        self.undo.close()

    def counts(self):
        """{disk: requests}, of all that happened since the block was entered, until now or its end."""
        if self.found is not None:
            return self.found
        numbers = re.findall(r"block_rq_complete: (\d+),(\d+) ", (self.instance / "trace").read_text())
        return collections.Counter(os.path.basename(os.path.realpath(f"/sys/dev/block/{major}:{minor}")) for major, minor in numbers)

    def of(self, device):
        return self.counts().get(device.name, 0)


def assert_all_counted(b, device=None, stage=None):
    """The same, with nothing lost and nothing left over."""
    a = assert_closed(b, device, stage)
    if missing(a):
        raise Missing(a)
    return a


def exact(test):
    """
    For tests that need every IO. If completions are missing, and the kernel shows as many to no program, the test is repeated.
    """
    @functools.wraps(test)
    def repeat(*args, **kwargs):
        for _ in range(ATTEMPTS - 1):
            with Unseen() as unseen:
                try:
                    return test(*args, **kwargs)
                except Missing as e:
                    a, hidden = e.args[0], unseen.counts()
                    assert missing(a) <= sum(hidden.values()), (a, hidden)
                    print(f"repeated: {a}, {hidden}")
        return test(*args, **kwargs)
    return repeat


# --- fio -------------------------------------------------------------------------------------


def fio_argv(device, **options):
    settings = {"name": "load", "filename": device.path, "direct": 1, "ioengine": "psync", "bs": "4k", "rw": "randread",
                "randrepeat": 0, "group_reporting": 1, "thread": 1} | options  # no child that outlives a killed fio
    return ["fio", "--output-format=json"] + [f"--{k}={v}" for k, v in settings.items()]


class Fio(Process):
    """A load in the background."""

    def __init__(self, device, program="fio", **options):
        self.printed = []
        self.runtime_s = options.get("runtime", 0)
        super().__init__([program, *fio_argv(device, **options)[1:]])

    def take(self, line):
        self.printed.append(line)

    def result(self, status=0):
        assert self.wait(self.runtime_s) == status, self.stderr
        text = "".join(self.printed)
        # Warnings come before the JSON.
        return FioResult(json.loads(text[text.index("{"):])["jobs"][0])

    def end(self):
        """Asks a running one to end: it waits for its IO in flight and reports all that it did."""
        self.signal(signal.SIGTERM)
        return self.result(status=128)


class FioResult:
    def __init__(self, job):
        self.job = job

    def ios(self, op):
        return self.job[op]["total_ios"]

    def bytes(self, op):
        return self.job[op]["io_bytes"]

    @property
    def errors(self):
        return self.job.get("total_err", 0)

    @property
    def runtime_s(self):
        return self.job["job_runtime"] / 1000

    def clat_ns(self, op, p, kind="clat_ns"):
        return self.job[op][kind]["percentile"][f"{p:.6f}"]

    def mean_ns(self, op, kind="clat_ns"):
        return self.job[op][kind]["mean"]


def fio(device, **options):
    with Fio(device, **options) as f:
        return f.result()


def deep(seconds=2, **options):
    """Options of a load of many IOs in flight for some time."""
    return {"ioengine": "io_uring", "iodepth": 32, "time_based": 1, "runtime": seconds} | options


def read_errors(device, offset, size):
    """Reads around the page cache, once. Returns the error's number, or 0."""
    fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, size) as buffer:
            return 0 if os.preadv(fd, [buffer], offset) == size else -1
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)


def read(device, n):
    """Makes n reads of 4 KiB that reach the device, one after the other."""
    fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as buffer:
            for _ in range(n):
                assert os.preadv(fd, [buffer], 4096 * random.randrange(64)) == 4096
    finally:
        os.close(fd)


# --- witness ---------------------------------------------------------------------------------


class Latencies:
    """One of the witness's two views of each request."""

    def __init__(self, view):
        self.__dict__.update(view)

    def range(self, q):
        """Bounds of the fine bin that holds the quantile, ranked as fio does."""
        left = math.ceil(q * sum(n for _, _, n in self.bins))
        for lower, upper, n in self.bins:
            left -= n
            if left <= 0:
                return max(lower, self.min), min(upper, self.max)
        raise AssertionError("no IO")


class Witness(Process):
    """See witness.c. surround() once blklat is attached; finish() gives outer and inner latencies."""

    def __init__(self, device):
        self.printed = []
        super().__init__([WITNESS, device.number], stdin=subprocess.PIPE)

    def take(self, line):
        self.printed.append(line)

    def __enter__(self):
        self.until(lambda: "ready\n" in self.printed, "ready")
        return self

    def surround(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.until(lambda: "attached\n" in self.printed, "attached")

    def finish(self):
        self.signal(signal.SIGTERM)
        assert self.wait() == 0, self.stderr
        views = json.loads(self.printed[-1])
        return Latencies(views["outer"]), Latencies(views["inner"])
