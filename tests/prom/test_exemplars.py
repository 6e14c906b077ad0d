# SPDX-License-Identifier: GPL-2.0-only
"""Slow IOs as exemplars: each in the bucket of its latency, in the formats that support them, and in a real Prometheus."""
import re

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from waiting import wait_until

import server
import wire
from player import LATENCY, OPENMETRICS, PROTOBUF, START, TEXT, Player, played, script

DEVICE = "nvme0n1 kind=nvme model=Example"
HOSTILE = r'"a\"b\\c"'  # quoted as in a script


def slow_script(path, events, by=None):
    """A recording in which each slow IO is counted as well: 'slow' and 'io'."""
    lines = []
    for event in events:
        if event.startswith("slow "):
            part = re.search(r' in="[^"]*"', event)
            count = re.search(r" x\d+$", event)
            lines.append(" ".join(["io", *event.split()[1:4]]) + (count[0] if count else "") + (part[0] if part else ""))
        lines.append(event)
    return script(path, [DEVICE], lines, facts=["slow-max 100", *([f"by {by}"] if by else [])])


EVENTS = [
    "io read 100us 4096 x1000",
    "slow read 30ms 4096 sector=8 pid=77 comm=dd ago=20ms", "slow read 31ms 4096 sector=16 pid=78 comm=dd ago=10ms", "slow read 2s 4096 sector=24 pid=79 comm=cp ago=0ms",
    "slow read 300s 4096 sector=32", "slow read 29ms 4096 sector=40", f'slow write 5ms 4096 pid=5 comm={HOSTILE} error=7', "slow write 6ms 4096",
    "tick 1", "io read 100us 4096 x10", "tick 1",
]


def exemplars_of(text):
    """{op: [(le, exemplar)]} of an OpenMetrics text; the parser refuses label sets that are too long."""
    found = {}
    for family in read_openmetrics(text):
        for s in family.samples:
            if s.exemplar:
                assert s.name == LATENCY + "_bucket"
                found.setdefault(s.labels["op"], []).append((float(s.labels["le"]), s.exemplar))
    return found


def bounds_of(text):
    return sorted({float(s.labels["le"]) for f in read_openmetrics(text) for s in f.samples if s.name == LATENCY + "_bucket"})


def test_each_in_its_bucket(tmp_path):
    text = played(slow_script(tmp_path / "s", EVENTS), OPENMETRICS).decode()
    found, bounds = exemplars_of(text), bounds_of(text)
    for op in found:
        for le, e in found[op]:
            below = max((b for b in bounds if b < le), default=0)
            assert below < e.value <= le
    assert [(e.labels, e.value, float(e.timestamp)) for _, e in found["read"]] == [
        # Of two in one bucket, the slower one; the fifth slowest is not kept.
        ({"comm": "dd", "pid": "78", "sector": "16"}, 0.031, START + 0.99), ({"comm": "cp", "pid": "79", "sector": "24"}, 2, START + 1),
        ({"sector": "32"}, 300, START + 1),
    ]
    assert found["read"][-1][0] == float("inf")
    # An IO of which nothing is known makes no exemplar, as it would lead nowhere.
    assert [(e.labels, e.value) for _, e in found["write"]] == [({"comm": 'a"b\\c', "pid": "5"}, 0.005)]


def test_counted(tmp_path):
    with Player() as p:
        p.open(slow_script(tmp_path / "s", EVENTS))
        totals = []
        while p.tick():
            totals += [s.value for f in read_openmetrics(p.get(OPENMETRICS)[1].decode()) for s in f.samples if s.name == "blklat_io_slow_total"]
    assert totals == [7, 7]


def test_failures_by_kind(tmp_path):
    """Kinds as the kernel names them; the intervals add up, and an IO that has not failed is not counted."""
    events = ["slow read 1ms 4096 error=7 x3", "slow write 2ms 4096 error=2", "slow read 2ms 4096", "tick 1", "slow read 3ms 4096 error=7", "slow read 4ms 4096 error=99", "tick 1"]
    text = played(slow_script(tmp_path / "s", events), OPENMETRICS).decode()
    found = {s.labels["error"]: s.value for f in read_openmetrics(text) for s in f.samples if s.name == "blklat_io_failed_total"}
    assert found == {"medium": 4, "timeout": 1, "I/O": 1}


def test_formats(tmp_path):
    """The text format has no exemplars; protobuf has them in classic buckets, and in a list beside native ones."""
    path = slow_script(tmp_path / "s", EVENTS)
    assert " # {" not in played(path, TEXT).decode()
    [read] = [m["histogram"] for m in wire.families(played(path, PROTOBUF))[LATENCY]["metric"] if m["labels"]["op"] == "read"]

    def said(e):
        return {one["name"]: one["value"] for one in e["label"]}, e["value"], e["timestamp"]
    assert [said(e) for e in read["exemplars"]] == [
        ({"sector": "32"}, 300, {"seconds": START + 1, "nanos": 0}), ({"comm": "cp", "pid": "79", "sector": "24"}, 2, {"seconds": START + 1, "nanos": 0}),
        ({"comm": "dd", "pid": "78", "sector": "16"}, 0.031, {"seconds": START, "nanos": 990000000}),
        ({"comm": "dd", "pid": "77", "sector": "8"}, 0.03, {"seconds": START, "nanos": 980000000}),
    ]
    in_buckets = {e["value"]: b["upper_bound"] for b in read["bucket"] if (e := b.get("exemplar"))}
    assert in_buckets.keys() == {0.031, 2} and all(value <= upper for value, upper in in_buckets.items())


def test_parts_have_their_own(tmp_path):
    events = ['io read 1ms 4096 x10 in="4 KiB"', 'slow read 30ms 4096 in="4 KiB" sector=8', 'slow read 40ms 65536 in="64 KiB" sector=16', "tick 1"]
    text = played(slow_script(tmp_path / "s", events, by="size"), OPENMETRICS).decode()
    found = {s.labels["size"]: (s.exemplar.value, s.exemplar.labels) for f in read_openmetrics(text) for s in f.samples if s.exemplar}
    assert found == {"4 KiB": (0.03, {"sector": "8"}), "64 KiB": (0.04, {"sector": "16"})}


def test_without_slow_ios_there_is_neither(tmp_path):
    text = played(script(tmp_path / "s", [DEVICE], ["io read 30ms 4096 x3", "tick 1"]), OPENMETRICS).decode()
    assert " # {" not in text and "blklat_io_slow" not in text


@pytest.mark.parametrize("native", [False, True], ids=["classic", "native"])
def test_a_real_prometheus_keeps_them(tmp_path, native):
    with Player() as player:
        player.open(slow_script(tmp_path / "s", EVENTS))
        assert player.tick()
        exporter = server.Exporter(player)
        prometheus = server.Prometheus([exporter.address], native=native, exemplars=True)
        try:
            def kept():
                data = prometheus.api("query_exemplars", query=LATENCY + ("" if native else "_bucket") + '{op="read"}', start=START - 60, end=START + 60)
                return sorted(((float(e["value"]), e["labels"]) for one in data for e in one["exemplars"]), key=lambda e: e[0])
            least = 1 if native else 3
            values = wait_until(lambda: len(found := kept()) >= least and found, "exemplars", every_s=0.1)
            # For a native histogram Debian's Prometheus (2.42) takes one a scrape, from the classic buckets beside it.
            assert values == [e for e in [
                (0.031, {"comm": "dd", "pid": "78", "sector": "16"}), (2, {"comm": "cp", "pid": "79", "sector": "24"}), (300, {"sector": "32"}),
            ] if e in values]
            prometheus.assert_scrapes()
        finally:
            prometheus.close()
            exporter.close()
