# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with known answers: latency and IOPS that step, drift, or come back."""
import math
import random
import re

import pytest

import synthetic
from phases import mark
from recordings import sentences
from synthetic import spread


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


def test_what_makes_another_slow_may_be_steady(tmp_path):
    path = half(tmp_path / "run.blklat", (("read", 100e3, 400, {}), ("read", 2e6, 400, {})), (("write", 6e6, 0, {}), ("write", 6e6, 500, {"size": 2 ** 20})))
    assert sentences(path)[1:] == ["2 are steady from 30.0 s to 60.0 s: sda read (400 IOPS) and sda write (500 IOPS)"]


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


def test_a_drift_with_short_rises(tmp_path):
    """Of a second each: both are told."""
    s = synthetic.Script()
    for t in range(900):
        spread(s, "write", 4e5 * (1 + 3 * min(max(t - 300, 0) / 200, 1)) * (12 if t % 130 == 60 else 1), 4000)
        s.tick()
    told = [one for one in sentences(s.write(tmp_path / "run.blklat")) if "latency" in one]
    assert len(told) == 2 and re.match(r"sda write: mean latency rose 12\.\d times at 60\.0 s for 1\.0 s, and 6 times more, every 130\.0 s, ", told[0]) and \
        re.match(r"sda write: mean latency rose 4\.00 times little by little from 3\d\d\.0 s on until 4\d\d\.0 s, ", told[1]), told


def test_a_short_rise_as_a_ramp_ends(tmp_path):
    s = synthetic.Script()
    for t in range(120):
        spread(s, "read", 2e6 if 61 <= t < 64 else 2e5, 20 * round(15 * 20 ** min(max(t - 30, 0) / 30, 1)))
        s.tick()
    told = sentences(s.write(tmp_path / "run.blklat"))
    assert re.match(r"sda read: mean latency rose 10\.0 times at 61\.0 s for 3\.0 s, ", told[0]) and re.match(r"sda read: IOPS rose from 300 to 4\.96k little by little from 3\d\.0 s on until 6[01]\.0 s", told[1]), told


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
    first = next(one for one in sentences(s.write(tmp_path / "run.blklat")) if one.startswith("sda read: "))
    assert re.sub(" rose [0-9.]+ times", "", first) == f"sda read: mean latency little by little from {told}" if told else "little by little" not in first, first


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


def test_a_load_that_begins_within_an_interval_has_no_lower_rate_there(tmp_path):
    s = synthetic.Script()
    for t in range(60):
        s.io("read", 1e5, 1000)
        spread(s, "write", 8e5 if t == 10 else 1e5, 200 if t == 10 else 1000 * (t > 10))
        s.tick()
    [told] = [one for one in sentences(s.write(tmp_path / "run.blklat")) if one.startswith("sda write: ")]
    assert re.fullmatch(r"sda write: mean latency fell 8\.00 times at 11\.0 s, from 80\d us to 100 us, after 0\.4\d* % of the IOs, at 1\.00k IOPS; p50 from 80\d us to 100 us", told), told


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
