# SPDX-License-Identifier: GPL-2.0-only
"""
What reviewers read off their charts: recordings of drives like theirs, with figures that are worked out here, and the
sentences that the report prints of them.
"""
import re

import pytest
from sql import change

import synthetic
from recordings import blklat


class Bench:
    """Makes recordings, and says what the report prints of some of them, each sentence in a line."""

    def __init__(self, folder):
        self.folder, self.files = folder, {}

    def record(self, label, intervals, second, devices=("sda",), lower=(), length=1, **kw):
        s = synthetic.Script(devices, **kw)
        for t in range(intervals):
            second(s, t)
            s.tick(length)
        self.files[label] = change(
            s.write(self.folder / f"{label}.blklat"),
            f"INSERT OR REPLACE INTO meta VALUES ('label', '{label}'), ('interval_s', {length})",
            *("INSERT INTO lower SELECT a.id, b.id FROM device a, device b WHERE a.name = 'md0' "
              f"AND b.name = '{name}'" for name in lower))

    def told(self, *labels):
        text = blklat("report", "--format", "text", *(self.files[label] for label in labels))
        return "\n".join(found.replace("\n   ", " ") for found in re.findall(r"^(?:!!|\*|ok) +(.*(?:\n   .*)*)", text, re.M))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("charts"))


def groups(*of):
    """A second of IOs of these latencies, in us, and counts."""
    def second(s, _t):
        for us, count in of:
            s.io("read", us * 1e3, count)
    return second


def test_latency_distribution(bench):
    for rpm, ms in ((5400, 14), (7200, 12), (10000, 8)):
        bench.record(f"{rpm} rpm", 20, groups((ms * 1e3, round(1e3 / ms))))
    assert "from slowest to fastest at p50: 5400 rpm 14.0 ms (71 IOPS), 7200 rpm 12.0 ms (83 IOPS), " \
        "10000 rpm 8.00 ms (125 IOPS)" in bench.told("5400 rpm", "7200 rpm", "10000 rpm")
    # Every IO through the controller takes 150 us longer: four times as long for what its cache has.
    bench.record("direct", 20, groups((50, 900), (400, 100)))
    bench.record("controller", 20, groups((200, 900), (550, 100)))
    assert re.search(r"controller against direct: (3\.9\d|4\.0\d|4) times slower at p10, (3\.9\d|4\.0\d|4) at p50",
                     bench.told("direct", "controller"))
    # Half as many dies: from the 55th percentile on, IOs wait for one.
    bench.record("512 GB", 20, groups(*((100 + 2 * i, 1000) for i in range(20))))
    bench.record("256 GB", 20, groups(*(((100 + 2 * i) * (1 if i < 11 else 2), 1000) for i in range(20))))
    assert re.search(r"256 GB and 512 GB are equal within 1 % up to p5[56], then 256 GB tapers: (2|2\.0\d|1\.9\d) times "
                     "slower at p90", bench.told("256 GB", "512 GB"))


def array(bench, label, members, iops, depth):
    """At a constant queue depth; the layer takes 6 us of each IO."""
    names = [f"nvme{i}n1" for i in range(members)]
    us = 1e6 * depth / iops

    def second(s, _t):
        for name, of, count in (("md0", us, iops), *((name, us - 6, iops // members) for name in names)):
            s.on(name)
            s.io("read", of * 1e3, count)
    bench.record(label, 20, second, ("md0", *names), names)


def test_arrays(bench):
    for members, iops in ((1, 81000), (2, 174000), (3, 300000)):
        array(bench, f"{members} of them", members, iops, 16)
    told = bench.told("1 of them", "2 of them", "3 of them")
    assert "md0 read: from slowest to fastest at p50: 1 of them 198 us (81.0k IOPS); 2.15 times faster, 2 of them 92.0 us " \
        "(174k IOPS), 3 of them 53.3 us (300k IOPS)" in told
    assert "nvme0n1 read: from slowest" not in told     # members follow
    # 100k IOPS of 47.3 us each are 4.73 in flight on each member.
    assert "md0 read: adds 6.00 us to every IO (p10 6.00 us, p90 6.00 us); QD 16.0 on it is QD 4.73 on each of 3 members" \
        in told
    # The same application: 168k IOPS at QD 9 take 53.6 us, of which 47.6 on a member: 56k * 47.6 us.
    array(bench, "application", 3, 168000, 9)
    told = bench.told("1 of them", "application")
    assert "1 of them has p50 198 us, 81.0k IOPS and QD 16.0, application 53.6 us, 168k and 9.00" in told
    assert "QD 9.00 on it is QD 2.66 on each of 3 members" in told
    # Where nothing waits, QD 16 on one drive is QD 5.33 on each of three.
    bench.record("drive", 20, groups((100, 160000)))
    bench.record("member", 20, groups((100, 53333)))
    assert "drive and member are equal within 1 % from p5 to p99.9: the same latency, member at a lower depth; drive has " \
        "p50 100 us, 160k IOPS and QD 16, member 100 us, 53.3k and 5.33" in bench.told("drive", "member")
    bench.record("one drive", 20, groups((100, 800), (600, 200)))
    bench.record("array", 20, groups((80, 800), (100, 200)))
    assert re.search(r"one drive against array: (1\.2\d?) times slower at p10, \1 at p50, (6|5\.9\d|6\.0\d) at p90",
                     bench.told("one drive", "array"))


def test_drives_with_a_cache(bench):
    """At QD 4 for 100 s; beyond the cache IOs take 5, 9 and 13 times as long."""
    for label, share, fast_us, fast in (("one", 22, 27, 12), ("other", 73, 47, 93)):
        iops = round(4e6 / fast_us / 4)
        slow = round(fast * iops * (100 - share) / share / (400 - fast) / 3)

        def quarter(s, t):
            for times in (1,) if t < fast else (5, 9, 13):
                s.io("write", times * fast_us * 1e3, iops if t < fast else slow)
        bench.record(label, 400, quarter, length=0.25)
        assert re.search(rf"IOPS fell from .* at {fast / 4:.1f} s, after {share}\.\d % of the IOs; mean latency rose 9(\.00)? times, "
                         rf"from {fast_us}\.0 us to {9 * fast_us} us; .*, as when a cache is exhausted",
                         bench.told(label))
    # 5 to 13 times, to a bin.
    assert "one has 22.0 % of its IOs around 27.0 us, the others take 4.98 to 13.0 times as long; other has 73.0 % of its IOs " \
        "around 47.0 us, the others take 4.98 to 13.0 times as long" in bench.told("one", "other")


def test_a_duty_cycle(bench):
    """400 s: in each of the 100 pauses all is asleep, so that the IO behind it takes 100 us."""
    def second(s, t):
        s.io("write", 27e3, (14700 - (t % 4 == 0)) * (t % 4 < 2))
        s.io("write", 100e3, int(t % 4 == 0), more="after-idle")
    bench.record("duty", 400, second, idle_gap="100ms")
    told = bench.told("duty")
    assert "a duty cycle of 50.0 %: 2.0 s of load and 2.0 s of pause, 100 times; 14.7k IOPS while busy, 7.35k over 99 whole periods" in told
    assert re.search(r"100 IOs \(0\.0034 %\) were the first after a pause of at least 100 ms: half of them took "
                     r"(99\.\d|100) us or more, of the others 2[67]\.\d us", told)


def sustained(bench, label, iops, seconds=2000):
    """4 KiB random writes at QD 32: 80k IOPS until the spare area is used up after 500 s, then what @iops gives."""
    def second(s, t):
        count = round(80000 if t < 500 else iops(t, s.random))
        s.io("write", 32e9 / count, count)
        s.in_flight(32, 32e9 / count)
    bench.record(label, seconds, second)


def test_consistency(bench):
    sustained(bench, "cleans up", lambda t, _: 5000 if t % 10 >= 5 else 20000)
    told = bench.told("cleans up")
    assert re.search(r"IOPS fell from 80\.0k to 12\.5k at 500\.\d s, after 68\.1 % of the IOs; .* as when a cache is exhausted", told)
    # Half at 20k, half at 5k.
    assert "12.5k ± 7.50k IOPS, the worst 1 % of the intervals at 40.0 % of that (alternates every 10.0 s), from 1400.0 s " \
        "to 2000.0 s" in told
    # A triangle of 20k ± 5k: its deviation is 5k over the root of 3.
    sustained(bench, "slow wave", lambda t, _: 20000 + (5000 if t // 30 % 2 else -5000) * (1 - abs(t % 30 - 15) / 15))
    assert re.search(r"20\.0k ± 2\.8\dk IOPS, the worst 1 % of the intervals at 7[56]\.\d % of that \(wanders\), "
                     r"from 1400\.0 s to 2000\.0 s", bench.told("slow wave"))
    # Without order from 2100 to 11900; with spare area never below 20k.
    sustained(bench, "7 %", lambda _, random: random.uniform(2100, 11900))
    sustained(bench, "25 %", lambda _, random: random.uniform(20000, 28000))
    assert re.search(r"25 % 2[34]\.\dk ± 2\.\d\dk IOPS, the worst 1 % of the intervals at 8[34]\.\d % of that; "
                     r"7 % [67]\.\d\dk ± 2\.\d\dk IOPS, the worst 1 % of the intervals at 3\d\.\d % of that \(scatters\)",
                     bench.told("7 %", "25 %"))


def test_a_drive_that_waits(bench):
    """Two lines, at 7k and 0, once the spare area is used up after 200 s: it stops each third second."""
    def second(s, t):
        late = 32 * (t % 3 == 2 and t > 200)
        s.io("write", 32e9 / (80000 if t < 200 else 7000), 80000 if t < 200 else 7000 * (t % 3 != 1) - late)
        s.io("write", 1.004e9, late)
        s.in_flight(32, 1.002e9 if t % 3 == 1 and t > 200 else 2e6)
    bench.record("waits", 800, second)
    told = bench.told("waits")
    # 199 of the 200 stalls end in the run, after 1.004 s; the last goes on for its last second. In the second half are 132
    # whole ones, the first one's last second and the last: (132 * 1.004 + 2) / 400 = 33.6 %.
    assert "stalled 200 times, 200.8 s in all (25.1 % of the run), 1.00 s on average" in told
    assert "regularly: every 3.00 s (± 0.0 s), the last one until the run ended, with IOs in flight; the median is " \
        "7.00k IOPS" in told
    assert "steady on average only: the device stalled for 33.6 % of that time" in told
    # The load did not rest, and stalls are not said again as a lack of consistency.
    assert "IOPS fell from 80.0k to 7.00k at " in told and "a rest of" not in told and "the worst 1 %" not in told
