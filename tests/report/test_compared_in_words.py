# SPDX-License-Identifier: GPL-2.0-only
"""What the report and compare say of several runs and devices, in text, JSON and Markdown, from recordings with known answers."""
import re

import pytest
from sql import change

import synthetic
from recordings import blklat, compared


def drive(tmp_path, label, *groups, seconds=20, devices=("nvme0n1",)):
    """A recording with a label; @groups are medians, counts and widths of lognormals, of each device in turn."""
    s = synthetic.Script(devices)
    for _ in range(seconds):
        for name, of in zip(devices, groups if len(devices) > 1 else [groups]):
            s.on(name)
            for median_ns, count, width in of:
                s.peak("read", median_ns, count, width)
        s.tick()
    return change(s.write(tmp_path / f"{label}.blklat"), f"UPDATE meta SET value = '{label}' WHERE key = 'label'",
                  f"INSERT OR IGNORE INTO meta VALUES ('label', '{label}')")


def paragraphs(text):
    """The sentences before the first empty line behind them, each in one line."""
    return [re.sub(r"\n   ", " ", one) for one in re.findall(r"^(?:!!|\* |ok) (.*(?:\n   .*)*)", text, re.M)]


@pytest.fixture
def drives(tmp_path):
    """Equal for 60 % of the IOs; the other 40 % of the smaller drive take twice as long. And a hard disk, 2500 times slower."""
    return [drive(tmp_path, "disk", (250e6, 100, 0.3)), drive(tmp_path, "small", (100e3, 12000, 0.02), (200e3, 8000, 0.02)),
            drive(tmp_path, "large", (100e3, 20000, 0.02))]


def test_names_that_tell_runs_apart(tmp_path):
    """A label, a file's name, or as much as is needed of its path; what is the same in all has a number."""
    def name(path):
        return re.search(r": (.*) and (.*) are equal", paragraphs(blklat("compare", paths[0], path))[0]).groups()
    paths = [tmp_path / "before/run.blklat", tmp_path / "after/run.blklat"]
    for path in paths:
        path.parent.mkdir()
        synthetic.steady(seconds=20).write(path)
    assert name(paths[1]) == tuple(str(path)[-47:] for path in (paths[1], paths[0]))
    assert name(paths[0]) == ("run 2", "run 1")


def test_runs_in_order_and_where_they_part(drives, report):
    document = report(*drives)
    order, slower, parts = document["findings"]
    assert [f["kind"] for f in document["findings"]] == ["order", "pair", "pair"]
    assert re.fullmatch(r"nvme0n1 read: from slowest to fastest at p50: disk 2[45]\d ms \(100 IOPS\); 2\.4\dk times faster, small 10[12] us \(20\.0k IOPS\), "
                        r"large (99\.\d|100) us \(20\.0k IOPS\)", order["text"])
    assert re.match(r"nvme0n1 read: disk against small: [\d.k]+ times slower at p10, 2\.4\dk at p50, [\d.k]+ at p90, [\d.k]+ at p99; disk has", slower["text"])
    assert re.match(r"nvme0n1 read: small and large are equal within \d %\ up to p(59|60), then small tapers: (1\.9\d|2\.0\d) times slower at p90, ", parts["text"])
    totals = [r["watches"][0]["ops"][0]["total"] for r in document["runs"]]
    for name, p in (("times_p50", "p50"), ("times_p90", "p90")):
        assert slower["values"][name] == pytest.approx(totals[0]["latency_ns"][p] / totals[1]["latency_ns"][p], rel=1e-5)
        assert parts["values"][name] == pytest.approx(totals[1]["latency_ns"][p] / totals[2]["latency_ns"][p], rel=1e-5)
    assert parts["values"]["queue_depth"] == pytest.approx(totals[1]["iops"] * totals[1]["latency_ns"]["mean"] / 1e9, rel=1e-3)
    assert paragraphs(blklat("report", "-f", "text", *drives))[:3] == [f["text"] for f in document["findings"]]


def test_a_tail_behind_p99(tmp_path):
    """Of 200 IOs six take three times as long, or one 30 times. Of 1000 one does, as it happens in the one run or the other."""
    first, last = (drive(tmp_path, label, (100e3, 5000 - n, 0.1), (ns, n, 0.1)) for label, ns, n in (("a", 300e3, 150), ("b", 3e6, 25)))
    [pair] = [f for f in compared(first, last)["findings"] if f["kind"] == "pair"]
    assert re.match(r"nvme0n1 read: b against a: equal at p10, equal at p50, equal at p90, 2\.\d\d times faster at p99, (9\.\d|10\.\d)\d? times slower at p99\.9; ", pair["text"]), pair["text"]
    rare = [drive(tmp_path, f"c{n}", (100e3, 4995, 0.1), (3e6, n, 0.1)) for n in (4, 6)]
    [pair] = [f for f in compared(*rare)["findings"] if f["kind"] == "pair"]
    assert pair["grade"] == "well" and "p99.9" not in pair["text"], pair["text"]


def test_runs_that_are_alike_at_p50_alone(tmp_path):
    """One of six has a tail: that is one sentence. Three of them are told by pairs; compare has the one beside the first."""
    runs = [drive(tmp_path, f"r{i}", (100e3, 4500, 0.1), (3e6 if i == 3 else 4e5, 500, 0.1)) for i in range(6)]
    told = paragraphs(blklat("report", "-f", "text", *runs))
    assert re.match(r"nvme0n1 read: 6 are alike at p50: 10\d us \(r\d\) to 10\d us \(r\d\), but not at p99: 4\d\d us \(r\d\) to 3\.\d\d ms \(r3\)$", told[0]), told
    assert not [one for one in told if "tapers" in one or "equal within" in one]
    assert not [one for one in paragraphs(blklat("report", "-f", "text", *runs[1:4])) if "alike at p50" in one]
    pairs = [one for one in paragraphs(blklat("compare", *runs)) if "equal" in one]
    assert len(pairs) == 1 and "r3" in pairs[0] and "r0" in pairs[0], pairs


def test_a_tail_that_varies_says_nothing_of_the_median(tmp_path):
    s = synthetic.Script(["nvme0n1"])
    for i in range(20):
        s.peak("read", 6e3, 19500, 0.1)
        s.peak("read", 5e3 * 30 ** (i % 3), 500, 0.1)
        s.tick()
    told, = paragraphs(blklat("compare", s.write(tmp_path / "varies"), drive(tmp_path, "steady", (22e3, 20000, 0.1))))
    assert re.match(r"nvme0n1 read: varies against steady: 3\.[67]\d times faster at p10, 3\.[67]\d at p50, ", told), told


def test_devices_almost_alike_are_not_put_in_order(tmp_path, report):
    drives = [f"nvme{i}n1" for i in range(8)]
    for step, told in ((1.015, []), (1.03, ["order"])):
        path = drive(tmp_path, f"by {step}", *[[(100e3 * step ** i, 1000, 0.1)] for i in range(8)], devices=drives)
        assert [f["kind"] for f in report(path)["runs"][0]["findings"] if f["kind"] == "order"] == told


def test_compare_says_the_same_against_the_baseline(drives):
    disk, small, large = drives
    found = compared(large, small, disk)["findings"]
    assert [re.match(r"nvme0n1 read: (\w+ (?:and|against) \w+)", f["text"])[1] for f in found[1:]] == ["disk against large", "small and large"]
    for other in ("text", "markdown"):
        text = blklat("compare", "-f", other, large, small, disk)
        assert "x 0.00" not in text
        told = paragraphs(text) if other == "text" else [re.sub(r"\\(.)", r"\1", line[2:]) for line in text.splitlines() if line.startswith("- ")]
        assert told == [f["text"] for f in found]
    back = blklat("compare", disk, large)
    assert "x 0.00" not in back and re.search(r"^2 / 1 .* 1/2\.\d+k", back, re.M)
    assert not compared("--baseline", large, large, "--", small, small)["findings"]


def array(tmp_path, label, us):
    """Each IO of the array takes 6 us longer than that of its member."""
    groups = [(us * 1e3 + 6e3, 1200, 0)], *[[(us * 1e3, 400, 0)]] * 3
    path = drive(tmp_path, label, *groups, devices=("md0", "sda", "sdb", "sdc"))
    return change(path, "INSERT INTO lower SELECT a.id, b.id FROM device a, device b WHERE a.name = 'md0' AND b.name != 'md0'")


def test_an_array_over_its_members(tmp_path, report):
    path = array(tmp_path, "array", 100)
    [run] = report(path)["runs"]
    [layer] = [f for f in run["findings"] if f["kind"] == "layer"]
    assert layer["text"] == "md0 read: adds 6.00 us to every IO (p10 6.00 us, p90 6.00 us); QD 0.13 on it is QD 0.04 on each of 3 members"
    assert [f["kind"] for f in run["findings"]] == ["layer", "steady_state"]    # members are alike, and an array is not beside them
    assert run["stacks"][0]["ops"][0]["overhead_ns"]["p50"] == layer["values"]["overhead_p50_ns"] == 6000
    # Of several runs the arrays are put in order, and not their members.
    three = path, array(tmp_path, "slower", 400), array(tmp_path, "slowest", 1600)
    [order] = [f["text"] for f in report(*three)["findings"] if f["kind"] == "order"]
    assert order.startswith("md0 read: from slowest to fastest at p50: slowest 1.61 ms (1.20k IOPS); 3.96 times faster, "
                            "slower 406 us (1.20k IOPS)"), order
