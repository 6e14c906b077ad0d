# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with known answers: the sentences of the report about rates, tails, stalls and what is lost, in their order, as text of 80 columns."""
import random
import re
import statistics

import pytest

import synthetic
from phases import mark
from recordings import blklat, sentences
from sql import change
from synthetic import spread


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
    grown, unlike = sentences(tail, grade="!!")
    # The 75th percentile of the 200 slow IOs is the 99th of all.
    at = 150e3 * 2.718281828 ** (0.1 * statistics.NormalDist().inv_cdf(0.75))
    p99, to = re.fullmatch(r"nvme4n1 read: p99 rose 200 times at 30\.0 s, from (\d+) us to ([\d.]+) ms; p50 did not \(85\.\d us\); "
                           r"mean from 88\.\d us to 1\.29 ms, at 5\.00k IOPS", grown).groups()
    assert float(p99) * 1e3 == pytest.approx(at, rel=0.03) and float(to) * 1e6 == pytest.approx(200 * at, rel=0.03)
    assert re.fullmatch(r"nvme2n1 read: p99 is 13\.3 times that of the 5 like it: 2\.1\d ms against 16\d us, in 60 of 60 intervals", unlike)
    assert sentences(tail, grade="ok") == ["4 are steady from 30.0 s to 60.0 s, 5.00k IOPS each: nvme0n1 read, nvme1n1 read, nvme3n1 read and nvme5n1 read"]


def test_a_disk_that_fails_slowly(tmp_path):
    """80 reads/s: too few for their p99."""
    s = synthetic.Script([f"sd{c}" for c in "abcdef"])
    for _ in range(40):
        for c in "abcdef":
            s.on(f"sd{c}")
            spread(s, "read", (20e6 if c == "d" else 8e6) * s.random.gauss(1, 0.1), 80, width=0.5)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"), grade="!!")
    assert len(told) == 1 and re.match(r"sdd read: p90 is 2\.[45]\d times that of the 5 like it: [34]\d\.\d ms against 1\d\.\d ms, in 40 of 40 intervals$", told[0]), told


def test_a_rate_at_two_stages(tmp_path):
    """It is one rate, told once: steady, falling, or uneven."""
    loads = {"steady state reached": lambda t: 1000, "steady state not reached": lambda t: 8000 - 20 * t, "wanders": lambda t: 4000 + 200 * min(t % 40, 40 - t % 40)}
    for words, ios in loads.items():
        s = synthetic.Script()
        s.lines.append("watch sda total")
        for t in range(240):
            for stage, ns in (("device", 90e3), ("total", 100e3)):
                s.on("sda", stage)
                s.io("read", ns * 4000 / ios(t), ios(t) - (stage == "total" and t == 239))
            s.tick()
        told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if words in one]
        assert len(told) == 1 and told[0].startswith("sda (device) read: "), told


def test_rates_that_are_not_steady_are_told_together(tmp_path):
    """Also where only one of the drives had rounds at another time that were."""
    drives = ["nvme0n1", "nvme1n1"]
    s = synthetic.Script(drives)
    for t in range(120):
        for drive in drives:
            s.on(drive)
            s.io("read", 1e5, 1000 if drive == "nvme1n1" and t < 60 else 405 + 10 * t)
            s.io("write", 1e5, 40 + t)
        s.tick()
    told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "not reached" in one]
    assert len(told) == 1 and told[0].endswith("; much the same on nvme0n1 write (130 IOPS), nvme1n1 read (1.30k IOPS) and nvme1n1 write (130 IOPS)"), told


def test_uneven_after_a_drift(tmp_path):
    """A drive is filled within 600 s, and is uneven then: from 10 000 to 2000 IOPS at QD 8, with a third of the seconds at half of that."""
    s = synthetic.Script()
    for t in range(1800):
        iops = max(10000 - t * 13, 2000) // (1 if t < 900 or t % 7 not in (1, 3) else 2)
        s.io("write", 8e9 / iops, iops)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"))
    assert re.match(r"sda write: mean latency rose [\d.]+ times little by little until 60\d\.0 s, ", told[0]), told
    assert [one for one in told if re.match(r"sda write: 1\.[67]\dk .* IOPS, the worst 1 % of the intervals at (5|6)\d\.\d % of that", one)], told


@pytest.mark.parametrize("low,high,ns,told", [
    (4, 4, 500e3, "14 changes): 1.00k IOPS for 4.0 s with a p50 of 100 us, and 3.00k IOPS for 4.0 s with 499 us"),
    (3.7, 5.2, 100e3, "13 changes): 1.00k IOPS for 3.7 s with a p50 of 100 us, and 3.00k IOPS for 5.2 s with 100 us"),
    (8, 8, 100e3, "7 changes): 1.00k IOPS for 8.0 s with a p50 of 100 us, and 3.00k IOPS for 8.0 s with 100 us"),
    (15, 15, 100e3, None), (6, 6, 33.3e3, None)])
def test_loads_that_take_turns(tmp_path, low, high, ns, told):
    """One statement in place of changes, peaks and the steady state. Not of too few; nor of a drive that has the same queue depth."""
    s = synthetic.Script()
    for second in range(60):
        share = sum(max(0, min(second + 1, at + low + high) - max(second, at + low)) for at in (i * (low + high) for i in range(20)))
        for rate, of, took in (1000, 1 - share, 100e3), (3000, share, ns):
            spread(s, "read", took, 20 * round(rate * of / 20))
        s.tick()
    found = sentences(s.write(tmp_path / "run.blklat"))
    assert found == [f"sda read: the load alternates ({told}"] if told else not [one for one in found if re.search(r"alternates \(|such rounds|rising by 0", one)], found


def test_reads_and_writes_that_take_turns(tmp_path):
    s = synthetic.Script()
    for t in range(300):
        spread(s, *("write", 2e5, 3000) if t // 30 % 2 else ("read", 1e5, 5000))
        s.tick()
    assert sentences(s.write(tmp_path / "run.blklat")) == [
        "sda read: the load alternates (9 changes): 0 IOPS for 30.0 s, and 5.00k IOPS for 30.0 s with a p50 of 100 us; also alternating: sda write (0 and 3.00k IOPS)"]


@pytest.mark.parametrize("rates,told", [((500, 500), ", 500 IOPS each: sda read and sdb read"), ((500, 900), ": sda read (500 IOPS) and sdb read (900 IOPS)"),
                                        ((600, 500, 900, 600, 600), ", from 500 IOPS (sdb read) to 900 (sdc read): sda read, sdb read, sdc read, sdd read and sde read")])
def test_each_has_its_rate(tmp_path, rates, told):
    s = synthetic.Script([f"sd{chr(ord('a') + i)}" for i in range(len(rates))])
    for _ in range(60):
        for i, rate in enumerate(rates):
            s.on(f"sd{chr(ord('a') + i)}")
            spread(s, "read", 100e3, rate)
        s.tick()
    assert sentences(s.write(tmp_path / "run.blklat"), grade="ok") == [f"{len(rates)} are steady from 30.0 s to 60.0 s{told}"]


def test_a_load_that_comes_and_goes_or_rests(tmp_path):
    """Nobody asks whether the one was steady; of the other, which of its rounds had none."""
    for words, there in ((None, range(35, 45)), (None, range(0, 40)), ("; the load rested for 7.0 s of that time; ", {*range(60)} - {*range(40, 47)})):
        s = synthetic.Script()
        for t in range(60):
            s.io("write", 1e5, 1000 * (t in there))
            s.io("read", 1e5, 20000 if words is None else 0)
            s.tick()
        told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "sda write" in one and ("steady" in one or "no IO" in one)]
        assert (words in told[0] if words else not told), told


def test_a_load_that_comes_once_beside_another_is_not_uneven(tmp_path):
    """The queue depth is that of the reads."""
    s = synthetic.Script()
    for t in range(120):
        s.io("read", 1e5, 1000)
        s.io("discard", 4e3, 3000 * (40 <= t < 48), size=2 ** 22)
        s.tick()
    assert not [one for one in sentences(s.write(tmp_path / "run.blklat")) if "\u00b1" in one]


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("rates,told", [((5000, 8100, 8080, 8060, 8040, 8020), "QD 2' on: 8.10k IOPS there and 8.02k in 'QD 32', while the "
                                         "mean latency rose from 200 us to 3.20 ms"),
                                        ((1000, 2000, 3990, 4000, 4190, 4199), "QD 8' on: 4.00k IOPS there and 4.20k in 'QD 32'"),
                                        ((1000, 2000, 4000, 4200, 4190, 4100), "QD 4' on: 4.00k IOPS there and 4.10k in 'QD 32'"),
                                        ((1000, 2000, 4000, 8000, 16000, 32000), None)])
def test_a_sweep(tmp_path, rates, told, down):
    s = synthetic.Script()
    levels = [*enumerate(rates)][::-1 if down else 1]
    for i, rate in levels:
        for _ in range(5):
            s.io("write", 100e3 * 2 ** i, rate)
            s.tick()
    path = mark(s.write(tmp_path / "run.blklat"), *((5 * t, f"QD {2 ** i}") for t, (i, _) in enumerate(levels)))
    found = sentences(path) if told else []
    assert [one for one in found if "saturated" not in one] == []
    if told:
        assert f"sda write: saturated from phase '{told}" in found[0]
    text = blklat("report", "--format", "text", path)
    assert [line.split()[:6] for line in text.splitlines()[-7:-1]] == [["sda", "device", "write", "QD", str(2 ** i), str(rate)] for i, rate in levels]


@pytest.mark.parametrize("on,off,told", [
    (2, 2.1, "48.7 %: 2.0 s of load and 2.1 s of pause, 49 times; 10.0k IOPS while busy, 4.87k over 48"),
    (1.5, 2.6, "36.5 %: 1.5 s of load and 2.6 s of pause, 49 times; 10.0k IOPS while busy, 3.65k over 48"),
    (5.4, 7.1, "43.3 %: 5.4 s of load and 7.1 s of pause, 16 times; 10.0k IOPS while busy, 4.33k over 15"),
    # Nothing tells whether any interval is all busy: these have 3.7k and 6.3k.
    (1, 3, "at most 39.7 %: 1.6 s of load and at least 2.4 s of pause, 50 times; at least 6.30k IOPS while busy, 2.50k over 49")])
def test_bursts_that_begin_anywhere(tmp_path, on, off, told):
    """10k writes a second, from 0.37 s on and again after each period."""
    s = synthetic.Script()
    for second in range(200):
        begins = (0.37 + i * (on + off) for i in range(-1, 200))
        spread(s, "write", 27e3, 20 * round(500 * sum(max(0, min(second + 1, at + on) - max(second, at)) for at in begins)))
        s.tick()
    assert f"sda write: a duty cycle of {told} whole periods" in sentences(s.write(tmp_path / "run.blklat"))


def test_rounds_differ_by_shares_of_their_mean(tmp_path):
    """Of 20k IOPS that fall to 2500 after 3/5 of the rounds: so a line can fall by more than all of the mean."""
    s = synthetic.Script()
    for t in range(100):
        spread(s, "write", 50e3 if t < 80 else 400e3, 20000 if t < 80 else 2500)
        s.tick()
    assert "sda write: steady state not reached from 50.0 s to 100.0 s: five rounds of 10.0 s average 13.0k IOPS and differ by 134.6 % of that (limit 20 %), " \
        "falling by 161.5 % of it from first to last (limit 10 %); five such rounds from 0.0 s on were steady" in sentences(s.write(tmp_path / "run.blklat"))


def test_two_drives_stall_at_once(tmp_path):
    """For 4.2 s, with 16 IOs in flight on each; then reads and writes end that waited."""
    s = synthetic.Script(("sda", "sdb"))
    for t in range(60):
        for drive in ("sda", "sdb"):
            stalls, late = 20 <= t < 24, 4 * (t == 24)
            s.on(drive)
            s.in_flight(16, (t - 18.9) * 1e9 if stalls else 1e6)
            for op, ns, count in (("read", 1e6, 3000), ("write", 2e6, 1000), ("read", 4.2e9, 3 * late), ("write", 4.1e9, late)):
                s.io(op, ns, count * (not stalls))
        s.tick()
    path = s.write(tmp_path / "run.blklat")
    assert sentences(path, grade="!!") == ["sda: stalled for 4.20 s at 19.8 s, with IOs in flight; the median is 4.00k IOPS; much the same on sdb"]
    assert [one for one in sentences(path) if "p99" in one or "latency" in one or "not reached" in one] == []


def test_a_run_of_one_interval(tmp_path):
    s = synthetic.repeated(1, ("read", 1e5, 100), ("write", 1e6, 100))
    assert sentences(s.write(tmp_path / "run.blklat"))[0].endswith("; much the same on sda write")


def test_a_run_without_ios(tmp_path):
    s = synthetic.Script()
    for _ in range(10):
        s.tick()
    path = change(s.write(tmp_path / "run.blklat"), "UPDATE meta SET value = 0 WHERE key = 'finished'")
    text = blklat("report", "--format", "text", path)
    assert " 10.0 s (not finished)\n" in text
    assert text.splitlines()[-2:] == ["", "no IO"] and "rates" not in text + blklat("compare", path, path, "--format", "text")


def test_the_text_has_what_the_document_has(tail, report):
    told = [f["text"] for f in report(tail)["runs"][0]["findings"]]
    assert sentences(tail) == told
    text = blklat("report", "--format", "text", tail)
    assert len(re.findall(r"^nvme\dn1 device read +5000 +20\.5 ", text, re.M)) == 6
    # Of several runs what is wrong comes first, and is not said again; then what differs between them.
    twice = sentences(tail, tail)
    wrong = len(sentences(tail, grade="!!"))
    assert twice == [f"{name}: {one}" for name in ("run 1", "run 2") for one in told[:wrong]] + \
        [f["text"] for f in report(tail, tail)["findings"]] + 2 * told[wrong:]
    both = blklat("report", "--format", "text", tail, tail)
    assert re.findall(r"^(run [12]:)\s(\S+):\s", both, re.M) == [(f"run {i}:", str(tail)) for i in (1, 2)]


@pytest.mark.parametrize("of_100,ios", [(0, 5000), (2, 5000), (0, 200)])
def test_few_losses_are_told_last(tmp_path, of_100, ios):
    """An IO in 5000, or in 200 but in one interval of 20; or in one interval 2 %."""
    s = synthetic.Script()
    for t in range(60):
        s.peak("read", 90e3 if t % 2 else 180e3, 20 if t == 5 and ios == 200 else ios)
        s.lines.append(f"account overwritten {50 * of_100 if t == 30 and of_100 else 1}")
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"))
    lost = "sda: 159 IOs are lost from the figures (0.053 %): 159 " if of_100 else f"sda: 60 IOs are lost from the figures ({'0.020' if ios == 5000 else '0.51'} %): 60 "
    assert ["lost" in one for one in told] == ([True, False, False] if of_100 else [False, True, False])    # before what is well
    assert [one.startswith(lost) for one in told].count(True) == 1


def test_where_the_time_goes(tmp_path, report):
    """A second of reads that spend 1 us at each of three stages, then one of writes that wait for nearly all of 1 ms."""
    s = synthetic.Script(stage="total")
    s.lines += [f"watch sda {stage}" for stage in ("device", "queue", "wait")]
    for op, count, times in ("read", 999, {"total": 3000, "device": 1000, "queue": 1000, "wait": 1000}), ("write", 1998, {"total": 10**6, "device": 300, "wait": 999700}):
        for stage, ns in times.items():
            s.on("sda", stage)
            s.io(op, ns, count)
        s.tick()
    file = mark(s.write(tmp_path / "run.blklat"), (0, "reads"), (1, "writes"))
    run = report(file)["runs"][0]
    shares = [{"wait": 0.334, "plug": 0, "queue": 0.333, "device": 0.333, "exact": True}, {"wait": 1, "plug": 0, "queue": 0, "device": 0, "exact": True}]
    assert [o["total"].get("shares") for w in run["watches"] for o in w["ops"]] == shares + [None] * (4 + 1)
    assert [[o["shares"] for w in phase["watches"] if w["stage"] == "total" for o in w["ops"]] for phase in run["phases"]] == [[one] for one in shares]
    text = blklat("report", "--format", "text", file)
    assert "\n\nsda total read: wait 33.4 %, plug 0.0 %, queue 33.3 %, device 33.3 % of this\ntime; the device has 32 tags\n" \
           "sda total write: wait 100.0 %, plug 0.0 %, queue 0.0 %, device 0.0 % of this\ntime; the device has 32 tags\n" in text
    one = synthetic.Script(stage="total")
    one.io("read", 3000)
    one.tick()
    assert "of this time" not in blklat("report", "--format", "text", one.write(tmp_path / "one.blklat"))
