# SPDX-License-Identifier: GPL-2.0-only
"""Slow IOs of a run: which ones a report keeps, their times, what they have in common, and whether that is significant."""
import math
from fractions import Fraction

import pytest

import synthetic

SIZE = 480103981056
MS = 1e6


def script(slow_max=100, **kw):
    s = synthetic.Script(**kw)
    s.lines.insert(4, f"slow-max {slow_max}")
    return s


def slow(s, op, latency_ns, size=4096, n=1, more=""):
    """They are counted as well, like those of a real run."""
    label = more.split("in=")[1].split()[0] if "in=" in more else ""
    s.io(op, latency_ns, n, size, f"in={label}" if label else "")
    s.lines.append(f"slow {op} {round(latency_ns)}ns {size} {more} x{n}")


def only_slow(document):
    [watch] = [w for w in document["runs"][0]["watches"] if "slow" in w]
    return watch["slow"]


def findings(document, kind="slow_common"):
    return [f for f in document["runs"][0]["findings"] if f["kind"] == kind]


def at_least(k, n, share):
    """The binomial distribution's upper tail, exactly."""
    p = Fraction(share)
    return float(sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k, n + 1)))


def test_not_looked_for(report, tmp_path):
    document = report(synthetic.steady(seconds=5).write(tmp_path / "run.blklat"))
    assert not any("slow" in w for w in document["runs"][0]["watches"]) and not findings(document)


def test_each_with_its_time(report, tmp_path):
    s = script()
    for i in range(4):
        s.io("read", 90e3, 1000)
        slow(s, "read", (10 + i) * MS, more=f"ago=250ms sector={8 * i} pid=77 comm=dd hw-queue={i % 2} cpu=3 cgroup=/a depth={i + 1} beside=\"big write\" flags=readahead")
        s.tick()
    slow(s, "write", 5 * MS, 65536, more="error=7 thread=12 comm=kworker/0:1H queue=2ms device=3ms")
    s.tick(0.5)
    told = only_slow(report(s.write(tmp_path / "run.blklat")))
    assert told["found"] == 5
    failed, *rest = told["ios"]
    assert failed == {
        "time": "2026-11-21T07:35:04.500Z", "t_s": 4.5, "latency_ns": 5000000, "queue_ns": 2000000, "device_ns": 3000000, "op": "write",
        "bytes": 65536, "sector": None, "flags": None, "error": "medium", "depth": None, "beside": None, "hw_queue": None, "start_cpu": None, "end_cpu": 0, "pid": 12,
        "comm": "kworker/0:1H", "kernel_thread": True, "cgroup": None, "pages": None, "file_device": None, "inode": None, "file": None,
    }
    assert [(io["t_s"], io["latency_ns"], io["sector"], io["error"], io["cgroup"], io["depth"], io["beside"], io["flags"]) for io in rest] == \
        [(i + 0.75, (10 + i) * 10 ** 6, 8 * i, None, "/a", i + 1, "big write", "readahead") for i in reversed(range(4))]


def test_a_window_has_its_own(report, tmp_path):
    s = script()
    for i in range(10):
        slow(s, "read", (10 + i) * MS)
        s.tick()
    file = s.write(tmp_path / "run.blklat")
    ios = only_slow(report("--from", 3, "--to", 6, file))
    assert ios["found"] == 3 and [io["t_s"] for io in ios["ios"]] == [6, 5, 4]


def test_each_device_has_its_share(report, tmp_path):
    """A slow disk does not crowd out the fast one beside it. The recording keeps 3000 of each in an interval, the report 5000."""
    s = script(slow_max=3000, devices=("sda", "sdb"))
    s.on("sda")
    slow(s, "read", 900 * MS, n=9000)
    s.on("sdb")
    slow(s, "read", 2 * MS, n=4000)
    s.tick()
    watches = report(s.write(tmp_path / "run.blklat"))["runs"][0]["watches"]
    assert {w["device"]: (w["slow"]["found"], len(w["slow"]["ios"])) for w in watches} == {"sda": (9000, 2500), "sdb": (4000, 2500)}


def test_in_common(report, tmp_path):
    """90 of 100 slow IOs are writes of one process, of one size, to one sixteenth of the device; a tenth of all IOs are writes."""
    s = script()
    for i in range(10):
        s.io("read", 90e3, 899)
        s.io("write", 90e3, 91)
        slow(s, "write", 30 * MS, 131072, 9, f"sector={SIZE // 512 // 2 + i} pid=7 comm=postgres cgroup=/db hw-queue=3")
        slow(s, "read", 20 * MS, 4096, 1, f"sector={i} pid={i} comm=reader{i} error={7 if i == 4 else 0}")
        s.tick()
    document = report(s.write(tmp_path / "run.blklat"))
    common = {c["by"]: c for c in only_slow(document)["common"]}
    assert list(common) == ["op", "error", "bytes", "comm", "cgroup", "hw_queue", "region"]
    assert {by: (c["value"], c["ios"], c["of"]) for by, c in common.items()} == {
        "op": ("write", 90, 100), "error": ("medium", 1, 1), "bytes": ("131072", 90, 100), "comm": ("postgres", 90, 100),
        "cgroup": ("/db", 90, 90), "hw_queue": ("3", 90, 90), "region": ("240 GB to 270 GB", 90, 100),
    }
    assert {by: (c["share_of_all"], c["p"]) for by, c in common.items() if by != "op"} == {by: (None, None) for by in common if by != "op"}
    op = common["op"]
    assert op["share_of_all"] == 0.1 and op["p"] == pytest.approx(2 * at_least(90, 100, Fraction(1, 10)), rel=1e-6)
    [found] = findings(document)
    assert found["values"] == {"slow": 100, "share": 0.9, "share_of_all": 0.1, "p_value": 0}
    assert found["text"] == "sda: of 100 slow IOs 90.0 % are of op write, of all IOs 10.0 %"


@pytest.mark.parametrize("by,label,others", [("size", "128 KiB", "4 KiB"), ("flags", "sync", "other"), ("beside", "flush", "read"), ("depth", "5-8", "1"),
                                             ("cgroup", "/db", "/web")])
def test_parts_in_common(report, tmp_path, by, label, others):
    """Half of the slow IOs are in a part that has a twentieth of all. An IO's owner, its neighbour and its flags are given once."""
    s = script(by=by)
    size = {"128 KiB": 131072}.get(label, 4096)
    for _ in range(10):
        s.io("read", 90e3, 945, 4096, f'in="{others}"')
        s.io("read", 90e3, 45, size, f'in="{label}"')
        for n, part, of in ((5, label, size), (5, others, 4096)):
            s.io("read", 9 * MS, n, of, f'in="{part}"')
            s.lines.append(f'slow read 9ms {of} in="{part}" cgroup=/charged depth=7 beside="{part if by == "beside" else "discard"}" '
                           f'flags="{part if by == "flags" else "metadata"}" x{n}')
        s.tick()
    document = report(s.write(tmp_path / "run.blklat"))
    common = {c["by"]: c for c in only_slow(document)["common"]}
    assert ("cgroup" in common) and (common["cgroup"]["value"] == (label if by == "cgroup" else "/charged"))
    assert len(common) == len(only_slow(document)["common"])
    for respect, value in (("beside", "discard"), ("flags", "metadata")):
        if by != respect:
            assert common[respect] == {"by": respect, "value": value, "ios": 100, "of": 100, "share_of_all": None, "p": None}
    part = common[by]
    assert (part["value"], part["ios"], part["of"], part["share_of_all"]) == (label, 50, 100, 0.05)
    assert part["p"] == pytest.approx(2 * at_least(50, 100, Fraction(1, 20)), rel=1e-6)
    [found] = findings(document)
    assert f" 50.0 % are {'' if by == 'beside' else 'of '}{by} {label}, of all IOs 5.00 %" in found["text"]


def test_neighbours_in_common(report, tmp_path):
    """Divided by depth, it is not known beside what all IOs were, so the most frequent neighbour is told; depth is told by the part."""
    s = script(by="depth")
    s.io("read", 90e3, 1000, 4096, "in=1")
    for depth, beside, n in ((12, "flush", 30), (11, "big write", 25), (1, "nothing", 5)):
        slow(s, "read", 9 * MS, n=n, more=f'in={"9-16" if depth > 1 else "1"} depth={depth} beside="{beside}"')
    slow(s, "read", 9 * MS, n=10, more="in=9-16")
    s.tick()
    document = report(s.write(tmp_path / "run.blklat"))
    common = only_slow(document)["common"]
    assert [c["by"] for c in common] == ["op", "depth", "beside", "bytes"]
    assert common[2] == {"by": "beside", "value": "flush", "ios": 30, "of": 60, "share_of_all": None, "p": None}
    assert (common[1]["value"], common[1]["ios"], common[1]["of"]) == ("9-16", 65, 70)
    assert {(io["depth"], io["beside"], io["part"]["label"]) for io in only_slow(document)["ios"]} == {
        (12, "flush", "9-16"), (11, "big write", "9-16"), (1, "nothing", "1"), (None, None, "9-16")}


@pytest.mark.parametrize("writes,says", [(50, False), (60, False), (90, True), (10, True)])
def test_what_says_nothing(report, tmp_path, writes, says):
    """If half of all IOs are writes, it means nothing that half or two thirds of 100 slow ones are."""
    s = script()
    for _ in range(10):
        s.io("read", 90e3, 4900 + writes // 10)
        s.io("write", 90e3, 5000 - writes // 10)
        slow(s, "write", 9 * MS, n=writes // 10)
        slow(s, "read", 9 * MS, n=10 - writes // 10)
        s.tick()
    document = report(s.write(tmp_path / "run.blklat"))
    assert len(findings(document)) == says, findings(document)


def test_too_few_to_say(report, tmp_path):
    s = script()
    s.io("read", 90e3, 99999)
    slow(s, "write", 9 * MS, n=19)
    s.tick()
    assert not findings(report(s.write(tmp_path / "run.blklat")))


def test_two_stages_have_different_things_in_common(report, tmp_path):
    """Of one stage most slow IOs are writes, of the other those of a cgroup: neither is much the same."""
    s = script(by="cgroup")
    s.lines.append("watch sda total")
    for stage in ("device", "total"):
        s.on("sda", stage)
        s.io("read", MS, 1000, more="in=/a")
        slow(s, "write" if stage == "device" else "read", 9 * MS, n=30, more="in=" + ("/a" if stage == "device" else "/b"))
        s.io("write", MS, 200, more="in=/a")
    s.tick()
    found = findings(report(s.write(tmp_path / "run.blklat")))
    assert [f["text"].split(" are of ")[1].split(",")[0] for f in found] == ["op write", "cgroup /b"] and "much the same" not in found[0]["text"], found
