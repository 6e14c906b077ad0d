# SPDX-License-Identifier: GPL-2.0-only
"""What is divided by size: parts by arithmetic, wholes as if nothing were divided."""
import json

import pytest

import synthetic
from recordings import blklat

KIB = 1024
LABELS = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB+"]


def part_of(watch):
    return watch["part"]["label"] if "part" in watch else None


@pytest.fixture
def divided(tmp_path, report):
    """Ten seconds: each with 300 small reads, 100 large ones that get slower, 10 writes of a size."""
    s = synthetic.Script(by="size")
    for second in range(10):
        s.io("read", 80e3, 200, size=4 * KIB)
        s.io("read", 90e3, 100, size=512)
        s.io("read", 400e3 + second * 100e3, 100, size=128 * KIB)
        s.io("write", 60e3, 10, size=128 * KIB - 1)
        s.tick()
    return {part_of(w): w for w in report(s.write(tmp_path / "run.txt"))["runs"][0]["watches"]}


def test_parts_follow_their_whole(tmp_path, report):
    watches = report(synthetic.mixed(by="size").write(tmp_path / "run.txt"))["runs"][0]["watches"]
    assert [(w["device"], part_of(w)) for w in watches] == [(d, p) for d in ("sda", "sdb") for p in [None, *LABELS]]
    assert {w["part"]["by"] for w in watches if "part" in w} == {"size"}
    assert all(("accounting" in w) == ("part" not in w) for w in watches)


def test_figures(divided):
    assert list(divided) == [None, *LABELS]
    assert {p: [o["op"] for o in w["ops"]] for p, w in divided.items() if w["ops"]} == {
        None: ["read", "write"], "4 KiB": ["read"], "128 KiB": ["read", "write"]}
    small, [large, write] = divided["4 KiB"]["ops"][0], divided["128 KiB"]["ops"]
    assert small["ios"] == [300] * 10 and small["bytes"] == [200 * 4096 + 100 * 512] * 10
    assert small["total"]["ios"] == 3000 and small["total"]["iops"] == 300
    assert small["total"]["latency_ns"]["mean"] == pytest.approx((200 * 80e3 + 100 * 90e3) / 300, abs=0.1)
    assert (small["total"]["latency_ns"]["min"], small["total"]["latency_ns"]["max"]) == (80000, 90000)
    assert large["max_ns"] == [400000 + i * 100000 for i in range(10)]
    assert large["total"]["latency_ns"]["mean"] == 850000
    assert large["total"]["latency_ns"]["p50"] == pytest.approx(800e3, rel=0.011)
    assert (write["total"]["ios"], write["total"]["bytes"]) == (100, 100 * (128 * KIB - 1))
    assert divided["128 KiB"]["queue_depth"][0] == pytest.approx(100 * 400e-6 + 10 * 60e-6, abs=6e-4)
    assert not {"steady", "heat"} & set(small)


def test_parts_add_up(divided):
    for i, op in enumerate(divided[None]["ops"]):
        of = [o for p, w in divided.items() if p for o in w["ops"] if o["op"] == op["op"]]
        for key in ("ios", "bytes"):
            assert op[key] == [sum(values) for values in zip(*(o[key] for o in of))]
        bins = {}
        for lower, _, count in (b for o in of for b in o["bins"]):
            bins[lower] = bins.get(lower, 0) + count
        assert {lower: count for lower, _, count in op["bins"]} == bins


@pytest.mark.parametrize("make", [synthetic.mixed, synthetic.stall, synthetic.cache_exhausted, synthetic.duty_cycle])
def test_wholes_are_as_if_nothing_were_divided(tmp_path, make):
    """To the last digit, findings and all."""
    script, path = make(), tmp_path / "run.txt"

    def runs():
        text = blklat("report", "--format", "json", script.write(path))
        return json.loads(text, parse_float=lambda digits: ("float", digits))["runs"][0]

    whole = runs()
    script.lines.insert(1, "by size")
    run = runs()
    assert whole["findings"] and len(run["watches"]) == 10 * len(whole["watches"])
    run["watches"] = [w for w in run["watches"] if "part" not in w]
    assert json.dumps(run) == json.dumps(whole)
