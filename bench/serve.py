# SPDX-License-Identifier: GPL-2.0-only
"""What 'blklat serve' costs on a large host: 64 devices, each with reads and writes of 60 latencies an interval,
replayed at 1 s intervals; a scrape each 1.1 s. 'make bench-serve'; no root. The counters of the host's CPUs are not
read in a replay: 'make bench' measures that part.
"""
import argparse
import http.client
import os
import pathlib
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


def processes(pid):
    """The process that captures, and its only child, which serves."""
    return [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def main():
    p = argparse.ArgumentParser(prog="serve.py", description=__doc__.split("\n\n", 1)[0])
    p.add_argument("--build", default="build", metavar="DIR", help="where blklat was built")
    p.add_argument("--seconds", type=int, default=20, metavar="S", help="of CPU time (default 20)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="blklat-bench-") as folder:
        replay = recording(pathlib.Path(folder, "host.blklat"), o.seconds + 60)
        argv = [f"{o.build}/blklat", "serve", "--replay", replay, "--listen", "127.0.0.1:0"]
        with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
            try:
                said = process.stderr.readline()
                found = re.search(r":(\d+)/$", said.strip())
                if not found:
                    print(f"bench: {said.strip()}", file=sys.stderr)
                    return 1
                print(f"{DEVICES} devices, reads and writes, 1 s intervals, {CPUS} CPUs")
                for line in watch(process, int(found[1]), o.seconds):
                    print(line, flush=True)
            finally:
                process.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
