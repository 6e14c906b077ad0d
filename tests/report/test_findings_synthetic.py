# SPDX-License-Identifier: GPL-2.0-only
"""Runs with known answers: what the report must say about them, and what it must not."""
import pytest

import synthetic


@pytest.fixture
def findings(tmp_path, report):
    def of(script):
        run = report(script.write(tmp_path / "run.blklat"))["runs"][0]
        by_kind = {}
        for f in run["findings"]:
            assert f["text"] and f["rule"] and 0 <= f["from_s"] <= f["to_s"] <= run["duration_s"] + 1e-3
            by_kind.setdefault(f["kind"], []).append(f)
        return by_kind
    return of


def only(found, *kinds):
    """The report has these findings only, besides whether a steady state was reached."""
    assert set(found) - {"steady_state"} == set(kinds), [f["text"] for fs in found.values() for f in fs]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("noise", [0.005, 0.05, 0.2])
def test_a_steady_run_alarms_nobody(findings, seed, noise):
    found = findings(synthetic.steady(seconds=90 + 40 * seed, iops=500 * 4 ** (seed % 4), noise=noise, seed=seed))
    only(found)
    [steady] = found["steady_state"]
    if noise < 0.1:  # rounds of few and uneven seconds may differ by more than the rule allows
        assert steady["values"]["reached"] == 1


def test_cache_exhausted(findings):
    script = synthetic.cache_exhausted()
    found = findings(script)
    only(found, "level_change", "peaks")
    [change] = found["level_change"]
    assert change["values"]["at_s"] == pytest.approx(60, abs=1)
    assert change["values"]["share"] == pytest.approx(script.share, abs=0.01)
    assert change["values"]["before_p50_ns"] == pytest.approx(22e3, rel=0.02)
    assert change["values"]["after_p50_ns"] == pytest.approx(380e3, rel=0.02)
    assert change["values"]["before_iops"] == pytest.approx(44000, rel=0.02)
    assert change["values"]["after_iops"] == pytest.approx(2600, rel=0.02)


@pytest.mark.parametrize("share", [0.22, 0.73])
def test_cache_exhausted_after_a_share_of_the_run(findings, share):
    """Drives of the article: the cache of one is full after 22 % of the IOs, that of another after 73 %; 100 s."""
    fast, slow = 30000, 6000
    fast_s = round(100 * share * slow / (share * slow + (1 - share) * fast))
    script = synthetic.cache_exhausted(fast_s=fast_s, slow_s=100 - fast_s, fast=(fast, 27e3), slow=(slow, 212e3))
    [change] = findings(script)["level_change"]
    assert change["values"]["share"] == pytest.approx(script.share, abs=0.01)
    assert change["values"]["at_s"] == pytest.approx(fast_s, abs=1)


def test_writes_begin_and_reads_become_slower(findings):
    """The factor is that of the reads, whatever the writes add to the device's queue depth."""
    s = synthetic.Script()
    for second in range(40):
        s.peak("read", 100e3 if second < 20 else 2e6, 400)
        s.peak("write", 6e6, 500 if second >= 20 else 0, size=2 ** 20)
        s.tick()
    [change] = findings(s)["level_change"]
    assert change["values"]["times_slower_by_latency"] == pytest.approx(20, rel=1e-4)
    assert change["text"].startswith("sda read: mean latency rose at 20.0 s, after 50.0 % of the IOs, at 400 IOPS before and 400 after; ")
    assert change["text"].endswith(": 20.0 times slower by mean latency, when writes of 1.00 MiB began (500 IOPS)")


@pytest.mark.parametrize("op,iops", [("write", 500), ("read", 100)])
def test_an_owner_begins_on_one_of_four_drives(findings, op, iops):
    drives = [f"nvme{i}n1" for i in range(4)]
    s = synthetic.Script(drives, by="cgroup")
    for second in range(60):
        for drive in drives:
            sick = drive == "nvme2n1" and second >= 20
            s.on(drive)
            s.io("read", 940e3 if sick else 85e3, 810, more="in=/postgresql")
            s.io("read", 9e6 if sick else 85e3, 90, more="in=/postgresql")
            s.io(op, 6e6, iops * sick, size=2 ** 20, more="in=/nightly-backup")
        s.tick()
    [change] = findings(s)["level_change"]
    assert (change["device"], change["op"]) == ("nvme2n1", "read")
    after = 0.9 * 940e3 + 0.1 * 9e6 if op == "write" else (810 * 940e3 + 90 * 9e6 + 100 * 6e6) / 1000
    assert change["values"]["times_slower_by_latency"] == pytest.approx(after / 85e3, rel=1e-4)
    assert change["text"].endswith(f"times slower by mean latency, when {op}s of 1.00 MiB by cgroup /nightly-backup began ({iops} IOPS)")


def test_a_cache_that_one_owner_exhausts(findings):
    """Its IOs are those that became slower, so it is not another load."""
    s = synthetic.Script(by="cgroup")
    for second in range(40):
        s.io("write", *((25e3, 40000) if second < 20 else (250e3, 4000)), more="in=/db")
        s.tick()
    [change] = findings(s)["level_change"]
    assert change["text"].endswith(": 10.0 times slower by mean latency, as when a cache is exhausted")


def test_rounds_with_stalls_are_steady_in_the_mean_only(findings):
    """The second half no longer stalls, so the run is uneven; the rounds before it were even, but stalled."""
    script = synthetic.within_intervals(1)
    for _ in range(20):
        script.peak("read", 6.4e6, script.noisy(5000))
        script.tick()
    found = findings(script)
    assert "every 3.00 s" in found["stall"][0]["text"] and " 1.05 s on average" in found["stall"][0]["text"]
    [steady] = found["steady_state"]
    assert not steady["values"]["reached"]
    assert steady["text"].endswith("s on were steady, in the mean only: the device stalled in them")


def test_a_pause_of_the_workload_is_no_stall(findings):
    found = findings(synthetic.duty_cycle())
    only(found, "after_pause")
    [pause] = found["after_pause"]
    assert pause["values"]["ios"] == 100
    assert pause["values"]["first_p50_ns"] == pytest.approx(100e3, rel=0.05)
    assert pause["values"]["rest_p50_ns"] == pytest.approx(27e3, rel=0.02)


def test_first_ios_that_are_like_the_others_are_not_told(findings):
    only(findings(synthetic.duty_cycle(first_ns=28e3)))


def test_separate_peaks(findings):
    script = synthetic.two_peaks()
    found = findings(script)
    only(found, "peaks")
    [peaks] = found["peaks"]
    total = sum(script.counts)
    for i, (count, p50_ns) in enumerate(zip(script.counts, (80e3, 1.1e6)), 1):
        assert peaks["values"][f"peak{i}_share"] == pytest.approx(count / total, abs=0.01)
        assert peaks["values"][f"peak{i}_ns"] == pytest.approx(p50_ns, rel=0.05)


def test_one_wide_peak_is_one(findings):
    s = synthetic.Script()
    for _ in range(60):
        s.peak("read", 2e5, s.noisy(9000), width=0.5)
        s.in_flight(2, 1e5)
        s.tick()
    only(findings(s))


def test_a_drive_filled_up(findings):
    found = findings(synthetic.filled_up())
    only(found, "level_change", "peaks")
    [steady] = found["steady_state"]
    assert (steady["from_s"], steady["to_s"]) == (1400, 2000)
    assert steady["values"]["reached"] == 1
    assert steady["values"]["iops"] == pytest.approx(7000, rel=0.02)
    assert found["level_change"][0]["values"]["at_s"] == pytest.approx(500, abs=1)


def test_no_steady_state_while_it_falls(findings):
    s = synthetic.Script()
    for second in range(200):
        s.peak("write", 1e5 * (1 + second / 100), s.noisy(20000 - 80 * second))
        s.in_flight(2, 1e5)
        s.tick()
    [steady] = findings(s)["steady_state"]
    assert steady["values"]["reached"] == 0 and steady["values"]["slope_share"] < -0.1


def test_too_short_to_tell(findings):
    [steady] = findings(synthetic.steady(seconds=5))["steady_state"]
    assert steady["values"]["known"] == 0


def test_losses_are_told(findings):
    s = synthetic.steady(seconds=20)
    s.lines += ["account no_start 3", "account table_full 2"]
    s.peak("read", 9e4, 20000)
    s.tick()
    found = findings(s)
    only(found, "losses")
    assert found["losses"][0]["values"]["lost"] == 5


def test_errors_are_told(findings):
    s = synthetic.steady(seconds=20)
    s.io("read", 9e4, 100, more="errors=4")
    s.tick()
    found = findings(s)
    assert found["errors"][0]["values"]["errors"] == 4


def test_nothing_happened(findings):
    s = synthetic.Script()
    for _ in range(30):
        s.tick()
    assert findings(s) == {}


def beside(*loads):
    """Ten seconds of these reads: (IOs a second, ns, label of the part)."""
    s = synthetic.Script(by="beside")
    for _ in range(10):
        for count, ns, neighbour in loads:
            s.io("read", ns, count, more=f'"in={neighbour}"')
        s.io("write", 50e3, 100, more="in=read")
        s.tick()
    return s


def test_what_makes_reads_slower(findings):
    """Names the kind with the highest p99, and the factor; writes do not differ."""
    found = findings(beside((1000, 80e3, "nothing"), (3000, 90e3, "read"), (200, 400e3, "write"), (50, 8e6, "big write"), (9, 60e6, "flush")))
    [told] = found["beside"]
    assert told["op"] == "read" and "beside a big write" in told["text"]
    values = told["values"]
    assert (values["ios"], values["base_ios"]) == (500, 10000)
    assert values["share"] == pytest.approx(50 / 4259, rel=1e-4)
    assert values["p50_ns"] == pytest.approx(8e6, rel=0.012) and values["base_p99_ns"] == pytest.approx(80e3, rel=0.012)
    assert values["times_p99"] == pytest.approx(100, rel=0.025)


def test_beside_reads_where_nothing_is_rare(findings):
    [told] = findings(beside((9, 80e3, "nothing"), (3000, 90e3, "read"), (20, 200e3, "write")))["beside"]
    assert told["values"]["base_ios"] == 30000 and "beside reads only" in told["text"]


@pytest.mark.parametrize("loads", [[(1000, 80e3, "nothing"), (500, 150e3, "flush")], [(1000, 80e3, "nothing"), (9, 8e6, "flush")],
                                   [(9, 80e3, "read"), (500, 8e6, "flush")], [(1000, 80e3, "read")]],
                         ids=["less than twice", "too few", "nothing to compare with", "alone"])
def test_neighbours_that_are_not_told(findings, loads):
    assert "beside" not in findings(beside(*loads))


def test_no_multiple_of_nothing(findings):
    assert "beside" not in findings(beside((1000, 0, "nothing"), (500, 8e6, "flush")))


@pytest.mark.parametrize("kind,words", [("other", "beside another op:"), ("read", "beside a read:"), ("flush", "beside a flush:")])
def test_words_for_neighbours(findings, kind, words):
    assert words in findings(beside((1000, 80e3, "nothing"), (500, 8e6, kind)))["beside"][0]["text"]


def test_parts_by_size_have_no_neighbours(findings):
    s = synthetic.Script(by="size")
    for _ in range(10):
        s.io("read", 80e3, 1000)
        s.io("read", 8e6, 1000, size=2 ** 20)
        s.tick()
    assert "beside" not in findings(s)
