# SPDX-License-Identifier: GPL-2.0-only
"""A run that does not fit in --max-memory gets fewer, longer intervals, which are sums of the original ones."""
import json
import subprocess

import pytest

import synthetic
from phases import mark
from recordings import BLKLAT, ENV

SECONDS = 9000
GONE = 3001
# One within an interval, one between two, a pause, and one in the middle of merged intervals.
MARKS = (1000, "A"), (2500.5, "B"), (4000, "pause"), (4003, "C"), (7007, "end")

pytestmark = pytest.mark.xdist_group("merged")


def told(*args):
    """Its output and its messages."""
    done = subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, env=ENV, timeout=120, check=True)
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Two devices whose load changes each second; the second goes away."""
    script = synthetic.Script(("sda", "sdb"))
    for i in range(SECONDS):
        for name in ("sda", "sdb") if i < GONE else ("sda",):
            script.on(name)
            for op in ("read", "write"):
                script.io(op, 50_000 * (1 + script.random.random()), script.random.randrange(100, 200), more="errors=1" if i % 100 == 7 else "")
            script.in_flight(i % 5, 1000 * (i % 5))
            if (name, i) == ("sdb", GONE - 1):
                script.lines.append("gone")
        script.tick(1)
    return mark(script.write(tmp_path_factory.mktemp("merged") / "run.blklat"), *MARKS)


def load(file, memory, *args):
    text, said = told("report", "--format", "json", "--max-memory", memory, *args, file)
    run, = json.loads(text)["runs"]
    return run, said


@pytest.fixture(scope="module")
def both(long_run):
    fine, said = load(long_run, "1G")
    assert (said, fine["merged"], len(fine["start_s"])) == ("", 1, SECONDS)
    coarse, said = load(long_run, "8M")
    assert said.count("\n") == 1 and f"up to {coarse['merged']} are merged into one" in said and "raise --max-memory" in said
    return fine, coarse


def ends(run):
    return [round(s + n, 6) for s, n in zip(run["start_s"], run["length_s"])]


def test_totals_and_phases_are_the_same(both):
    fine, coarse = both
    assert fine["duration_s"] == coarse["duration_s"] == SECONDS
    assert coarse["merged"] in (2, 4, 8, 16)
    assert SECONDS / coarse["merged"] <= len(coarse["start_s"]) <= SECONDS / coarse["merged"] + 2 * len(MARKS) + 2
    for a, b in zip(fine["watches"], coarse["watches"], strict=True):
        assert a["accounting"] == b["accounting"]
        for x, y in zip(a["ops"], b["ops"], strict=True):
            assert all(x["total"][key] == y["total"][key] for key in ("ios", "bytes", "errors", "latency_ns"))
            assert x["bins"] == y["bins"] and sum(n for _, _, n in x["bins"]) == x["total"]["ios"]
            for one, n in ((x, SECONDS), (y, len(coarse["start_s"]))):
                assert one["heat"]["per_column"] * (len(one["heat"]["columns"]) - 1) < n
                assert sum(sum(column[1::2]) for column in one["heat"]["columns"]) == x["total"]["ios"]
    assert [p["name"] for p in coarse["phases"]] == ["A", "B", "C"]
    for a, b in zip(fine["phases"], coarse["phases"], strict=True):
        assert all(a[key] == b[key] for key in ("from_s", "to_s", "partial"))
        # When the load begins and ends is less certain where intervals are longer.
        assert a["length_s"] == pytest.approx(b["length_s"], rel=0.005)
        for v, w in zip(a["watches"], b["watches"], strict=True):
            for x, y in zip(v["ops"], w["ops"], strict=True):
                assert x["iops"] * a["length_s"] == pytest.approx(y["iops"] * b["length_s"], rel=1e-5) and x["bins"] == y["bins"] and x["latency_ns"] == y["latency_ns"]


def test_a_window_is_as_asked_for(long_run):
    fine, _ = load(long_run, "1G", "--from", "101.2", "--to", "8203.7")
    coarse, _ = load(long_run, "6M", "--from", "101.2", "--to", "8203.7")
    assert coarse["merged"] > 1
    assert (coarse["start_s"][0], ends(coarse)[-1]) == (fine["start_s"][0], ends(fine)[-1]) == (101, 8204)
    assert [o["total"]["ios"] for w in fine["watches"] for o in w["ops"]] == [o["total"]["ios"] for w in coarse["watches"] for o in w["ops"]]


def test_a_comparison_leaves_room_for_what_plays_the_second(long_run, tmp_path):
    """The second needs some 3 MB: the first would fit as it is, but leave less than that. Both are merged alike."""
    names = [f"sd{letter}" for letter in "abcdefghijkl"]
    script = synthetic.Script(names)
    for _ in range(40):
        for name in names:
            script.on(name)
            script.io("read", 1e5, 100)
        script.tick()
    many = script.write(tmp_path / "many.blklat")
    assert load(long_run, "20M")[0]["merged"] == 1
    text, said = told("compare", "--format", "json", "--max-memory", "7M", long_run, many)
    runs = json.loads(text)["runs"]
    assert [r["duration_s"] for r in runs] == [SECONDS, 40]
    assert runs[0]["merged"] == runs[1]["merged"] > 1 and f"up to {runs[0]['merged']} are merged into one" in said
    # What does not fit even when merged fails, and the message names what is too large.
    for memory, why in ("60K", "its 12 watches need 92K of memory, and 60K are left"), ("1M", "not even its first interval, of 12 watches,"):
        done = subprocess.run([BLKLAT, "compare", "--max-memory", memory, many, long_run], capture_output=True, text=True, env=ENV, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert f"{many}: {why}" in done.stderr and "raise --max-memory" in done.stderr
