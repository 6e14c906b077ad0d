# SPDX-License-Identifier: GPL-2.0-only
"""Runs divided by size: parts are checked by arithmetic, wholes are as in undivided runs."""
import json
import re

import pytest

import synthetic
from recordings import blklat, compared

KIB = 1024
LABELS = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB+"]


def part_of(watch):
    return watch["part"]["label"] if "part" in watch else None


@pytest.fixture
def divided(tmp_path, report):
    """Ten seconds, each with 300 small reads, 100 large ones that get slower, and 10 writes of one size."""
    s = synthetic.Script(by="size")
    for second in range(10):
        s.io("read", 80e3, 200, size=4 * KIB)
        s.io("read", 90e3, 100, size=512)
        s.io("read", 400e3 + second * 100e3, 100, size=128 * KIB)
        s.io("write", 60e3, 10, size=128 * KIB - 1)
        s.in_flight(3, 1e5)
        s.tick()
    return {part_of(w): w for w in report(s.write(tmp_path / "run.blklat"))["runs"][0]["watches"]}


def test_parts_follow_their_whole(tmp_path, report):
    watches = report(synthetic.mixed(by="size").write(tmp_path / "run.blklat"))["runs"][0]["watches"]
    assert [(w["device"], part_of(w)) for w in watches] == [(d, p) for d in ("sda", "sdb") for p in [None, *LABELS]]
    assert {w["part"]["by"] for w in watches if "part" in w} == {"size"}
    assert all(("accounting" in w) == ("part" not in w) for w in watches)


def test_figures(divided):
    assert list(divided) == [None, *LABELS]
    assert {p: [o["op"] for o in w["ops"]] for p, w in divided.items() if w["ops"]} == {
        None: ["read", "write"], "4 KiB": ["read"], "128 KiB": ["read", "write"]}
    small, large = divided["4 KiB"]["ops"][0], divided["128 KiB"]["ops"][0]
    assert small["ios"] == [300] * 10 and small["bytes"] == [200 * 4096 + 100 * 512] * 10 and small["total"]["iops"] == 300
    assert large["max_ns"] == [400000 + i * 100000 for i in range(10)] and large["total"]["latency_ns"]["mean"] == 850000
    assert divided["128 KiB"]["queue_depth"][0] == pytest.approx(100 * 400e-6 + 10 * 60e-6, abs=6e-4)
    assert "steady" not in small and sum(sum(column[1::2]) for column in small["heat"]["columns"]) == small["total"]["ios"] and len(small["heat"]["columns"]) <= 32


def parts_of(document):
    return {part_of(w): w for w in document["runs"][0]["watches"] if "part" in w}


def test_shares_of_the_whole(divided):
    """100 reads of 400 us and more are a quarter of the reads, but have more than a quarter of the time and bytes."""
    [large, write], small = divided["128 KiB"]["ops"], divided["4 KiB"]["ops"][0]
    small_s, large_s, write_s = 10 * (200 * 80e-6 + 100 * 90e-6), 100 * sum(4e-4 + i * 1e-4 for i in range(10)), 100 * 60e-6
    small_bytes, large_bytes, write_bytes = 10 * (200 * 4096 + 100 * 512), 1000 * 128 * KIB, 100 * (128 * KIB - 1)
    assert large["of_whole"] == pytest.approx({
        "ios": 0.25, "bytes": large_bytes / (large_bytes + small_bytes), "time": large_s / (large_s + small_s)}, abs=1e-9)
    assert write["of_whole"] == {"ios": 1, "bytes": 1, "time": 1}
    assert (large["total"]["time_s"], write["total"]["time_s"]) == (pytest.approx(large_s), pytest.approx(write_s))
    assert large["time_s"] == pytest.approx([100 * (4e-4 + i * 1e-4) for i in range(10)])
    together = divided["128 KiB"]["all_ops"]
    assert [together[k] for k in ("ios", "bytes", "errors", "iops", "bytes_per_s", "few")] == [
        1100, large_bytes + write_bytes, 0, 110, (large_bytes + write_bytes) / 10, False]
    assert [together["latency_ns"][k] for k in ("min", "max")] == [60e3, 1.3e6]
    assert together["time_s"] == pytest.approx(large_s + write_s)
    assert together["latency_ns"]["mean"] == pytest.approx((large_s + write_s) / 1100 * 1e9, abs=0.1)
    # The 550th and the 1090th of 1100: 100 writes come first.
    assert together["latency_ns"]["p50"] == pytest.approx(800e3, rel=0.011)
    assert together["latency_ns"]["p99"] == pytest.approx(1300e3, rel=0.011)
    all_s, all_bytes = small_s + large_s + write_s, small_bytes + large_bytes + write_bytes
    assert together["of_whole"] == pytest.approx({
        "ios": 1100 / 4100, "bytes": together["bytes"] / all_bytes, "time": together["time_s"] / all_s}, abs=1e-9)
    assert divided["8 KiB"]["all_ops"] is None
    assert "all_ops" not in divided[None] and "against" not in small and "by_little" not in together


def test_shares_of_nothing_are_null(tmp_path, report):
    s = synthetic.repeated(1, ("flush", 1e6, 3, 0, "in=FUA/flush"), by="flags")
    flush = parts_of(report(s.write(tmp_path / "run.blklat")))["FUA/flush"]
    assert flush["ops"][0]["of_whole"] == flush["all_ops"]["of_whole"] == {"ios": 1, "bytes": None, "time": 1}
    assert flush["ops"][0]["few"] and flush["all_ops"]["few"]


def test_what_a_device_does_by_littles_law(tmp_path, report):
    """Depth over mean latency, reads and writes together."""
    s = synthetic.repeated(4, ("read", 100e3, 30, 4096, "in=1"), ("read", 200e3, 300, 4096, "in=5-8"), ("write", 400e3, 100, 64 * KIB, "in=5-8"),
                           ("read", 4e6, 25, 4096, "in=513+"), ("read", 0, 25, 4096, "in=3-4"), by="depth")
    parts = parts_of(report(s.write(tmp_path / "run.blklat")))
    assert parts["1"]["all_ops"]["by_little"] == {
        "iops_least": 10000, "iops_most": 10000, "bytes_per_s_least": 40960000, "bytes_per_s_most": 40960000}
    mean_s, size = (300 * 200e-6 + 100 * 400e-6) / 400, (300 * 4 * KIB + 100 * 64 * KIB) / 400
    assert parts["5-8"]["all_ops"]["by_little"] == pytest.approx({
        "iops_least": 5 / mean_s, "iops_most": 8 / mean_s, "bytes_per_s_least": 5 / mean_s * size, "bytes_per_s_most": 8 / mean_s * size})
    assert parts["513+"]["all_ops"]["by_little"] == {
        "iops_least": 513 / 4e-3, "iops_most": None, "bytes_per_s_least": 513 / 4e-3 * 4 * KIB, "bytes_per_s_most": None}
    assert parts["2"]["all_ops"] is None and parts["3-4"]["all_ops"]["by_little"] is None
    assert (parts["1"]["all_ops"]["few"], parts["513+"]["all_ops"]["few"]) == (False, False)


def against(parts, label, op="read"):
    return next(o for o in parts[label]["ops"] if o["op"] == op).get("against")


def test_how_many_times_as_long_beside_others(tmp_path, report):
    loads = (("read", 100e3, 100, "nothing"), ("read", 150e3, 98, "write"), ("read", 900e3, 2, "write"), ("read", 5e6, 99, "flush"),
             ("write", 50e3, 99, "nothing"), ("write", 80e3, 100, "read"), ("write", 240e3, 100, "write"), ("discard", 1e6, 200, "write"))
    s = synthetic.repeated(1, *((op, ns, count, 4096, f"in={label}") for op, ns, count, label in loads), by="beside")
    parts = parts_of(report(s.write(tmp_path / "run.blklat")))
    found = against(parts, "write")
    assert found["base"] == "nothing"
    # The 99th of 100 is the first of the two, within the width of their bin.
    assert (found["p50"], found["p99"]) == (pytest.approx(1.5, rel=0.011), pytest.approx(9, rel=0.011))
    assert against(parts, "nothing")["p99"] == 1
    assert against(parts, "flush") is None
    assert against(parts, "nothing", "write") is None
    assert against(parts, "read", "write") == dict.fromkeys(found, 1) | {"base": "read"}
    assert against(parts, "write", "write")["p50"] == pytest.approx(3, rel=0.011)
    assert against(parts, "write", "discard") is None


def test_wholes_are_as_if_nothing_were_divided(tmp_path):
    """To the last digit, including findings."""
    script, path = synthetic.mixed(), tmp_path / "run.blklat"

    def runs():
        path.unlink(missing_ok=True)
        text = blklat("report", "--format", "json", script.write(path))
        return json.loads(text, parse_float=lambda digits: ("float", digits))["runs"][0]

    whole = runs()
    script.lines.insert(1, "by size")
    run = runs()
    assert whole["findings"] and len(run["watches"]) == 10 * len(whole["watches"])
    run["watches"] = [w for w in run["watches"] if "part" not in w]
    assert json.dumps(run) == json.dumps(whole)


def test_percentiles_of_owners_over_time(tmp_path, report):
    """Of all ops together, and of owners only."""
    s = synthetic.Script(by="cgroup")
    for writes in (0, 20, 200, 0):
        s.io("read", 80e3, 100 * (writes > 0), more="in=/db")
        s.io("write", 2e6, writes, more="in=/db")
        s.tick()
    db = parts_of(report(s.write(tmp_path / "run.blklat")))["/db"]
    found = db["all_ops"]["percentiles_ns"]
    assert sorted(found) == ["p50", "p90", "p99", "p99.9"]
    assert found["p50"] == [None, pytest.approx(80e3, rel=0.011), pytest.approx(2e6, rel=0.011), None]
    assert found["p90"] == [None, pytest.approx(2e6, rel=0.011), pytest.approx(2e6, rel=0.011), None]
    by_size = synthetic.repeated(2, ("read", 80e3, 1), ("write", 80e3, 1), by="size").write(tmp_path / "sizes.blklat")
    assert "percentiles_ns" not in parts_of(report(by_size))["4 KiB"]["all_ops"]


# --- compare

def mix(path, small, large, factor=1, by="size", large_size=128 * KIB):
    """@small reads of 100 us and 4 KiB, and @large of 1 ms and 128 KiB, a second."""
    return synthetic.repeated(10, ("read", factor * 100e3, small), ("read", factor * 1e6, large, large_size), by=by).write(path)


def test_another_mix_of_the_same_ios(tmp_path):
    """The whole differs, its parts don't: 0.9 * 100 us + 0.1 * 1 ms, against half of each."""
    base, other = mix(tmp_path / "a.txt", 900, 100), mix(tmp_path / "b.txt", 500, 500)
    groups = compared(base, other)["groups"]
    assert [(g["op"], part_of(g)) for g in groups] == [("read", None), ("read", "4 KiB"), ("read", "128 KiB")]
    whole, small, large = [g["runs"] for g in groups]
    assert whole[1]["ratio"]["mean"] == pytest.approx(550 / 190, rel=1e-5)
    assert whole[0]["mean_with_base_mix_ns"] is None and whole[1]["mean_with_base_mix_ns"] == 190e3
    assert small[1]["ratio"] == dict.fromkeys(small[1]["ratio"], 1) | {
        "iops": pytest.approx(500 / 900, rel=1e-5), "bytes_per_s": pytest.approx(500 / 900, rel=1e-5)}
    assert large[1]["ratio"]["mean"] == large[1]["ratio"]["p99"] == 1 and large[1]["ratio"]["iops"] == 5
    assert small[1]["ks"] == large[1]["ks"] == 0 < whole[1]["ks"]
    assert "mean_with_base_mix_ns" not in small[1]


def test_slower_at_any_mix(tmp_path):
    groups = compared(mix(tmp_path / "a.txt", 900, 100), mix(tmp_path / "b.txt", 500, 500, factor=2))["groups"]
    assert groups[0]["runs"][1]["mean_with_base_mix_ns"] == 380e3
    assert [g["runs"][1]["ratio"]["mean"] for g in groups[1:]] == [2, 2]


def test_a_part_without_a_partner(tmp_path):
    base, other = mix(tmp_path / "a.txt", 900, 100), mix(tmp_path / "b.txt", 900, 100, large_size=KIB * 64)
    groups = compared(base, other)["groups"]
    assert [(part_of(g), [r["ios"] for r in g["runs"]]) for g in groups] == [
        (None, [10000, 10000]), ("4 KiB", [9000, 9000]), ("64 KiB", [0, 1000]), ("128 KiB", [1000, 0])]
    assert groups[0]["runs"][1]["mean_with_base_mix_ns"] is None


def test_one_that_is_not_divided(tmp_path):
    """Wholes are compared as usual, and parts are not mentioned, whichever of the two has them."""
    plain, divided = mix(tmp_path / "a.txt", 900, 100, by=None), mix(tmp_path / "b.txt", 900, 100)
    want = compared(plain, plain)
    for files in ((plain, divided), (divided, plain)):
        document = compared(*files)
        assert document["groups"] == want["groups"] and document["unpaired"] == []
        assert len(compared(*files, "--fail-if", "read.p50 > 1ns", status=3)["fail_if"]) == 1
    assert blklat("compare", divided, plain).count("\n") == blklat("compare", plain, plain).count("\n")


def test_conditions_are_of_wholes(tmp_path):
    """The small reads have a mean of 100 us, all reads one of 190 us."""
    file = mix(tmp_path / "a.txt", 900, 100)
    [verdict] = compared(file, file, "--fail-if", "read.mean < 150us")["fail_if"]
    assert verdict["value"] == 190e3


def test_compared_as_text(tmp_path):
    lines = blklat("compare", mix(tmp_path / "a.txt", 900, 100), mix(tmp_path / "b.txt", 500, 500)).splitlines()
    assert max(map(len, lines)) <= 80
    parts = [line for line in lines if line.startswith(" ") and re.search(r"% of \d", line)]
    assert [line.split() for line in parts] == [
        "4 KiB 90.0 % of 1, 50.0 % of 2".split(), "128 KiB 10.0 % of 1, 50.0 % of 2".split()]
    assert [line.split()[1:] for line in lines if line.startswith("2 / 1")][1:] == [
        "/ 1 x 0.56 x 0.56".split() + ["x", "1.00"] * 7, "/ 1 x 5.00 x 5.00".split() + ["x", "1.00"] * 7]
    assert any(re.search(r"mix by size its mean would be 190 us \(x 1\.00\)", line) for line in lines)


def test_a_single_part_is_named_and_no_more(tmp_path):
    file = mix(tmp_path / "a.txt", 900, 0)
    lines = blklat("compare", file, file).splitlines()
    assert " 4 KiB   100.0 % of 1, 100.0 % of 2" in lines
    assert sum(line.startswith("2 / 1") for line in lines) == 1


def test_compared_as_markdown(tmp_path):
    text = blklat("compare", "--format", "markdown", mix(tmp_path / "a.txt", 900, 100), mix(tmp_path / "b.txt", 500, 500))
    [table] = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    runs = ["1", "2", "2 / 1"]
    assert [re.sub(r" +", " ", row[1:].split("|")[0]).strip() for row in table[2:]] == [
        *runs, "4 KiB 90.0 % of 1, 50.0 % of 2", *runs, "128 KiB 10.0 % of 1, 50.0 % of 2", *runs]
    assert len({row.count("|") for row in table}) == 1
