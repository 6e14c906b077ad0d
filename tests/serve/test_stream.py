# SPDX-License-Identifier: GPL-2.0-only
"""/api/stream: every interval once, history first, resumed where a reader left off."""
import re
import time

import pytest
from script import write_recording
from service import Serve


def test_events(script):
    with Serve("--replay", script(100, 0.2)) as s, s.stream() as stream:
        assert stream.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        _, name, run = stream.event()
        assert name == "run" and run["schema"] == 1 and run["scale"] == 6 and run["history_s"] == 300
        assert [(d["name"], d["kind"], d["model"], d["size_bytes"]) for d in run["devices"]] == [
            ("nvme0n1", "nvme", "Micron 7450", 1920383410176)]
        got = stream.intervals(5)
        # None were asked for.
        assert "slow" not in run and not any("slow" in w for _, data in got for w in data["watches"]) and not any("slow" in line for line in s.snapshot())
    numbers = [int(number.split(".")[1]) for number, _ in got]
    assert numbers == [1, 2, 3, 4, 5]
    for i, (_, data) in enumerate(got):
        [w] = data["watches"]
        read, write = w["ops"]
        assert (w["device"], w["stage"], w["in_flight"]) == ("nvme0n1", "device", {"ios": 3, "oldest_ns": 40000})
        assert (read["op"], read["ios"], read["bytes"], read["sum_ns"]) == ("read", 1000, 4096000, 96000 * 1000)
        assert (write["op"], write["ios"], write["latency_ns"]["max"], write["errors"]) == ("write", 300, 58000, 0)
        assert w["accounting"]["completed"] == 1300 * (i + 1)
        assert data["length_s"] == pytest.approx(0.2)
    # 96 us is above 2^(-26 + (i - 1)/64) s and at most 2^(-26 + i/64) s.
    [cell, ios] = got[0][1]["watches"][0]["ops"][0]["cells"]
    assert ios == 1000 and 2 ** (-26 + (cell - 1) / 64) < 96e-6 <= 2 ** (-26 + cell / 64)
    assert got[0][1]["watches"][0]["ops"][0]["latency_ns"] == {p: 96000 for p in ("mean", "min", "max", "p50", "p90", "p99", "p99.9", "p99.99")}


def test_health(tmp_path):
    """Of five equal devices one is slow from the start and one gets 8 times slower; three lose up to 1 % of their IOs in one interval."""
    names = [f"nvme{i}n1" for i in range(5)]
    lines = ["blklat-replay 1", "engine bpf", *(f'device {n} kind=nvme model="Micron 7450" size=1920383410176' for n in names),
             *(f"watch {n} device" for n in names)]
    for i in range(14):
        for d, name in enumerate(names):
            us = 500 if d == 4 else 800 if d == 3 and i >= 12 else 100
            lines += [f"on {name} device", f"io read {us}us 4096 x990", *([f"account no_start {8 + d}"] if d < 3 and i == 5 else [])]
        lines.append("tick 0.05")
    with Serve("--replay", write_recording("\n".join(lines), tmp_path / "run.blklat")) as s, s.stream() as stream:
        got = [[w.get("health") for w in data["watches"]] for _, data in stream.intervals(14)]
        # The same as metrics, as of the last interval.
        metrics = s.request("/metrics").text
    assert re.findall(r'^blklat_device_health{device="nvme(\d)n1",reason="(\w+)",stage="device"} (\d)$', metrics, re.M) == [
        ("0", "none", "0"), ("1", "none", "0"), ("2", "none", "0"), ("3", "slow", "2"), ("4", "unlike", "1")]
    since = re.findall(r'^blklat_device_health_since_timestamp_seconds{device="nvme(\d)n1",stage="device"} ([\d.]+)$', metrics, re.M)
    assert [n for n, _ in since] == ["3", "4"] and float(since[0][1]) == pytest.approx(0.6)
    unlike = {"grade": "watch", "reason": "unlike", "text": "p99 is 5 times that of its peers"}
    lost = {"grade": "watch", "reason": "lost", "text": "1.00 % of its IOs lost"}
    slow = [interval[3].pop("text") if interval[3] else None for interval in got]
    assert slow[:12] == [None] * 12 and slow[12].startswith("slow: p99 is 8") and slow[12].endswith("times its past")
    assert [interval[3] for interval in got] == [None] * 12 + [{"grade": "sick", "reason": "slow", "since": "1970-01-01T00:00:00.600Z"}] * 2
    assert [{k: v for k, v in interval[4].items() if k != "since"} for interval in got] == [unlike] * 14
    assert [interval[:3] for interval in got] == [[None, None, lost] if i == 5 else [None] * 3 for i in range(14)]


def newest(serve):
    """The number of the newest interval, computed from the IOs so far."""
    return sum(line["accounting"]["completed"] for line in serve.snapshot()) // 1300


def test_resume(script):
    """
    A reader that comes back is told of the run, then gets what it missed, once; no second 'run' in between. Whenever it was
    recorded, an interval ends that long after the service began.
    """
    began = time.monotonic()
    with Serve("--replay", script(200, 0.1)) as s:
        with s.stream() as stream:
            last, data = stream.intervals(3)[-1]
        assert 0.3 <= data["end_s"] <= time.monotonic() - began
        boot, seen = last.split(".")
        s.until(lambda: newest(s) >= int(seen) + 5, "more intervals")
        with s.stream({"Last-Event-ID": last}) as stream:
            told = [stream.event()[:2] for _ in range(6)]
        assert told == [(None, "run")] + [(f"{boot}.{int(seen) + missed}", "interval") for missed in range(1, 6)]
        for odd in ("", "x", "0.3", f"{boot}.999999", f"{boot}.", f"{boot}.1x", f"{boot}.-1", "9" * 400):
            with s.stream({"Last-Event-ID": odd}) as stream:
                assert stream.intervals(1)[0][0] == f"{boot}.1", odd


def ends(stream, last):
    """{number: end} of the intervals up to @last."""
    found = {}
    while last not in found:
        [(number, data)] = stream.intervals(1)
        found[int(number.split(".")[1])] = data["end_s"]
    return found


def test_history_is_bounded_in_time(script):
    """A late reader gets the intervals that ended within the history's length before the last, by the ends that another reader got."""
    with Serve("--replay", script(30, 0.1), "--history", "0.55") as s:
        with s.stream() as stream:
            told = ends(stream, 30)
        s.replayed()
        with s.stream() as stream:
            kept = ends(stream, 30)
        assert list(kept) == list(range(min(kept), 31))
        assert {n for n, end in told.items() if end >= told[30] - 0.55} == kept.keys() & told.keys()
        assert told.keys() - kept.keys()


def test_too_many_streams(script):
    """The limit holds for all clients together: the other places are for scrapes."""
    with Serve("--replay", script(200, 0.1)) as s:
        streams = [s.stream(source=f"127.0.0.{2 + i // 16}") for i in range(32)]
        try:
            r = s.request("/api/stream")
            assert (r.status, r.headers["Retry-After"]) == (503, "10")
            assert s.request("/metrics").status == 200
        finally:
            for stream in streams:
                stream.__exit__()
        s.until(lambda: s.raw(s.get_request("/api/stream")).recv(12) == b"HTTP/1.1 200", "room again")
