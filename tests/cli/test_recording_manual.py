# SPDX-License-Identifier: GPL-2.0-only
"""docs/recording.md: each example runs in the sqlite3 shell, and its figures are those of a replay of the recording.

The recordings are made from scripts (tests/script.py), whose figures tests/cli/test_live_output.py computes independently.
"""
import contextlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest
from replayed import BLKLAT, ENV, by_op, counted, key_of, of_lines, replay, summed, ticks, watch_of, wholes
from script import SCRIPTS, TESTS, recorded, write_recording
from sql import query

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PARTS = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB+",
         "flush", "discard", "other", "big write", "write", "read", "nothing"]
PAGE = (ROOT / "docs/recording.md").read_text()
KEY = ("device", "stage", "op", "part")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """{script: (recording, lines of its replay)}"""
    folder, made = tmp_path_factory.mktemp("recordings"), {}
    for script in SCRIPTS:
        file = record(recorded(script), folder / f"{script.stem}.blklat")
        made[script.stem] = (file, replay(file))
    return made


def record(source, file):
    r = subprocess.run([BLKLAT, "record", "--replay", source, "-o", file, "--quiet"], capture_output=True, env=ENV, timeout=300)
    # A run ends when its last device goes away.
    assert r.returncode == 0 or b"no watched device is left" in r.stderr, r.stderr
    return file


def ask(file, sql):
    r = subprocess.run(["sqlite3", "-readonly", "-json", file, sql], capture_output=True, env=ENV, timeout=120, text=True)
    assert (r.returncode, r.stderr) == (0, ""), (sql, r.stderr)
    return json.loads(r.stdout or "[]")


def bins_of(rows):
    found = {}
    for r in rows:
        found.setdefault(tuple(r.get(k) for k in KEY), {})[r["lower_ns"], r["upper_ns"]] = r["count"]
    return found


def seconds(lines):
    return sum(tick[0]["interval_s"] for tick in ticks(lines))


# --- what each example has to say -------------------------------------------------------------------------

def check_meta(rows, lines):
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"^\| ([a-z_, ]+) \|", PAGE.split("**meta**")[1].split("**")[0],
                                                            re.M)))) - {"key"}
    meta = {r["key"]: r["value"] for r in rows}
    assert set(meta) == documented | ({"slow_most"} if "slow" in lines[0] else set())
    assert (meta["engine"], meta["finished"], meta["dropped"]) == (lines[0]["engine"], 1, 0)
    assert (meta["interval_s"], meta["percentiles"]) == (1.0, "p50,p90,p99,p99.9,p99.99")


def check_devices(rows, lines):
    assert {r["name"] for r in rows} == {line["device"] for line in lines}


def partial(lines):
    """For each op, what IOs had done in part that were unfinished at the end of the run."""
    last = {watch_of(line): line for line in lines}
    return {key_of(line, p): p for line in last.values() for p in line.get("partial", [])}


def check_ops(rows, lines):
    lines = counted(lines)
    found = {(r["time"], *(r.get(k) for k in KEY)): r for r in rows if r["ios"]}
    assert len(found) == len([r for r in rows if r["ios"]]) == len(of_lines(lines))
    left = {}
    for r in rows:
        # The file has a part where it completed; a replay has it with its IO.
        key = tuple(r.get(k) for k in KEY)
        left[key] = left.get(key, 0) + r["bytes"]
        if r["ios"]:
            r["bytes"] = left.pop(key)
    assert left == {key: p["bytes"] for key, p in partial(lines).items()}
    for line, o in of_lines(lines):
        r, lat = found[(line["time"], *key_of(line, o))], o["latency_ns"]
        assert (r["ios"], r["bytes"], r["min_ns"], r["max_ns"]) == (o["ios"], o["bytes"], lat["min"], lat["max"])
        assert r["iops"] == pytest.approx(o["iops"], abs=0.11)
        assert r["mean_ns"] == pytest.approx(lat["mean"], abs=0.11)


def check_watches(rows, lines):
    expected = [(line["time"], line["device"], line["stage"], sum(o["ios"] for o in line["ops"]),
                 line["in_flight"]["ios"], line["in_flight"]["oldest_ns"], line["accounting"]["kernel_ios"])
                for tick in ticks(wholes(lines)) for line in sorted(tick, key=lambda x: (x["device"], x["stage"]))]
    assert [tuple(r.values()) for r in rows] == expected


def check_run(rows, lines):
    lines = wholes(lines)
    expected, left = by_op(lines), partial(lines)
    assert {tuple(r.get(k) for k in KEY) for r in rows} == set(expected) | set(left)
    for r in rows:
        key = tuple(r.get(k) for k in KEY)
        ops = [o for _, o in expected.get(key, [])]
        assert r["ios"] == sum(o["ios"] for o in ops)
        for name in ("bytes", "errors"):
            assert r[name] == sum(o[name] for o in ops) + left.get(key, {}).get(name, 0)
        if not ops:
            continue
        assert r["min_ns"] == min(o["latency_ns"]["min"] for o in ops)
        assert r["max_ns"] == max(o["latency_ns"]["max"] for o in ops)
        assert r["iops"] == pytest.approx(r["ios"] / seconds(lines))
        total_ns = sum(o["latency_ns"]["mean"] * o["ios"] for o in ops)
        assert r["queue_depth"] == pytest.approx(total_ns / 1e9 / seconds(lines), rel=1e-5)


def check_slowest(rows, lines):
    for key, found in by_op(wholes(lines)).items():
        (r,) = [r for r in rows if tuple(r.get(k) for k in KEY) == key]
        slowest = max(o["latency_ns"]["max"] for _, o in found)
        assert r["max_ns"] == slowest
        assert r["time"] in [line["time"] for line, o in found if o["latency_ns"]["max"] == slowest]


def check_lowest(rows, lines):
    expected = {}
    for i, tick in enumerate(ticks(lines)):
        for key, found in by_op(counted(tick)).items():
            (o,) = [o for _, o in found if o["ios"]] or [None]
            if o:
                least = expected.setdefault((*key, i // 10), [math.inf, 0])
                least[:] = [min(least[0], o["iops"]), max(least[1], o["latency_ns"]["max"])]
    assert {(*(r.get(k) for k in KEY), r["second"]): [r["lowest_iops"], r["max_ns"]] for r in rows} == {
        key: [pytest.approx(iops, abs=0.11), ns] for key, (iops, ns) in expected.items()}


def check_bins(rows, lines):
    expected = {}
    if len(ticks(lines)) > 1:
        expected = {key: summed([o for _, o in found]) for key, found in by_op(counted(ticks(lines)[1])).items()}
    assert bins_of(rows) == expected
    assert sum(len(b) for b in expected.values()) == len(rows)


def check_run_bins(rows, lines):
    assert bins_of(rows) == {key: summed([o for _, o in found]) for key, found in by_op(counted(lines)).items()}


def check_parts(rows, lines):
    """Each part by itself, in order; their sum equals the figures of the whole."""
    parts, found = [line for line in lines if "part" in line], {}
    assert {tuple(r.get(k) for k in KEY) for r in rows} == set(by_op(parts))
    for r in rows:
        ops = [o for _, o in by_op(parts)[tuple(r.get(k) for k in KEY)]]
        assert (r["ios"], r["bytes"]) == (sum(o["ios"] for o in ops), sum(o["bytes"] for o in ops))
        total_ns = sum(o["latency_ns"]["mean"] * o["ios"] for o in ops)
        assert r["mean_ns"] == pytest.approx(total_ns / r["ios"], rel=1e-5)
        assert r["max_ns"] == max(o["latency_ns"]["max"] for o in ops)
        found.setdefault((r["device"], r["stage"], r["op"], None), []).append(r)
    divided = {watch_of(line)[:2] for line in parts}
    for key, of_whole in by_op(wholes(lines)).items():
        if key[:2] in divided:
            assert sum(r["ios"] for r in found[key]) == sum(o["ios"] for _, o in of_whole)
            assert sum(r["bytes"] for r in found[key]) == sum(o["bytes"] for _, o in of_whole)
    # Owners come in any order, but everywhere in the same.
    labels = PARTS + list(dict.fromkeys(["none", "kworker", "rest"] + [line["part"]["label"] for line in parts if line["part"]["by"] in ("cgroup", "process")]))
    for rows_of_op in found.values():
        order = [labels.index(r["part"]) for r in rows_of_op]
        assert order == sorted(order)


def check_percentile(rows, lines):
    expected = by_op(wholes(ticks(lines)[0]))
    assert {tuple(r.get(k) for k in KEY) for r in rows} == set(expected)
    for r in rows:
        ((_, o),) = expected[tuple(r.get(k) for k in KEY)]
        assert r["lower_ns"] - 0.06 <= o["latency_ns"]["p99"] <= r["upper_ns"] + 0.06


def check_share(rows, lines):
    expected = by_op(wholes(lines))
    assert {tuple(r.get(k) for k in KEY) for r in rows} == set(expected)
    for r in rows:
        bins = summed([o for _, o in expected[tuple(r.get(k) for k in KEY)]])
        assert r["share"] == pytest.approx(sum(n for (low, _), n in bins.items() if low >= 10**6) / sum(bins.values()))


CHECKS = [check_meta, check_devices, check_ops, check_watches, check_run, check_slowest, check_lowest, check_parts, check_bins, check_run_bins,
          check_percentile, check_share]


def test_every_example_is_checked():
    assert len(blocks("sql")) == len(CHECKS)


@pytest.mark.parametrize("script", [s.stem for s in SCRIPTS])
@pytest.mark.parametrize("n", range(len(CHECKS)), ids=[c.__name__ for c in CHECKS])
def test_sql_says_what_a_replay_says(recordings, script, n):
    file, lines = recordings[script]
    CHECKS[n](ask(file, blocks("sql")[n]), lines)


def test_views_are_documented(recordings):
    file, _ = recordings["mixed"]
    there = {r["name"]: r["type"] for r in ask(file, "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')")}
    told = PAGE.split("## Tables")[1].split("## Bins")[0]
    assert {name for name, kind in there.items() if kind == "table"} == set(re.findall(r"^\*\*(\w+)\*\*:", told, re.M))
    views = told.split("Views: ")[1]
    for name, kind in there.items():
        if kind == "view":
            assert f"`{name}`" in views
            ask(file, f"SELECT * FROM {name}")
    for table in (name for name, kind in there.items() if kind == "table" and name != "meta"):
        paragraph = " ".join(re.search(rf"^\*\*{table}\*\*:(.*?)\n\n", told, re.M | re.S)[1].split())
        for column in ask(file, f"PRAGMA table_info({table})"):
            assert f"`{column['name']}`" in paragraph, (table, column["name"])


def test_bins_of_every_shape(tmp_path):
    """Smooth, ragged, sparse and steep, from 1 IO to 2^30: the view and the page's decoder give the replay's counts."""
    seed, names, script = random.Random(4), {}, ["blklat-replay 1", "device d", "watch d device"]
    exec([b for b in blocks("python") if "def cells" in b][0], names)
    assert list(names["cells"](bytes.fromhex("16e82b9228"))) == [(2, 3), (3, 70), (5, 1)]
    assert "`16 e8 2b 92 28`" in PAGE
    shapes = (lambda k: seed.gauss(5000 * math.exp(-((k - 150) / 40)**2), 30), lambda k: seed.random() * 8 - 5,
              lambda k: 2**seed.randrange(31) if k % 7 else 0, lambda k: (k // 50 % 2) << 30)
    for shape in shapes:
        counts = [max(0, int(shape(k))) for k in range(300)]
        script += [*(f"io read {int(10000 * 1.02**k)}ns 4096 x{n}" for k, n in enumerate(counts) if n), "tick 1"]
    source = write_recording("\n".join(script), tmp_path / "source")
    file = record(source, tmp_path / "shapes.blklat")
    lines = replay(source)
    assert len(lines) == len(shapes) and all(len(o["bins"]) > 50 for _, o in of_lines(lines))
    blobs = dict(query(file, "SELECT interval, bins FROM series WHERE interval > 0"))
    bounds = {(low, high): i for i, low, high in query(file, "SELECT id, lower_ns, upper_ns FROM cell WHERE scale = 6")}
    for i, (line, o) in enumerate(of_lines(lines), 1):
        expected = {(low, high): n for low, high, n in o["bins"]}
        assert bins_of(ask(file, f"SELECT * FROM bin WHERE interval = {i}")) == {key_of(line, o): expected}
        assert list(names["cells"](blobs[i])) == sorted((bounds[b], n) for b, n in expected.items())


def test_python(recordings, tmp_path):
    file, lines = recordings["nvme"]
    shutil.copy(file, tmp_path / "run.blklat")
    script = [b for b in blocks("python") if "import blklat" in b][0]
    r = subprocess.run([sys.executable, "-B", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                       env=os.environ | {"PYTHONPATH": str(TESTS.parent / "packaging/python")})
    assert r.returncode == 0, r.stderr
    told = {tuple(words[:3]): words[3:] for words in map(str.split, r.stdout.splitlines())}
    expected = by_op(lines)
    assert set(told) == {key[:3] for key in expected}
    for key, found in expected.items():
        key = key[:3]
        bins = sorted(summed([o for _, o in found]).items())
        ios = sum(n for _, n in bins)
        assert int(told[key][0]) == ios
        for value, q in zip(map(float, told[key][1:]), (0.5, 0.99)):
            low, high = bin_of_rank(bins, math.ceil(q * ios - 1e-9))
            assert low < value <= high


def bin_of_rank(bins, rank):
    reached = 0
    for bounds, n in bins:
        reached += n
        if reached >= rank:
            return bounds
    raise AssertionError


def steps(file, sql):
    """Rows, and how many instructions SQLite's virtual machine ran for them, which is the same on any computer."""
    ran = 0

    def count():
        nonlocal ran
        ran += 1000
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        db.set_progress_handler(count, 1000)
        return db.execute(sql).fetchall(), ran


def test_a_long_run_of_two_series_takes_no_longer_a_bin(tmp_path):
    """Measured in instructions, not in this machine's time: as many in a run eight times as long."""
    ios = "".join(f"io {op} {50000 + 1000 * i}ns 4096 x{1 + 37 * i % 200}\n" for op in ("read", "write")
                  for i in range(100))
    took = []
    for intervals in (60, 480):
        source = write_recording("blklat-replay 1\ndevice d\nwatch d device\n" + (ios + "tick 1\n") * intervals, tmp_path / f"{intervals}")
        file = record(source, tmp_path / f"{intervals}.blklat")
        [(n, bins)], ran = steps(file, "SELECT sum(count), count(*) FROM bin")
        assert n == intervals * 2 * sum(1 + 37 * i % 200 for i in range(100))
        assert bins > intervals * 2 * 50
        took.append(ran / bins)
    assert took[1] < took[0] * 1.01 < 300, took
