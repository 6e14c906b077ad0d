# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with known answers: the sentences of the report, in their order, as text of 80 columns."""
import re
import statistics

import pytest

import synthetic
from phases import mark
from recordings import blklat, sentences

Z = [statistics.NormalDist().inv_cdf((i + 0.5) / 20) for i in range(20)]


def spread(s, op, median_ns, count, width=0.1, **more):
    """A lognormal by 20 quantiles; @count is a multiple of 20."""
    for z in Z:
        s.io(op, median_ns * 2.718281828 ** (width * z), count // 20, **more)


@pytest.fixture
def tail(tmp_path):
    """Six drives: one has a tail 13 times as long as the others', that of another becomes 200 times as long at 30 s."""
    drives = [f"nvme{i}n1" for i in range(6)]
    s = synthetic.Script(drives)
    for second in range(60):
        for i, drive in enumerate(drives):
            s.on(drive)
            spread(s, "read", 85e3, 4800)
            spread(s, "read", 2e6 if i == 2 else 30e6 if i == 4 and second >= 30 else 150e3, 200)
        s.tick()
    return s.write(tmp_path / "run.blklat")


def test_tails(tail):
    grown, unlike = sentences(tail, "!!")
    # The 75th percentile of the 200 slow IOs is the 99th of all.
    at = 150e3 * 2.718281828 ** (0.1 * statistics.NormalDist().inv_cdf(0.75))
    p99, to = re.fullmatch(r"nvme4n1 read: p99 rose 200 times at 30\.0 s, from (\d+) us to ([\d.]+) ms; p50 did not \(85\.\d us\); "
                           r"mean 88\.\d us before, 1\.29 ms after, at 5\.00k IOPS", grown).groups()
    assert float(p99) * 1e3 == pytest.approx(at, rel=0.03) and float(to) * 1e6 == pytest.approx(200 * at, rel=0.03)
    assert re.fullmatch(r"nvme2n1 read: p99 is 13\.3 times that of the 5 like it: 2\.1\d ms against 16\d us, in 60 of 60 intervals", unlike)
    assert sentences(tail, "ok") == ["4 are steady from 30.0 s to 60.0 s, 5.00k IOPS each: nvme0n1 read, nvme1n1 read, nvme3n1 read and nvme5n1 read"]


@pytest.mark.parametrize("rates,told", [((5000, 8100, 8080, 8060, 8040, 8020), "QD 2' on: 8.10k IOPS there and 8.02k in 'QD 32', while the "
                                         "mean latency rose from 200 us to 3.20 ms"),
                                        ((1000, 2000, 3990, 4000, 4190, 4199), "QD 16' on: 4.19k IOPS there and 4.20k in 'QD 32'"),
                                        ((1000, 2000, 4000, 4200, 4190, 4100), "QD 4' on: 4.00k IOPS there and 4.10k in 'QD 32'"),
                                        ((1000, 2000, 4000, 8000, 16000, 32000), None)])
def test_a_sweep(tmp_path, rates, told):
    s = synthetic.Script()
    for i, rate in enumerate(rates):
        for _ in range(5):
            s.io("write", 100e3 * 2 ** i, rate)
            s.tick()
    path = mark(s.write(tmp_path / "run.blklat"), *((5 * i, f"QD {2 ** i}") for i in range(len(rates))))
    found = sentences(path) if told else []
    assert [one for one in found if "saturated" not in one] == []
    if told:
        assert f"sda write: saturated from phase '{told}" in found[0]
    text = blklat("report", "--format", "text", path)
    assert [line.split()[:6] for line in text.splitlines()[-6:]] == [["sda", "device", "write", "QD", str(2 ** i), str(rate)] for i, rate in enumerate(rates)]


def test_a_drive_that_waits(tmp_path):
    """Two lines, at 7k and 0, once the spare area is used up after 200 s: it stops each third second."""
    s = synthetic.Script()
    for t in range(800):
        late = 32 * (t % 3 == 2 and t > 200)
        s.io("write", 32e9 / (80000 if t < 200 else 7000), 80000 if t < 200 else 7000 * (t % 3 != 1) - late)
        s.io("write", 1.004e9, late)
        s.in_flight(32, 1.002e9 if t % 3 == 1 and t > 200 else 2e6)
        s.tick()
    told = "\n".join(sentences(s.write(tmp_path / "run.blklat")))
    # 199 of the 200 stalls end in the run, after 1.004 s; the last goes on for its last second. In the second half are 132
    # whole ones, the first one's last second and the last: (132 * 1.004 + 2) / 400 = 33.6 %.
    assert "stalled 200 times, 200.8 s in all (25.1 % of the run), 1.00 s on average" in told
    assert "regularly: every 3.00 s (± 0.0 s), the last one until the run ended; IOs were in flight, 7.00k IOPS is the " \
        "median" in told
    assert "steady on average only: the device stalled for 33.6 % of that time" in told
    # The load did not rest, and stalls are not said again as a lack of consistency.
    assert "IOPS fell from 80.0k to 7.00k at " in told and "a rest of" not in told and "the worst 1 %" not in told


def test_the_text_has_what_the_document_has(tail, report):
    told = [f["text"] for f in report(tail)["runs"][0]["findings"]]
    assert sentences(tail) == told
    text = blklat("report", "--format", "text", tail)
    assert len(re.findall(r"^nvme\dn1 device read +5000 +20\.5 ", text, re.M)) == 6
    twice = blklat("report", "--format", "text", tail, tail)
    assert twice.split("\n\n", 1)[1] == f"{text}\n{text}"
