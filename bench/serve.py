# SPDX-License-Identifier: GPL-2.0-only
"""What 'blklat serve' costs on a large host: 64 devices, each with reads and writes of 60 latencies an interval,
replayed at 1 s intervals; a scrape each 1.1 s. And what a recorder of 24 drives adds. 'make bench-serve'; no root. The counters of the host's CPUs are not
read in a replay: 'make bench' measures that part.
"""
import argparse
import collections
import http.client
import itertools
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from script import write_recording  # noqa: E402

DEVICES, CPUS = 64, 128
FORMATS = {
    "text": "text/plain",
    "OpenMetrics": "application/openmetrics-text",
    "protobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}


def recording(path, intervals):
    names = [f"nvme{i}n1" for i in range(DEVICES)]
    lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", f"cpus {CPUS}"]
    lines += [f"device {n} kind=nvme scheduler=none size=1920383410176 queues=64" for n in names]
    lines += [f"watch {n} device" for n in names]
    latencies = [round(8000 * 1.09 ** i) for i in range(60)]
    for _ in range(intervals):
        for n in names:
            lines.append(f"on {n} device")
            lines += [f"io {op} {ns}ns 4096 x{1 + i % 7}" for op in ("read", "write") for i, ns in enumerate(latencies)]
        lines.append("tick 1")
    return write_recording("\n".join(lines), path)


def lognormal(path, intervals, drives=24):
    """Drives with 2000 reads and 500 writes a second; of ten kinds of intervals, which come in turns."""
    some = random.Random(24)
    kinds = []
    for _ in range(10 * drives):
        drawn = [[round(math.exp(round(some.gauss(math.log(mean), sigma) * 200) / 200)) for _ in range(n)]
                 for mean, sigma, n in ((90000, 0.35, 2000), (25000, 0.5, 500))]
        kinds.append([f"io {op} {ns}ns 4096 x{times}" for op, all_ns in zip(("read", "write"), drawn)
                      for ns, times in sorted(collections.Counter(all_ns).items())])
    lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z"]
    lines += [f"{what} nvme{i}n1 {more}" for i in range(drives) for what, more in (("device", "kind=nvme size=1920383410176"), ("watch", "device"))]
    for i in range(intervals):
        for n in range(drives):
            lines += [f"on nvme{n}n1 device", *kinds[(i * drives + n) % len(kinds)]]
        lines.append("tick 1")
    return write_recording("\n".join(lines), path)


def processes(pid):
    """The process that captures, and its children: that which serves, and before it that which records."""
    return [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def cpu_s(pid):
    """Of all threads, by the scheduler."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def rss_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def scrape(port, accept):
    began = time.monotonic()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    c.request("GET", "/metrics", headers={"Accept": accept})
    size = len(c.getresponse().read())
    c.close()
    return size, time.monotonic() - began


def watch(process, port, seconds):
    """CPU time without readers, then the cost of scrapes."""
    time.sleep(3)
    pids = processes(process.pid)
    before = [cpu_s(pid) for pid in pids]
    time.sleep(seconds)
    spent = [100 * (cpu_s(pid) - b) / seconds for pid, b in zip(pids, before)]
    yield f"CPU time without readers    {sum(spent):.2f} % of a core: " + " and ".join(f"{s:.2f}" for s in spent)
    for name, accept in FORMATS.items():
        took = []
        for _ in range(10):
            size, s = scrape(port, accept)
            took.append(s)
            time.sleep(1.1)  # at another time of the interval: just behind its end, a scrape waits for it
        yield f"scrape, {name:<12}        {size / 1000:.0f} kB in {1000 * statistics.median(took):.1f} ms"
    held = [rss_mib(pid) for pid in pids]
    yield f"resident memory             {sum(held):.0f} MiB: " + " and ".join(f"{h:.0f}" for h in held)


def watch_recorder(process, _, seconds):
    time.sleep(3)
    pids = processes(process.pid)
    before = [cpu_s(pid) for pid in pids]
    time.sleep(seconds)
    yield [100 * (cpu_s(pid) - b) / seconds for pid, b in zip(pids, before)]


def run(o, watch_it, *args):
    """Passes on what a service with these arguments is seen to do."""
    argv = [f"{o.build}/blklat", "serve", "--listen", "127.0.0.1:0", *args]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.stderr.readline()
            found = re.search(r":(\d+)/$", said.strip())
            if not found:
                sys.exit(f"bench: {said.strip()}")
            yield from watch_it(process, int(found[1]), o.seconds)
        finally:
            process.terminate()


def record(o, folder):
    """The same service without and with a recorder, in turns."""
    replay = lognormal(folder / "drives.blklat", o.seconds + 10)
    kept = folder / "kept"
    kept.mkdir()
    added = []
    for _ in range(3):
        without, = run(o, watch_recorder, "--replay", replay)
        # In turns: the process that captures, the recorder, the server.
        with_it, = run(o, watch_recorder, "--replay", replay, "--record", kept, "--keep-if", "sick", "--keep-if", "read.p99 > 1s")
        added.append((sum(with_it) - sum(without), with_it[1]))
    total, own = (statistics.median(column) for column in zip(*added))
    yield f"recording of 24 drives      adds {total:.2f} % of a core, of which {own:.2f} in the process that records"


def main():
    p = argparse.ArgumentParser(prog="serve.py", description=__doc__.split("\n\n", 1)[0])
    p.add_argument("--build", default="build", metavar="DIR", help="where blklat was built")
    p.add_argument("--seconds", type=int, default=20, metavar="S", help="of CPU time (default 20)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="blklat-bench-") as folder:
        replay = recording(pathlib.Path(folder, "host.blklat"), o.seconds + 60)
        print(f"{DEVICES} devices, reads and writes, 1 s intervals, {CPUS} CPUs")
        for line in itertools.chain(run(o, watch, "--replay", replay), record(o, pathlib.Path(folder))):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
