# SPDX-License-Identifier: GPL-2.0-only
"""docs/prometheus.md lists what is exposed; its numbers of series and of bytes hold, and so do those of docs/fleet.md, made from them."""
import json
import os
import pathlib
import re
import subprocess

import pytest

import wire
from player import OPENMETRICS, PROTOBUF, TEXT, Player, played, script

BENCH = os.environ.get("EXPOSITION_BENCH", "build/bench/exposition")
PAGE, FLEET = ((pathlib.Path(__file__).resolve().parents[2] / "docs" / name).read_text() for name in ("prometheus.md", "fleet.md"))
INTERVAL_S = 15  # of scrapes of a fleet


def test_metrics_and_labels(tmp_path):
    path = script(tmp_path / "s", ["sda model=M"], ["io read 1ms 4096 errors=1", "slow read 1ms 4096 error=7", "busy 1ms", "tick 1"], facts=["slow-max 1"])
    with Player() as p:
        p.open(path)
        p.tick()
        families = wire.families(p.get(PROTOBUF)[1])
    exposed = {name: (f["type"], sorted(f["metric"][0]["labels"])) for name, f in families.items()}
    rows = re.findall(r"^\| `(blklat_\w+)` \| (\w+) \|([\w, ]*)\|", PAGE, re.M)
    assert exposed == {name: ("gauge" if kind == "info" else kind, re.findall(r"\w+", labels))
                       for name, kind, labels in rows if not name.startswith(("blklat_otlp", "blklat_recorder"))}   # see tests/serve


def samples(tmp_path, devices, ops, accept, sizes=(4096,), facts=()):
    """The number of series; in protobuf, a histogram is one."""
    events = [f"on sd{i} device\nio {op} 1ms {size}" for i in range(devices) for op in ops for size in sizes]
    body = played(script(tmp_path / "s", [f"sd{i}" for i in range(devices)], [*events, "tick 1"], facts=facts), accept)
    if accept == PROTOBUF:
        return sum(len(f["metric"]) for f in wire.families(body).values())
    return sum(not line.startswith(b"#") for line in body.splitlines())


def test_series_of_a_device(tmp_path):
    def more(devices, ops, accept):
        return samples(tmp_path, devices, ops, accept) - samples(tmp_path, 1, ["read"], accept)

    figures = [more(2, ["read"], a) for a in (PROTOBUF, OPENMETRICS, TEXT)]
    further = [more(1, ["read", "flush"], a) for a in (PROTOBUF, OPENMETRICS)]
    said = re.search(r"has (\d+) series with native histograms and (\d+) with classic buckets "
                     r"\((\d+) in.*?further op (\d+) or (\d+)", PAGE, re.S)
    assert list(map(int, said.groups())) == figures + further


def test_series_of_a_divided_device(tmp_path):
    """Reads and writes of four sizes, including the smallest."""
    def count(devices, accept):
        return samples(tmp_path, devices, ("read", "write"), accept, (512, 5000, 65536, 1 << 20), ["by size"])

    said = re.search(r"in four sizes has (\d+)\s+series, or (\d+)", PAGE)
    assert list(map(int, said.groups())) == [count(2, accept) - count(1, accept) for accept in (PROTOBUF, OPENMETRICS)]


def test_a_scrape_of_24_devices(tmp_path):
    """Below 1 MB. Its time is for bench/exposition alone."""
    r = subprocess.run([BENCH, "24"], capture_output=True, check=True, timeout=120)
    figures = json.loads(r.stdout)
    assert figures["devices"] == 24
    for name in ("protobuf", "openmetrics", "text"):
        assert figures[name]["bytes"] < 1e6, figures
    said = [float(n) for n in re.findall(r"^\| 24 \|.*?\| ([\d.]+) kB \|", PAGE, re.M)]
    measured = [figures[name]["bytes"] / 1000 for name in ("protobuf", "openmetrics", "text")]
    for page, now in zip(said, measured, strict=True):
        assert abs(page / now - 1) < 0.05, (page, now)


def test_series_of_a_fleet(tmp_path):
    """Its devices read and write."""
    (native, host), (classic, same) = ((two - one, 2 * one - two) for one, two in (
        [samples(tmp_path, devices, ("read", "write"), accept) for devices in (1, 2)] for accept in (PROTOBUF, OPENMETRICS)))
    told = re.search(r"has (\d+) series with native histograms and (\d+) with classic buckets; each\s+host has (\d+) more", FLEET)
    assert tuple(map(int, told.groups())) == (native, classic, host) and host == same
    rows = [[float(cell.replace(",", "").removesuffix(" kB")) for cell in line.strip("| ").split(" | ")] for line in FLEET.splitlines() if re.match(r"\| 10", line)]
    assert len(rows) == 4
    for hosts, devices, n_native, n_classic, rate_native, rate_classic, _, _ in rows:
        assert n_native == hosts * (native * devices + host) and n_classic == hosts * (classic * devices + host)
        assert (rate_native, rate_classic) == (round(n_native / INTERVAL_S), round(n_classic / INTERVAL_S))


def test_bytes_of_a_fleet():
    """Bytes of 24 devices, and the load of 10,000 such hosts: bytes sent and parsed a second."""
    both = re.search(r"\| 24 \| protobuf, native and classic \| ([\d.]+) kB \| ([\d.]+) kB \|", PAGE)
    text = re.search(r"\| 24 \| OpenMetrics \| ([\d.]+) kB \| ([\d.]+) kB \|", PAGE)
    assert f"| {both[2]} kB | {text[2]} kB |" in FLEET
    scrapes = 10000 / INTERVAL_S
    assert f"are {scrapes:.0f} scrapes a second" in FLEET

    def told(pattern):
        return tuple(map(float, re.search(pattern, FLEET).groups()))
    sent = told(r"scrapes a second: ([\d.]+) MB/s over the network with native histograms, ([\d.]+) MB/s")
    assert sent == pytest.approx([scrapes * float(m[2]) / 1000 for m in (both, text)], abs=0.1)
    parsed = told(r"they are (\d+) and (\d+) MB/s")
    assert parsed == pytest.approx([scrapes * float(m[1]) / 1000 for m in (both, text)], abs=1)
