# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with known answers: the sentences of the report, in their order, as text of 80 columns."""
import math
import random
import re
import statistics

import pytest

import synthetic
from phases import mark
from recordings import blklat, sentences
from sql import change

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


def half(path, *loads):
    """60 s: of each load (op, median, IOs, more) in the first half, and in the second."""
    s = synthetic.Script()
    for t in range(60):
        for op, ns, count, more in (two[t >= 30] for two in loads):
            spread(s, op, ns, count, **more)
        s.tick()
    return s.write(path)


def test_what_stays_the_same(tmp_path):
    """A figure that did not change is no change "from 100 us to 100 us"."""
    path = tmp_path / "run.blklat"
    told = sentences(half(path, (("read", 100e3, 1000, {}), ("read", 100e3, 4000, {}))))
    assert told[0] == "sda read: IOPS rose from 1.00k to 4.00k at 30.0 s, after 20.0 % of the IOs, at the same latency (mean 100 us, p50 100 us): the load changed"
    slow = half(path, (("read", 100e3, 4800, {}), ("read", 100e3, 1900, {})), (("read", 150e3, 200, {}), ("read", 3e6, 80, {})))
    assert "; p50 unchanged at 101 us; p99 from 160 us to 3.22 ms" in sentences(slow)[0]
    big = {"size": 2 ** 20}
    tail = half(path, (("read", 100e3, 1880, {}), ("read", 99.8e3, 1880, {})), (("read", 100e3, 120, {}), ("read", 5e6, 120, {})),
                (("write", 1e6, 0, big), ("write", 1e6, 100, big)))
    assert sentences(tail)[0].endswith(" times slower), p50 unchanged at 100 us")


@pytest.mark.parametrize("ns,late_ns,late,outliers,told", [
    (1e5, 3e6, range(20, 22), (12, 2e9, 3), "p99 rose 15.0 times at 20.0 s for 2.0 s, from 214 us to 3.21 ms; p50 did not (101 us); mean from 104 us to 217 us, at 5.00k IOPS"),
    (1e5, 2e6, range(30, 60), (30, 4e8, 4), "p99 rose 9.89 times at 30.0 s, from 215 us to 2.13 ms; p50 did not (101 us); mean from 424 us to 177 us, at 5.00k IOPS"),
    (1e5, 2e6, range(30, 60), (30, 1e8, 5), "p99 rose 9.88 times at 30.0 s, from 215 us to 2.13 ms; p50 did not (101 us); mean about the same at 177 us, at 5.00k IOPS"),
    (4e4, 3e6, range(30, 60), (0, 1, 0), "mean latency rose 1.52 times at 30.0 s, from 104 us to 159 us, after 50.0 % of the IOs, at 5.00k IOPS; p50 from 101 us to 40.2 us; p99 from 214 us to 3.21 ms"),
    (1e6, 3e6, range(20, 22), (12, 2e9, 12), "mean latency rose 10.4 times at 20.0 s for 2.0 s, from 104 us to 1.09 ms, after 33.4 % of the IOs, at 5.00k IOPS; p50 from 101 us to 1.00 ms")])
def test_few_that_took_long_before(tmp_path, ns, late_ns, late, outliers, told):
    """So the mean fell, or would have, as a tail or the median rose."""
    until, outlier_ns, count = outliers
    s = synthetic.Script()
    for t in range(60):
        spread(s, "read", ns if t in late else 1e5, 4800)
        spread(s, "read", late_ns if t in late else 2e5, 200)
        s.io("read", outlier_ns, count * (t < until))
        s.tick()
    assert sentences(s.write(tmp_path / "run.blklat"))[0] == f"sda read: {told}"


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


def test_a_throttle_at_two_stages(tmp_path):
    """Fewer IOs, which wait before the device, from 40 to 80 s: told of stage total alone, as the device has the same IOs."""
    s = synthetic.Script()
    s.lines.append("watch sda total")
    for t in range(120):
        for stage, ns in (("device", 50e3 if 40 <= t < 80 else 90e3), ("total", 30e6 if 40 <= t < 80 else 100e3)):
            s.on("sda", stage)
            spread(s, "read", ns, 200 if 40 <= t < 80 else 2000)
        s.tick()
    told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "IOPS fell" in one or "IOPS rose" in one]
    assert len(told) == 2 and all(one.startswith("sda (total) read: ") for one in told) and "; the device itself takes no longer" in told[0], told


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
    assert re.match(r"sda write: mean latency rose [\d.]+ times little by little until 59\d\.0 s, ", told[0]), told
    assert [one for one in told if re.match(r"sda write: 1\.[67]\dk .* IOPS, the worst 1 % of the intervals at (5|6)\d\.\d % of that", one)], told


def test_one_event_that_ends(tmp_path):
    """Reads and writes are slow as long as the backup is there: one sentence, although their levels begin and end at slightly different times."""
    s = synthetic.Script(by="cgroup")
    for t in range(200):
        there = 60 <= t < 120
        spread(s, "read", 1.5e6 if there else 1.2e5, 400, more="in=/system.slice/db.service")
        spread(s, "write", 2e6 if 60 <= t < 121 else 4e4, 160, more="in=/system.slice/db.service")
        s.io("read", 3e6, 900 * there, size=2 ** 20, more="in=/system.slice/backup.service")
        s.tick()
    [told] = sentences(s.write(tmp_path / "run.blklat"), grade="!!")
    assert re.search(r"backup\.service began 900 reads/s of 1\.00 MiB, until 120\.0 s; .*; also slower: sda (read|write) ", told), told


@pytest.mark.parametrize("ns", [450e3, 40e3])
def test_whose_load_changed(tmp_path, ns):
    """Both read, and none is slower: the IOPS that came are the backup's. Of short ones the device has no larger load."""
    s = synthetic.Script(by="cgroup")
    for t in range(120):
        spread(s, "read", 200e3, 400, more="in=/system.slice/db.service")
        spread(s, "read", ns, 800 * (30 <= t < 90), size=2 ** 18, more="in=/system.slice/backup.service")
        s.tick()
    began, ended = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "IOPS" in one][:2]
    assert began.startswith("sda read: IOPS rose from 400 to 1.20k at 30.0 s") and began.endswith(": backup.service began 800 reads/s of 256 KiB")
    assert ended.startswith("sda read: IOPS fell from 1.20k to 400 at 90.0 s") and ended.endswith(": backup.service ended its 800 reads/s of 256 KiB")


@pytest.mark.parametrize("db,backup,names", [("/bench.slice/db", "/bench.slice/backup", ("backup", "db")), ("/a.scope/init.scope", "/b.scope/init.scope", None),
                                             ("/system.slice/" + "日" * 60, "/b.service", ("b.service", "日" * 33))])
def test_two_owners_have_two_names(tmp_path, db, backup, names):
    """Neither that of a slice, which has both, nor one that both have; and none is cut within a character."""
    s = synthetic.Script(by="cgroup")
    for t in range(60):
        spread(s, "read", 1e6 if t >= 30 else 1e5, 500, more=f"in={db}")
        spread(s, "write", 5e6, 300 * (t >= 30), size=2 ** 20, more=f"in={backup}")
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.search(r" 30\.0 s (\S+) began 300 writes/s .* reads of (\S+) went from ", first).groups() == (names or (backup, db)), first


@pytest.mark.parametrize("owner", [False, True])
def test_short_bursts_of_another_load(tmp_path, report, owner):
    """Of one second to three, at any distance: too short for levels, but reads are slow whenever it is there."""
    s = synthetic.Script(by="cgroup" if owner else None)
    at = sorted(random.Random(3).sample(range(1, 170, 5), 18))
    there = {t + i for n, t in enumerate(at) for i in range(1 + n % 3)}
    for t in range(180):
        spread(s, "read", 400e3 if t in there else 120e3, 800, more="in=/system.slice/db.service" * owner)
        if t in there:
            spread(s, "write", 1e6, 2000, size=65536, more="in=/system.slice/backup.service" * owner)
        s.tick()
    path = s.write(tmp_path / "run.blklat")
    [share] = [f["values"]["share"] for f in report(path)["runs"][0]["findings"] if f["kind"] == "level_change"]
    assert share == pytest.approx(at[0] / 180, rel=1e-3)
    told, *others = sentences(path)
    assert re.fullmatch(rf"sda read: at {at[0]}\.0 s {'backup.service began 2.00k writes/s of 64.0 KiB' if owner else '2.00k writes/s of 64.0 KiB began'}, until {at[0] + 1}\.0 s, "
                        rf"and 17 times more from {at[1]}\.0 s on; .* 86\.2 % of the device's time meanwhile, and reads {'of db.service ' * owner}went from p99 .*"
                        r", mean 121 us to 402 us \(3\.33 times slower\)", told), told
    assert not [one for one in others if "latency" in one or "level changed" in one or "peaks" in one]


def test_two_loads_that_overlap(tmp_path):
    """The first one is a culprit of what is slow without the other, and the device's time is that of the level before it."""
    s = synthetic.Script(by="cgroup")
    for t in range(150):
        loads = {"b": 30 <= t < 90, "c": 60 <= t < 120}
        spread(s, "read", 1e5 * 3 ** sum(loads.values()), 2000, more="in=/system.slice/db.service")
        for owner, there in loads.items():
            spread(s, "write", 2e6, 1000 * there, size=2 ** 17, more=f"in=/system.slice/{owner}.service")
        s.tick()
    first, second, *_ = sentences(s.write(tmp_path / "run.blklat"))
    assert first.startswith("sda read: at 30.0 s b.service began 1.00k writes/s of 128 KiB, until 90.0 s; it has 76.9 % of the device's time until 60.0 s, and reads of db.service went"), first
    assert re.match(r"sda read: mean latency rose 3\.00 times at 60\.0 s, .*; at the same time c\.service began 1\.00k writes/s of 128 KiB$", second), second


def test_a_load_that_comes_once_has_no_bursts(tmp_path):
    """The first one's writes are slow now and then by themselves, too, which is nobody's."""
    s = synthetic.Script(by="process")
    for t in range(60):
        there = [2600, 1000, 2000, 1600, 800][t - 25] if 25 <= t < 30 else 0
        spread(s, "write", 500e3 if there else 330e3 if t in (30, 37, 45) else 150e3, 1000, more='"in=fio (7)"')
        spread(s, "write", 500e3, there, size=2 ** 17, more='"in=dd (8)"')
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.match(r"sda write: at 25\.0 s dd \(8\) began 1\.6\dk writes/s of 128 KiB, until 29\.5 s; .* and writes of fio \(7\) went from ", first), first


def test_a_load_that_makes_slow_half_of_the_time_is_not_sure(tmp_path):
    """It comes every 30 s, and reads are slow every 60 s: in 95 % of all intervals both are there or none, but not in most of those with either."""
    s = synthetic.Script()
    for t in range(300):
        spread(s, "read", 400e3 if t % 60 < 3 else 100e3, 1000)
        s.io("write", 3e6, 2000 * (t % 30 < 3), size=2 ** 18)
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.match(r"sda read: mean latency rose 4\.00 times at 60\.0 s for 3\.0 s, .*; at the same time 2\.00k writes/s of 256 KiB began$", first), first


def test_most_are_faster_and_the_mean_is_slower(tmp_path):
    """As on a loop device: p50 and p90 fall, and p99 rises as writes begin, in the midst of a second."""
    s = synthetic.Script()
    for t in range(60):
        for ns, late_ns, count in (15e3, 4e3, 460), (3e4, 15e3, 20), (2e5, 3e7, 20):
            spread(s, "read", late_ns if t >= 30 else ns, count)
        s.io("write", 1e7, 1000 if t > 30 else 580 * (t == 30), size=2 ** 20)
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.match(r"sda read: at 30\.4 s 1\.00k writes/s of 1\.00 MiB began; .* went from p99 2\d\d us to 3\d\.\d ms, p50 15\.\d us to 4\.\d\d us, mean ", first), first


def test_an_owner_whose_load_takes_turns_may_be_a_culprit(tmp_path):
    s = synthetic.Script(by="cgroup")
    for t in range(120):
        spread(s, "read", 600e3 if t // 12 % 2 else 100e3, 500, more="in=/system.slice/db.service")
        spread(s, "read", 600e3, 2000 * (t // 12 % 2), more="in=/system.slice/batch.service")
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert first.startswith("sda read: at 12.0 s batch.service began 2.00k reads/s of 4.00 KiB, until 24.0 s, and 4 times more from 36.0 s on; "), first


@pytest.mark.parametrize("flushes,told", [
    (5, "at 10.0 s 5 flushes/s began, until 11.0 s, and 10 times more from 20.0 s on, and from the start until 1.0 s; they have 8.67 % of the device's time "
        "meanwhile, and writes went from p99 100 us to 40.0 ms, mean 41.4 us to 843 us (20.4 times slower), p50 unchanged at 40.1 us"),
    (0, "p99 rose 399 times at 10.0 s for 1.0 s, and 10 times more, every 10.0 s, and from the start until 1.0 s, from 100 us to 40.0 ms; p50 did not (40.1 us); "
        "mean from 41.4 us to 843 us, at 5.00k IOPS")])
def test_a_second_of_every_ten(tmp_path, flushes, told):
    """Also the run's first. Few flushes are a cause by their time: no bytes, and a thousandth of the IOs."""
    s = synthetic.Script()
    for t in range(120):
        spread(s, "write", 40e3, 4900)
        spread(s, "write", 100e3 if t % 10 else 40e6, 100)
        s.io("flush", 80e6, flushes * (t % 10 == 0), size=0)
        s.tick()
    first, *others = sentences(s.write(tmp_path / "run.blklat"))
    assert first == f"sda write: {told}" and len(others) == 1 and "steady state reached" in others[0]


def test_a_load_that_comes_in_bursts(tmp_path):
    """The median of a second's writes is the same, as only each third has more."""
    s = synthetic.Script()
    for t in range(60):
        spread(s, "read", 500e3 if t >= 30 else 100e3, 1000)
        s.io("write", 1e6, 1500 if t >= 30 and not t % 3 else 100, size=2 ** 20)
        s.tick()
    assert re.search(r"; at the same time the device went from 100 to 5\d\d writes/s of 1\.00 MiB$", sentences(s.write(tmp_path / "run.blklat"))[0])


@pytest.mark.parametrize("op,ns,ends,sure", [("discard", 50e3, 60, False), ("discard", 50e3, 45, True), ("discard", 5e6, 60, True),
                                             ("write", 50e3, 60, False), ("write", 50e3, 45, True), ("write", 50e3, 50, False)])
def test_a_cause_can_explain_the_effect(tmp_path, op, ns, ends, sure):
    """20 IOs/s are in flight for 0.1 or 10 % of the time: the one is only a cause if both end, the other by itself. At 50 s the effect has ended."""
    s = synthetic.Script()
    for t in range(60):
        spread(s, "read", 300e3 if 30 <= t < (ends if ends != 50 else 45) else 100e3, 1000)
        s.io(op, ns, 20 * (30 <= t < ends), size=2 ** 20)
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    load = f"20 {op}s/s of 1.00 MiB began"
    assert first.startswith(f"sda read: at 30.0 s {load}") if sure else \
        re.fullmatch(f"sda read: mean latency rose 3.00 times at 30.0 s, .*; at the same time {load}", first), first


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


def test_what_makes_another_slow_may_be_steady(tmp_path):
    path = half(tmp_path / "run.blklat", (("read", 100e3, 400, {}), ("read", 2e6, 400, {})), (("write", 6e6, 0, {}), ("write", 6e6, 500, {"size": 2 ** 20})))
    assert sentences(path)[1:] == ["2 are steady from 30.0 s to 60.0 s: sda read (400 IOPS) and sda write (500 IOPS)"]


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


def test_phases_of_one_rate_are_no_sweep(tmp_path):
    """From mark to mark the device is slower, or was: there are as many IOs, by a rate of their own. The phase that is slower than both beside it is told."""
    noise = random.Random(1)
    s = synthetic.Script()
    for t in range(150):
        spread(s, "read", (6e5 if 60 <= t < 90 else 1.2e5) * noise.gauss(1, 0.05), 20 * round(75 * noise.gauss(1, 0.02)))
        s.tick()
    path = mark(s.write(tmp_path / "run.blklat"), (0, "before"), (60, "upgrade"), (90, "after"))
    [told] = [one for one in sentences(path) if not "steady" in one]
    assert re.match(r"sda read: mean latency rose [45]\.\d\d times at 60\.0 s for 30\.0 s, from 12\d us to [56]\d\d us, after (39|40)\.\d % of the IOs, at 1\.\d\dk IOPS; .*; "
                    r"phase 'upgrade' begins there$", told), told


def test_a_drift_is_told_once(tmp_path):
    """A disk is read from its outer tracks to the inner ones. That it decays is no further fact; and its first rounds begin with the load."""
    s = synthetic.Script()
    for t in range(400):
        spread(s, "read", 2.5e6 * (1 + t / 400), round(80 / (1 + t / 400)) * 20, size=2 ** 17)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"))
    assert len(told) == 2 and "little by little" in told[0] and "not reached" in told[1], told
    s = synthetic.Script()
    for t in range(300):
        s.io("read", 1e5, 0 if t < 30 else 1000 if t < 200 else 300)
        s.tick()
    assert [one for one in sentences(s.write(tmp_path / "late.blklat")) if one.endswith("; five such rounds from 30.0 s on were steady")]


@pytest.mark.parametrize("of,told", [
    (lambda t: 5 * max(0, 60 - abs(t - 90)) / 60, "33.0 s on for 115.0 s, from 101 us to 591 us, at 1.00k IOPS; p50 from 100 us to 593 us; meanwhile 295 writes/s of 64.0 KiB began"),
    (lambda t: 3 * (t % 60) / 60, "8.0 s on for 52.0 s, and 2 times more, every 60.0 s, from 118 us to 387 us, at 1.00k IOPS; p50 from 114 us to 385 us"),
    (lambda t: 1.2 * max(0, 60 - abs(t - 90)) / 60, None), (lambda t: 5 * (t % 90 > 80), None)])
def test_what_rises_little_by_little_and_falls_again(tmp_path, of, told):
    """By a factor of 2.25 or more. Writes come with it, but for the saw's."""
    s = synthetic.Script()
    for t in range(180):
        spread(s, "read", 1e5 * (1 + of(t)), 1000)
        s.io("write", 1e6, round(60 * of(t)) * (told is None or "meanwhile" in told), size=65536)
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.sub(" rose [0-9.]+ times", "", first) == f"sda read: mean latency little by little from {told}" if told else "little by little" not in first, first


@pytest.mark.parametrize("owner,where,grows,told", [
    (True, "sda", True, "batch.service went from 40 to 200 writes/s of 256 KiB"), (False, "sda", True, "the device went from 40 to 200 writes/s of 256 KiB"),
    (False, "sdb", True, "sdb went from 40 to 200 writes/s of 256 KiB"), (True, "sda", False, None)])
def test_what_grows_with_a_drift(tmp_path, owner, where, grows, told):
    s = synthetic.Script(["sda", "sdb"], by="cgroup" if owner else None)
    for t in range(300):
        s.on("sda", "device")
        spread(s, "read", 120e3 + 1600 * t, 1000, more="in=/system.slice/db.service" * owner)
        s.on(where, "device")
        spread(s, "write", 1e6, 20 * (2 + t // 30 if grows else 5), size=2 ** 18, more="in=/system.slice/batch.service" * owner)
        s.tick()
    first, *others = sentences(s.write(tmp_path / "run.blklat"))
    assert re.match(r"sda read: mean latency rose 3\.\d\d times little by little, .*" + (f"; meanwhile {told}$" if told else r"; p50 from 1\d\d us to 5\d\d us$"), first), first
    assert told and where != "sda" or not [one for one in others if "not reached" in one]


def test_a_hiccup_before_a_step(tmp_path):
    """For a second p99 is longer than it is from the third one on; then it is twice as long as before."""
    s = synthetic.Script()
    for t in range(40):
        spread(s, "read", 4e5, 380)
        spread(s, "read", 2e7 if t >= 20 else {17: 5.4e7, 18: 4.2e6, 19: 3.8e6}.get(t, 2.2e6), 20)
        s.tick()
    assert re.match(r"sda read: p99 rose 9\.\d\d times at 20\.0 s, from 2\.\d\d ms to 2\d\.\d ms; p50 did not ", sentences(s.write(tmp_path / "run.blklat"))[0])


@pytest.mark.parametrize("ns,tail_ns,told", [
    (lambda t: 5e4 if 80 <= t < 100 else 1.5e5, 0, r"mean latency fell 3.00 times at 80.0 s for 20.0 s, from 151 us to 50.2 us, after 26.7 % of the IOs, at 1.00k IOPS"),
    (lambda t: 5e4 if 20 <= t % 60 < 30 else 1.5e5, 0, r"mean latency fell 3.00 times at 20.0 s for 10.0 s, and 4 times more, every 60.0 s, from 151 us to 50.2 us"),
    (lambda t: 6e5 if 60 <= t < 90 or 150 <= t < 180 else 1.5e5, 0, "mean latency rose 4.00 times at 60.0 s for 30.0 s, and once more at 150.0 s, from 151 us to 603 us"),
    (lambda t: 6e5 * 6 ** -math.exp(-((t - 150) / 30) ** 2), 0, r"mean latency fell 5.[89]\d times little by little from 10[3-6].0 s on for 9\d.0 s, from (59|60)\d us to 10[12] us"),
    (lambda t: 6e4 * 6 ** min(max(t - 99, 0) / 30, max(230 - t, 0) / 30, 1), 0, r"mean latency rose 5.[789]\d times little by little from 10[2-4].0 s on for 12\d.0 s, from 60.[2-5] us to 3[456]\d us"),
    (lambda t: 1e5, lambda t: 5e5 if 100 <= t < 130 else 5e6, r"p99 fell 10.0 times at 100.0 s for 30.0 s, from 4.98 ms to 496 us; p50 did not"),
    (lambda t: 1e5, lambda t: 5e5 * 20 ** min(max(t - 200, 0) / 50, 1), r"p99 rose \d\d.\d times little by little from 20\d.0 s on, from 496 us to")])
def test_a_dip_and_a_drift(tmp_path, ns, tail_ns, told):
    """Of 300 s: faster for a while, at once or little by little, or slower, once or twice; or the tail is; or it grows late."""
    s = synthetic.Script()
    for t in range(300):
        spread(s, "read", ns(t), 1000)
        spread(s, "read", tail_ns(t) if tail_ns else 0, 20 * bool(tail_ns))
        s.tick()
    found = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "steady" not in one and "peaks" not in one]
    assert len(found) == 1 and re.match(f"sda read: {told}", found[0]), found


@pytest.mark.parametrize("queue", [False, True])
def test_dips_that_differ(tmp_path, queue):
    """Each is told by itself; of stage queue, whose falls are not told, neither is that it is as slow as before."""
    s = synthetic.Script()
    s.lines += ["watch sda queue"] * queue
    for t in range(300):
        s.on("sda", "queue" if queue else "device")
        spread(s, "read", 1e5 if 60 <= t < 80 else 5e5 if 130 <= t < 140 else 1e6, 1000)
        s.on("sda")
        s.io("read", 1e5, 1000 * queue)
        s.tick()
    told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "latency" in one]
    assert len(told) == 2 * (not queue) and all(re.match(words, one) for words, one in zip((
        r"sda read: mean latency fell 10\.0 times at 60\.0 s for 20\.0 s, from", r"sda read: mean latency fell 2\.00 times at 130\.0 s for 10\.0 s, from"), told)), told


def test_the_mean_is_noisy(tmp_path):
    """For a second of each ten the median is 13 times as long, and the mean six, which varies by half: all six are told."""
    s = synthetic.Script()
    for t in range(60):
        spread(s, "read", 4.8e6 if t % 10 == 5 else 3.6e5, 180)
        spread(s, "read", 4e6 if t % 2 else 1.5e6, 20)
        s.tick()
    assert re.match(r"sda read: mean latency rose [\d.]+ times at 5\.0 s for 1\.0 s, and 5 times more, every 10\.0 s, ", sentences(s.write(tmp_path / "run.blklat"))[0])


def test_a_cache_after_a_hiccup(tmp_path):
    s = synthetic.Script()
    for t in range(60):
        spread(s, "write", 3e6 if t in (5, 6) else 2e6 if t >= 20 else 1.5e5, 1000 if t in (5, 6) else 1500 if t >= 20 else 20000)
        s.tick()
    assert len([one for one in sentences(s.write(tmp_path / "run.blklat")) if one.endswith(", as when a cache is exhausted") and " at 20.0 s, " in one]) == 1


def test_a_culprit_among_many_changes(tmp_path):
    """Writes begin at 25 s. Later reads are slow three times, for other reasons, each for six seconds or one."""
    s = synthetic.Script()
    for t in range(90):
        spread(s, "read", 2e7 if 40 <= t < 46 or 55 <= t < 61 or 70 <= t < 76 or t == 83 else 2e6 if t >= 25 else 4.8e5, 400)
        spread(s, "write", 4e6, 300 * (t >= 25), size=65536)
        s.tick()
    many, culprit, *others = sentences(s.write(tmp_path / "run.blklat"))
    assert culprit.startswith("sda read: at 25.0 s 300 writes/s of 64.0 KiB began; they have ") and "(4.17 times slower)" in culprit, culprit
    assert re.match(r"sda read: the level changed \d times from 40\.0 s to 8[34]\.0 s; the mean is 2\.0\d ms in the fastest and 20\.1 ms in the slowest", many), many
    assert not [one for one in others if "latency" in one], others


@pytest.mark.parametrize("every,seconds,at,rates", [(6, 80, 46, "from 200 to 6[46]0"), (3, 60, 28, "from 140 to 840"), (30, 400, 190, "from 220 to 700")])
def test_a_load_that_grows_in_small_steps(tmp_path, every, seconds, at, rates):
    """By 70 writes/s each; reads are slow from the seventh on. That the load is not steady is said with it."""
    s = synthetic.Script()
    for t in range(seconds):
        steps = max(0, min(11 if every > 3 else 17, (t - 10) // every + 1))
        spread(s, "read", (4e5 if steps < 7 else 2e6) * s.random.gauss(1, 0.03), 200, width=0.4)
        spread(s, "write", 1e6, 20 * round(steps * 3.5 * s.random.gauss(1, 0.02)), size=16384)
        s.tick()
    first, *others = sentences(s.write(tmp_path / "run.blklat"))
    assert re.fullmatch(rf"sda read: mean latency rose (4\.9|5\.0)\d times at {at}\.0 s, .*; meanwhile the device went {rates} writes/s of 16\.0 KiB", first) and not [one for one in others if "write" in one], (first, others)


def test_what_waits_for_flushes(tmp_path):
    """Writes, each with a flush: these take three times as long for 20 s, so there are half as many of both."""
    s = synthetic.Script()
    for t in range(60):
        s.io("write", 2e6, 80 if 20 <= t < 40 else 160)
        s.io("flush", 10e6 if 20 <= t < 40 else 4e6, 80 if 20 <= t < 40 else 160, size=0)
        s.tick()
    told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "steady" not in one and "device's time" not in one]
    assert [one[:50] for one in told] == ["sda flush: IOPS fell from 160 to 80 at 20.0 s, aft", "sda flush: IOPS rose from 80 to 160 at 40.0 s, aft"]


def test_few_flushes(tmp_path):
    """Half a percent of the IOs, and 2 % of the time: they become slower, and in another run they are slow throughout."""
    files = []
    for run, late_ns in ("one", 2e6), ("two", 1e6):
        s = synthetic.Script()
        for t in range(60):
            spread(s, "read", 1e5, 4000)
            spread(s, "flush", late_ns if run == "two" or t >= 30 else 2.5e5, 20, size=0)
            s.tick()
        files.append(s.write(tmp_path / f"{run}.blklat"))
    [told] = [one for one in sentences(files[0]) if "flush" in one]
    assert re.match(r"sda flush: mean latency rose 8(\.0\d)? times at 30\.0 s, from 25\d us to 2\.0\d ms, after 50\.0 % of the IOs, at 20 IOPS; p50 from ", told), told
    assert [one for one in sentences(*files) if re.match(r"sda flush: one\.blklat against two\.blklat: ", one)]


def test_slower_at_two_stages(tmp_path):
    """The whole time has what the device takes."""
    s = synthetic.Script()
    s.lines.append("watch sda total")
    for t in range(60):
        for stage, more in (("device", 0), ("total", 5e3)):
            s.on("sda", stage)
            s.io("read", (9e5 if t >= 30 else 9e4) + more, 3000)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"), grade="!!")
    assert len(told) == 1 and "(total)" not in told[0], told


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


def test_a_load_that_begins_within_an_interval_has_no_lower_rate_there(tmp_path):
    s = synthetic.Script()
    for t in range(60):
        s.io("read", 1e5, 1000)
        spread(s, "write", 8e5 if t == 10 else 1e5, 200 if t == 10 else 1000 * (t > 10))
        s.tick()
    [told] = [one for one in sentences(s.write(tmp_path / "run.blklat")) if one.startswith("sda write: ")]
    assert re.fullmatch(r"sda write: mean latency fell 8\.00 times at 11\.0 s, from 80\d us to 100 us, after 0\.4\d* % of the IOs, at 1\.00k IOPS; p50 from 80\d us to 100 us", told), told


def test_a_load_that_comes_once_beside_another_is_not_uneven(tmp_path):
    """The queue depth is that of the reads."""
    s = synthetic.Script()
    for t in range(120):
        s.io("read", 1e5, 1000)
        s.io("discard", 4e3, 3000 * (40 <= t < 48), size=2 ** 22)
        s.tick()
    assert not [one for one in sentences(s.write(tmp_path / "run.blklat")) if "\u00b1" in one]


def test_a_mean_that_drifts(tmp_path):
    """A limit sinks from 2000 to 400 IOPS. As ever more of the IOs wait 100 ms for it, p90 jumps from 40 us to 100 ms."""
    s = synthetic.Script()
    for t in range(100):
        iops = 20 * round(100 * 0.2 ** (t / 100))
        s.io("read", 40e3, iops - 60)
        s.io("read", 100e6, 60)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"), grade="!!")
    assert len(told) == 1 and re.match(r"sda read: mean latency rose 3\.\d\d times little by little, from 3\.\d\d ms to 12\.\d ms, at 1\.\d\dk to 4\d\d IOPS; "
                                       r"p50 unchanged at 40\.\d us; p90 from 40\.\d us to 99\.\d ms$", told[0]), told
    s = synthetic.Script()      # A rate that steps is no such percentile.
    for t in range(40):
        spread(s, "read", 1e5 + 1.5e4 * min(t, 19), 2000 if t < 20 else 56000)
        s.tick()
    assert sentences(s.write(tmp_path / "step.blklat"))[0].startswith("sda read: IOPS rose from 2.00k to 56.0k at 20.0 s, after 3.45 % of the IOs; ")


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


@pytest.mark.parametrize("bad,told", [
    ({"read": (1.5e6, 400), "write": (2e6, 160)}, [r"sda write: mean latency rose 50\.0 times at 40\.0 s, .*; also slower: sda read \(mean 12\.5 times\)",
                                                   r"sda write: mean latency fell 50\.0 times at 80\.0 s, .*; also faster: sda read \(mean 12\.5 times\)"]),
    ({"read": (4e5, 800), "write": (5e5, 600)}, [r"sda write: IOPS rose from 160 to 600 at 40\.0 s, .*: the load changed; at the same time the device went from 400 to 800 reads/s of 4\.00 KiB$",
                                                 r"sda write: IOPS fell from 600 to 160 at 80\.0 s, .*: the load changed; at the same time the device went from 800 to 400 reads/s of 4\.00 KiB$"])])
def test_a_step_of_two_ops_is_one_sentence(tmp_path, bad, told):
    """From 40 to 80 s."""
    s = synthetic.Script()
    for t in range(120):
        for op, ns, ios in (("read", 1.2e5, 400), ("write", 4e4, 160)):
            spread(s, op, *(bad[op] if 40 <= t < 80 else (ns, ios)))
        s.tick()
    found = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "steady" not in one]
    assert len(found) == 2 and all(re.match(words, one) for words, one in zip(told, found)), found


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


@pytest.mark.parametrize("total", [False, True])
def test_what_waits_in_the_scheduler(tmp_path, total):
    """Told of the queue, unless the whole time is watched."""
    s = synthetic.Script()
    s.lines[-1:] = ["watch sda queue", "watch sda device", *["watch sda total"] * total]
    for t in range(60):
        for stage, ns in (("queue", 5e6 if t >= 30 else 2e4), ("device", 9e4), *[("total", 5.09e6 if t >= 30 else 1.1e5)] * total):
            s.on("sda", stage)
            s.io("read", ns, 3000)
        s.tick()
    told, = sentences(s.write(tmp_path / "run.blklat"), grade="!!")
    where, times = ("total", r"46\.3") if total else ("queue", "250")
    assert re.fullmatch(rf"sda \({where}\) read: mean latency rose {times} times at 30\.0 s, .*; the device itself takes "
                        "no longer", told)


def test_a_run_of_one_interval(tmp_path):
    s = synthetic.repeated(1, ("read", 1e5, 100), ("write", 1e6, 100))
    assert sentences(s.write(tmp_path / "run.blklat"))[0].endswith("; much the same on sda write")


def test_devices_that_were_there_at_other_times(tmp_path):
    """
    What they do after one is gone sets nothing apart; the step is at the begin of its window, and no scatter. The others take over its load,
    which is said once.
    """
    s = synthetic.Script(("sda", "sdb", "sdc", "sdd"))
    for t in range(120):
        s.on("sda")
        spread(s, "read", 3e5 if t < 60 else 1e5, 8000 if t < 60 else 2000 - 20 * (t == 119))
        s.on("sdb")
        spread(s, "read", 3e5, 8000 * (t < 60))
        s.lines += ["gone"] * (t == 59)
        for drive in ("sdc", "sdd"):
            s.on(drive)
            spread(s, "read", 3e5 if t < 60 else 1e6, 4000 if t < 60 else 8000)
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"))
    assert not [one for one in told if re.search("sdb against|against sdb|scatter|at the same time", one)] and len([one for one in told if "sdd read" in one and "rose" in one]) == 1, told


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
