# SPDX-License-Identifier: GPL-2.0-only
"""The figures of compare against the report's documents, and its verdicts."""
import re

import pytest

import synthetic
from recordings import blklat, compared
from script import write_recording
from sql import change


def two_peaks(seconds):
    return synthetic.repeated(seconds, ("read", 80e3, 12000), ("read", 1.1e6, 3000))


@pytest.fixture
def runs(tmp_path):
    before = synthetic.steady(seconds=30, iops=20000, p50_ns=90e3).write(tmp_path / "before.blklat")
    after = two_peaks(20).write(tmp_path / "after.blklat")
    return before, after


def test_figures(runs, report):
    document = compared(*runs)
    series = [report(file)["runs"][0]["watches"][0]["ops"][0] for file in runs]
    [group] = document["groups"]
    assert (group["op"], group["stage"]) == ("read", "device")
    for got, want in zip(group["runs"], series):
        total = want["total"]
        assert (got["ios"], got["bytes"], got["errors"]) == (total["ios"], total["bytes"], total["errors"])
        assert got["iops"] == total["iops"]
        assert got["bytes_per_s"] == pytest.approx(total["bytes_per_s"], abs=0.6)
        for name in ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"):
            assert got["latency_ns"][name] == pytest.approx(total["latency_ns"][name], abs=0.06)
    base, other = group["runs"]
    assert base["ratio"] is None and base["ks"] is None
    assert other["ratio"]["iops"] == pytest.approx(other["iops"] / base["iops"], rel=1e-4)
    assert other["ratio"]["p99"] == pytest.approx(other["latency_ns"]["p99"] / base["latency_ns"]["p99"], rel=1e-4)


def test_names_that_moved(tmp_path, report):
    """Yesterday's sda is today's sdb, and sdc was exchanged: each drive is compared with itself, and one sentence says so."""
    def recording(file, drives):
        named = "sda", "sdb", "sdc"
        return write_recording("\n".join([
            "blklat-replay 1", *(f"device {name} kind=disk model=ST4 {words}" for name, (words, _) in zip(named, drives)),
            *(f"watch {name} device" for name in named),
            *(line for name, (_, us) in zip(named, drives) for line in (f"on {name} device", f"io read {us}us 4096 x500")), "tick 1"]), file)

    first = recording(tmp_path / "monday", (("serial=ZC1A", 100), ("serial=ZC1B wwid=naa.2", 200), ("serial=ZC1C", 400)))
    second = recording(tmp_path / "tuesday", (("wwid=naa.2", 200), ("serial=ZC1A", 100), ("serial=ZC9Z", 800)))
    document = compared(first, second)
    assert [([r["device"] for r in g["runs"]], g["runs"][1]["ratio"]["p50"]) for g in document["groups"]] == [
        (["sda", "sdb"], 1), (["sdb", "sda"], 1), (["sdc", "sdc"], pytest.approx(2, rel=1e-3))]
    told = {f["kind"]: f for f in document["findings"]}
    assert told["renamed"]["text"] == "sda of monday is sdb of tuesday: serial ZC1A; sdb of monday is sda of tuesday: serial ZC1B"
    assert told["exchanged"]["text"] == "sdc of tuesday is another drive than sdc of monday: serial ZC9Z, not ZC1C"
    assert (told["renamed"]["values"], told["exchanged"]["values"]) == ({"devices": 2}, {"devices": 1})
    flat = " ".join(blklat("compare", first, second).split())
    assert told["renamed"]["text"] in flat and told["exchanged"]["text"] in flat
    assert told["renamed"]["text"] in [f["text"] for f in report(first, second)["findings"]]
    assert not {f["kind"] for f in compared(first, first)["findings"]} & {"renamed", "exchanged"}
    # Recordings of older versions know no identity.
    for file in first, second:
        change(file, "DROP TABLE identity")
    document = compared(first, second)
    assert [[r["device"] for r in g["runs"]] for g in document["groups"]] == [[name] * 2 for name in ("sda", "sdb", "sdc")]
    assert not {f["kind"] for f in document["findings"]} & {"renamed", "exchanged"}


def test_a_run_and_itself(runs):
    [group] = compared(runs[0], runs[0])["groups"]
    assert group["runs"][1]["ks"] == 0
    assert set(group["runs"][1]["ratio"].values()) == {1}


def test_scales_meet_at_the_coarser(tmp_path):
    file = two_peaks(60).write(tmp_path / "fine.blklat")
    blklat("record", "--quiet", "--replay", file, "--scale", "2", "-o", tmp_path / "coarse.blklat")
    [group] = compared(file, tmp_path / "coarse.blklat")["groups"]
    assert group["runs"][1]["ks"] == 0
    assert group["runs"][1]["ratio"]["iops"] == 1


def test_several_conditions(runs):
    never, always = "read.p50 > 1000s", "total.iops > 1"
    document = compared(*runs, "--fail-if", never, "--fail-if", always, status=3)
    assert [v["holds"] for v in document["fail_if"]] == [False, True]
    assert blklat("compare", *runs, "--fail-if", never)


def test_a_single_recording_can_be_judged(runs):
    assert compared(runs[0], "--fail-if", "read.max > 1us", status=3)["failed"]
    assert not compared(runs[0], "--fail-if", "read.max > 1s")["failed"]
    assert "baseline" in blklat("compare", runs[0], "--fail-if", "read.max > +1%", status=1)


def test_text_fits_80_columns(runs):
    lines = blklat("compare", *runs, "--fail-if", "read.p99 > +10%", status=3).splitlines()
    assert max(len(line) for line in lines if not line.startswith(("1       /", "2       /"))) <= 80
    assert lines[1::2][:2] == [f"        rates over 0.0 s to {end}.0 s, the active window" for end in (30, 20)]
    figures = [line.split() for line in lines if re.match(r"[12] +\d", line)]
    base, other = compared(*runs)["groups"][0]["runs"]
    assert len(figures) == 2
    for words, run in zip(figures, (base, other)):
        assert float(words[1]) == pytest.approx(run["iops"], rel=1e-3)
    assert any(re.match(r"2 / 1 +x 0\.\d\d", line) for line in lines)
    assert any(line.startswith("FAIL    read.p99 of sda is") for line in lines)


def test_large_ratios_keep_their_columns(tmp_path):
    """IOs of 100 us compared with ones that take 99, 932, 2320 and 230000 times as long."""
    files = [synthetic.repeated(8, ("read", 1e5 * n, 100)).write(tmp_path / f"{n}.blklat") for n in (1, 99, 932, 2320, 230000)]
    lines = [line for line in blklat("compare", *files).splitlines() if re.match(r". / 1 ", line)]
    assert [re.split(r" +(?=x)", line)[1:] for line in lines] == [["x 1.00"] * 2 + [text] * 7 for text in ("x 99.00", "x 932", "x 2.32k", "x 230k")]
    repeats = blklat("compare", "--baseline", files[0], files[0], "--", files[3], files[3])
    [row] = re.findall("^change (.*)$", repeats, re.M)
    assert re.split(r" +(?=[x+])", row)[1:] == ["+0.0%"] * 2 + ["x 2.32k"] * 7


def test_markdown_is_a_table(runs):
    text = blklat("compare", "--format", "markdown", *runs)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 5 and len({row.count("|") for row in rows}) == 1
    assert "\n### sda device, read\n" in text
    assert re.findall(r"^\d\. .*; rates over (.*)\n", text, re.M) == [f"0.0 s to {end}.0 s, the active window" for end in (30, 20)]


def test_names_mean_nothing_to_markdown(tmp_path):
    name = '"><script>`*_[x](y)'
    script = synthetic.repeated(1, ("read", 5e4, 10))
    script.lines = [line.replace("sda", '"\\"><script>`*_[x](y)"') for line in script.lines]
    file = script.write(tmp_path / "run.blklat")
    text = blklat("compare", "--format", "markdown", file, file)
    [heading] = [line for line in text.splitlines() if line.startswith("#")]
    assert "<" not in heading and re.sub(r"\\(.)", r"\1", heading).replace("&lt;", "<") == f"### {name} device, read"
