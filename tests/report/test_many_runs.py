# SPDX-License-Identifier: GPL-2.0-only
"""Many small runs with noise, healthy and sick: what is wrong must be said, once, and nothing else. The seed is each run's name."""
import math
import re
import statistics

import pytest

import synthetic
from phases import mark
from recordings import sentences

DB, BACKUP, MiB = "/system.slice/db.service", "/system.slice/backup.service", 2 ** 20
POD = "/kubepods.slice/cri-containerd-" + 4 * "0123456789abcdef" + ".scope"
NORMAL = statistics.NormalDist()


def write(path, name, seconds, loads, devices=("sda",), by=None, noise=0.05, marks=()):
    """
    @loads(second): for each, (op, median_ns, IOs, {width, size, owner, device, errors, closed}); rates and medians vary by @noise, IOs by chance;
    closed: there are more IOs the less time they take, as of a load that keeps a number of them in flight.
    """
    s = synthetic.Script(devices, seed=name, by=by)
    for second in range(seconds):
        for op, ns, ios, more in loads(second):
            s.on(more.get("device", "sda"))
            times = math.exp(s.random.gauss(0, noise))
            ns *= times
            ios = round(ios / times) if more.get("closed") else s.noisy(s.random.gauss(ios, ios ** 0.5), noise)
            parts = min(ios, 40)
            for i in range(parts):
                z = NORMAL.inv_cdf((i + s.random.uniform(0.01, 0.99)) / parts)
                s.io(op, ns * math.exp(more.get("width", 0.3) * z), ios // parts + (i < ios % parts), more.get("size", 4096),
                     f"in={more['owner']}" if by else f"errors={more['errors']}" if "errors" in more and not i else "")
        s.tick()
    return mark(s.write(path / "run.blklat"), *marks)


def step(t, before, after, at=20, until=1000):
    return after if at <= t < until else before


def nvme(n):
    return {"devices": [f"nvme{i}n1" for i in range(n)]}


def each(n, of):
    """The same on @n drives, but for what @of makes of their numbers."""
    return lambda t: [(op, ns, ios, {**more, "device": f"nvme{i}n1"}) for i in range(n) for op, ns, ios, more in of(t, i)]


def backup(op, ns, ios, owner=BACKUP, size=MiB):
    """A load of large IOs from 20 s on, and reads of a database that it slows down from 85 us to 1 ms."""
    return lambda t: [("read", step(t, 85e3, 1e6), 900, {"owner": DB}), (op, ns, step(t, 0, ios), {"owner": owner, "size": size})]


def bursts(every, last, op, ns, ios):
    """The same for the last seconds of each period."""
    def loads(t):
        there = t % every >= every - last
        return [("read", 1e6 if there else 85e3, 900, {}), (op, ns, ios * there, {"size": MiB})]
    return loads


def sweep(*levels):
    """15 s of each: so many times 5000 reads/s, which take so many times 90 us; a load that keeps a number of IOs in flight."""
    return lambda t: [("read", 9e4 * levels[t // 15][1], round(5000 * levels[t // 15][0]), {"width": 0.1, "closed": True})]


HEALTHY = {
    "reads": (120, lambda t: [("read", 9e4, 20000, {})], {}),
    "noisy reads and writes": (90, lambda t: [("read", 9e4, 5000, {}), ("write", 3e4, 2000, {})], {"noise": 0.15}),
    "very noisy": (120, each(4, lambda t, i: [("read", 9e4, 300, {"width": 0.9}), ("write", 5e4, 80, {"width": 1}), ("flush", 2e6, 2, {"size": 0})]),
                   {"noise": 0.2, **nvme(4)}),
    "20 a second": (60, lambda t: [("read", 15e4, 20, {"width": 0.6})], {}),
    "a hard disk": (60, lambda t: [("read", 8e6, 130, {"width": 0.6}), ("write", 4e6, 50, {"width": 0.8})], {}),
    "long tails and some flushes": (100, lambda t: [("read", 1e5, 200, {"width": 1}), ("flush", 3e6, 2, {"size": 0})], {}),
    "a slow wave": (120, lambda t: [("read", 9e4 * (1 + 0.15 * math.sin(t / 19)), 8000, {})], {}),
    "six drives": (60, each(6, lambda t, i: [("read", 9e4, 3000, {}), ("write", 3e4, 300, {})]), nvme(6)),
    "writes only": (60, lambda t: [("write", 3e4, 5000, {})], {}),
    "32 drives": (40, each(32, lambda t, i: [("read", 9e4, 1000, {})]), nvme(32)),
    "owners": (80, lambda t: [("read", 9e4, 900, {"owner": DB}), ("write", 6e6, 300, {"owner": BACKUP, "size": MiB})],
               {"by": "cgroup", "noise": 0.1}),
    "a load that grows": (60, lambda t: [("read", 9e4, step(t, 2000, 20000), {})], {}),
    "more and more load": (90, sweep((1, 1), (2, 1), (4, 1.3), (4.1, 2.5), (4.1, 5), (4.1, 10)), {}),
    "from saturated to more": (60, sweep((1, 1), (2, 1), (4, 1), (4.1, 2)), {}),
    "saturated at once": (45, sweep((2, 1), (14, 1.1), (14.1, 4.4)), {}),
    "discards for a while": (60, lambda t: [("read", 9e4, 2000, {}), ("discard", 2e5, 5000 * (30 <= t < 36), {"size": MiB})], {}),
    "larger IOs": (60, lambda t: [("write", step(t, 3e4, 3e5), 2000, {"size": step(t, 4096, 131072)})], {}),
}


@pytest.mark.parametrize("noise, ios", [(0.25, 150), (0.4, 300)])
def test_noisy_drives_are_not_told_apart(tmp_path, noise, ios):
    """Some pass SNIA's limits and others fail, or are too noisy to tell; one that decays is told as such, and one that is unlike them is not alike."""
    loads = each(16, lambda t, i: [("read", 27e4 if i == 7 else 9e4, ios * (1.5 - t / 119 if i == 15 else 1), {})])
    told = sentences(write(tmp_path, "noisy drives", 119, loads, noise=noise, **nvme(16)))
    own = {i: [one for one in told if f"nvme{i}n1" in one] for i in (7, 15)}
    assert len([one for one in told if re.search(r" of 14 alike are steady from .*, from \d+ IOPS \(nvme\d+n1 read\) to \d+ \(nvme\d+n1 read\), and which is chance: nvme0n1 read", one)]) == 1, told
    assert own[15] and own[7][0].startswith("nvme7n1 read: p99 is ") and all(re.match(f"nvme{i}n1 read: ", one) for i in own for one in own[i]), told
    assert not [one for one in told if "alike" not in one and one not in own[7] + own[15]], told


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_wrong(tmp_path, name):
    seconds, loads, more = HEALTHY[name]
    path = write(tmp_path, name, seconds, loads, **more)
    assert sentences(path, grade="!!") == []
    assert not [one for one in sentences(path) if "peaks" in one or "not reached" in one]


def culprit(what, share, victims="reads", more=""):
    return (rf"sda read: at (19|20|14|15|3)\.\d s {what}; (it has|they have) {share}\.\d % of the device's time (since|meanwhile), "
            rf"and {victims} went from .* times slower\){more}")


def slower(words, more=""):
    return rf"{words} at (19|20)\.\d s, .*mean .* from .* to .*{more}" if words.startswith("sda write: IOPS") else \
        words.replace(" rose", r" rose [\d.]+ times") + rf" at (19|20)\.\d s, from .*{more}"


SICK = {
    "a cache": (60, lambda t: [("write", step(t, 25e3, 26e4), step(t, 40000, 4000), {})], {},
                slower(r"sda write: IOPS fell from [34]\d\.\dk to [34]\.\d\dk", ", as when a cache is exhausted")),
    "an owner": (60, backup("write", 6e6, 500), {"by": "cgroup"},
                 culprit(r"backup\.service began [45]\d\d writes/s of 1\.00 MiB", "7[5-9]", r"reads of db\.service")),
    "a pod": (60, backup("write", 6e6, 500, POD), {"by": "cgroup"},
              culprit(r"container 0123456789ab began [45]\d\d writes/s of 1\.00 MiB", "7[5-9]", r"reads of db\.service")),
    "an owner's reads": (60, backup("read", 2e6, 4000), {"by": "cgroup"},
                         culprit(r"backup\.service began [34]\.\d\dk reads/s of 1\.00 MiB", "(8|9)\\d", r"reads of db\.service")),
    "nobody's writes": (60, backup("write", 6e6, 500), {}, culprit(r"[45]\d\d writes/s of 1\.00 MiB began", "7[5-9]")),
    "more of them": (60, lambda t: [("read", step(t, 85e3, 34e4), 900, {}), ("write", 4e6, step(t, 200, 500), {"size": MiB})], {},
                     culprit(r"the device went from \d\d\d to [45]\d\d writes/s of 1\.00 MiB", "8[5-8]")),
    "three times": (100, bursts(30, 15, "write", 6e6, 500), {}, culprit(
                    r"[45]\d\d writes/s of 1\.00 MiB began, until (29|30)\.\d s, and 2 times more from 4[45]\.\d s on", "7[5-9]")),
    "six times": (120, bursts(20, 6, "discard", 2e7, 40), {}, culprit(
                  r"[34]\d(\.\d)? discards/s of 1\.00 MiB began, until (19|20)\.\d s, and 5 times more from 3[34]\.\d s on", "[45]\\d")),
    "many times": (600, bursts(20, 6, "discard", 2e7, 40), {}, culprit(
                   r"[34]\d(\.\d)? discards/s of 1\.00 MiB began, until (19|20)\.\d s, and 29 times more from 3[34]\.\d s on", "[45]\\d")),
    "write-back": (91, lambda t: [("read", step(t % 5, 85e3, 1e6, 3, 4), 2000, {}), ("write", 4e6, step(t % 5, 0, 800, 3, 4), {"size": MiB})], {}, culprit(
                   r"[78]\d\d writes/s of 1\.00 MiB began, until 4\.0 s, and 17 times more from 8\.0 s on", "[56]\\d")),
    "all ops": (60, lambda t: [("read", step(t, 85e3, 85e4), 900, {}), ("write", step(t, 3e4, 18e4), 300, {}),
                               ("discard", 9e6, step(t, 0, 100), {})],
                {}, culprit(r"(9\d|1\d\d)(\.\d)? discards/s of 4\.00 KiB began", "5\\d",
                            more=r"; also slower: sda write \(mean [56]\.\d\d times\)")),
    "reads, then writes": (60, lambda t: [("read", step(t, 85e3, 1e6), 900, {}), ("write", 6e6, step(t, 0, 500, 26), {"size": MiB})], {},
                           slower("sda read: mean latency rose")),
    "it recovers": (90, lambda t: [("read", step(t, 9e4, 9e5, 20, 60), 1000, {})], {}, slower("sda read: mean latency rose")),
    "five drives at once": (60, each(5, lambda t, i: [("read", step(t, 9e4, 4e5), 3000, {})]), nvme(5),
                            slower(r"nvme\dn1 read: mean latency rose",
                                   r"; also slower: (nvme\dn1 read \(mean 4\.\d\d times\)(, | and |)){4}")),
    "three seconds of it": (60, lambda t: [("read", step(t, 85e3, 1e6, 20, 23), 900, {}),
                                           ("write", 6e6, step(t, 0, 500, 20, 23), {"size": MiB})], {},
                            culprit(r"[45]\d\d writes/s of 1\.00 MiB began, until (22\.9|23\.[01]) s", "7[5-9]")),
    "three seconds": (60, lambda t: [("read", step(t, 9e4, 9e5, 20, 23), 1000, {})], {},
                      slower("sda read: mean latency rose").replace(" s,", " s for 3.0 s,")),
    "three seconds of a tail": (60, lambda t: [("read", 9e4, 5000, {}), ("read", step(t, 3e5, 3e7, 20, 23), 200, {})], {},
                                r"sda read: p99 rose (9\d(\.\d)?|1\d\d) times at 20\.0 s for 3\.0 s, from 3\d\d us to 3\d\.\d ms; "
                                r"p50 did not .*"),
    "a cache of three seconds": (60, lambda t: [("write", step(t, 2e4, 3e5, 3), step(t, 30000, 3000, 3), {})], {},
                                 r"sda write: IOPS fell from [23]\d\.\dk to [23]\.\d\dk at (2\.9|3\.0) s, after 3[345]\.\d % of the IOs; mean latency rose 1[45](\.\d)? "
                                 "times, .*, as when a cache is exhausted"),
    "a phase": (80, lambda t: [("read", step(t, 9e4, 3e5, 40), 2000, {})], {"marks": [(0, "before"), (40, "after")]},
                r"sda read: mean latency rose 3\.[23]\d times at (39|40)\.\d s, .*; phase 'after' begins there"),
    "a cache after two steps of load": (90, lambda t: [("read", step(t, 9e4, 36e4, 70), (1000, 2000, 4000)[min(t // 20, 2)], {})], {},
                             r"sda read: mean latency rose (3\.9|4\.\d)\d? times at (69|70)\.\d s, .*, as when a cache is exhausted"),
    "a cache as long after them": (80, lambda t: [("read", step(t, 9e4, 36e4, 60), (1000, 2000, 4000)[min(t // 20, 2)], {})], {},
                             r"sda read: mean latency rose (3\.9|4\.\d)\d? times at (59|60)\.\d s, .*, as when a cache is exhausted"),
    "a device that slows down as long after them": (80, lambda t: [("read", step(t, 9e4, 17e4, 60), (1000, 2000, 4000)[min(t // 20, 2)], {})], {},
                             r"sda read: mean latency rose 1\.[89]\d times at (59|60)\.\d s, .*"),
    "a queue of a fixed rate": (60, lambda t: [("read", step(t, 2e6, 8e6), 4000, {})], {}, slower("sda read: mean latency rose")),
    "little by little": (120, lambda t: [("read", 9e4 * (1 + t / 30), 1000, {})], {},
                         r"sda read: mean latency rose 3\.[1-5]\d? times little by little, from .* us to .* us, at .* IOPS; p50 from .*"),
}


@pytest.mark.parametrize("name", SICK)
def test_what_is_wrong(tmp_path, name):
    seconds, loads, more, expected = SICK[name]
    path = write(tmp_path, name, seconds, loads, **more)
    found = sentences(path, grade="!!")
    assert len(found) == 1 and re.fullmatch(expected, found[0]), found
    # It is not said again as peaks, nor are loads that began told as not steady.
    assert not [one for one in sentences(path) if "peaks" in one or "not reached" in one or ("cache" in one and not name.startswith("a cache"))]


def writes(owner, ns, ios):
    return ("write", ns, ios, {"owner": owner, "size": MiB})


def phased(rates, slow, times):
    """Phases of 15 s with these rates; for the seconds @slow all takes so many times as long."""
    def loads(t):
        by = times if t in slow else 1
        return [("read", 1e5 * by, rates[t // 15] // by, {"width": 0.1})]
    return 15 * len(rates), loads


INDEXER = BACKUP.replace("backup", "indexer")
UNLIKE = (5e4, 8900), (2.5e5, 9100), (2e7, 600), (1e6, 10900), (1.35e5, 7000), (4e4, 4000)     # latency and IOPS of levels
SEVERAL = {
    "one takes over": (80, lambda t: [("read", step(t, 85e3, 1e6), 900, {"owner": DB}), writes(BACKUP, 6e6, 500 * (20 <= t < 40)),
                                      writes(INDEXER, 4e6, 700 * (t >= 40))], {"by": "cgroup"},
                       [r"sda read: at 20\.0 s backup\.service began [45]\d\d writes/s of 1\.00 MiB, until (39|40)\.\d s; it has 7[67]\.\d % "
                        r"of the device's time meanwhile, .* mean [89].* us to 1\.0\d ms .*",
                        r"sda read: at (39|40)\.\d s indexer\.service began [67]\d\d writes/s of 1\.00 MiB; it has 7[567]\.\d % of the "
                        r"device's time since, .* mean [89].* us to 1\.0\d ms .*"]),
    "the next is worse": (80, lambda t: [("read", step(t, step(t, 85e3, 1e6), 5e6, 40), 900, {"owner": DB}),
                                         writes(BACKUP, 6e6, 500 * (20 <= t < 40)), writes(INDEXER, 8e6, 700 * (t >= 40))], {"by": "cgroup"},
                          [r"sda read: at 20\.0 s backup\.service began .*, until (39|40)\.\d s; it has 7[67]\.\d % of .* meanwhile, .*",
                           r"sda read: at (39|40)\.\d s indexer\.service began .*; it has 5[567]\.\d % .* since, .* \([45]\.\d\d times slower\)"]),
    "two at once": (60, lambda t: [("read", step(t, 85e3, 1e6), 900, {"owner": DB}), writes(BACKUP, 6e6, step(t, 0, 300)),
                                   writes(INDEXER, 6e6, step(t, 0, 250))], {"by": "cgroup"},
                    [r"sda read: at 20\.\d s backup\.service began [23]\d\d writes/s of 1\.00 MiB and indexer\.service began 2\d\d "
                     r"writes/s of 1\.00 MiB; they have 7[789]\.\d % of .*"]),
    "an owner's writes and reads": (60, lambda t: [("read", step(t, 85e3, 1e6), 900, {"owner": DB}), writes(BACKUP, 6e6, step(t, 0, 300)),
                                                   ("read", 3e6, step(t, 0, 400), {"owner": BACKUP, "size": MiB})], {"by": "cgroup"},
                                    [r"sda read: at 20\.\d s backup\.service began [23]\d\d writes/s of 1\.00 MiB and [34]\d\d reads/s of 1\.00 MiB; it has "
                                     r"7\d\.\d % of .*"]),
    "one, the other, and again": (100, lambda t: [("read", step(t, 85e3, 1e6), 900, {"owner": DB}), writes(BACKUP, 6e6, 500 * (20 <= t < 45 or t >= 70)),
                                                  writes(INDEXER, 4e6, 700 * (45 <= t < 70))], {"by": "cgroup"},
                                  [rf"sda read: at {at} s {owner}\.service began .*{until}; it has 7\d\.\d % of .*, and reads of db\.service went from p99 1\d\d us to .*"
                                   for at, owner, until in ((r"(19|20)\.\d", "backup", r", until (44|45)\.\d s"), (r"(44|45)\.\d", "indexer", r", until (69|70)\.\d s"),
                                                            (r"(69|70)\.\d", "backup", "MiB"))]),
    "from the start, and again": (90, lambda t: [("read", 1e6 if t < 10 or 40 <= t < 50 else 85e3, 900, {"owner": DB}),
                                                 writes(BACKUP, 6e6, 500 * (t < 10 or 40 <= t < 50))], {"by": "cgroup"},
                                  [r"sda read: at 40\.0 s backup\.service began [45]\d\d writes/s of 1\.00 MiB, until 50\.0 s, and from the start until 10\.0 s; it has .*"]),
    "the root cgroup": (60, backup("write", 6e6, 500, "/"), {"by": "cgroup"},
                        [r"sda read: at (19|20)\.\d s the root cgroup began [45]\d\d writes/s of 1\.00 MiB; it has .*"]),
    "one size": (60, lambda t: [("read", 9e4, 1000, {"owner": '"4 KiB"'}), ("read", step(t, 2e5, 2e6), 2800, {"owner": '"64 KiB"', "size": 65536})],
                 {"by": "size"}, [slower("sda read: mean latency rose", r"; by size, only 64 KiB takes longer \(mean 21\d us to 2\.\d\d ms\)")]),
    "the last two seconds": (60, lambda t: [("read", step(t, 9e4, 9e5, 58), 3000, {})], {}, [r"sda read: mean latency rose [\d.]+ times at 58\.0 s, .* us"]),
    "a drive's neighbour": (60, lambda t: [("read", step(t, 9e4, 5e5), 900, {"device": "nvme0n1"}), ("read", 9e4, 900, {"device": "nvme1n1"}),
                                           ("write", 3e5, step(t, 0, 4000), {"device": "nvme1n1", "size": MiB})], nvme(2),
                            [r"nvme0n1 read: mean latency rose [\d.]+ times at 20\.0 s, .*; at the same time [34]\.\d\dk writes/s of 1\.00 MiB began on nvme1n1"]),
    "a drive's neighbour with more": (60, lambda t: [("read", step(t, 9e4, 5e5), 900, {"device": "nvme0n1"}), ("read", 9e4, 900, {"device": "nvme1n1"}),
                                                     ("write", 3e5, step(t, 500, 4000), {"device": "nvme1n1", "size": MiB})], nvme(2),
                                      [r"nvme0n1 read: mean latency rose [\d.]+ times at 20\.0 s, .*; at the same time nvme1n1 went from [45]\d\d to [34]\.\d\dk writes/s of 1\.00 MiB"]),
    "CPUs are taken": (60, lambda t: [("read", 9e4 * (1.5 if t >= 20 else 1), 1800, {}), ("read", step(t, 1.1e5, 4e6), 200, {})], {},
                       [r"sda read: mean latency rose [\d.]+ times at 20\.0 s, .*; p90 from \d+ us to [\d.]+ ms"]),
    "one of six": (90, each(6, lambda t, i: [("read", step(t, 9e4, 9e4 * (1.7 if i == 3 else 1), 30), 3000, {})]), nvme(6),
                   [r"nvme3n1 read: mean latency rose 1\.[67]\d times at (29|30)\.\d s, .*; 5 like it are as fast as before"]),
    "a tail now and then": (120, lambda t: [("read", 9e4, 5000, {}), ("read", 2e7 if t % 10 == 3 else 2e5, 200, {})], {},
                            [r"sda read: p99 rose (9\d|1\d\d)(\.\d)? times at 3\.0 s for 1\.0 s, and 11 times more, every 10\.0 s, from 2\d\d us to "
                             r"2\d\.\d ms; p50 did not .*"]),
    "two caches": (90, lambda t: [("read", step(t, 9e4, 4e5), 2000, {}), ("write", step(t, 4e4, 3e5, 60), 1000, {})], {},
                   [slower("sda read: mean latency rose", ", as when a cache is exhausted"),
                    r"sda write: mean latency rose 7\.\d\d times at (59|60)\.\d s, .* us"]),
    "its own reads": (90, lambda t: [("read", step(t, 9e4, 5e5, 55), 1000, {"owner": DB}), ("read", 3e6, step(t, 0, 700, 55), {"owner": BACKUP, "size": 2 ** 18})],
                      {"by": "cgroup"}, [r"sda read: at (54|55)\.\d s backup\.service began [67]\d\d reads/s of 256 KiB; it has (79|8[012])\.\d % of .*"]),
    "no cgroup": (80, lambda t: [("read", step(t, 9e4, 9e5, 30), 1000, {"owner": DB}), ("discard", 2e7, step(t, 0, 60, 30), {"owner": "none", "size": 2 ** 24})],
                  {"by": "cgroup"}, [r"sda read: at (29|30)\.\d s [56]\d(\.\d)? discards/s of 16\.0 MiB began; they have 5\d\.\d % of the device's time since, .*"]),
    "two drives, two culprits": (80, lambda t: [("read", step(t, 9e4, 9e5, 30), 1000, {"owner": DB, "device": f"nvme{i}n1"}) for i in range(2)] +
                                 [("write", 6e6, step(t, 0, 400, 30), {"owner": owner, "size": MiB, "device": device})
                                  for owner, device in ((BACKUP, "nvme0n1"), (INDEXER, "nvme1n1"))], {"by": "cgroup", **nvme(2)},
                                 [rf"nvme{i}n1 read: at (29|30)\.\d s {owner}\.service began [34]\d\d writes/s of .*; it has 7\d\.\d % of the device's time since, .*"
                                  for i, owner in enumerate(("backup", "indexer"))]),
    "a ramp": (100, lambda t: [("read", 9e4 * (1 + max(0, min(t - 30, 20)) / 2), 1000, {"owner": DB}), writes(BACKUP, 6e6, 20 * max(0, min(t - 30, 20)))],
               {"by": "cgroup"}, [r"sda read: from 3[01]\.0 s to (49|5[01])\.0 s backup\.service began 40\d writes/s of 1\.00 MiB, little by little; it has (6[89]|7[0-3])\.\d % of .*"]),
    "errors": (80, lambda t: [("read", step(t, 9e4, 9e5, 40), 2000, {}), ("read", 3e7, step(t, 0, 10, 40), {"errors": 2})], {},
               [r"sda read: \d+ of 1[56]\d \d\d\d IOs failed, the first at 40\.0 s", r"sda read: mean latency rose [\d.]+ times at (39|40)\.\d s, .* us"]),
    "one more": (100, lambda t: [("read", 9e4 * step(t, 1, 3) * step(t, 1, 4, 60), 1000, {"owner": DB}), writes(BACKUP, 6e6, step(t, 0, 200)),
                                 writes(INDEXER, 6e6, step(t, 0, 600, 60))], {"by": "cgroup"},
                 [r"sda read: at 60\.\d s indexer\.service began .*; it has [56]\d\.\d % of the device's time since, .* \((3\.9|4\.\d)\d? times slower\)",
                  r"sda read: at 20\.\d s backup\.service began .*; it has (79|8\d)\.\d % of the device's time until 60\.0 s, .* \((2\.9|3\.\d)\d? times slower\)"]),
    "within a phase": (80, lambda t: [("read", step(t, 6e4 * 1.19 ** (t // 20), 3e5, 70), 2000, {"width": 0.1})],
                       {"marks": [(20 * i, f"phase {i}") for i in range(4)], "noise": 0.03},
                       [r"sda read: mean latency rose (2\.9\d|3(\.0\d)?) times at (69|70)\.\d s, from (9\d\.\d|10\d) us to .*"]),
    "for the last part of an interval": (60, lambda t: [("read", *((9e4, 2000) if not 20 <= t < 40 else (1.3e6, 1750) if t == 20 else (8e6, 550)), {"owner": DB}),
                                                        ("read", 8e6, (1500 if t == 20 else 3500) * (20 <= t < 40), {"owner": BACKUP, "size": 2 ** 19})], {"by": "cgroup"},
                                         [r"sda read: at 20\.[56] s backup\.service began 3\.[45]\dk reads/s of 512 KiB, until (39|40)\.\d s; it has 8[67]\.\d % .*"]),
    "nobody but the next": (120, lambda t: [("write", 2e6, 4800 * (10 <= t < 20), {"owner": BACKUP}), ("write", *((2e6, 4800) if t < 42 else (4e6, 2400)), {"owner": INDEXER})
                                            ][(t >= 40):1 + (t >= 40)], {"by": "cgroup"},
                            [r"sda write: IOPS fell from 4\.\d\dk to 2\.\d\dk at (41|42)\.\d s, .*; mean latency rose [12]\.\d\d times, .* ms, as when a cache is exhausted"]),
    "one of many levels": (150, lambda t: [("read", *UNLIKE[sum(t >= at for at in (10, 15, 21, 27, 34))], {}),
                                          ("write", 2e7, 700 * (15 <= t < 21) + 2600 * (21 <= t < 27), {"size": 2 ** 19})], {},
                           [r"sda read: the level changed 5 times from (9|10)\.\d s to 3[34]\.\d s; .*; the mean rose most at (14|15)\.\d s, from 2\d\d us to "
                            r"(19|20)\.\d ms; at the same time [67]\d\d writes/s of 512 KiB began"]),
    "a marked sweep": (*phased((4000, 8000, 12000, 24000), range(20, 25), 5), {"marks": [(15 * i, f"phase {i}") for i in range(4)]},
                       [r"sda read: IOPS fell from [78]\.\d\dk to 1\.[56]\dk at 20\.0 s, .* mean latency rose [45]\.\d\d times, .*"]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_who_and_when(tmp_path, name):
    seconds, loads, more, expected = SEVERAL[name]
    path = write(tmp_path, name, seconds, loads, **more)
    found = sentences(path, grade="!!")
    assert len(found) == len(expected), found
    for pattern in expected:
        assert len([told for told in found if re.fullmatch(pattern, told)]) == 1, found
    assert not [one for one in sentences(path) if "peaks" in one or "not reached" in one]
    if "one takes over" in name:    # at one instant
        assert re.search(r"until (\S+) s", found[0] + found[1])[1] == re.search(r"at (\S+) s indexer", found[0] + found[1])[1]


def test_rates_of_one_sentence(tmp_path):
    """The op's rate and its only owner's are both means, also where the rate scatters to one side."""
    path = write(tmp_path, "scatters", 60, lambda t: [("read", 9e4, 1900 if t < 20 else 40000 if t % 5 == 0 else 30000, {"owner": DB})], by="cgroup")
    rose, = [one for one in sentences(path) if "IOPS rose" in one]
    assert re.match(r"sda read: IOPS rose from 1\.[89]\dk to (\S+) at .*: db\.service went from 1\.[89]\dk to \1 reads/s", rose), rose


def test_a_short_rise_before_a_rest(tmp_path):
    """It lasts for its own second, not for the rest behind it as well."""
    path = write(tmp_path, "rest", 90, lambda t: [("write", 4e7, 400, {})] if t == 42 else [("write", 3e6, 6000, {})] if t % 15 in (10, 11) else [("read", 9e4, 500, {})])
    assert [re.search(r"at 4[12]\.\d s for (\S+ s), after", one)[1] for one in sentences(path, grade="!!")] == ["1.0 s"]


@pytest.mark.parametrize("first", [1, 3, 4])
def test_the_first_seconds(tmp_path, first):
    """They are told with their time, and not again as peaks."""
    path = write(tmp_path, f"the first {first}", 60, lambda t: [("read", step(t, 9e5, 9e4, first), 3000, {})])
    told, steady = sentences(path)
    assert re.fullmatch(rf"sda read: mean latency fell (9|10)(\.\d+)? times at {first}\.0 s, from ([89]\d\d us|1\.\d\d ms) to 9\d\.\d us, after .* % of the IOs, .*", told)
    assert steady.startswith("sda read: steady state reached")


@pytest.mark.parametrize("times", [1, 2])
def test_two_culprits_in_turn(tmp_path, times):
    """Each is told with its own times, although the reads are slow without it as well: they have another cause then."""
    other = BACKUP.replace("backup", "indexer")
    there = {BACKUP: [10, 50][:times], other: [30, 70][:times]}

    def loads(t):
        on = [owner for owner, of in there.items() if any(at <= t < at + 10 for at in of)]
        return [("read", 1e6 if on else 85e3, 900, {"owner": DB}),
                *(("write", 6e6, 500 * (owner in on), {"owner": owner, "size": MiB}) for owner in there)]

    path = write(tmp_path, f"in turn {times}", 100, loads, by="cgroup")
    for (owner, at), told in zip(sorted(there.items()), sorted(sentences(path, grade="!!"), key=lambda one: "indexer" in one)):
        # A moment is found by the load's rates, which vary by 5 %.
        seconds = [float(one) for one in re.findall(r"(?:at|until|from|to) (\S+?) s\b", told.split(";")[0])]
        assert seconds == pytest.approx([at[0], at[0] + 10, at[-1], at[-1] + 10][:2 * times], abs=0.15)
        assert re.fullmatch(rf"sda read: at \S+ s {owner.split('/')[-1]} began [45]\d\d writes/s of 1.00 MiB, until \S+ s{', and once more from .*' * (times > 1)}; it "
                            r"has 7[5-9]\.\d % of the device's time meanwhile, and reads of db\.service went .* times slower\)", told), told
    assert len(sentences(path, grade="!!")) == 2 and not [one for one in sentences(path) if "peaks" in one]
