# SPDX-License-Identifier: GPL-2.0-only
"""
Hours of hot-plug: most of 300 devices come and go. A service watches all of them and is scraped, the devices that stay are recorded, and
other captures begin and end. At the end every count equals the reads that were made. CHURN_SECONDS=N sets another time than two hours.
"""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/host"), str(ROOT / "tests/serve")]

from devices import Delta, many_loops  # noqa: E402
from load import BLKLAT, Unseen, read  # noqa: E402
from recorder import Recorder, ios, value  # noqa: E402
from service import Serve  # noqa: E402
from told import total, wait_for, watched  # noqa: E402

SECONDS = float(os.environ.get("CHURN_SECONDS", 2 * 3600))
N, STAY = 300, 6


class Scraper(threading.Thread):
    """Scrapes each second; a counter never falls while it is there."""

    def __init__(self, serve, stay):
        super().__init__()
        self.serve, self.names, self.over, self.scrapes, self.fell = serve, stay, threading.Event(), 0, []

    def run(self):
        before = {}
        while not self.over.wait(1):
            now = {name: v for name, v in self.serve.metrics().items() if "_total" in name or "_count" in name}
            self.fell += [name for name, v in now.items() if v < before.get(name, 0) and self.stays(name)]
            before = now
            self.scrapes += 1

    def stays(self, name):
        return any(f'device="{d}"' in name for d in self.names)

    def end(self):
        self.over.set()
        self.join()


def counted(serve, device):
    """All reads of a quiet device so far, as the service counted them, in whichever of its captures."""
    serve.later_snapshot()
    serve.until(lambda: watched(serve, device), f"{device.name} in an interval")
    return total(serve, device, "read")


def churn(serve, devices, missing):
    """A device leaves, or one comes and is read. Reads that are missing afterwards are added up by device."""
    device = random.choice(devices)
    if device.sysfs.exists():
        devices.of.remove(device)
        return 0
    devices.of.attach(device)
    wait_for(serve, device)
    before, n, stat = counted(serve, device), random.randrange(1, 200), Delta(device)
    read(device, n)
    assert stat()["ios"] == n
    missing[device.name] += n - (counted(serve, device) - before)
    return 1


class Changing(list):
    """The same for many devices that come and go."""

    def __init__(self, of):
        super().__init__(of[STAY:])
        self.of = of


def capture(devices):
    """A separate capture of all devices present, which begins and ends while the others run."""
    done = subprocess.run([BLKLAT, "live", "--dev", devices.pattern, "--stage", "device", "--interval", "0.2", "--count", "2",
                           "--format", "json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert {json.loads(line)["accounting"]["lost"] for line in done.stdout.splitlines()} <= {0}


def sizes(serve):
    """Resident memory in KiB, and descriptors."""
    return serve.rss_kib(), len(os.listdir(f"/proc/{serve.pid}/fd"))


def all_back(serve, many):
    for device in many:
        if not device.sysfs.exists():
            many.attach(device)
    serve.until(lambda: len({line["device"] for line in serve.snapshot() if not line.get("gone")}) == N, "all devices")


def test_counts_after_hours_of_churn(tmp_path):
    file, rounds, comings, captures, missing = tmp_path / "run.blklat", 0, 0, 0, collections.Counter()
    until = time.monotonic() + SECONDS
    with many_loops(N) as many, Unseen() as unseen, Serve("--dev", many.pattern, "--stage", "device", "--interval", "0.2") as serve:
        stay, changing = many[:STAY], Changing(many)
        others = [word for d in stay[1:] for word in ("--dev", d.name)]
        all_back(serve, many)
        begin = sizes(serve)
        with Recorder(stay[0], file, "--quiet", "--stage", "device", *others) as recorder:
            reads, stats = {d.name: 0 for d in stay}, {d.name: Delta(d) for d in stay}
            scraper = Scraper(serve, list(reads))
            scraper.start()
            try:
                while time.monotonic() < until:
                    device, n = random.choice(stay), random.randrange(1, 500)
                    read(device, n)
                    reads[device.name] += n
                    comings += churn(serve, changing, missing)
                    rounds += 1
                    if rounds % 20 == 0:
                        capture(many)
                        captures += 1
                        print(f"{rounds} rounds, {comings} devices came, {captures} captures: {sizes(serve)}", flush=True)
            finally:
                scraper.end()
            ends = {d.name: counted(serve, d) for d in stay}
            missing.update({name: n - ends[name] for name, n in reads.items()})
            recorder.more(2)
            recorder.stop()
        hidden = unseen.counts()
        assert all(0 <= missing[d.name] - hidden.get(d.name, 0) for d in stay), (missing, hidden)
        assert min(missing.values()) >= 0 and not missing - collections.Counter(hidden), (missing, hidden)
        assert {name: stats[name]()["ios"] for name in reads} == reads
        assert ios(file)["read"][0] == sum(reads.values()) - sum(unseen.of(device) for device in stay)
        assert value(file, "SELECT value FROM meta WHERE key = 'finished'") == 1
        assert scraper.fell == [] and scraper.scrapes > 0
        assert comings > 0 and captures > 0
        # A service's memory depends on the devices present, not on those that came and went: at most five captures, and a history.
        all_back(serve, many)
        end = sizes(serve)
        assert end[1] <= begin[1] + 5 * 60 and end[0] < 3 * begin[0] + 65536, (begin, end)
    print(f"{rounds} rounds, {comings} devices came, {captures} captures, {scraper.scrapes} scrapes, {sum(reads.values())} reads, {begin} {end}")
