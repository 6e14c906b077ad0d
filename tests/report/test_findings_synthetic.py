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


def test_a_cache_that_one_owner_exhausts(findings):
    """Its IOs are those that became slower, so it is not another load."""
    s = synthetic.Script(by="cgroup")
    for second in range(40):
        s.io("write", *((25e3, 40000) if second < 20 else (250e3, 4000)), more="in=/db")
        s.tick()
    [change] = findings(s)["level_change"]
    assert change["text"].endswith(", as when a cache is exhausted") and " mean latency rose 10.0 times" in change["text"]


def beside(*loads):
    """Ten seconds of these reads: (IOs a second, ns, label of the part)."""
    return synthetic.repeated(10, *(("read", ns, count, 4096, f'"in={neighbour}"') for count, ns, neighbour in loads),
                              ("write", 50e3, 100, 4096, "in=read"), by="beside")


def test_what_makes_reads_slower(findings):
    """Names the kind that costs most, and the factor; writes do not differ."""
    found = findings(beside((1000, 80e3, "nothing"), (3000, 90e3, "read"), (200, 400e3, "write"), (50, 8e6, "big write"), (9, 60e6, "flush")))
    [told] = found["beside"]
    assert told["op"] == "read" and "beside a big write" in told["text"]
    values = told["values"]
    assert (values["ios"], values["base_ios"]) == (500, 10000)
    assert values["share"] == pytest.approx(50 / 4259, rel=1e-4)
    assert values["p50_ns"] == pytest.approx(8e6, rel=0.012) and values["base_p99_ns"] == pytest.approx(80e3, rel=0.012)
    assert values["times_p99"] == pytest.approx(100, rel=0.025)
    assert values["lost_s"] == pytest.approx(500 * (8e6 - 80e3) / 1e9) and told["text"].endswith("; 3.96 s longer in all")


@pytest.mark.parametrize("writes,words", [(10, "beside a flush"), (300, "beside a write")])
def test_the_neighbour_that_costs_most(findings, writes, words):
    """10 flushes a second cost 79 ms each; writes 320 us each, so 300 of them cost 96 ms a second. Reads cost more, but they are less than twice as slow."""
    [told] = findings(beside((1000, 80e3, "nothing"), (9000, 100e3, "read"), (writes, 400e3, "write"), (10, 8e6, "flush")))["beside"]
    assert words in told["text"]


def test_beside_reads_where_nothing_is_rare(findings):
    [told] = findings(beside((9, 80e3, "nothing"), (3000, 90e3, "read"), (20, 200e3, "write")))["beside"]
    assert told["values"]["base_ios"] == 30000 and "beside reads only" in told["text"]


@pytest.mark.parametrize("loads", [[(1000, 80e3, "nothing"), (500, 150e3, "flush")], [(1000, 80e3, "nothing"), (9, 8e6, "flush")],
                                   [(9, 80e3, "read"), (500, 8e6, "flush")], [(1000, 80e3, "read")],
                                   [(995, 80e3, "nothing"), (5, 60e6, "nothing"), (970, 80e3, "flush"), (30, 4e5, "flush")]],
                         ids=["less than twice", "too few", "nothing to compare with", "alone", "no longer in all"])
def test_neighbours_that_are_not_told(findings, loads):
    assert "beside" not in findings(beside(*loads))


def test_no_multiple_of_nothing(findings):
    assert "beside" not in findings(beside((1000, 0, "nothing"), (500, 8e6, "flush")))


@pytest.mark.parametrize("kind,words", [("other", "beside another op:"), ("read", "beside a read:"), ("flush", "beside a flush:")])
def test_words_for_neighbours(findings, kind, words):
    assert words in findings(beside((1000, 80e3, "nothing"), (500, 8e6, kind)))["beside"][0]["text"]


def test_parts_by_size_have_no_neighbours(findings):
    assert "beside" not in findings(synthetic.repeated(10, ("read", 80e3, 1000), ("read", 8e6, 1000, 2 ** 20), by="size"))


@pytest.mark.parametrize("every,steady", [(1, ["sda read", "sda write"]), (3, ["sda write"])])
def test_a_load_that_is_seldom_there(findings, every, steady):
    """IOs in one second of three are no steady load, however even the rounds are."""
    s = synthetic.Script()
    for second in range(200):
        s.io("read", 1e5, 1000 * (second % every == 0))
        s.io("write", 1e5, 1000)
        s.tick()
    told = findings(s)["steady_state"]
    assert len(told) == 1 and [name for name in ("sda read", "sda write") if name in told[0]["text"]] == steady, told
