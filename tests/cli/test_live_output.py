# SPDX-License-Identifier: GPL-2.0-only
"""What 'blklat live' writes: replays in, golden files out, and their numbers against the scripts.

UPDATE=1 rewrites the golden files: read the diff before you commit it.
"""
import csv
import io
import json
import math
import os
import pathlib
import re
import shlex
import subprocess

import pytest
from asked import BLKLAT
from script import SCRIPTS, recorded

HERE = pathlib.Path(__file__).parent
GONE = {"gone": 1}  # all devices went away, so it says so and fails


def run(script, *args, locale="C.UTF-8"):
    """Plays the recording of a script."""
    env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": locale}
    return subprocess.run([BLKLAT, "live", "--replay", recorded(script), *args], capture_output=True, env=env, timeout=60)


def out(script, *args, **kw):
    r = run(script, *args, **kw)
    assert r.returncode == GONE.get(script.stem, 0), r.stderr
    return r.stdout


# Each layout of text once: figures are compared with the scripts', and formats with each other, below.
@pytest.mark.parametrize("stem,args,part", [("cgroups", [], 1), ("stall", [], 1), ("slow", ["--count", "1"], 0)])
def test_golden(stem, args, part):
    """An interval of one, the summaries of the others."""
    got = out(HERE / "replay" / f"{stem}.txt", *args).split(b"\nsummary of ")[part]
    golden = HERE / "golden" / f"{stem}.text"
    if os.environ.get("UPDATE"):
        golden.write_bytes(got)
    assert got == golden.read_bytes()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_text_fits_80_columns(script):
    for args in [], ["--percentiles", "1,25,50,75,90,95,99.5,99.99999,100"]:
        lines = out(script, *args).decode().splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() or "█" not in line for line in lines)


def test_ascii():
    """Only the bars and rules differ."""
    script = HERE / "replay" / "mixed.txt"
    got, fine = out(script, locale="C").decode("ascii"), out(script).decode()
    assert re.findall(r"[a-zA-Z0-9]+", got) == re.findall(r"[a-zA-Z0-9]+", fine)
    assert got.count("#") > 20 and "#" not in fine


def test_where_the_time_goes():
    """Of 625 us a read waits 500, is plugged for 5, queued for 20 and at the device for 100; a request has four writes."""
    said = re.findall(r"wait \d.*\n?.*requests|wait \d.*(?:\n.*)?tags?(?: a\s+queue)?", out(HERE / "replay" / "wait.txt").decode())
    assert [" ".join(s.split()) for s in said] == [
        "wait 80.0 %, plug 0.8 %, queue 3.2 %, device 16.0 % of this time; the scheduler has 4 tags",
        "wait 5.0 %, plug 15.0 %, queue 13.3 %, device 66.7 % of this time, about, as 400 bios were 100 requests",
        "wait 75.0 %, plug 0.0 %, queue 0.0 %, device 25.0 % of this time; the device has 1 tag a queue"]
    lines = [json.loads(line) for line in out(HERE / "replay" / "wait.txt", "--format", "json").splitlines()]
    assert [(line["device"], line["stage"], o["op"], *o["shares"].values()) for line in lines for o in line["ops"] if "shares" in o] == [
        ("sda", "total", "read", 0.8, 0.008, 0.032, 0.16, True), ("sda", "total", "write", 0.05, 0.15, 0.133, 0.667, False),
        ("nvme0n1", "total", "read", 0.75, 0, 0, 0.25, True)]


NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def read_ns(text):
    unit = text.lstrip("0123456789.")
    return round(float(text[:len(text) - len(unit)]) * NS[unit])


def size_label(size):
    """As blklat(8) describes --by size: rounded up to a power of two, from 4 KiB and less to 1 MiB and more."""
    kib = max(4, 2 ** math.ceil(math.log2(max(size, 1))) / 1024)
    return f"{kib:.0f} KiB" if kib < 1024 else "1 MiB+"


def label_of(line):
    return line.get("part", {}).get("label")


def intervals(script):
    """
    The IOs of each tick, by an independent reader: [(seconds, {key: {op: [(ns, bytes, n, errors)]}}, parts, waited)]. A key is
    (device, stage, None), or also (device, stage, label) where these are divided. parts are {key: {op: (bytes, errors)}}, and
    waited is {key: sum of the ages of IOs in flight} if the script has it.
    """
    watches, ticks, ios, parts, waited, on, by = [], [], {}, {}, {}, None, None

    def keys(words, size):
        whole = on or watches[0]
        label = next((w[3:] for w in words if w.startswith("in=")), size_label(int(size)))
        return [(*whole, None), (*whole, label)] if by else [(*whole, None)]

    for line in script.read_text().splitlines()[1:]:
        words = shlex.split(line, comments=True)
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "watch":
            watches.append((words[1], words[2]))
        elif words[0] == "by":
            by = words[1]
        elif words[0] == "on":
            on = (words[1], words[2])
        elif words[0] == "io":
            n = next((int(w[1:]) for w in words[4:] if w[0] == "x"), 1)
            errors = next((int(w[7:]) for w in words[4:] if w.startswith("errors=")), 0)
            for key in keys(words, words[3]):
                ops = ios.setdefault(key, {})
                ops.setdefault(words[1], []).append((read_ns(words[2]), int(words[3]), n, errors))
        elif words[0] == "part":
            errors = next((int(w[7:]) for w in words[3:] if w.startswith("errors=")), 0)
            for key in keys(words, words[2]):
                ops = parts.setdefault(key, {})
                ops[words[1]] = tuple(map(sum, zip(ops.get(words[1], (0, 0)), (int(words[2]), errors))))
        elif words[0] == "in-flight":
            waited[*(on or watches[0]), None] = next((read_ns(w[7:]) for w in words[2:] if w.startswith("waited=")), 0)
        elif words[0] == "tick":
            ticks.append((float(words[1]), ios, parts, dict(waited)))
            ios, parts = {}, {}
    return ticks


def last_before(script):
    """{(device, stage): the last tick before it has come}, of those that come."""
    at, on, n = {}, None, -1
    for line in script.read_text().splitlines():
        on = tuple(line.split()[1:3]) if line.startswith("on ") else on
        n += line.startswith("tick ")
        if line == "come":
            at[on] = n
    return at


def shown_parts(ticks, key):
    """For each tick, bytes and errors of parts that its IOs include besides their own, and those left over: {op: (bytes, errors)}."""
    left = {}
    for _, ios, parts, _ in ticks:
        for op, (size, errors) in parts.get(key, {}).items():
            before = left.get(op, (0, 0))
            left[op] = before[0] + size, before[1] + errors
        yield {op: left.pop(op) for op in ios.get(key, {}) if op in left}, dict(left)


def exact_percentile(ios, q):
    """The smallest latency that at least q of the IOs do not exceed."""
    need, seen = math.ceil(round(q * sum(n for _, _, n, _ in ios), 9)), 0
    for ns, _, n, _ in sorted(ios):
        seen += n
        if seen >= need:
            return ns
    raise AssertionError


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_figures_are_those_of_the_script(script):
    lines = [json.loads(line) for line in out(script, "--format", "json", "--bins").splitlines()]
    ticks = intervals(script)
    cumulative, told = {}, set()
    assert lines
    scale = next((int(line.split()[1]) for line in script.read_text().splitlines() if line.startswith("scale")), 6)
    width = 2 ** (1 / 2**scale)
    per_watch = last_before(script)
    for line in lines:
        key = (line["device"], line["stage"], label_of(line))
        # A part without IO has no line. A part belongs to the same interval as its whole, which precedes it.
        per_watch[key[:2]] = per_watch.get(key[:2], -1) + (key[2] is None)
        nth = per_watch[key[:2]]
        seconds, ios, _, waited = ticks[nth]
        waited_before = ticks[nth - 1][3] if nth else {}
        own, left = list(shown_parts(ticks, key))[nth]
        expected = ios.get(key, {})
        assert line["schema"] == 1
        assert line["interval_s"] == pytest.approx(seconds, abs=1e-6)
        assert {o["op"] for o in line["ops"]} == set(expected)
        assert {p["op"]: (p["bytes"], p["errors"]) for p in line.get("partial", [])} == left
        total_ns = sum(ns * n for op in expected.values() for ns, _, n, _ in op) + waited.get(key, 0) - waited_before.get(key, 0)
        assert line["queue_depth"] == pytest.approx(total_ns / 1e9 / seconds, abs=0.0006)
        for o in line["ops"]:
            want, lat = expected[o["op"]], o["latency_ns"]
            n = sum(w[2] for w in want)
            assert o["ios"] == n
            size, errors = own.get(o["op"], (0, 0))
            assert o["bytes"] == sum(b * k for _, b, k, _ in want) + size
            assert o["errors"] == sum(w[3] for w in want) + errors
            assert o["iops"] == pytest.approx(n / seconds, abs=0.06)
            assert lat["mean"] == pytest.approx(sum(ns * k for ns, _, k, _ in want) / n, abs=0.06)
            assert (lat["min"], lat["max"]) == (min(w[0] for w in want), max(w[0] for w in want))
            for name, q in (("p50", .5), ("p90", .9), ("p99", .99), ("p99.9", .999), ("p99.99", .9999)):
                exact = exact_percentile(want, q)
                assert exact / width - 1.5 <= lat[name] <= exact * width + 1.5
            check_bins(o["bins"], want)
        if key[2]:
            assert expected and "accounting" not in line and line["part"]["by"] == next(l.split()[1] for l in script.read_text().splitlines() if l.startswith("by "))
            told.add((nth, *key))
            continue
        cumulative[key] = cumulative.get(key, 0) + sum(o["ios"] for o in line["ops"])
        assert line["accounting"]["completed"] == cumulative[key]
        a = line["accounting"]
        assert a["lost"] == sum(a["lost_by"].values())
        assert abs(a["started"] - a["completed"] - a["in_flight"] - a["lost"]) <= a["moved"]
    assert told == {(nth, *key) for nth, (_, ios, *_) in enumerate(ticks) for key in ios if key[2]}
    last = {(line["device"], line["stage"]): line["accounting"] for line in lines if not label_of(line)}
    whole = [line for line in lines if not label_of(line)][-1]["accounting"]
    explained = sum(a["lost_by"].get("recursion", 0) for a in last.values())
    assert whole["skipped"] == sum(int(line.split()[1]) for line in script.read_text().splitlines() if line.startswith("skipped"))
    assert whole["skipped_unexplained"] == whole["skipped"] - explained


def test_busy():
    """Of each interval and of the run; not of one in which no IO completed; nowhere else."""
    script = HERE / "replay" / "depth.txt"
    assert [json.loads(line)["busy"] for line in out(script, "--format", "json").splitlines()] == [0.4, 1, 0.701]
    assert re.findall(r"queue depth \S+, busy (\S+ %)", out(script).decode()) == ["40.0 %", "70.1 %", "70.0 %"]
    assert b"busy" not in out(HERE / "replay" / "sizes.txt") + out(HERE / "replay" / "sizes.txt", "--format", "json")


def check_bins(bins, want):
    """Each IO is in the bin whose bounds hold it: lower exclusive, upper inclusive."""
    left = {(low, high): n for low, high, n in bins}
    for ns, _, n, _ in want:
        (key,) = [k for k in left if (k[0] < ns or ns == 0 == k[0]) and (k[1] is None or ns <= k[1])]
        left[key] -= n
    assert not any(left.values())


def csv_rows(line):
    """What CSV says of a line of JSON: a row for each op, or one at rest, and one for each bin."""
    a, partial = line.get("accounting", {}), line.get("partial", [])
    of = {key: line[key] for key in ("time", "interval_s", "device", "stage", "engine")} | {"part": label_of(line) or ""}
    watch = {"in_flight": line["in_flight"]["ios"], "oldest_ns": line["in_flight"]["oldest_ns"], "queue_depth": line["queue_depth"], "busy": line.get("busy"),
             **{key: a.get(key) for key in ("started", "completed", "lost", "requeued", "kernel_ios", "skipped_unexplained")},
             **{f"partial_{key}": sum(p[key] for p in partial) for key in ("bytes", "errors")}}
    for o in line["ops"] or [{"op": "-", "ios": 0, "bytes": 0, "errors": 0, "iops": 0, "latency_ns": {}}]:
        latency = {f"{name}_ns": ns for name, ns in o["latency_ns"].items()}
        rate = pytest.approx(o["bytes"] / line["interval_s"], rel=1e-5, abs=0.06)
        yield of | watch | latency | {key: o[key] for key in ("op", "ios", "bytes", "errors", "iops")} | {"bytes_per_s": rate}
    for o in line["ops"]:
        for low, high, n in o["bins"]:
            yield of | {"op": o["op"], "bin_lower_ns": low, "bin_upper_ns": high, "bin_ios": n}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_csv_says_what_json_says(script):
    rows = csv.DictReader(io.StringIO(out(script, "--format", "csv", "--bins").decode(), newline=""))
    lines = map(json.loads, out(script, "--format", "json", "--bins").splitlines())
    words = ("time", "device", "stage", "engine", "part", "op")
    said = [{key: value if key in words else float(value) for key, value in row.items() if value} for row in rows]
    expected = [{key: value for key, value in row.items() if value not in (None, "")} for line in lines for row in csv_rows(line)]
    assert sorted(said, key=lambda row: "bin_ios" in row) == sorted(expected, key=lambda row: "bin_ios" in row)


def test_a_coarser_scale_merges_and_a_finer_one_is_refused():
    script = HERE / "replay" / "nvme.txt"
    fine, coarse = (json.loads(out(script, "--format", "json", "--bins", "--count", "1", "--scale", s))
                    for s in ("6", "3"))
    merged = {}
    for low, high, n in fine["ops"][0]["bins"]:
        (home,) = [(a, b) for a, b, _ in coarse["ops"][0]["bins"] if a <= low and high <= b]
        merged[home] = merged.get(home, 0) + n
    assert [[a, b, n] for (a, b), n in merged.items()] == coarse["ops"][0]["bins"]
    r = run(HERE / "replay" / "gone.txt", "--scale", "5")
    assert r.returncode == 2 and r.stdout == b"" and b"captured at scale 4" in r.stderr
