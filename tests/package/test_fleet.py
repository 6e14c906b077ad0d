# SPDX-License-Identifier: GPL-2.0-only
"""Recomputes the figures of docs/fleet.md from the real exposition and from the measurements in docs/prometheus.md."""
import os
import pathlib
import re
import subprocess
import urllib.request

import pytest
from script import recorded
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLKLAT = os.environ.get("BLKLAT", "build/blklat")
FLEET = (ROOT / "docs/fleet.md").read_text()
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
# Series that only a classic histogram has; the one that remains stands for a native histogram.
CLASSIC_ONLY = re.compile(r"blklat_io_latency_seconds_(bucket|sum|created)")
INTERVAL_S = 15


@pytest.fixture(scope="module")
def exposed():
    """Names of the samples of one device that reads and writes, and of a host without any."""
    file = recorded(ROOT / "tests/cli/replay/nvme.txt")
    with subprocess.Popen([BLKLAT, "serve", "--replay", file, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as p:
        try:
            url = re.search(r"http://\S+", p.stderr.readline())[0]

            def told():
                with urllib.request.urlopen(urllib.request.Request(url + "metrics", headers=OPENMETRICS), timeout=60) as answer:
                    text = answer.read().decode()
                return "device=" in text and text
            text = wait_until(told, "a device", every_s=0.1)
        finally:
            p.terminate()
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert {re.search(r'device="(\w+)"', s)[1] for s in samples if "device=" in s} == {"nvme0n1"}
    names = [re.match(r"\w+", s)[0] for s in samples]
    return ([n for n, s in zip(names, samples) if "device=" in s], [n for n, s in zip(names, samples) if "device=" not in s])


def test_series(exposed):
    device, host = exposed
    native = [name for name in device if not CLASSIC_ONLY.match(name)]
    told = re.search(r"has (\d+) series with native histograms and (\d+) with classic buckets; each\s+host has (\d+) more", FLEET)
    assert tuple(map(int, told.groups())) == (len(native), len(device), len(host))


def number(text):
    return float(text.replace(",", "").removesuffix(" kB"))


def test_table(exposed):
    device, host = exposed
    native = sum(not CLASSIC_ONLY.match(name) for name in device)
    rows = [[number(cell) for cell in line.strip("| ").split(" | ")] for line in FLEET.splitlines() if re.match(r"\| 10", line)]
    assert len(rows) == 4
    for hosts, devices, n_native, n_classic, rate_native, rate_classic, _, _ in rows:
        assert n_native == hosts * (native * devices + len(host))
        assert n_classic == hosts * (len(device) * devices + len(host))
        assert (rate_native, rate_classic) == (round(n_native / INTERVAL_S), round(n_classic / INTERVAL_S))


def test_bytes():
    """Bytes of 24 devices, and the load of 10,000 such hosts: bytes sent and parsed a second."""
    measured = (ROOT / "docs/prometheus.md").read_text()
    both = re.search(r"\| 24 \| protobuf, native and classic \| ([\d.]+) kB \| ([\d.]+) kB \|", measured)
    text = re.search(r"\| 24 \| OpenMetrics \| ([\d.]+) kB \| ([\d.]+) kB \|", measured)
    assert f"| {both[2]} kB | {text[2]} kB |" in FLEET
    scrapes = 10000 / INTERVAL_S
    assert f"are {scrapes:.0f} scrapes a second" in FLEET

    def told(pattern):
        return tuple(map(float, re.search(pattern, FLEET).groups()))
    sent = told(r"scrapes a second: ([\d.]+) MB/s over the network with native histograms, ([\d.]+) MB/s")
    assert sent == pytest.approx([scrapes * float(m[2]) / 1000 for m in (both, text)], abs=0.1)
    parsed = told(r"they are (\d+) and (\d+) MB/s")
    assert parsed == pytest.approx([scrapes * float(m[1]) / 1000 for m in (both, text)], abs=1)
