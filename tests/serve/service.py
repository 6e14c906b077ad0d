# SPDX-License-Identifier: GPL-2.0-only
"""A running 'blklat serve', and readers of its answers."""
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import time
import weakref

from load import DEADLINE_S, wait_until
from script import TESTS, recorded

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLKLAT = os.environ.get("BLKLAT", str(ROOT / "build/blklat"))
# The program without sanitizers, where BLKLAT has them.
PLAIN = os.environ.get("BLKLAT_PLAIN", BLKLAT)
MIXED = recorded(TESTS / "cli/replay/mixed.txt")


def script_of(intervals, seconds, devices=1, cpus=1, ios=("read 96us 4096 x1000", "write 58us 16384 x300")):
    """A script (tests/script.py) of which every interval has the same IOs."""
    names = [f"nvme{i}n1" for i in range(devices)]
    lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", f"cpus {cpus}"]
    lines += [f'device {n} kind=nvme model="Micron 7450" scheduler=none size=1920383410176 queues=16' for n in names]
    lines += [f"watch {n} device" for n in names]
    for _ in range(intervals):
        for n in names:
            lines += [f"on {n} device", *(f"io {io}" for io in ios), "in-flight 3 oldest=40us"]
        lines.append(f"tick {seconds}")
    return "\n".join(lines)


def let_all_reach(file):
    """Opens the path to a file, since pytest's folders are for their user alone."""
    for folder in file.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)


def refused(*args, listen="127.0.0.1:0", prefix=(), env=None):
    """A service that does not start: its status and its messages."""
    return subprocess.run([*prefix, BLKLAT, "serve", "--listen", listen, *map(str, args)], capture_output=True, text=True, timeout=DEADLINE_S,
                          env={**os.environ, **(env or {})})


class Response:
    def __init__(self, r):
        self.status, self.headers, self.body = r.status, r.headers, r.read()

    @property
    def text(self):
        return self.body.decode()

    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]


class Serve:
    """In a with block it listens; at the end of the block SIGTERM ends it, with status 0. @argv: a whole command line that starts one."""

    def __init__(self, *args, listen="127.0.0.1:0", env=None, prefix=(), tls=False, argv=None):
        argv = argv or [*prefix, BLKLAT, "serve", "--listen", listen, *map(str, args)]
        self.tls = tls
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        os.set_blocking(self.process.stderr.fileno(), False)
        self.stderr = ""
        # Those that a test still holds at the end are closed.
        self.sockets = weakref.WeakSet()

    @property
    def pid(self):
        return self.process.pid

    def read_stderr(self):
        self.stderr += (self.process.stderr.read() or b"").decode()
        return self.stderr

    def over(self):
        return self.process.poll() is not None

    def __str__(self):
        return f"the service {f'ended with {self.process.returncode}' if self.over() else 'runs'}: {self.read_stderr()}"

    def until(self, condition, what, deadline_s=DEADLINE_S):
        return wait_until(condition, what, self, within_s=deadline_s, every_s=0.02)

    def __enter__(self):
        try:
            found = self.until(lambda: re.search(r"listening on (https?)://(.*):(\d+)/", self.read_stderr()), "listening")
        except BaseException:
            self.kill()
            raise
        self.scheme, self.host, self.port = found[1], found[2].strip("[]"), int(found[3])
        return self

    def __exit__(self, kind, *_):
        for s in list(self.sockets):
            s.close()
        try:
            if kind is None and self.process.poll() is None:
                self.stop()
        finally:
            self.kill()
            if kind is not None:
                print(f"the service said: {self.stderr}")

    def stop(self, number=signal.SIGTERM):
        """Ends it; returns how long that took."""
        began = time.monotonic()
        self.process.send_signal(number)
        assert self.process.wait(DEADLINE_S) == 0, self.read_stderr()
        return time.monotonic() - began

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr.closed:
            return
        self.read_stderr()
        self.process.stdout.close()
        self.process.stderr.close()

    def replayed(self):
        """Waits until the whole replay can be read."""
        self.until(lambda: self.request("/healthz").text == "the capture has stopped: the replay is at its end\n", "the end of the replay")

    # --- HTTP

    def connection(self, timeout=DEADLINE_S, source=None):
        if not self.tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout, source_address=(source, 0) if source else None)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)

    def request(self, path, method="GET", headers=None, body=None):
        with contextlib.closing(self.connection()) as c:
            c.request(method, path, body=body, headers=headers or {})
            return Response(c.getresponse())

    def raw(self, data=b"", timeout=DEADLINE_S, source=None):
        s = socket.create_connection((self.host, self.port), timeout=timeout, source_address=(source, 0) if source else None)
        self.sockets.add(s)
        if data:
            s.sendall(data)
        return s

    def exchange(self, data):
        """The first line of the answer to these bytes, "" without an answer."""
        with contextlib.closing(self.raw()) as s:
            with contextlib.suppress(ConnectionError):
                s.sendall(data)
            with contextlib.suppress(ConnectionError):
                return s.recv(4096).split(b"\r\n")[0].decode(errors="replace")
        return ""

    def get_request(self, path="/healthz", method="GET", headers=None):
        more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        return f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{more}\r\n".encode()

    def snapshot(self):
        r = self.request("/api/snapshot")
        return r.lines() if r.status == 200 else []

    def later_snapshot(self):
        """A snapshot of an interval that ended after this call began. The server of a busy machine may be some intervals behind."""
        began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")[:23]
        return self.until(lambda: (found := self.snapshot()) and all(line["time"][:23] > began for line in found) and found, "a later interval")

    def metrics(self):
        """{name{labels}: value} of the plain text."""
        values = {}
        for line in self.request("/metrics").text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def stream(self, headers=None, source=None):
        return Stream(self, headers or {}, source)

    # --- the process

    def children(self):
        """{name: pid} of the processes that the one that captures, self.pid, has started."""
        pids = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return {status(pid, "Name"): int(pid) for pid in pids}

    @property
    def server(self):
        """The process that talks to the network."""
        return self.children()["blklat-web"]

    @property
    def recorder(self):
        """The service listens without waiting for it to have its name."""
        return self.until(lambda: self.children().get("blklat-rec"), "the recorder")

    @property
    def pids(self):
        return [self.pid, *self.children().values()]

    def tasks(self):
        """All threads of all its processes."""
        return [int(task) for pid in self.pids for task in os.listdir(f"/proc/{pid}/task")]

    def status(self, key, task=None):
        return status(task or self.pid, key)

    def rss_kib(self):
        """Resident memory of both processes; what they share counts twice."""
        return sum(int(status(pid, "VmRSS").split()[0]) for pid in self.pids)

    def anonymous_kib(self):
        """Their memory without the pages of files, of which the page cache decides how many are mapped."""
        return sum(int(status(pid, "RssAnon").split()[0]) for pid in self.pids)

    def cpu_ms(self):
        """
        CPU time of both, with that of threads that have ended, by the scheduler's own clock, which does not depend on
        how busy the machine is (clock_getcpuclockid(3)).
        """
        return 1000 * sum(time.clock_gettime(~pid << 3 | 2) for pid in self.pids)

    def held_up_s(self):
        """For how long so far its threads and this process had work and no CPU (schedstat in proc(5)), or this machine's host had none for it."""
        waited_ns = 0
        for task in [*self.tasks(), os.getpid()]:
            with contextlib.suppress(OSError):  # it ended meanwhile
                waited_ns += int(pathlib.Path(f"/proc/{task}/schedstat").read_text().split()[1])
        stolen = pathlib.Path("/proc/stat").read_text().split(maxsplit=9)[8]
        return waited_ns / 1e9 + int(stolen) / os.sysconf("SC_CLK_TCK")


def status(task, key):
    """A status value of a process or a thread; every thread has a directory of its own in /proc, unlisted."""
    return re.search(rf"^{key}:[ \t]*(.*)$", pathlib.Path(f"/proc/{task}/status").read_text(), re.M)[1]


def gone(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return status(pid, "State").startswith(("Z", "X"))
    return True


def policy(task):
    return (os.sched_getscheduler(task) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(task).sched_priority,
            os.getpriority(os.PRIO_PROCESS, task))


class Stream:
    """Reads events: (id, name, data)."""

    def __init__(self, serve, headers, source=None):
        self.connection = serve.connection(source=source)
        self.connection.request("GET", "/api/stream", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # By now the response owns the connection's socket.
        self.response.close()
        self.connection.close()

    def event(self):
        found = {}
        while True:
            line = self.response.readline().decode()
            assert line, "the stream ended"
            line = line.rstrip("\n")
            if not line and "data" in found:
                return found.get("id"), found["event"], json.loads(found["data"])
            if line and not line.startswith(":"):
                key, value = line.split(": ", 1)
                found[key] = value

    def intervals(self, n):
        """@n intervals, without other events between them."""
        found = []
        while len(found) < n:
            number, name, data = self.event()
            if name == "interval":
                found.append((number, data))
        return found

    def newest(self):
        """Reads up to an interval that it has to wait for. Returns when that came and when it ended, each by a clock of its own."""
        came = time.monotonic()
        while True:
            [(_, data)] = self.intervals(1)
            before, came = came, time.monotonic()
            if came - before > data["length_s"] / 2:
                return came, data["end_s"]


def behind(since, now):
    """
    By how many seconds a replay fell behind between two of Stream.newest(). Ends are those of the recording, and an interval that
    is late makes all later ones late.
    """
    return now[0] - since[0] - (now[1] - since[1])


def overdue(intervals, interval_s):
    """
    By how many seconds each interval of a live capture was late. Due times form a grid, whose phase is that of the half of the
    intervals that ended closest together; each interval is due one step after the previous one.
    """
    ends = [data["end_s"] for _, data in intervals]
    phases = sorted(end % interval_s for end in ends)
    half, n = len(phases) // 2, len(phases)
    first = min(range(n), key=lambda i: (phases[(i + half) % n] - phases[i]) % interval_s)
    late, due = [], None
    for end in ends:
        # One that is late by more than an interval stands for those due meanwhile. The grid is known to a twentieth of a step.
        number = int((end - phases[first]) / interval_s + 0.05)
        late.append(end - phases[first] - interval_s * (number if due is None else due))
        due = number + 1
    return late
