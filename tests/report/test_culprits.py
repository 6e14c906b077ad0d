# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with known answers: who made a device slower, whose load changed, and what is not sure."""
import random
import re

import pytest

import synthetic
from recordings import sentences
from synthetic import spread


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


@pytest.mark.parametrize("op,owner,where,small,large,told", [
    ("write", True, "sda", (300, 4096), (300, 2 ** 20), "at 60.0 s backup.service went from 300 writes/s of 4.00 KiB to 300 of 1.00 MiB, until 90.0 s; it has 75.0 % of the device's time meanwhile, "),
    ("read", True, "sda", (300, 4096), (300, 2 ** 20), "at 60.0 s backup.service went from 300 reads/s of 4.00 KiB to 300 of 1.00 MiB, until 90.0 s; it has 75.0 % of the device's time meanwhile, "),
    ("write", False, "sda", (300, 4096), (300, 2 ** 20), "at 60.0 s the device went from 300 writes/s of 4.00 KiB to 300 of 1.00 MiB, until 90.0 s; they have "),
    ("write", False, "sdb", (300, 4096), (300, 2 ** 20), "mean latency rose 5.00 times at 60.0 s, .*; at the same time sdb went from 300 writes/s of 4.00 KiB to 300 of 1.00 MiB$"),
    ("write", True, "sda", (60, 2 ** 20), (20000, 4096), "at 60.0 s backup.service went from 60 writes/s of 1.00 MiB to 20.0k of 4.00 KiB, until 90.0 s; ")])
def test_sizes_of_another_load_change(tmp_path, op, owner, where, small, large, told):
    s = synthetic.Script(["sda", "sdb"], by="cgroup" if owner else None)
    for t in range(120):
        loaded = 60 <= t < 90
        s.on("sda")
        spread(s, "read", 6e5 if loaded else 1.2e5, 500, more="in=/system.slice/db.service" * owner)
        s.on(where)
        iops, size = large if loaded else small
        spread(s, op, 3e6 if loaded else 2e5, iops, size=size, more="in=/system.slice/backup.service" * owner)
        s.tick()
    first = sentences(s.write(tmp_path / "run.blklat"))[0]
    assert re.match(f"sda read: {told}", first), first


UP = r"from (996|997|1\.00k) to (49\.9|50\.\d)k (read|write)s/s of 4\.00 KiB"


@pytest.mark.parametrize("seconds,ends,op,by,told", [
    (60, (0, 1), "write", None, rf"mean latency rose (8\.9|9\.0)\d times little by little from 6[0-2]\.0 s on until 11\d\.0 s, .*; meanwhile the device went {UP}$"),
    (60, (1, 0), "write", None, r"mean latency fell (8\.9|9\.0)\d times little by little from 6\d\.0 s on until 11\d\.0 s, .*; meanwhile the device went from 49\.8k to 1\.00k "),
    (20, (0, 1), "write", None, rf"from 6[01]\.0 s to (79|8\d)\.0 s the device went {UP}, little by little; they have 99.0 % of the device's time since, "),
    (60, (0, 1), "read", "cgroup", rf"from 6[01]\.0 s to 1(1\d|20)\.0 s batch\.service went {UP}, little by little; it has 99\.0 % of the device's time "
                                   r"since, and reads of db\.service went from p99 .* \((8\.9|9\.0)\d times slower\)$"),
    (60, (0, 1), "read", None, r"IOPS rose from 2\.00k to 5\d\.\dk little by little from 6[01]\.0 s on until 1(1\d|2[0-2])\.0 s, .*: the load changed$")])
def test_a_load_that_ramps(tmp_path, seconds, ends, op, by, told):
    """From 1000 to 50000 IOPS between two levels, or back: one sentence, with its begin and end; where it falls, one of its own as well."""
    s = synthetic.Script(by=by)
    for t in range(seconds + 120):
        share = ends[0] + min(max(t - 60, 0) / seconds, 1) * (ends[1] - ends[0])
        for kind, ns, iops, owner in ("read", 1e5, 1000, "db"), (op, 2e5, 1000 + 49000 * share, "batch"):
            spread(s, kind, s.random.gauss(1, 0.03) * ns * (1 + 8 * share), 20 * round(iops * s.random.gauss(1, 0.03) / 20), more=f"in=/system.slice/{owner}.service" if by else "")
        s.tick()
    first, *others = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "steady" not in one]
    assert re.match(f"sda read: {told}", first) and len(others) == ends[0], (first, others)


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


def test_few_seconds_of_another_load(tmp_path):
    """12 of 300, some of them too close to each other for rises of their own."""
    s = synthetic.Script()
    at = [20, 40, 44, 56, 62, 89, 130, 158, 165, 212, 215, 255]
    for t in range(300):
        spread(s, "read", 3e6 if t in at else 1e5, 800)
        s.io("flush", 3e7, 20 * (t in at), size=0)
        s.tick()
    assert sentences(s.write(tmp_path / "run.blklat"))[0].startswith("sda read: at 20.0 s 20 flushes/s began, until 21.0 s, and 11 times more from 40.0 s on; ")


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
